//go:build race

package server

import (
	"bytes"
	"testing"

	"github.com/colonnade-db/colonnade/internal/poison"
)

// What a request has read and what it has written is poisoned when it is over.
func TestReleasedScratch(t *testing.T) {
	kept := map[string][]byte{"body": []byte("body"), "values": []byte("values"), "collected": []byte("collected"), "column": []byte("column")}
	s := &scratch{body: kept["body"], values: kept["values"], collected: kept["collected"], rows: rowWriter{own: kept["column"]}}
	s.reuse()
	for name, b := range kept {
		if bytes.Count(b, []byte{poison.Byte}) < len(b) {
			t.Errorf("%s: still %q", name, b)
		}
	}
}
