package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
)

// piece is memory that a test has taken from an arena and filled.
type piece struct {
	ref  ref
	b    []byte
	fill byte
}

// take allocates size bytes, which must be aligned and zero, and fills them.
func take(t *testing.T, a *arena, size int, fill byte) piece {
	r, p := a.alloc(&a.entries, size)
	b := unsafe.Slice((*byte)(p), size)
	if r == 0 || uintptr(p)%unit != 0 || p != a.at(r) {
		t.Errorf("alloc(%d): got ref %#x at %p, want an aligned place", size, r, p)
	}
	for i := range b {
		if b[i] != 0 {
			t.Fatalf("alloc(%d): byte %d is %#x, want 0", size, i, b[i])
		}
		b[i] = fill
	}
	return piece{r, b, fill}
}

// intact checks that nobody else has written to a piece.
func (g piece) intact(t *testing.T) {
	for i, c := range g.b {
		if c != g.fill {
			t.Fatalf("piece of %d bytes at %#x: byte %d is %#x, want %#x", len(g.b), g.ref, i, c, g.fill)
		}
	}
}

// The end of the first chunk, with what is taken of it before, and what then
// follows: the last allocation fits exactly, or is a unit too large.
func TestArenaChunkEnd(t *testing.T) {
	const room = minChunk - unit
	for _, c := range []struct {
		sizes  []int
		chunks int
	}{
		{[]int{room}, 1},
		{[]int{room + unit}, 1}, // a larger first chunk
		{[]int{room, unit}, 2},
		{[]int{room - unit, unit}, 1},
		{[]int{room - unit, 2 * unit}, 2},
		{[]int{room - unit, 2 * unit, unit}, 2},
		{[]int{unit, room}, 2},
		{[]int{unit, maxShared, unit}, 2},
		{[]int{unit, maxShared + unit, room - unit}, 2}, // one alone, the first still in use
		{[]int{maxShared + unit, unit}, 2},
		{[]int{10 * maxChunk, unit}, 2},
		{[]int{heapPage - unit + maxShared, heapPage + maxShared}, 2},
	} {
		a := new(arena)
		var pieces []piece
		for i, size := range c.sizes {
			pieces = append(pieces, take(t, a, size, byte(i+1)))
		}
		for _, g := range pieces {
			g.intact(t)
		}
		if got := len(*a.chunks.Load()) - 1; got != c.chunks {
			t.Errorf("sizes %v: got %d chunks, want %d", c.sizes, got, c.chunks)
		}
	}
}

// Chunks double up to their full size, and no further.
func TestArenaGrowth(t *testing.T) {
	a := new(arena)
	chunks, before := 0, a.bytes.Load()
	var sizes []int64
	for len(sizes) < 12 {
		take(t, a, 1024, 1)
		if n := len(*a.chunks.Load()); n != chunks {
			sizes = append(sizes, (a.bytes.Load()-before)&^1023)
			chunks, before = n, a.bytes.Load()
		}
	}
	want := "[2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 1048576 1048576]"
	if got := fmt.Sprint(sizes); got != want {
		t.Errorf("chunk sizes:\n got %s\nwant %s", got, want)
	}
}

// What a search looks at of a usual row is in one line.
func TestRowsInLines(t *testing.T) {
	tb, lines := New(), 0
	var in Inserter
	for i := range 1000 {
		row := fmt.Appendf(nil, "%032d", i)[:16+i%17]
		in.Add(tb, row, &cell.Cell{Column: []byte("f\x00"), Seq: uint64(i), Type: cell.String})
		if p := uintptr(in.row); p&^(cacheLine-1) == (p+uintptr(nodeSize+len(row))-1)&^(cacheLine-1) {
			lines++
		}
	}
	if lines < 900 { // a tower of three levels takes more: one row in sixteen
		t.Errorf("got %d rows of 1000 in one line", lines)
	}
}

func TestArenaConcurrent(t *testing.T) {
	const goroutines, rounds = 8, 300
	a := new(arena)
	pieces := make([][]piece, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range rounds {
				size := unit * (1 + r.IntN(200))
				if i%100 == 99 {
					size = unit * (1 + r.IntN(2*maxShared/unit))
				}
				pieces[g] = append(pieces[g], take(t, a, size, byte(g+1)))
			}
		})
	}
	wg.Wait()
	for _, rs := range pieces {
		for _, g := range rs {
			g.intact(t)
		}
	}
}

// The last chunk number is good, and there is none after it.
func TestArenaLimit(t *testing.T) {
	for _, size := range []int{unit, maxShared + unit} {
		a := new(arena)
		chunks := make([]unsafe.Pointer, maxChunks-1)
		a.chunks.Store(&chunks)
		take(t, a, size, 1).intact(t)
		var got any
		func() {
			defer func() { got = recover() }()
			a.alloc(&a.entries, maxShared+unit)
		}()
		if got != "memtable: table is full" {
			t.Errorf("one chunk too many: got panic %v, want one that says so", got)
		}
	}
}

// Entries of every size around the ends of chunks, and around the sizes from
// which on values lie apart and have chunks of their own.
func TestEntrySizes(t *testing.T) {
	value := make([]byte, 3*maxChunk)
	for i := range value {
		value[i] = byte(i * 7)
	}
	var sizes [][]int
	for n := minChunk - 200; n <= minChunk+16; n++ {
		sizes = append(sizes, []int{n, 0, n})
	}
	for _, limit := range []int{maxShared / 2, maxShared, maxChunk} {
		for n := limit - 40; n <= limit+8; n += 4 {
			sizes = append(sizes, []int{3, n, 3, n})
		}
	}
	sizes = append(sizes, []int{len(value), 0, len(value)})
	for _, s := range sizes {
		tb, m := New(), new(model)
		for i, n := range s {
			c := cell.Cell{Column: []byte("f\x00"), Value: value[:n], Time: int64(i), Type: cell.Bytes}
			tb.Add([]byte("row"), &c)
			m.add("row", c)
		}
		compare(t, dump(tb, ReadOptions{}), m.entries)
	}
}

func TestHugeKeys(t *testing.T) {
	tb, m := New(), new(model)
	for _, n := range []int{1, maxShared, maxChunk - 1, maxChunk, 2*maxChunk + 3} {
		row := strings.Repeat("r", n)
		column := append([]byte("f\x00"), bytes.Repeat([]byte("q"), n)...)
		for i := range 3 {
			c := cell.Cell{Column: column, Value: column[:n/(i+1)], Time: int64(i), Type: cell.Bytes}
			tb.Add([]byte(row), &c)
			m.add(row, c)
		}
	}
	compare(t, dump(tb, ReadOptions{}), m.entries)
}

// Bytes is what the heap was asked for.
func TestBytes(t *testing.T) {
	row, column, value := make([]byte, 16), []byte("f\x00q"), make([]byte, maxChunk)
	for _, size := range []int{0, 100, 1000, 50_000, maxShared - 100, maxShared, maxChunk} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tb := New()
		var in Inserter
		r := rand.New(rand.NewPCG(uint64(size), 0))
		for total := 0; total < 8*maxChunk; total += 100 + size {
			for i := range row {
				row[i] = byte(r.Uint32())
			}
			in.Add(tb, row, &cell.Cell{Column: column, Value: value[:size], Type: cell.Bytes})
		}
		runtime.ReadMemStats(&after)
		got, want := tb.Bytes(), int64(after.TotalAlloc-before.TotalAlloc)
		if diff := got - want; diff > want/100 || diff < -want/100 {
			t.Errorf("values of %d bytes: Bytes: got %d, the heap counts %d", size, got, want)
		}
	}
}
