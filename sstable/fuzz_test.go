package sstable

import (
	"bytes"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// FuzzSSTOpen damages an uncompressed file in several places, recomputes its checksums, and
// reads it in every way.
func FuzzSSTOpen(f *testing.F) {
	file, _, list := smallFile(f, testID, None)
	blocks := blocksOf(f, file, testID)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0xff, 1, 7, 0})
	last := len(file) - footerSize + 36
	f.Add([]byte{byte(last >> 8), byte(last), 9})
	for _, h := range blocks {
		f.Add([]byte{byte(h.offset >> 8), byte(h.offset), 3})
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		broken := bytes.Clone(file)
		for ; len(edits) >= 3; edits = edits[3:] {
			at := (int(edits[0])<<8 | int(edits[1])) % len(file)
			broken[at] = edits[2]
		}
		seal(broken, testID, blocks)
		readEach(broken, testID, new(testCache), list, func(read func()) { bounded(t, read) })
	})
}

// FuzzOpenAny opens any bytes.
func FuzzOpenAny(f *testing.F) {
	for c := None; c <= Zstd; c++ {
		file, _, _ := smallFile(f, testID, c)
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		readEach(file, testID, nil, nil, func(read func()) { bounded(t, read) })
	})
}

// FuzzBlockIter parses any bytes as a cell block, past all checksums, and walks over it if
// it is valid.
func FuzzBlockIter(f *testing.F) {
	file, _, _ := smallFile(f, testID, None)
	r := open(f, file, testID, nil)
	for _, h := range blocksOf(f, file, testID) {
		raw, err := r.readOwned(h, maxIndex, new(readBuffer))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = append(resize(nil, len(raw))[:0], raw...)
		var b cellBlock
		if b.parse(raw) != nil {
			return
		}
		for r := range b.rows {
			key := b.appendRow(nil, r)
			b.findRow(key)
			first, end := b.rowCells(r)
			base := b.rowValue(r, first)
			for i := first; i < end; i++ {
				from := b.valueStart(first, i)
				to := b.valueEnd(i, from)
				if from > to || base+to > b.valueBytes {
					t.Fatalf("cell %d: value from %d to %d of %d", i, base+from, base+to, b.valueBytes)
				}
				if b.smallBlocks == 0 {
					_ = b.values[base+from : base+to]
				} else if from < to {
					b.small(b.findSmall(base + from))
				}
				if c := b.keyAt(i); c.Kind >= cell.KindCount || c.Type >= cell.TypeCount {
					t.Fatalf("cell %d: %+v", i, c)
				}
				if v, ok := b.reference(i); ok {
					b.large(int(v.block))
				}
			}
		}
	})
}

// FuzzFilterMayContain builds a filter of keys and asks for each, before and after it is
// stored. It also opens the bytes as a filter.
func FuzzFilterMayContain(f *testing.F) {
	f.Add([]byte("a\nb\nc"), 10)
	f.Add([]byte{}, 1)
	f.Add(filterOf(50, 10).append(nil), 40)
	f.Fuzz(func(t *testing.T, data []byte, bits int) {
		var any Filter
		if any.parse(data) == nil {
			any.Ask(HashRow(data))
			any.MayContain(HashRow(data))
		}
		keys := bytes.Split(data, []byte("\n"))
		list := make([]entry, len(keys))
		for i, k := range keys {
			list[i] = entry{append(k, 'x'), set("f\x00q", 1, 1)}
		}
		list = sortEntries(list)
		bits = bits % 64
		file, _ := build(t, list, WriterOptions{ID: testID, FilterBits: bits})
		r := open(t, file, testID, nil)
		for _, e := range list {
			if ok, err := mayContain(r, e.row); !ok || err != nil {
				t.Fatalf("MayContain(%q): %v, %v", e.row, ok, err)
			}
		}
	})
}
