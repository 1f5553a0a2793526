//go:build race

package engine

import (
	"bytes"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/poison"
)

func poisoned(b []byte) bool { return len(b) > 0 && bytes.Count(b, []byte{poison.Byte}) == len(b) }

// TestReleasedBatch: a reset batch is poisoned, unless the log may still write it.
func TestReleasedBatch(t *testing.T) {
	for _, lent := range []bool{false, true} {
		var b Batch
		b.Add(1, []byte("row"), &cell.Cell{Column: []byte("f\x00q"), Value: []byte("v"), Type: cell.Bytes})
		b.lent = lent
		kept := b.buf
		if b.Reset(); poisoned(kept) == lent {
			t.Errorf("lent: %v, got %q", lent, kept)
		}
	}
}

// TestReleasedLoads: recovery poisons log batches after it has copied or inserted them.
func TestReleasedLoads(t *testing.T) {
	kept := []byte("batches")
	h := copyChunk{payloads: kept}
	if h.reset(); !poisoned(kept) {
		t.Errorf("to be copied: still %q", kept)
	}
	kept = []byte("batches")
	in := replayInserter{db: new(DB)}
	in.insert(&insertChunk{payloads: kept}, kept)
	if !poisoned(kept) {
		t.Errorf("to be inserted: still %q", kept)
	}
}
