package lsmstore

import (
	"bytes"
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Garbage implements widecol.Store. It reads the family as it is now.
func (s *Store) Garbage(ctx context.Context, name, familyName string, gc widecol.GC) (g widecol.Garbage, err error) {
	t, err := s.beginOn(name)
	if err != nil {
		return g, err
	}
	defer s.calls.Done()
	v, err := s.viewOf(t)
	if err != nil {
		return g, err
	}
	defer v.Close()
	if v.schema.family([]byte(familyName)) == nil {
		return g, widecol.UnknownFamily(name, familyName)
	}
	if err := widecol.CheckGC(gc); err != nil {
		return g, err
	}
	q := widecol.NewQuery()
	q.Filter.Columns = cell.NewColumns(cell.FamilyRange([]byte(familyName)))
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return g, err
	}
	defer rows.Close()
	c := garbageCounter{gc: gc, now: v.now}
	for rows.Next() {
		if rows.First() {
			c.beginRow()
		}
		c.add(rows.Row(), rows.Cells())
	}
	return c.Garbage, rows.Err()
}

// garbageCounter counts the versions that a policy drops. They come in order.
type garbageCounter struct {
	widecol.Garbage
	gc     widecol.GC
	now    int64
	column []byte
	newer  int64 // newer versions of the column that stay
	found  bool  // one of the row
}

func (g *garbageCounter) beginRow() { g.column, g.newer, g.found = g.column[:0], 0, false }

func (g *garbageCounter) add(row []byte, cells []cell.Cell) {
	for i := range cells {
		c := &cells[i]
		if !bytes.Equal(c.Column, g.column) {
			g.column, g.newer = append(g.column[:0], c.Column...), 0
		}
		if !g.gc.Gone(c.Time, g.now, g.newer) {
			g.newer++
			continue
		}
		if !g.found {
			g.found = true
			g.Rows++
		}
		g.Cells++
		g.Bytes += int64(len(row) + len(c.Column) + 8 + len(c.Value))
	}
}
