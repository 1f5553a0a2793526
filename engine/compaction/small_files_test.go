package compaction

import (
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

// TestSmallFileBudget: small-file compactions may merge a fraction of the flushed bytes. A small
// compaction costs a minimum. The unused budget does not grow to that of a large compaction.
func TestSmallFileBudget(t *testing.T) {
	const memtableBytes = 1 << 20
	small := manifesttest.Version("0: 9[a-b]:10 8[a-b]:10", "7: 1[a-c]:10")
	b := NewSmallFileBudget(memtableBytes)
	if b.Covers(small) {
		t.Error("an empty budget covers a compaction")
	}
	b.Flushed(smallFileShare * memtableBytes / leastCost)
	if !b.Covers(small) {
		t.Error("a budget of the least cost does not cover a small compaction")
	}
	if v := manifesttest.Version("0: 9[a-b]:10"); b.Covers(v) {
		t.Error("covers one file, which there is nothing to merge with")
	}
	if v := manifesttest.Version("0: 9[a-b]:10 8[a-b]:3000"); b.Covers(v) {
		t.Error("covers files of more bytes than it has")
	}
	b.Spend(Level0Inputs(small))
	if b.Covers(small) {
		t.Error("what was spent covers another compaction")
	}
	for range 100 {
		b.Flushed(memtableBytes)
	}
	if b.allowance != memtableBytes/mostAllowance {
		t.Errorf("has %d after many flushes, want %d", b.allowance, memtableBytes/mostAllowance)
	}
}
