package sstable

import (
	"encoding/binary"
	"runtime/metrics"
	"testing"
)

// allocated is the sum of all that this process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// mostMemory is what one read of a damaged file may take at most.
const mostMemory = 64 << 20

// bounded runs f and complains if it takes too much memory.
func bounded(t *testing.T, f func()) {
	t.Helper()
	before := allocated()
	f()
	if n := allocated() - before; n > mostMemory {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestClaimedLength: a block that claims to be long, and has a checksum to go with
// that, gets no memory for it.
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

// TestQuietFrame: a Zstandard frame that does not say how long its content is may not claim to be
// large, or else it would be given memory for it.
func TestQuietFrame(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0} // no content size, and an empty last block
	if err := checkLength(Zstd, frame, minSizedFrame-1); err != nil {
		t.Errorf("a small one: %v", err)
	}
	if err := checkLength(Zstd, frame, minSizedFrame); err != errRawLength {
		t.Errorf("a large one: got %v, want %v", err, errRawLength)
	}
}
