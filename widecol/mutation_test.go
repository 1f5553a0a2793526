package widecol

import (
	"bytes"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

func TestMutationCheck(t *testing.T) {
	const maxValue = 100
	ok := func() Mutation {
		return Mutation{Row: []byte("r"), Family: []byte("f"), Value: []byte("v"), Type: cell.String}
	}
	size := func(n int) []byte { return bytes.Repeat([]byte("x"), n) }
	for _, tc := range []struct {
		name   string
		change func(m *Mutation)
		kind   Kind
		code   string // "" for no error
	}{
		{"plain", func(m *Mutation) {}, 0, ""},
		{"commit time", func(m *Mutation) { m.Time = CommitTime }, 0, ""},
		{"largest time", func(m *Mutation) { m.Time = cell.MaxTime }, 0, ""},
		{"past the largest time", func(m *Mutation) { m.Time = cell.MaxTime + 1 }, Invalid, "invalid_time"},
		{"before the epoch", func(m *Mutation) { m.Time = -2 }, Invalid, "invalid_time"},
		{"no row key", func(m *Mutation) { m.Row = nil }, Invalid, "invalid_row_key"},
		{"longest row key", func(m *Mutation) { m.Row = size(MaxRowKey) }, 0, ""},
		{"row key too long", func(m *Mutation) { m.Row = size(MaxRowKey + 1) }, Invalid, "invalid_row_key"},
		{"longest qualifier", func(m *Mutation) { m.Qualifier = size(MaxQualifier) }, 0, ""},
		{"qualifier too long", func(m *Mutation) { m.Qualifier = size(MaxQualifier + 1) }, Invalid, "invalid_column_key"},
		{"no value", func(m *Mutation) { m.Value = nil }, 0, ""},
		{"longest value", func(m *Mutation) { m.Value = size(maxValue) }, 0, ""},
		{"value too long", func(m *Mutation) { m.Value = size(maxValue + 1) }, TooLarge, "value_too_large"},
		{"no type", func(m *Mutation) { m.Type = cell.None }, Invalid, "invalid_value"},
		{"unknown type", func(m *Mutation) { m.Type = cell.TypeCount }, Invalid, "invalid_value"},
		{"value of another type", func(m *Mutation) { m.Type = cell.I64 }, Invalid, "invalid_value"},
	} {
		m := ok()
		tc.change(&m)
		err := m.Check(maxValue)
		switch {
		case err == nil && tc.code != "":
			t.Errorf("%s: no error, want %s", tc.name, tc.code)
		case err != nil && (err.Code != tc.code || err.Kind != tc.kind || err.Index != -1):
			t.Errorf("%s: %s of kind %d at %d, want %q of kind %d at -1", tc.name, err.Code, err.Kind, err.Index, tc.code, tc.kind)
		}
	}
}

// TestAppendsInPlace: rules that append to one column one after the other copy its value now and then, not each time.
func TestAppendsInPlace(t *testing.T) {
	const rules = 10_000
	r := Rule{Append: []byte("ü"), Type: cell.String}
	c, copies := &cell.Cell{Type: cell.String, Value: []byte("old ")}, 0
	for range rules {
		typ, value, err := r.Apply(c, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if &value[0] != &c.Value[0] {
			copies++
		}
		c = &cell.Cell{Type: typ, Value: value}
	}
	if want := "old " + strings.Repeat("ü", rules); string(c.Value) != want || c.Type != cell.String || copies > 100 {
		t.Errorf("%d bytes of type %v after %d copies", len(c.Value), c.Type, copies)
	}
}
