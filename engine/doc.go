// Package engine stores sorted maps of cells, called partitions, on one disk.
//
// All partitions share one write-ahead log: a Batch over any of them is one record with one checksum,
// so it is applied as a whole or not at all. Each partition has a memtable and levels of sorted files.
// A Snapshot is one point in the order of batches, across all partitions.
//
// What files there are is in package manifest, what to compact in package compaction, and which cells
// a reader sees and a compaction keeps in package rowmerge, with the help of package rangedel. All are
// without I/O. This package is the running store around them.
//
// # A write
//
//	Batch         collects entries in the form in which they go into the log (batch.go)
//	Commit        waits out write stalls (stall.go, rate_limit.go, disk_reserve.go), takes a sequence
//	              number and a place in the group that the next sync will make durable (commit.go), and
//	              inserts the entries into the memtables (insert.go)
//	group leader  a goroutine: appends the group's records to the log segment, syncs it, then makes the
//	              group's last sequence number the visible one (group.go, log.go)
//	log segments  are made before they are needed (log_prepare.go); an idle one is sealed (seal.go); finished ones
//	              can be archived (log_archive.go)
//	freeze        a memtable that is full, or that pins an old segment, becomes immutable, and the
//	              partition gets a new one (mem_table.go)
//	flush         writes frozen memtables to files of level 0 (flush.go, write_rows.go, output.go)
//	compaction    merges files into lower levels and drops what no reader can see (compact.go,
//	              subcompaction.go, write_rows.go, output.go); reads can cause it (read_triggered.go)
//
// A range tombstone (Batch.DeleteRange) goes with its batch into the memtable, and from there into the
// manifest, not into a sorted file (range_tombstones.go, package rangedel).
//
// Entries are in a memtable before they are durable, but above the visible sequence number, where no
// reader looks. If the log fails, they stay there.
//
// # A read
//
//	Snapshot      pins the read state of each partition, that is memtables and files, and the visible
//	              sequence number (snapshot.go, read_state.go)
//	Scan          merges the memtables and files row by row and returns the visible cells (scan.go,
//	              scan_reverse.go, level.go), or the cells of many rows in one step (take_rows.go)
//	Divide        divides a range of rows for a parallel scan (divide.go)
//	table cache   opens and closes the files (table_cache.go, table_ref.go)
//
// What every read counts is sharded (sharded_counter.go).
//
// # The rest
//
//	DB            what is open, and its partitions (db.go, partition.go, options.go)
//	Open          reads the manifest and recovers the log (open.go, recover*.go, torn.go)
//	Close         flushes and empties the log (close.go)
//	install       makes one manifest edit durable (install.go, manifest_file.go)
//	background    the goroutines and their retries (background.go, obsolete.go); when they run is in
//	              cpus.go and foreground.go
//	Flush         and Compact, on demand (manual.go); Stats (stats.go)
//	checkpoint    a snapshot as files (checkpoint.go); a store is made of one, and of archived batches (restoration.go)
//	scrub, Check  find damage (scrub.go, check*.go); invariants are checked on the way (invariant.go)
//	errors        which there are, and which failure of the system means what (errors.go, errno.go)
//
// # Files
//
//	LOCK                              held by the process, has its pid
//	manifest-00000007                 the whole state as of edit 7; see package manifest
//	wal/00000012.log                  log segments; see package wal
//	wal/00000007.torn                 a segment that a crash has torn; see torn.go
//	partitions/00000003/00000045.sst  sorted files; see package sstable
//
// Numbers of files, partitions and segments are never used twice.
//
// # Locks
//
// docs/architecture.md lists them, with what they protect, in the order in which they are taken. DB.mu guards
// everything that changes. It is not held during I/O, except for lines of Options.Log.
//
// The segment that is being written belongs to the group leader. Only one goroutine leads at a time
// (DB.leading).
package engine
