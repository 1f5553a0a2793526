// Package wal reads and writes the segments of the write-ahead log.
//
// A log is a row of numbered segments. This package knows one segment at a
// time: it turns batches into records, says when they are durable, and reads
// them back after a crash, telling a torn record from later damage. The engine
// decides which segments exist, how their files are named and what a batch holds.
//
// # Segment
//
// A segment is a file of fixed size. It is filled before use, with zeros or the
// content of an older segment, and then overwritten from front to back: syncing a
// file whose blocks exist costs little more than half of syncing one that grows. A
// segment that is written and synced once starts empty (see NewSingleSyncWriter). A
// write may zero some bytes after it (see vfs.FS.Reuse), so anything may follow the
// last record.
//
//	0        77
//	+--------+-------+-------+------+-------+-------+------------------+
//	| header | batch | batch | seal | batch | final | zeros, or what   |
//	|        |       |       |      |       | seal  | was here before  |
//	+--------+-------+-------+------+-------+-------+------------------+
//
// A batch record holds one batch of the engine. Its checksum makes the batch
// atomic. A seal record is written when the log has been idle for a moment, and a
// final seal when the segment is finished. A seal only says that all records before
// it were synced (see synced below). It starts a sector of 512 bytes. If necessary,
// another seal with a payload fills the sector before it, so that a lost sector
// cannot take both a batch and its proof.
//
// # Record
//
// All numbers are little endian.
//
//	0        4        8      9        17    25       33        33+n     37+n
//	+--------+--------+------+--------+-----+--------+---------+--------+
//	| crc32c | length | type | number | seq | synced | payload | crc32  |
//	+--------+--------+------+--------+-----+--------+---------+--------+
//	  4        4        1      8        8     8        n         4
//
//	crc32c   CRC-32 (Castagnoli) of the bytes 4 to 33+n
//	length   n, the length of the payload
//	type     1 header, 2 batch, 3 seal, 4 final seal
//	number   of the segment; a store gives each number once, from 1
//	seq      sequence number of a batch, strictly increasing; a seal repeats
//	         the last one; 0 in the header
//	synced   the segment was known to be durable up to this offset when the
//	         record was made; never beyond the record itself
//	crc32    CRC-32 (IEEE) of the same bytes as crc32c
//
// The payload of a batch or seal is scrambled with a pattern that the store's id and
// the segment's number give (see scrambler). That of the header record is not:
//
//	0       8         12      16     24         40
//	+-------+---------+-------+------+----------+
//	| magic | version | flags | size | store id |
//	+-------+---------+-------+------+----------+
//	  8       4         4       8      16
//
//	version  1; a newer one is refused. Nothing up to here ever changes
//	flags    bit 0: the segment was written by a recovery (Header.Copy)
//	size     of the segment's file, to the byte
//
// # Where the log ends
//
// Records are read one after another. A record is good if it is of this
// segment, ends inside the file, and one of its checksums agrees. When the
// record at offset o is not good, it is one of three things, tried in order:
//
//  1. Damaged, with proof. The whole rest of the file is searched, at every
//     byte, for a record of this segment whose synced lies beyond o. If there
//     is one, the bytes at o had been durable: *CorruptError.
//  2. Damaged, in one bit. If changing a single bit makes both checksums
//     agree, the record had been written whole, and the bit has rotted:
//     *CorruptError. This protects the last batches before a crash, which no
//     later record proves.
//  3. Torn, or never written: the end of the log.
//
// Rule 2 must never take a torn record for damage, or a store would refuse to
// open after a power failure. A crash leaves some of the bytes or sectors of a
// record, among zeros or the bytes of an older segment. The format ensures that
// this is never one bit away from the whole record:
//
//   - A record that is cut off lacks its second checksum. If it lacks nothing
//     else, it is good.
//   - A record without the sector of its first bytes lacks its first checksum.
//     If it lacks nothing else, it is good.
//   - A sector inside the payload is scrambled, so it differs from the bytes that
//     lay there in about half of its bits. Unscrambled, two segments could hold
//     the same value at the same place with one digit changed, or a sector of
//     zeros could have a single 1.
//   - n random bytes are one bit away from a single CRC-32 with a probability of
//     8n in 2^32: one in 500 for 1 MiB. For two independent ones the probability
//     is negligible.
//
// Rule 1 must not find records in the values of clients. Scrambling ensures that
// too, as long as clients do not know the store's id.
//
// Damage to one checksum alone is harmless: the other one is enough. Damage of
// more than one bit to a record that no later record proves counts as a torn
// tail. That is why an idle log is sealed.
//
// The log relies on one property of the disk: a sector of 512 bytes that is
// rewritten during a power failure holds its old bytes or the new ones, or the
// start of the new and the rest of the old. Records are not aligned, so the
// first sector of a group of records often holds the end of the group before it,
// rewritten with the same bytes.
package wal
