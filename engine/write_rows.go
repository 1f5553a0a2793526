package engine

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
)

// What flushes and compactions have in common: entries of a source go through a Filter into an output,
// row by row.

// yieldCells is the number of entries, about a tenth of a millisecond, after which a flush or
// compaction yields its CPU. The scheduler would preempt it only after 10 ms, and Commits that are
// queued on that CPU would wait for that long.
//
// 512: the p99 of 64 writers was 1.61, 1.16, 1.11 and 0.98 ms with 2,048, 512, 256 and 128.
const yieldCells = 512

// writeAll writes the entries of src that rowmerge.Filter keeps into out and finishes it. src must
// have as many entries as entries says. isBottommost is as in Filter.Init.
func (db *DB) writeAll(out *output, src rowmerge.Source, entries int, isBottommost func(row []byte) bool) error {
	read, err := db.writeRows(out, src, rowRange{}, isBottommost)
	if err == nil && read != entries {
		err = out.p.miscounted(entries, read)
	}
	return err
}

// rowRange is the rows from start up to end, end not included. A nil end is open.
type rowRange struct{ start, end []byte }

// reaches reports whether a row is at or after the end.
func (r *rowRange) reaches(row []byte) bool {
	return r.end != nil && bytes.Compare(row, r.end) >= 0
}

// writeRows is writeAll for a range of rows. It returns how many entries it has read.
func (db *DB) writeRows(out *output, src rowmerge.Source, rows rowRange, isBottommost func(row []byte) bool) (read int, err error) {
	var filter rowmerge.Filter
	filter.Init(db.visible.Load(), db.opt.Clock.Now(), out.p.policies.Load(), isBottommost)
	deleted := newDeleted(out.deleted)
	var cells []cell.Cell
	yield := yieldCells
	for src.SeekRow(rows.start); src.Row() != nil && !rows.reaches(src.Row()); src.NextRow() {
		if err := out.unneeded(); err != nil {
			return 0, err
		}
		if read >= yield {
			yield = read + yieldCells
			out.yield()
		}
		row := src.Row()
		filter.BeginRow(row)
		if deleted != nil {
			filter.DeleteBelow(deleted.Newest(row))
		}
		for first := true; ; {
			cells = src.Cells(cells[:0])
			if len(cells) == 0 {
				break
			}
			read += len(cells)
			if kept := filter.Keep(cells, src.Run()); len(kept) > 0 {
				if err := out.add(row, first, kept); err != nil {
					return 0, err
				}
				first = false
			}
		}
	}
	if err := src.Err(); err != nil {
		return 0, readError{out.p.inTable(err)}
	}
	if err := out.finish(); err != nil {
		return 0, err
	}
	if dropped := int(filter.Dropped()); read != int(out.cells)+dropped {
		return 0, out.p.inconsistent("%d entries read, %d written, %d left out", read, out.cells, dropped)
	}
	return read, nil
}

// newDeleted returns a cursor over range tombstones, nil if there are none.
func newDeleted(sets []*rangedel.Set) *rangedel.Cursor {
	if len(sets) == 0 {
		return nil
	}
	c := new(rangedel.Cursor)
	c.Init(sets)
	return c
}

// miscounted quarantines a partition whose memtable or files have an unexpected number of entries.
func (p *partition) miscounted(entries, read int) error {
	return p.quarantine("%d entries expected, %d read", entries, read)
}
