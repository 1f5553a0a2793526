package blockcache

import (
	"math/rand/v2"
	"testing"

	"github.com/colonnade-db/colonnade/sstable"
)

func TestDoorkeeper(t *testing.T) {
	full := false
	isFull := func() bool { return full }
	d := newDoorkeeper(1000 * typicalBlock)
	if n := len(d.marks); n != 512 {
		t.Fatalf("%d marks, want the power of two below 1000", n)
	}
	for i := range 10 * checkEvery {
		if !d.admits(key(1, i), isFull) {
			t.Fatalf("block %d was not let in though there is room", i)
		}
	}
	full = true
	for i := range 2 * checkEvery { // by now it has called isFull
		d.admits(key(2, i), isFull)
	}
	ask := func(file, n int) (admitted int) {
		for i := range n {
			if d.admits(key(file, 4096*i), isFull) {
				admitted++
			}
		}
		return admitted
	}
	const few, many = 64, 20 * 512
	if n := ask(3, few); n > 0 {
		t.Errorf("%d of %d blocks were let in when first asked for", n, few)
	}
	if n := ask(3, few); n < few*8/10 {
		t.Errorf("%d of %d blocks were let in when asked for again", n, few)
	}
	ask(4, many)
	if n := ask(3, few); n > 0 {
		t.Errorf("%d of %d blocks were let in though %d others came between", n, few, many)
	}
	if d = newDoorkeeper(0); len(d.marks) != minMarks {
		t.Errorf("%d marks without a budget, want %d", len(d.marks), minMarks)
	}
}

// TestAdmitsPays: with skewed reads the cache has as many hits with its doorkeeper as without, with
// a fraction of the puts.
func TestAdmitsPays(t *testing.T) {
	const room, size = 2000 * (8000 + entryOverhead), 8000
	hits, puts := zipf(room, size, (*Cache).Get, (*Cache).Admits)
	all, allPuts := zipf(room, size, (*Cache).Get, always)
	t.Logf("%d hits and %d puts, without a doorkeeper %d and %d", hits, puts, all, allPuts)
	if hits < all*98/100 || puts > allPuts*2/3 {
		t.Errorf("%d hits and %d puts, without a doorkeeper %d and %d", hits, puts, all, allPuts)
	}
}

// TestNotesOfFull: a cache that records accesses only when it is full has as many hits as one that
// always does, also with large blocks, and without calls of Admits.
func TestNotesOfFull(t *testing.T) {
	noting := func(c *Cache, k sstable.Key) sstable.Block {
		b, _ := c.blocks.GetIfPresent(k)
		return b
	}
	for _, test := range []struct {
		name       string
		room, size int
		wants      func(*Cache, sstable.Key) bool
		least      int // percent; without records it is 92 and 78
	}{
		{"small, not asked about", 2000 * (8000 + entryOverhead), 8000, always, 96},
		{"large", 89 * (100_000 + entryOverhead) / 10, 100_000, (*Cache).Admits, 90},
	} {
		hits, _ := zipf(test.room, test.size, (*Cache).Get, test.wants)
		noted, _ := zipf(test.room, test.size, noting, test.wants)
		t.Logf("%s: %d hits, %d with all reads noted", test.name, hits, noted)
		if hits < noted*test.least/100 {
			t.Errorf("%s: %d hits, %d with all reads noted", test.name, hits, noted)
		}
	}
}

func always(*Cache, sstable.Key) bool { return true }

// zipf reads blocks of one size with skewed frequencies, through a cache with room for a tenth
// of them, and returns how many reads hit the cache and how many put their block there.
func zipf(room, size int, get func(*Cache, sstable.Key) sstable.Block, wants func(*Cache, sstable.Key) bool) (hits, puts int) {
	const reads = 200_000
	c := New(int64(room))
	numbers := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 20, uint64(10*room/(size+entryOverhead)-1))
	for range reads {
		k := key(1, 4096*int(numbers.Uint64()))
		if get(c, k) != nil {
			hits++
		} else if wants(c, k) {
			c.Put(k, block(size))
			puts++
		}
	}
	return hits, puts
}
