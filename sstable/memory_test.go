package sstable

import (
	"encoding/binary"
	"runtime/metrics"
	"testing"
)

// allocated returns the bytes this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// mostMemory is the most one read of a damaged file may allocate.
const mostMemory = 64 << 20

// bounded runs f and fails if it allocates too much.
func bounded(t *testing.T, f func()) {
	t.Helper()
	before := allocated()
	f()
	if n := allocated() - before; n > mostMemory {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestClaimedLength: a forged block that claims to be long, with a valid checksum, gets no
// memory for it.
func TestClaimedLength(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		file, _, list := smallFile(t, testID, c)
		for _, h := range blocksOf(t, file, testID) {
			broken := append([]byte(nil), file...)
			end := h.end() - 8
			binary.LittleEndian.PutUint32(broken[end:], MaxValue)
			seal(broken, testID, []handle{h})
			bounded(t, func() {
				if o := readAll(broken, testID, nil, list); o.err == nil || o.verify == nil {
					t.Errorf("%v: a block at %d that claims %d bytes is read: %v, %v", c, h.offset, MaxValue, o.err, o.verify)
				}
			})
		}
	}
}

// TestQuietFrame: a Zstandard frame without a content size may not claim a large one, or
// else it would get memory for it.
func TestQuietFrame(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0} // no content size, and an empty last block
	if err := checkLength(Zstd, frame, minSizedFrame-1); err != nil {
		t.Errorf("a small one: %v", err)
	}
	if err := checkLength(Zstd, frame, minSizedFrame); err != errRawLength {
		t.Errorf("a large one: got %v, want %v", err, errRawLength)
	}
}
