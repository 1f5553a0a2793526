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
// cost of one that grows.
//
//	0        77
//	+--------+-------+-------+------+-------+-------+------------------+
//	| header | batch | batch | seal | batch | final | zeros, or what   |
//	|        |       |       |      |       | seal  | was here before  |
//	+--------+-------+-------+------+-------+-------+------------------+
//
// A batch record holds one batch of the engine, whole: its checksum is what
// makes the batch atomic. A seal record is written when the log has been idle
// for a moment, and a final seal when the segment is finished. Seals hold
// nothing; they prove that all before them was synced (see synced below).
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
//	crc32c   CRC-32 (Castagnoli) of the store's id and the bytes 4 to 33+n
//	length   n, the length of the payload
//	type     1 header, 2 batch, 3 seal, 4 final seal
//	number   of the segment; a store gives each number once, from 1
//	seq      sequence number of a batch, strictly increasing; a seal repeats
//	         the last one; 0 in the header
//	synced   the segment was known to be durable up to this offset when the
//	         record was made; never beyond the record itself
//	crc32    CRC-32 (IEEE) of the same bytes as crc32c
//
// The payload of the header record, the only record whose checksums leave out
// the store's id (it is inside, so that a segment of another store is named as
// such rather than taken for an empty one):
//
//	0       8         12      16     24         40
//	+-------+---------+-------+------+----------+
//	| magic | version | flags | size | store id |
//	+-------+---------+-------+------+----------+
//	  8       4         4       8      16
//
//	version  1; a newer one is refused. The layout up to here never changes
//	flags    bit 0: the segment was written by a recovery (Header.Copy)
//	size     of the segment's file, to the byte
//
// The store's id in the checksums keeps apart what the log wrote from what
// only looks like it: values are other people's bytes, and nobody who does not
// know the id can put a record into one.
//
// # What ends the log
//
// Records are read one after another. A record is good if its type, number
// and length are possible and one of its checksums agrees. When the record at
// offset o is not good, it is one of three things, tried in this order:
//
//  1. Damaged, with proof. The whole rest of the file is searched, at every
//     byte, for a record of this segment whose synced lies beyond o. If there
//     is one, the bytes at o had been durable: *CorruptError.
//  2. Damaged, one bit of it. If changing a single bit makes both checksums
//     agree, the record had been written to its end and a bit has rotted:
//     *CorruptError. This is what protects the last batches before a crash,
//     which no later record speaks for.
//  3. Torn, or never written: the end of the log.
//
// Rule 2 must not accuse a torn record, or a store would refuse to open after
// a power failure. That is why there are two checksums, and why they stand at
// both ends. Of n garbled bits, 8n/2^32 happen to be one bit away from any
// single CRC-32, which is one in 500 for a record of 1 MiB; two of them
// together leave nothing to chance. A record torn at any byte lacks its second
// checksum. A record whose first bytes lie in a lost sector lacks no more than
// its first checksum, or much more than a bit. What is left is a sector in the
// middle of a payload that was not written while all others were, and whose
// content would have differed from what lies there by exactly one bit. If the
// sector is all zeros now it is taken for unwritten, since values with long
// runs of zeros are common and rotten bits are not. If it is old content of a
// recycled segment there is nothing to tell the two apart, and the safe answer
// is given: corrupt.
//
// A checksum that is damaged alone harms nothing: the other one vouches for
// the record.
//
// The log relies on one property of the disk: a sector of 512 bytes that is
// rewritten in a power failure holds the old or the new bytes, not a mix that
// harms the old part. Records are not aligned, so the first sector of a
// group of records often holds the end of the group before it.
package wal
