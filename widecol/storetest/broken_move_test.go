package storetest

import (
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// moveBugs are bugs of stores that move families.
var moveBugs = []bug{
	{"a moved family is seen twice", true, true, func(b *broken) {
		moved := b.whatMoved()
		b.rows = func(r widecol.Rows) widecol.Rows {
			return &after{r, func(c cell.Cell) []cell.Cell {
				if moved[familyOf(c)] {
					return []cell.Cell{c, c}
				}
				return []cell.Cell{c}
			}}
		}
	}},
	{"a compaction loses a cell", true, false, func(b *broken) {
		b.compacted = func(table string) {
			all := b.contents(table)
			b.removeVersion(table, &all[len(all)-1])
		}
	}},
	{"a moved family lacks a cell", true, true, func(b *broken) {
		b.moved = func(table, family string) {
			for _, m := range slices.Backward(b.contents(table)) {
				if string(m.Family) == family {
					b.removeVersion(table, &m)
					return
				}
			}
		}
	}},
	{"a cell that is overwritten after a move is seen twice", true, true, func(b *broken) {
		moved := b.whatMoved()
		old := map[string]widecol.Mutation{} // by place
		place := func(row, column []byte, time int64) string { return fmt.Sprintf("%q %q %d", row, column, time) }
		placeOf := func(m *widecol.Mutation) string {
			return place(m.Row, cell.AppendColumn(nil, m.Family, m.Qualifier), m.Time)
		}
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			for _, before := range b.contents(table) {
				overwrites := func(m widecol.Mutation) bool { return placeOf(&m) == placeOf(&before) }
				if moved[string(before.Family)] && slices.ContainsFunc(ms, overwrites) {
					old[placeOf(&before)] = before
				}
			}
			return b.Store.Write(background, table, ms, key)
		}
		b.rows = func(r widecol.Rows) widecol.Rows {
			return &after{r, func(c cell.Cell) []cell.Cell {
				if before, ok := old[place(r.Row(), c.Column, c.Time)]; ok {
					again := c
					again.Type, again.Value = before.Type, before.Value
					return []cell.Cell{c, again}
				}
				return []cell.Cell{c}
			}}
		}
	}},
	{"the version limit counts what has moved apart", true, true, func(b *broken) {
		moved := b.whatMoved()
		b.view = func(table string) (widecol.View, error) {
			both := b.Store.Clone()
			t, err := both.Table(background, table)
			if err != nil {
				return nil, err
			}
			for _, f := range t.Families {
				if moved[f.Name] {
					f.GC.VersionLimit *= 2
					both.AlterFamily(background, table, f.Name, widecol.ChangeGC(f.GC))
				}
			}
			return both.View(background, table)
		}
	}},
	{"writes to a moved family are lost", true, true, func(b *broken) {
		moved := b.whatMoved()
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			for _, m := range ms {
				if err == nil && moved[string(m.Family)] && m.Time != widecol.CommitTime {
					b.removeVersion(table, &m)
				}
			}
			return time, err
		}
	}},
}

// whatMoved returns the set of families that were moved, kept up to date.
func (b *broken) whatMoved() map[string]bool {
	moved := map[string]bool{}
	b.moved = func(_, family string) { moved[family] = true }
	return moved
}

func familyOf(c cell.Cell) string {
	family, _ := cell.SplitColumn(c.Column)
	return string(family)
}

// after puts cells in the place of each cell.
type after struct {
	widecol.Rows
	of func(cell.Cell) []cell.Cell
}

func (r *after) Cells() (cells []cell.Cell) {
	for _, c := range r.Rows.Cells() {
		cells = append(cells, r.of(c)...)
	}
	return cells
}

func (r *after) Labels() (labels []string) {
	given := r.Rows.Labels()
	if given == nil {
		return nil
	}
	for i, c := range r.Rows.Cells() {
		for range r.of(c) {
			labels = append(labels, given[i])
		}
	}
	return labels
}
