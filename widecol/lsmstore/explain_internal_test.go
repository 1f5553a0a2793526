package lsmstore

import (
	"reflect"
	"testing"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestTakeOver: what scans count is all in the explanation, each number at its place.
func TestTakeOver(t *testing.T) {
	var c engine.ScanCounts
	next := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			next++
			switch f.Kind() {
			case reflect.Struct:
				fill(f)
			case reflect.Int:
				f.SetInt(int64(next))
			case reflect.Uint64:
				f.SetUint(uint64(next))
			}
		}
	}
	l := &c.Levels[3]
	fill(reflect.ValueOf(l).Elem())
	fill(reflect.ValueOf(&c.Dropped).Elem())
	c.Memtables, c.MemtableCellsLeftOut = 1000, 2000

	var to widecol.Explain
	e := &explaining{to: &to}
	p := to.Partition("p")
	e.takeOver(&c, p)
	want := widecol.ExplainedPartition{Name: "p", Memtables: 1000, Levels: []widecol.ExplainedLevel{{
		Level: 3, Files: int64(l.Files), FilesRead: int64(l.Opened), FilesDeleted: int64(l.Deleted), FilesOtherTimes: int64(l.OtherTimes),
		FilesExcluded: int64(l.Excluded), FilesOtherFamilies: int64(l.OtherFamilies), BloomAsked: int64(l.Asked),
		BlocksRead: int64(l.BlocksRead), BlocksCached: int64(l.BlocksCached), ValuesRead: int64(l.ValuesRead), ValuesCached: int64(l.ValuesCached),
		BytesDecompressed: int64(l.BytesDecompressed), BlocksOtherTimes: int64(l.SkippedByTimes), BlocksOtherColumns: int64(l.SkippedByColumns),
	}}}
	d := &c.Dropped
	dropped := widecol.DroppedCells{
		Columns: 2000 + int64(l.CellsLeftOut+d.Unselected), Later: int64(d.Later), Deleted: int64(d.Deleted), Overwritten: int64(d.Overwritten), Garbage: int64(d.Garbage),
	}
	if !reflect.DeepEqual(*p, want) || e.dropped != dropped || to.Tombstones != int64(d.Tombstones) {
		t.Errorf("got  %+v, %+v\nwant %+v, %+v", *p, e.dropped, want, dropped)
	}
}
