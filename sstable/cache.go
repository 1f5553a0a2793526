package sstable

// A Cache keeps open blocks for the Readers of a store. It must be safe for
// concurrent use. It may drop any block at any time, but must return what was put
// under the key.
type Cache interface {
	// Get returns the block put under the key, or nil.
	Get(Key) Block
	// Admits reports whether it is worth reading a block, which Get has not
	// found, into memory of its own for Put.
	Admits(Key) bool
	// Put may keep the block.
	Put(Key, Block)
	// Reserve takes bytes from the cache's budget for data that a Reader holds
	// itself until the file is removed. It reports false, and takes nothing, if
	// that would leave too little.
	Reserve(file uint64, bytes int) bool
}

// A Key names a block of a store. File numbers are never reused, so neither are
// keys.
type Key struct {
	File   uint64 // the number of the file
	Offset uint64 // where the block begins
}

// A Block is an open block: decompressed, validated, immutable. It is garbage
// collected, so it outlives the cache entry while anyone uses it.
type Block interface {
	// Memory is about how many bytes the block takes.
	Memory() int
}
