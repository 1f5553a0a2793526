// Package backup keeps copies of stores in a repository: a directory, or a bucket of an S3-compatible service.
//
//	colonnade-backup.json            says that this is a repository, and of which format
//	backups/20261128T135429Z-1f….json   a backup: its tables, its files, the object of each file
//	objects/5c…/9b…-00000045.sst     the content of a file of store 5c…, with checksum 9b…
//	log/5c…/0000…/0000….zst          a segment of the log of store 5c…
//	locks/create-3e….json            a backup that is being made
//	tmp/…                            files on their way (directories only)
//
// An object is written once, whole or not at all, and never changed. Its name is the identity of what it holds: the
// store, the file's number, its size and checksum. So a file that an earlier backup has, or one that was interrupted,
// is not copied again. A backup is written when all of its objects are there, and its name has its own checksum. So a
// process that is killed leaves at most objects that no backup needs.
//
// The objects of the log are written by a running server (Archiver), which takes no lock. A Point is a backup and the log
// from there up to a time.
//
// A backup may have a Label: a name that a client has given, and a time at which it expires. Until then it stays.
//
// Prune removes backups, and then the objects that none of the others needs. It does not run beside a backup that is
// being made: each writes a lock before it looks for those of the other. See lock.go.
//
// With recipients the content of objects is encrypted (age). Names, sizes and checksums are not.
package backup
