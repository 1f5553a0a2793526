package sstable

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// TestReadCounts: a read of all of a file counts each of its blocks, as read from the file or from the cache, and the
// bytes that the first took without compression; one without values counts no value blocks, and one of a column
// counts the cells of the others.
func TestReadCounts(t *testing.T) {
	var list []entry
	values := 0
	for i := range 4000 {
		row := fmt.Appendf(nil, "row%05d", i)
		for q := range 3 {
			c := set(fmt.Sprintf("f\x00q%d", q), 1, 1)
			c.Type, c.Value = cell.Bytes, bytes.Repeat([]byte{byte(i), byte(q)}, 100)
			if q == 2 && i%10 == 0 {
				c.Value = bytes.Repeat(c.Value, 20) // a large one
			}
			values += len(c.Value)
			list = append(list, entry{row, c})
		}
	}
	column := cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("q1")))
	for _, o := range []WriterOptions{{ID: testID, Compression: S2}, {ID: testID, Compression: Zstd}, {ID: testID, Compression: None}} {
		file, info := build(t, list, o)
		for _, reverse := range []bool{false, true} {
			read := func(r *Reader, o ReadOptions) (counts ReadCounts) {
				o.Counts = &counts
				it := r.NewIterator(o)
				defer it.Close()
				if reverse {
					collectDown(it, nil, 1<<30)
				} else {
					collect(it, nil, 1<<30)
				}
				if it.Err() != nil {
					t.Fatal(it.Err())
				}
				return counts
			}
			all := ReadCounts{BlocksRead: info.CellBlocks, ValuesRead: info.ValueBlocks}
			r := open(t, file, testID, nil)
			got := read(r, ReadOptions{})
			if n := got.BytesDecompressed; n < uint64(values) || n > 2*uint64(values) {
				t.Errorf("%v, reverse %v: %d bytes without compression, with %d of values", o.Compression, reverse, n, values)
			}
			all.BytesDecompressed = got.BytesDecompressed
			if got != all || info.ValueBlocks < 20 {
				t.Errorf("%v, reverse %v: %+v, want %+v", o.Compression, reverse, got, all)
			}
			keys := read(r, ReadOptions{KeysOnly: true})
			if keys.ValuesRead != 0 || keys.BlocksRead != info.CellBlocks || keys.BytesDecompressed > all.BytesDecompressed-uint64(values) {
				t.Errorf("%v, reverse %v: without values %+v", o.Compression, reverse, keys)
			}
			one := read(r, ReadOptions{Columns: column})
			if one.CellsLeftOut != 8000 || one.BlocksRead != info.CellBlocks {
				t.Errorf("%v, reverse %v: of a column %+v", o.Compression, reverse, one)
			}
			cached := open(t, file, testID, &testCache{room: 1 << 30})
			read(cached, ReadOptions{FillCache: true})
			got = read(cached, ReadOptions{FillCache: true})
			if got.BlocksCached != info.CellBlocks || got.BlocksRead+got.ValuesRead+got.BytesDecompressed > 0 {
				t.Errorf("%v, reverse %v: with a cache %+v", o.Compression, reverse, got)
			}
		}
	}
}
