package sstable

import (
	"unsafe"

	"colonnade/internal/prefetch"
)

// coming is the next block of a walk, if it is in the cache. While the rows of the block at
// hand are taken, the processor is asked for some lines of the next with each row, so that
// they come while there is other work: a walk over cached blocks waits for memory more than
// for anything else. A search for a row in a cached block asks for what it will compare. The
// zero value has no block.
type coming struct {
	block  *cellBlock // nil for none
	entry  int        // the block's
	values bool       // small values are wanted, too
	asked  int        // bytes of the block, and then of its small values, that were asked for
}

// askedEach is how many bytes are asked for with each row: a block of 4 KiB, and values read
// with it, within a few rows.
const askedEach = 1 << 10

// askedAtSeek is how many bytes are asked for of a block in which a row is looked for: that is
// the row keys and all arrays, mostly, but no values that stand apart, of which few are read.
const askedAtSeek = 4 << 10

// find looks for the block of an entry in the cache. Its struct is asked for at once: the rest
// cannot be before it is there.
func (c *coming) find(it *Iterator, entry int) {
	*c = coming{entry: entry, values: it.o.Columns == nil && !it.o.KeysOnly}
	if b, ok := cacheGet[*cellBlock](it.r, it.index.handle(entry).offset); ok {
		c.block = b
		prefetch.Lines(unsafe.Pointer(b), int(unsafe.Sizeof(*b)))
	}
}

// is reports whether there is a block, and it is that of the entry.
func (c *coming) is(entry int) bool { return c.block != nil && c.entry == entry }

// ask asks for the next n bytes of what the block holds, or for what is left.
func (c *coming) ask(n int) {
	raw := c.block.raw
	if left := len(raw) - c.asked; left > 0 {
		part := min(n, left)
		prefetch.Bytes(raw[c.asked : c.asked+part])
		c.asked += part
		n -= part
	}
	if n == 0 || !c.values || c.block.smallBlocks == 0 {
		return
	}
	from := c.asked - len(raw)
	part := min(n, len(c.block.values)-from)
	prefetch.Bytes(c.block.values[from : from+part])
	c.asked += part
}
