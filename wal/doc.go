// Package wal reads and writes the segments of the write-ahead log.
//
// A log is a row of numbered segments. This package knows one segment at a
// time: it turns batches into records, says when they are durable, and reads
// them back after a crash, telling what a crash has torn from what was
// damaged later. Which segments exist, what their files are called and what a
// batch holds is the engine's business.
//
// # Segment
//
// A segment is a file of fixed size. It is filled before use, with zeros or
// with whatever an older segment left in it, and then overwritten from front
// to back: a file whose blocks exist is synced at little more than half the
// cost of one that grows. One that counts as a whole or not at all is written
// once instead (see NewSingleSyncWriter). A write may turn some of what follows it into
// zeros (see vfs.FS.Reuse): behind the last record anything may lie.
//
//	0        77
//	+--------+-------+-------+------+-------+-------+------------------+
//	| header | batch | batch | seal | batch | final | zeros, or what   |
//	|        |       |       |      |       | seal  | was here before  |
//	+--------+-------+-------+------+-------+-------+------------------+
//
// A batch record holds one batch of the engine, whole: its checksum is what
// makes the batch atomic. A seal record is written when the log has been idle
// for a moment, and a final seal when the segment is finished. Seals mean
// nothing but that all before them was synced (see synced below). A seal begins
// a sector of 512 bytes; before it, if need be, comes another one with a payload
// that fills the sector up, so that a sector that is lost later cannot take both
// a batch and all that proves it.
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
// the segment's number give (see pad). That of the header record is not:
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
//     *CorruptError. This is what protects the last batches before a crash,
//     which no later record speaks for.
//  3. Torn, or never written: the end of the log.
//
// Rule 2 must never accuse a torn record, or a store would refuse to open
// after a power failure. What a crash leaves of a record is a part of its
// bytes, or of its sectors, among zeros or the bytes of an older segment; and
// the format sees to it that this is never one bit away from the whole:
//
//   - A record that was cut off lacks its second checksum, or just that, and
//     then it is good.
//   - Where the sector with its first bytes is lost, it lacks its first
//     checksum, or just a part of that, and then it is good too.
//   - A sector inside the payload differs from what lay there before in about
//     half of its bits, since it was scrambled. Unscrambled, the same value
//     written at the same place of two segments, one digit changed, would do;
//     so would a lone 1 in a sector of zeros.
//   - Bits garbled at random, n bytes of them, are one bit away from a single
//     CRC-32 with a chance of 8n in 2^32: one in 500 for 1 MiB. For two
//     independent ones there is no chance to speak of.
//
// Rule 1 must not be led astray by values that look like records. Scrambling
// sees to that as well, as long as the store's id is not known to those who
// write the values.
//
// A checksum that is damaged alone harms nothing: the other one vouches for
// the record. Damage of more than one bit to a record that nothing later
// proves is taken for a torn tail, which is why an idle log is sealed.
//
// The log relies on one property of the disk: a sector of 512 bytes that is
// rewritten during a power failure holds its old bytes or the new ones, or the
// beginning of the new and the rest of the old. Records are not aligned, so
// the first sector of a group of records often holds the end of the group
// before it, written again with the same bytes.
package wal
