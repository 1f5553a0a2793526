// Package bigtable runs clients of Google Bigtable, unchanged and each in one version, against the emulator that the
// program has:
//
//	goclient_test.go  the integration tests of Google's Go client
//	cbt_test.go       cbt, the command line; testdata/cbt has what it is told and what it answers
//	python_test.go    a program that makes the calls that the Python client has: testdata/client.py
//
// It is a module of its own, and the clients are no dependencies of it: each is fetched in the version that its test
// names, with the dependencies that it names itself.
package bigtable
