//go:build race

package lsmstore

import (
	"bytes"
	"testing"

	"colonnade/internal/poison"
)

// The column of a write is poisoned when it is over, as its batch is (see engine.Batch).
func TestReleasedWriter(t *testing.T) {
	column := []byte("f\x00q")
	w := writer{column: column}
	if w.release(); bytes.Count(column, []byte{poison.Byte}) < len(column) {
		t.Errorf("still %q", column)
	}
}
