// Package bigtable runs clients of Google Bigtable, unchanged and each in one version, against the emulator that the
// program has, and compares that with Google's:
//
//	goclient_test.go      the integration tests of Google's Go client
//	cbt_test.go           cbt, the command line; testdata/cbt has what it is told and what it answers
//	python_test.go        testdata/python: a program that makes the calls that the Python client has, sync and async
//	node_test.go          testdata/node: the same for the Node client
//	java_test.go          testdata/java: the same for the Java client; testdata/hbase: the HBase API over Bigtable
//	program_test.go       installs a client, and runs its program
//	differential_test.go  the same random operations here and on Google's emulator
//	differences_test.go   in what they differ; testdata/emulator mends it in Google's
//	operations_test.go    the random operations; filters_test.go their filters
//	peer_test.go          a server that is asked, and its answers as texts
//	crash_test.go         kill -9 under the bulk load of the Go client
//	protocols_test.go     what one protocol writes, the other reads
//	server_test.go        the program serving both
//
// It is a module of its own, which depends on the Go client. The other clients, and what the Go client is tested with, are
// fetched in the versions that their tests name, with the dependencies that they name themselves.
package bigtable
