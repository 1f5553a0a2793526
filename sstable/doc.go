// Package sstable is the immutable sorted file of a partition: cells in the
// order of their keys, kept in columnar blocks.
//
// # Contract
//
// A Writer takes the cells of one file in strictly ascending order and writes
// the file front to back into an io.Writer. A Reader serves a finished file
// from an io.ReaderAt: it answers whether a row may be present, hands out
// iterators over rows and their cells, and verifies the whole file. Neither
// opens, syncs or closes files; that is the business of the engine.
//
// Bytes from disk are never trusted. Every block carries a checksum keyed by
// the store, the file and the place of the block, and is validated once when it
// is opened, so that later accesses cannot leave it. Damage is reported as a
// *CorruptError with file and offset, a file of a later format as a
// *VersionError; both come from Open, or from the first read that meets them,
// and never end in a panic or in an answer that leaves something out. Errors
// of the io.ReaderAt are passed on wrapped, and are not remembered: the next
// read tries again.
//
// # The file
//
// All numbers are little endian. A file is a row of blocks without gaps, and a
// footer of fixed size:
//
//	+---------+---------+-----+---------+--------+-------+------------+--------+
//	| block 1 | block 2 | ... | block n | filter | index | properties | footer |
//	+---------+---------+-----+---------+--------+-------+------------+--------+
//
// The blocks 1 to n are cell blocks, which hold the keys of cells, and value
// blocks, which hold their values and stand before the cell block that refers to
// them. Each block except the footer is stored in the envelope of trailer.go. The
// parts are drawn where they are written:
//
//	envelope, checksum   trailer.go        index        index.go
//	cell block           cellblock.go      filter       filter.go
//	the same, folded     fold.go           properties   properties.go
//	value block          valueblock.go     footer       footer.go
//
// # Bounds
//
// Row and column keys have at most MaxKey bytes, values at most MaxValue. A
// file has one index block of about 45 bytes for each cell block, limited to
// maxIndex bytes: over a million blocks, or some gigabytes. Beyond that
// the Writer refuses. An index is read and held as a whole, so files should
// stay far below the limit: at 10,000 blocks it takes 450 KB.
package sstable
