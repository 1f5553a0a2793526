package sstable

import (
	"bytes"
	"runtime"
	"testing"
)

func TestDecompress(t *testing.T) {
	raw := bytes.Repeat([]byte("some text that repeats itself, "), 100)
	for c := S2; c <= Zstd; c++ {
		stored, used := compress(c, nil, raw)
		if used != c {
			t.Fatalf("%v: stored as %v", c, used)
		}
		for _, n := range []int{0, 1, len(raw) - 1, len(raw) + 1, 2 * len(raw)} {
			if err := checkLength(c, stored, uint32(n)); err == nil {
				t.Errorf("%v: %d bytes decompressed to %d", c, len(raw), n)
			}
		}
		got := resize(nil, len(raw))
		if err := decompress(c, got, stored); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if err := decompress(Zstd+1, resize(nil, 1), []byte{1}); err == nil {
		t.Error("unknown compression accepted")
	}
}

// A block that does not compress is stored as it is.
func TestIncompressible(t *testing.T) {
	g := newGenerator(6)
	raw := make([]byte, 10_000)
	for i := range raw {
		raw[i] = byte(g.Uint32())
	}
	for c := None; c <= Zstd; c++ {
		stored, used := compress(c, nil, raw)
		if used != None || !bytes.Equal(stored, raw) {
			t.Errorf("%v: noise of %d bytes stored in %d as %v", c, len(raw), len(stored), used)
		}
	}
	clear(raw[:800]) // saves less than an eighth
	if stored, used := compress(S2, nil, raw); used != None {
		t.Errorf("%d bytes stored in %d as %v", len(raw), len(stored), used)
	}
}

// Coders are shared and start no goroutines.
func TestNoGoroutines(t *testing.T) {
	list := benchEntries(3000)
	before := runtime.NumGoroutine()
	file, info := build(t, list, WriterOptions{ID: testID, Compression: Zstd})
	if err := open(t, file, testID, nil).Verify(info.Checksum); err != nil {
		t.Fatal(err)
	}
	if after := runtime.NumGoroutine(); after != before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}
