package sstable

// A Cache keeps open blocks for the Readers of a store. It must be safe for
// concurrent use. It may forget anything at any time; what it returns for a key
// must be what was put there.
type Cache interface {
	// Get returns the block put under the key, or nil.
	Get(Key) Block
	// Admits reports whether a block, which Get has not found, is worth being read into memory
	// of its own, to be put there.
	Admits(Key) bool
	// Put keeps the block, or does not.
	Put(Key, Block)
	// Reserve takes bytes from what the cache may hold, for something that a Reader
	// of the file with this number keeps itself as long as the file is there. It
	// reports false, and takes nothing, if that would leave too little.
	Reserve(file uint64, bytes int) bool
}

// A Key names a block of a store for ever, because file numbers are never used
// again.
type Key struct {
	File   uint64 // the number of the file
	Offset uint64 // where the block begins
}

// A Block is an open block: decompressed, validated, immutable. It lives on the
// Go heap for as long as anyone holds it, whether a cache does or not.
type Block interface {
	// Memory is the number of bytes that the block takes, about.
	Memory() int
}
