package wal

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// random returns n bytes that depend on the seed alone.
func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestShiftIsZeroBytes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 255, 256, 511, 4096, 70001} {
		reg := uint32(0xdeadbeef) + uint32(n)
		if got, want := shift(reg, int64(n)), advance(reg, make([]byte, n)); got != want {
			t.Errorf("shift by %d: got %#x, want %#x", n, got, want)
		}
	}
}

func TestPrefixOfAnyRange(t *testing.T) {
	const size = 300_000 // more than one read of the marks
	data := random(1, size)
	for _, base := range []int64{0, 1, 511, 777} {
		sums := rangeSums{src: source{file: bytes.NewReader(data), size: size, number: 1}, base: base}
		r := rand.New(rand.NewPCG(2, uint64(base)))
		check := func(from, to int64) {
			t.Helper()
			got, err := sums.crc(12345, from, to)
			must(t, err)
			if want := crc32.Update(12345, castagnoli, data[from:to]); got != want {
				t.Errorf("base %d, bytes %d to %d: got %#x, want %#x", base, from, to, got, want)
			}
		}
		check(base, base)
		check(base, base+1)
		check(base+5, base+step)
		for range 300 {
			from := base + r.Int64N(size-base)
			check(from, from+r.Int64N(size-from+1))
		}
		check(base, size)
		check(size, size)
	}
}

func TestLocateEveryBit(t *testing.T) {
	data := random(3, 1500)
	sum := crc32.Checksum(data, castagnoli)
	for i := range data {
		for bit := range 8 {
			mask := byte(1) << bit
			data[i] ^= mask
			back, got := locateFlip(crc32.Checksum(data, castagnoli)^sum, int64(len(data)))
			data[i] ^= mask
			if at := int64(len(data)) - back; at != int64(i) || got != mask {
				t.Fatalf("got mask %#x at %d, want %#x at %d", got, at, mask, i)
			}
		}
	}
	// A bit that lies before the bytes asked for is not found.
	data[10] ^= 1
	if _, mask := locateFlip(crc32.Checksum(data, castagnoli)^sum, int64(len(data)-11)); mask != 0 {
		t.Errorf("got mask %#x for a bit outside the range, want none", mask)
	}
}
