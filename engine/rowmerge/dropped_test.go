package rowmerge

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// droppedOf counts what a reader must not see of a row, straight from the definition of each reason. What is left,
// seen versions and garbage by GC, is not in it.
func droppedOf(cells []cell.Cell, seq uint64, p *Policies, columns *cell.Columns) (d Dropped) {
	for i := range cells {
		c := &cells[i]
		family, _ := cell.SplitColumn(c.Column)
		policy, listed := p.family(family)
		hides := func(kind func(cell.Kind) bool) bool {
			return slices.ContainsFunc(cells[:i], func(o cell.Cell) bool {
				return kind(o.Kind) && o.Seq <= seq && o.Time == c.Time && bytes.Equal(o.Column, c.Column)
			})
		}
		covered := slices.ContainsFunc(cells[:i], func(o cell.Cell) bool {
			return o.Kind != cell.Set && o.Kind != cell.DeleteVersion && covers(&o, c) && o.Seq <= seq && o.Seq > c.Seq
		})
		switch {
		case c.Kind != cell.Set:
			d.Tombstones++
		case c.Seq > seq:
			d.Later++
		case hides(func(k cell.Kind) bool { return k == cell.DeleteVersion }):
			d.Deleted++
		case hides(func(k cell.Kind) bool { return k == cell.Set }):
			d.Overwritten++
		case !listed, policy.Since > 0 && c.Seq <= policy.Since:
			d.Garbage++
		case !columns.Contains(c.Column):
			d.Unselected++
		case covered:
			d.Deleted++
		}
	}
	return d
}

// TestDropped: each entry that a reader does not see is counted once, for the right reason, and counting does not
// change what it sees.
func TestDropped(t *testing.T) {
	var v Visibility
	var met Dropped
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		const maxSeq = 12
		policies, columns, seq := randomReader(rng, maxSeq)
		var got, want Dropped
		v.Init(seq, 100*second, policies, columns)
		v.Count(&got)
		for range 3 {
			cells := randomRow(rng, rng.IntN(40), maxSeq)
			row := droppedOf(cells, seq, policies, columns)
			visible := seenBy(cells, seq, 100*second, policies, columns)
			row.Garbage += uint64(len(cells)-len(visible)) - row.sum()
			if seen := seen(&v, rng, cells); !slices.Equal(seen, visible) {
				t.Fatalf("seed %d: saw %q, want %q", seed, seen, visible)
			}
			want.add(row)
		}
		if got != want {
			t.Fatalf("seed %d, snapshot %d, policies %+v:\n got %+v\nwant %+v", seed, seq, policies, got, want)
		}
		met.add(want)
	}
	if met.Tombstones == 0 || met.Later == 0 || met.Deleted == 0 || met.Overwritten == 0 || met.Unselected == 0 || met.Garbage == 0 {
		t.Errorf("a reason did not occur: %+v", met)
	}
	v.Init(1, 0, nil, nil)
	if v.dropped != nil {
		t.Error("Init does not end the counting")
	}
}

// TestDroppedByRangeTombstones: what a range tombstone over the row covers is deleted, also where the whole run is.
func TestDroppedByRangeTombstones(t *testing.T) {
	for _, single := range []bool{false, true} {
		cells := parseEntries("a:x @5 #3 v", "a:y @5 #3 v", "b:x @5 #3 v")
		run := runOf(cells)
		run.SingleVersion, run.EndOfRow, run.AllSelected = single, true, true
		var v Visibility
		var got Dropped
		v.Init(9, 0, nil, nil)
		v.Count(&got)
		v.BeginRow()
		v.DeleteBelow(7)
		if left := v.Visible(cells, &run); len(left) > 0 || got != (Dropped{Deleted: 3}) {
			t.Errorf("single version %v: %d cells left, dropped %+v", single, len(left), got)
		}
	}
}

func (d *Dropped) sum() uint64 {
	return d.Tombstones + d.Later + d.Deleted + d.Overwritten + d.Unselected + d.Garbage
}

func (d *Dropped) add(o Dropped) {
	d.Tombstones += o.Tombstones
	d.Later += o.Later
	d.Deleted += o.Deleted
	d.Overwritten += o.Overwritten
	d.Unselected += o.Unselected
	d.Garbage += o.Garbage
}
