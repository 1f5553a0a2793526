package blockcache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/sstable"
)

type block int

func (b block) Memory() int { return int(b) }

func key(file, offset int) sstable.Key {
	return sstable.Key{File: uint64(file), Offset: uint64(offset)}
}

func TestGetPut(t *testing.T) {
	c := New(1 << 20)
	if got := c.Get(key(1, 0)); got != nil {
		t.Errorf("empty cache has %v", got)
	}
	c.Put(key(1, 0), block(100))
	c.Put(key(1, 8), block(200))
	c.Put(key(2, 0), block(300))
	for k, want := range map[sstable.Key]sstable.Block{key(1, 0): block(100), key(1, 8): block(200), key(2, 0): block(300), key(2, 8): nil} {
		if got := c.Get(k); got != want {
			t.Errorf("Get(%v) = %v, want %v", k, got, want)
		}
	}
	if c.Count() != 3 || c.Bytes() != 600+3*entryOverhead {
		t.Errorf("%d blocks of %d bytes", c.Count(), c.Bytes())
	}
}

func TestBudget(t *testing.T) {
	const budget = 1 << 20
	c := New(budget)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20_000 {
		c.Put(key(r.IntN(20), i), block(r.IntN(20_000)))
		if i%3 == 0 {
			c.Get(key(r.IntN(20), r.IntN(i+1)))
		}
		if got := c.Bytes(); got > budget {
			t.Fatalf("after %d blocks: %d bytes, budget %d", i+1, got, budget)
		}
	}
	if got := c.Bytes(); got < budget*8/10 {
		t.Errorf("only %d bytes of %d in use", got, budget)
	}
	if c.Count() < 50 || c.Count() > 200 {
		t.Errorf("%d blocks", c.Count())
	}
}

func TestTooLarge(t *testing.T) {
	c := New(1000)
	c.Put(key(1, 0), block(5000))
	if c.Count() != 0 || c.Bytes() != 0 {
		t.Errorf("a block above the budget stays: %d blocks, %d bytes", c.Count(), c.Bytes())
	}
	c = New(0)
	c.Put(key(1, 0), block(1))
	if c.Get(key(1, 0)) != nil || c.Bytes() != 0 {
		t.Error("a cache without a budget keeps blocks")
	}
}

// Reservations leave less for blocks, but never less than half, until they are released.
func TestReserve(t *testing.T) {
	const budget = 100_000
	c := New(budget)
	fill := func() {
		for i := range 1000 {
			c.Put(key(9, i), block(1000-entryOverhead))
		}
	}
	fill()
	for i, test := range []struct {
		file  uint64
		bytes int
		ok    bool
	}{{1, 20_000, true}, {2, 29_000, true}, {3, 1001, false}, {1, 1000, true}, {2, 1, false}} {
		if ok := c.Reserve(test.file, test.bytes); ok != test.ok {
			t.Errorf("reservation %d: %v, want %v", i, ok, test.ok)
		}
		if got := c.Bytes(); got > budget {
			t.Errorf("reservation %d: %d bytes in all, budget %d", i, got, budget)
		}
	}
	if c.Count() > 50 || c.Bytes() < 50_000 {
		t.Errorf("half is reserved: %d blocks, %d bytes in all", c.Count(), c.Bytes())
	}
	c.Release(1)
	c.Release(1)
	c.Release(7)
	if !c.Reserve(3, 21_000) || c.Reserve(4, 1) {
		t.Error("what was released is not all there is to reserve")
	}
	c.Release(2)
	c.Release(3)
	fill()
	if c.Count() < 90 || c.Bytes() > budget {
		t.Errorf("all is released: %d blocks of %d bytes", c.Count(), c.Bytes())
	}
	if New(0).Reserve(1, 1) {
		t.Error("a cache without a budget has something to reserve")
	}
}

func TestConcurrent(t *testing.T) {
	c := New(200_000)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 5000 {
				k := key(i%7, (i*31+g)%400)
				if b := c.Get(k); b != nil && b != block(k.Offset+1000) {
					t.Errorf("Get(%v) = %v", k, b)
					return
				}
				if c.Admits(k) {
					c.Put(k, block(k.Offset+1000))
				}
				if i%1000 == 0 {
					c.Reserve(uint64(g), 1000)
					c.Release(uint64(g))
				}
			}
		})
	}
	wait.Wait()
	if got := c.Bytes(); got > 200_000 {
		t.Errorf("%d bytes, budget 200000", got)
	}
}

// A file that is read through the cache twice is read once from the device, and a scan
// without FillCache leaves nothing behind.
func TestReader(t *testing.T) {
	var file bytes.Buffer
	id := sstable.ID{Number: 5}
	w := sstable.NewWriter(&file, sstable.WriterOptions{ID: id, Compression: sstable.S2})
	for i := range 20_000 {
		c := cell.Cell{Column: []byte("f\x00q"), Value: fmt.Appendf(nil, "value %d", i), Time: int64(i), Type: cell.String}
		if err := w.Add(fmt.Appendf(nil, "row%06d", i), []cell.Cell{c}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	cache := New(16 << 20)
	reads := &countingReader{r: bytes.NewReader(file.Bytes())}
	r, err := sstable.Open(reads, info.Size, id, cache)
	if err != nil {
		t.Fatal(err)
	}
	scan := func(o sstable.ReadOptions) (cells, n int) {
		before := reads.n.Load()
		it := r.NewIterator(o)
		defer it.Close()
		for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
			cells += len(it.Cells(nil))
		}
		if it.Err() != nil || cells != 20_000 {
			t.Fatalf("%d cells, %v", cells, it.Err())
		}
		return cells, int(reads.n.Load() - before)
	}
	scan(sstable.ReadOptions{})
	if cache.Count() != 0 || cache.Bytes() == 0 { // except the index
		t.Errorf("a scan without Fill leaves %d blocks, %d bytes with the index", cache.Count(), cache.Bytes())
	}
	if _, n := scan(sstable.ReadOptions{FillCache: true}); n == 0 || cache.Count() < 10 || cache.Bytes() > 4<<20 {
		t.Errorf("a scan with Fill: %d reads, %d blocks of %d bytes", n, cache.Count(), cache.Bytes())
	}
	for _, fill := range []bool{false, true} {
		if _, n := scan(sstable.ReadOptions{FillCache: fill}); n != 0 {
			t.Errorf("a cached scan, fill %v: %d reads", fill, n)
		}
	}
}

type countingReader struct {
	r *bytes.Reader
	n atomic.Int64
}

func (c *countingReader) ReadAt(p []byte, offset int64) (int, error) {
	c.n.Add(1)
	return c.r.ReadAt(p, offset)
}

func BenchmarkGet(b *testing.B) {
	c := New(64 << 20)
	for i := range 4000 {
		c.Put(key(i%50, i), block(8<<10))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Get(key(i%50, i))
		i = (i + 1) % 4000
	}
}

func BenchmarkPut(b *testing.B) {
	c := New(64 << 20)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Put(key(i%50, i), block(8<<10))
		i++
	}
}
