package lsmstore

import (
	"bytes"
	"cmp"
	"sort"

	"github.com/colonnade-db/colonnade/cell"
)

// mergingRows is what rows needs when a family of its query moves. The family's cells are then in two partitions,
// each cell in one. So runs are merged by column and time, and the version limit, which each partition has applied
// to what it has, is applied to all: a version that is over the limit in one partition is so among all of them.
// What the query selects by time or value comes after that.
type mergingRows struct {
	view      *view
	bare      bool // without garbage collection
	selective bool // as rows.selective, which is false

	column []byte // of the last cell
	gc     cell.GC
	newer  int64 // newer versions of the column that are not garbage
}

func newMergingRows(v *view, selective bool) *mergingRows {
	home := v.schema.moving[0].partition
	return &mergingRows{view: v, selective: selective, bare: v.policies[home] == v.schema.bare[home]}
}

func (m *mergingRows) beginRow() { m.column = m.column[:0] }

// nextMerged is nextRun for a query of families that move.
func (r *rows) nextMerged() []cell.Cell {
	for {
		run := r.mergedRun()
		if run == nil {
			return nil
		}
		if !r.merging.bare {
			n := len(run)
			run = r.merging.dropGarbage(run)
			if r.explain != nil {
				r.explain.dropped.Garbage += int64(n - len(run))
			}
		}
		if r.merging.selective {
			run = r.appendSelected(run[:0], run)
		}
		if r.err != nil {
			return nil
		}
		if len(run) > 0 {
			return run
		}
	}
}

// mergedRun returns the next cells of the row that come before those of all other partitions.
func (r *rows) mergedRun() []cell.Cell {
	var lowest *part
	var bound *cell.Cell // the first cell of another partition
	for i := range r.parts {
		p := &r.parts[i]
		if len(p.cells) == 0 && !p.drained && !r.fill(p) {
			return nil
		}
		if p.drained {
			continue
		}
		c := &p.cells[0]
		switch {
		case lowest == nil:
			lowest = p
		case comparePlace(c, &lowest.cells[0]) < 0:
			lowest, bound = p, &lowest.cells[0]
		case bound == nil || comparePlace(c, bound) < 0:
			bound = c
		}
	}
	if lowest == nil {
		return nil
	}
	run := lowest.cells
	if n := len(run); bound != nil && comparePlace(&run[n-1], bound) > 0 {
		run = run[:sort.Search(n, func(i int) bool { return comparePlace(&run[i], bound) > 0 })]
	}
	lowest.cells = lowest.cells[len(run):]
	return run
}

// comparePlace compares versions in the order of a row: by column, the newest first.
func comparePlace(a, b *cell.Cell) int {
	return cmp.Or(bytes.Compare(a.Column, b.Column), cmp.Compare(b.Time, a.Time))
}

// dropGarbage drops, in place, the versions of families that move that are garbage among those of both partitions.
func (m *mergingRows) dropGarbage(run []cell.Cell) []cell.Cell {
	kept := run[:0]
	for i := range run {
		c := &run[i]
		if !bytes.Equal(c.Column, m.column) {
			m.enterColumn(c.Column)
		}
		if m.gc.Gone(c.Time, m.view.now, m.newer) {
			continue
		}
		m.newer++
		kept = append(kept, *c)
	}
	return kept
}

func (m *mergingRows) enterColumn(column []byte) {
	m.column = append(m.column[:0], column...)
	m.newer, m.gc = 0, cell.GC{}
	name, _ := cell.SplitColumn(column)
	if f := m.view.schema.family(name); f != nil && f.from != nil {
		m.gc = f.gc
	}
}
