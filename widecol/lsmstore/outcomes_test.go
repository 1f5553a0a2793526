package lsmstore

import (
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestBadEntries: entries of idempotency keys that no request has left are damage, and cause no panic.
func TestBadEntries(t *testing.T) {
	for _, text := range []string{`[{"row":2}]`, `[{"row":-1}]`, `[`, ``} {
		if _, err := decodeOutcomes([]byte(text), 2); widecol.KindOf(err) != widecol.Corrupt {
			t.Errorf("outcomes %q of two rows: got %v, want damage", text, err)
		}
	}
	good := []cell.Cell{{Column: []byte("f\x00q"), Time: widecol.CommitTime, Type: cell.Bytes, Value: []byte("value")}}
	if got, err := decodeWritten(appendWritten(nil, good), 7); err != nil || len(got) != 1 || got[0].Time != 7 {
		t.Errorf("got %v, %v, want the version", got, err)
	}
	for name, change := range map[string]func(c *cell.Cell){
		"column": func(c *cell.Cell) { c.Column = []byte("f") },
		"type":   func(c *cell.Cell) { c.Type = cell.TypeCount },
		"time":   func(c *cell.Cell) { c.Time = -2 },
	} {
		c := good[0]
		change(&c)
		if _, err := decodeWritten(appendWritten(nil, []cell.Cell{c}), 7); widecol.KindOf(err) != widecol.Corrupt {
			t.Errorf("a version with a bad %s: got %v, want damage", name, err)
		}
	}
	whole := appendWritten(nil, good)
	for n := 1; n < len(whole); n++ {
		if _, err := decodeWritten(whole[:n], 7); widecol.KindOf(err) != widecol.Corrupt {
			t.Errorf("the first %d bytes: got %v, want damage", n, err)
		}
	}
}
