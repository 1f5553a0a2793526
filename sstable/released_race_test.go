//go:build race

package sstable

import (
	"bytes"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/poison"
)

// TestReleasedIterator: closing an iterator poisons the memory it has returned: its own buffers and
// readahead windows, but not cached blocks, which other readers share.
func TestReleasedIterator(t *testing.T) {
	twoCores(t)
	many, list := longFile(t)
	stored := []entry{{[]byte("row"), cell.Cell{Column: []byte("f\x00q"), Value: []byte("value"), Type: cell.Bytes}}}
	single, _ := build(t, stored, WriterOptions{ID: testID, Compression: None})
	large := []entry{{[]byte("row"), cell.Cell{Column: []byte("f\x00q"), Value: bytes.Repeat([]byte("v"), 64<<10), Type: cell.Bytes}}}
	huge, _ := build(t, large, WriterOptions{ID: testID, Compression: S2})
	for _, test := range []struct {
		name  string
		file  []byte
		list  []entry
		rows  int // to walk over
		cache Cache
		o     ReadOptions
		stays bool
	}{
		{name: "read buffer", file: single, list: stored},
		{name: "decompressed", file: many, list: list},
		{name: "large value", file: huge, list: large},
		{name: "readahead", file: many, list: list, rows: 5000},
		{name: "cache", file: single, list: stored, cache: new(testCache), o: ReadOptions{FillCache: true}, stays: true},
	} {
		it := open(t, test.file, testID, test.cache).NewIterator(test.o)
		it.SeekRow(nil)
		_, active := walk(it, test.rows)
		if active != (test.rows > 0) {
			t.Fatalf("%s: readahead %v", test.name, active)
		}
		row, c := it.Row(), it.Cells(nil)[0]
		value := bytes.Clone(c.Value)
		it.Close()
		for what, b := range map[string][]byte{"row": row, "column": c.Column, "value": c.Value} {
			if what == "value" && test.stays {
				if !bytes.Equal(b, value) {
					t.Errorf("%s: the value became %q", test.name, b)
				}
			} else if len(b) == 0 || bytes.Count(b, []byte{poison.Byte}) < len(b) {
				t.Errorf("%s: the %s is still %q", test.name, what, b[:min(len(b), 80)])
			}
		}
	}
}

// TestReleasedReadBuffer: buffers of reads that keep none of their bytes are poisoned, too.
func TestReleasedReadBuffer(t *testing.T) {
	b := []byte("as it is in the file")
	w := readBuffer{b: b}
	if w.trim(); bytes.Count(b, []byte{poison.Byte}) < len(b) {
		t.Errorf("still %q", b)
	}
}
