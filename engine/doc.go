// Package engine keeps sorted maps of cells, called partitions, on one disk.
//
// All partitions share one write-ahead log: a Batch over any of them is one
// record with one checksum, so it is applied as a whole or not at all. Each
// partition owns a memtable and levels of sorted files. A Snapshot is one point
// in the order of batches, across all partitions.
//
// # A write
//
//	Commit        takes a sequence number and a place in the group that the
//	              next sync will carry, and puts the entries into the memtables
//	group leader  a goroutine: appends the group's records to the log segment,
//	              syncs it, then publishes the group's last sequence number as
//	              visible
//	freeze        a memtable that is full, or that pins an old segment, becomes
//	              immutable and the partition gets a new one
//	flush         writes a frozen memtable to a file of level 0
//	compaction    merges files downwards and leaves out what nobody can see
//
// Entries lie in a memtable before they are durable, but above the visible
// sequence number, where no reader looks. When the log fails, they stay there.
//
// # Files
//
//	LOCK                             held by the process, names its pid
//	manifest-00000007                the whole state as of edit 7; see manifest.go
//	wal/00000012.log                 log segments; see package wal
//	wal/00000007.torn                one that a crash has torn; see torn.go
//	partitions/00000003/00000045.sst sorted files; see package sstable
//
// Numbers of files, partitions and segments are never used twice.
//
// # Locks, in the order in which they are taken
//
//	DB.installMu   one manifest edit at a time; held during its I/O
//	DB.namesMu     one sync of the directory of partitions at a time; held during
//	               that
//	partition.namesMu  the same for the directory of its sorted files
//	log.prepareMu  one log segment is made at a time; held during its I/O
//	DB.mu          everything that changes: sequence numbers, groups, memtables,
//	               versions, background work. Not held during I/O, but for lines
//	               for the process's log
//	snapshotList.mu  some of the open snapshots
//
// The log segment under writing belongs to the group leader, of whom there is
// one at a time (DB.leading).
package engine
