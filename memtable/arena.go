package memtable

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A ref is the place of something in an arena, 0 for nowhere:
//
//	 31                  17 16                           0
//	+----------------------+------------------------------+
//	|  number of the chunk |  offset in units of 8 bytes  |
//	+----------------------+------------------------------+
//
// Chunk numbers start at 1, so there are 32,767. A chunk of full size is at least
// 3/4 full before the next one starts, and a chunk for a single allocation has more
// than 256 KiB. So an arena holds almost 8 GiB in the worst case, and up to 32 GiB.
type ref uint32

const (
	unit      = 8  // bytes: alignment and granularity of allocations
	unitBits  = 17 // of a ref
	unitMask  = 1<<unitBits - 1
	maxChunks = 1 << (32 - unitBits)

	minChunk = 1 << 10          // bytes: thousands of tables may hold one row each
	maxChunk = unit << unitBits // 1 MiB

	// maxShared is the largest allocation, in bytes, that shares a chunk. Larger ones would waste
	// too much of a chunk.
	maxShared = maxChunk / 4

	// heapPage is the unit to which the Go heap rounds large allocations.
	heapPage = 8 << 10
)

// arena allocates zeroed memory, aligned to 8 bytes, that lives as long as the arena or any pointer
// into it. It is safe for concurrent use.
//
// The last unit of a chunk is never allocated, so a pointer just past an allocation, as an empty
// slice at its end has, still points into the same chunk.
type arena struct {
	// chunks is the table of chunks by number. It grows by append. A loaded table has at least the
	// chunks of all refs that existed at the time.
	chunks atomic.Pointer[[]unsafe.Pointer]

	_ [56]byte // readers load chunks at every step; writers change the rest

	rows    region       // nodes of rows
	entries region       // all else
	bytes   atomic.Int64 // allocated, including what the owner adds

	mu sync.Mutex // for more chunks
}

// A region is the chunks of an arena for one kind of node. A search for a row goes from row to row.
// Rows are about a sixteenth of a table and fit into the CPU's caches, if they do not lie between
// the entries.
type region struct {
	cursor atomic.Uint64 // a cursor: the chunk being filled
	next   int           // guarded by arena.mu: size of the next chunk, 0 before the first
}

// A cursor is a chunk and how much of it is taken:
//
//	 63       48 47              32 31                    0
//	+-----------+------------------+-----------------------+
//	|   chunk   |  log2 of units   |  units taken          |
//	+-----------+------------------+-----------------------+
//
// An allocation first adds its units and then checks whether they fit. If not, the chunk is full.
// The zero cursor is a full chunk.
type cursor uint64

func newCursor(chunk ref, logUnits int) cursor {
	return cursor(chunk)<<48 | cursor(logUnits)<<32
}

func (c cursor) chunk() ref    { return ref(c >> 48) }
func (c cursor) taken() uint64 { return uint64(c & math.MaxUint32) }

// room returns the units to allocate: all but the last.
func (c cursor) room() uint64 { return 1<<(c>>32&0xffff) - 1 }

// at returns the memory at r, which must not be 0.
func (a *arena) at(r ref) unsafe.Pointer {
	return unsafe.Add((*a.chunks.Load())[r>>unitBits], uintptr(r&unitMask)*unit)
}

// alloc returns size bytes of a region, a multiple of the unit. If all sizes of a region are
// multiples of a cache line, each allocation starts at one.
func (a *arena) alloc(from *region, size int) (ref, unsafe.Pointer) {
	if size > maxShared {
		return a.allocAlone(size)
	}
	n := uint64(size / unit)
	for {
		c := cursor(from.cursor.Add(n))
		if c.taken() <= c.room() {
			r := c.chunk()<<unitBits | ref(c.taken()-n)
			return r, a.at(r)
		}
		a.grow(from, c.chunk(), size)
	}
}

// grow replaces the full chunk of a region by one with room for size bytes, unless another goroutine
// has replaced it already.
func (a *arena) grow(from *region, full ref, size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cursor(from.cursor.Load()).chunk() != full {
		return
	}
	n := max(from.next, minChunk)
	for n-unit < size {
		n *= 2
	}
	from.next = min(2*n, maxChunk)
	logUnits := 0
	for unit<<logUnits < n {
		logUnits++
	}
	chunk, _ := a.addChunk(n)
	from.cursor.Store(uint64(newCursor(chunk, logUnits)))
}

// allocAlone allocates size bytes in a chunk of their own.
func (a *arena) allocAlone(size int) (ref, unsafe.Pointer) {
	if int64(size) > math.MaxUint32 {
		panic("memtable: an entry of more than 4 GiB")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	chunk, p := a.addChunk((size + unit + heapPage - 1) / heapPage * heapPage)
	return chunk << unitBits, p
}

// addChunk adds a chunk of n bytes to the table. The caller holds mu.
func (a *arena) addChunk(n int) (ref, unsafe.Pointer) {
	var chunks []unsafe.Pointer
	if known := a.chunks.Load(); known != nil {
		chunks = *known
	} else {
		chunks = make([]unsafe.Pointer, 1, 8)
		a.bytes.Add(8 * int64(unsafe.Sizeof(chunks[0])))
	}
	if len(chunks) == maxChunks {
		panic("memtable: table is full")
	}
	before := cap(chunks)
	p := unsafe.Pointer(unsafe.SliceData(make([]uint64, n/unit)))
	chunks = append(chunks, p)
	a.bytes.Add(int64(n) + int64(cap(chunks)-before)*int64(unsafe.Sizeof(p)))
	a.chunks.Store(&chunks)
	return ref(len(chunks) - 1), p
}
