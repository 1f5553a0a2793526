//go:build race

package lsmstore

import (
	"bytes"
	"testing"

	"github.com/colonnade-db/colonnade/internal/poison"
)

// TestReleasedWriter: a write poisons its column when it ends, as engine.Batch does with its
// memory.
func TestReleasedWriter(t *testing.T) {
	column := []byte("f\x00q")
	w := newWriter(nil, nil) // as writes have it: it goes to those that come
	w.column = column
	if w.release(); bytes.Count(column, []byte{poison.Byte}) < len(column) {
		t.Errorf("still %q", column)
	}
}
