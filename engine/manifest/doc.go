// Package manifest describes what a store consists of: its partitions, their sorted files by
// level, where the log begins, and the names of all of them on disk. It is plain data with
// checks and a file format. It opens no files and takes no locks.
//
//	Manifest             the state of a store as of one edit; one file on disk
//	  Partition          id, name, and how far its batches are flushed
//	    Version          the sorted files of a partition at one time, in levels, and its range
//	                     tombstones
//	      File           one sorted file: number, size, checksum, range of rows, counts
//
// All of these are immutable once published. An edit copies the manifest (Next), changes the
// copy, and checks it (Check, Follows). The engine then writes it as a whole file of its own:
//
//	write manifest-00000008.tmp, sync, read it back
//	rename it to manifest-00000008, sync the directory
//	remove manifest-00000007
//
// So a manifest that has its name is complete, the highest number is the state, and a crash
// leaves the state before the edit or after it.
package manifest
