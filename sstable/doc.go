// Package sstable reads and writes the immutable sorted files of a partition:
// cells in key order, in columnar blocks.
//
// # Contract
//
// A Writer takes the cells of one file in strictly ascending order and writes the
// file from front to back into an io.Writer. A Reader serves a finished file from
// an io.ReaderAt: it tells whether a row may be present, returns iterators, and
// verifies the whole file. Neither opens, syncs or closes files.
//
// Bytes from disk are never trusted. Every block has a checksum keyed by store,
// file and offset, and is validated once, when it is opened, so that later accesses
// stay inside it. Damage is reported as a *CorruptError with file and offset, a
// file of a later format as a *VersionError, by Open or by the first read that
// meets it. Damage never causes a panic or an incomplete answer. Errors of the
// io.ReaderAt are returned wrapped. They are not remembered: the next read tries
// again.
//
// # The file
//
// All numbers are little endian. A file is a sequence of blocks without gaps,
// and a footer of fixed size:
//
//	+---------+---------+-----+---------+--------+-------+-------+------------+--------+
//	| block 1 | block 2 | ... | block n | filter | index | times | properties | footer |
//	+---------+---------+-----+---------+--------+-------+-------+------------+--------+
//
// Blocks 1 to n are cell blocks, which hold the keys of cells, and value blocks,
// which hold values and precede the cell block that refers to them. Every block
// has a trailer (trailer.go). Each part is drawn where it is written:
//
//	block trailer, checksum   trailer.go        index        index.go
//	cell block                cellblock.go      filter       filter.go
//	cell block, encoded       encode.go         properties   properties.go
//	value block               valueblock.go     footer       footer.go
//	times                     blocktimes.go
//
// # Bounds
//
// Row keys and columns have at most MaxKey bytes, values at most MaxValue. The
// index is one block with about 45 bytes for each cell block. Its limit, maxIndex,
// allows over a million cell blocks, some gigabytes of file; the Writer refuses
// more. The index is read and held as a whole, so files should stay far smaller:
// at 10,000 cell blocks it takes 450 KB.
package sstable
