//go:build race

package http1

import (
	"bytes"
	"testing"

	"github.com/colonnade-db/colonnade/internal/poison"
)

// The bytes of an answer are poisoned when it is over.
func TestReleasedAnswer(t *testing.T) {
	b := []byte("answer")
	w := response{out: &b}
	kept := b
	if w.release(); bytes.Count(kept, []byte{poison.Byte}) < len(kept) {
		t.Errorf("still %q", kept)
	}
}
