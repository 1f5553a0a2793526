package lsmstore

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// explaining collects what a query does, for its Explain; rows has one only if the query does. What the engine and
// the filter tree count by themselves is taken over at the end.
type explaining struct {
	to         *widecol.Explain
	counts     []engine.ScanCounts // of rows.partitions
	scanned    []cell.Scanned      // the same, by the scans that are closed
	dropped    widecol.DroppedCells
	pushedDown widecol.QueryParts
	checked    widecol.QueryParts
	nothing    bool            // the query selects nothing
	again      widecol.Explain // reads of rows once more, to decide about conditions
}

// explainQuery prepares to explain r, whose query is what is left of q when parts of the filter tree are pushed down.
func (r *rows) explainQuery(q *widecol.Query, parts widecol.QueryParts) {
	n := len(r.partitions)
	e := &explaining{to: q.Explain, counts: make([]engine.ScanCounts, n), scanned: make([]cell.Scanned, n), pushedDown: parts}
	r.explain = e
	e.nothing = n == 0 || len(q.Rows) == 0 || q.RowLimit == 0 || q.CellLimit == 0 || q.RowCellLimit == 0 || q.ColumnCellLimit == 0
	add := func(to *widecol.QueryParts, part widecol.QueryParts, is bool) {
		if is {
			*to |= part
		}
	}
	families, columns := r.view.schema.selectedBy(q.Filter.Columns)
	add(&e.pushedDown, widecol.PartFamilies, families)
	add(&e.pushedDown, widecol.PartColumns, columns)
	add(&e.pushedDown, widecol.PartRows, len(q.Rows) != 1 || len(q.Rows[0].Start) > 0 || q.Rows[0].End != nil)
	add(&e.pushedDown, widecol.PartTimes, q.Times != widecol.AllTimes)
	add(&e.pushedDown, widecol.PartVersions, q.ColumnCellLimit != widecol.NoLimit && r.skipsVersions())
	add(&e.pushedDown, widecol.PartKeysOnly, leavesOutValues(r.q))
	add(&e.checked, widecol.PartTimes, q.Times != widecol.AllTimes)
	add(&e.checked, widecol.PartFilterTimes, parts&widecol.PartFilterTimes != 0)
	add(&e.checked, widecol.PartValues, q.Value != nil)
	add(&e.checked, widecol.PartFilter, r.filter != nil)
}

// selectedBy reports whether columns leave out families, and whether they leave out a part of one.
func (s *schema) selectedBy(columns *cell.Columns) (families, partly bool) {
	for _, f := range s.sorted {
		if !columns.Overlaps([]byte(f.name)) {
			families = true
			continue
		}
		all := cell.FamilyRange([]byte(f.name))
		whole := columns == nil
		for _, r := range columns.Ranges() {
			whole = whole || bytes.Compare(r.Start, all.Start) <= 0 && (r.End == nil || bytes.Compare(r.End, all.End) >= 0)
		}
		partly = partly || !whole
	}
	return families, partly
}

// closed takes over what the scan of partition i has passed, which is about to be closed.
func (e *explaining) closed(i int, scan *engine.Scan) {
	if e != nil {
		e.scanned[i].Add(scan.Scanned())
	}
}

// endExplain adds what the query has done to its Explain, once. whole says that Next has returned false.
func (r *rows) endExplain(whole bool) {
	e := r.explain
	if e == nil {
		return
	}
	r.explain = nil
	to := e.to
	for i, id := range r.partitions[:r.stats.Partitions] { // all, or none
		scanned := e.scanned[i]
		if i < len(r.parts) {
			scanned.Add(r.parts[i].scan.Scanned())
		}
		p := to.Partition(r.view.partitionName(id))
		p.CellsScanned += int64(scanned.Cells)
		p.BytesScanned += int64(scanned.Bytes)
		e.takeOver(&e.counts[i], p)
	}
	if r.filter != nil {
		e.dropped.RowFilter = r.filter.Dropped()
	}
	to.Dropped.Add(&e.dropped)
	to.PushedDown |= e.pushedDown
	to.Checked |= e.checked
	to.Ended[r.endReason(e, whole)]++
	e.again.PushedDown, e.again.Checked, e.again.Ended = 0, 0, [widecol.EndReasons]int64{}
	to.Add(&e.again)
}

// takeOver adds what scans of a partition have counted.
func (e *explaining) takeOver(c *engine.ScanCounts, p *widecol.ExplainedPartition) {
	p.Memtables = max(p.Memtables, int64(c.Memtables))
	leftOut := c.MemtableCellsLeftOut + c.Dropped.Unselected
	for n := range c.Levels {
		from := &c.Levels[n]
		leftOut += from.CellsLeftOut
		if from.Files == 0 {
			continue
		}
		p.Level(n).Add(&widecol.ExplainedLevel{
			Files:              int64(from.Files),
			FilesRead:          int64(from.Opened),
			FilesDeleted:       int64(from.Deleted),
			FilesOtherTimes:    int64(from.OtherTimes),
			FilesExcluded:      int64(from.Excluded),
			FilesOtherFamilies: int64(from.OtherFamilies),
			BloomAsked:         int64(from.Asked),
			BlocksRead:         int64(from.BlocksRead),
			BlocksCached:       int64(from.BlocksCached),
			ValuesRead:         int64(from.ValuesRead),
			ValuesCached:       int64(from.ValuesCached),
			BytesDecompressed:  int64(from.BytesDecompressed),
			BlocksOtherTimes:   int64(from.SkippedByTimes),
			BlocksOtherColumns: int64(from.SkippedByColumns),
		})
	}
	e.to.Tombstones += int64(c.Dropped.Tombstones)
	e.dropped.Columns += int64(leftOut)
	e.dropped.Later += int64(c.Dropped.Later)
	e.dropped.Deleted += int64(c.Dropped.Deleted)
	e.dropped.Overwritten += int64(c.Dropped.Overwritten)
	e.dropped.Garbage += int64(c.Dropped.Garbage)
}

func (r *rows) endReason(e *explaining, whole bool) widecol.EndReason {
	l := &r.limits
	switch {
	case r.err != nil:
		return widecol.EndFailed
	case !whole:
		return widecol.EndStopped
	case e.nothing:
		return widecol.EndNothing
	case reached(l.cells, r.q.CellLimit):
		return widecol.EndCellLimit
	case reached(l.rows, r.q.RowLimit):
		return widecol.EndRowLimit
	case l.skipped > 0 && l.rows == 0:
		return widecol.EndInOffset
	case e.pushedDown&widecol.PartFilterRows != 0:
		return widecol.EndOfFilterRows
	}
	return widecol.EndOfRows
}

// appendCounted is appendSelected, and counts what the query does not select.
func (r *rows) appendCounted(dst, cells []cell.Cell) []cell.Cell {
	before, otherTimes := len(dst), 0
	for i := range cells {
		if !r.q.Times.Contains(cells[i].Time) {
			otherTimes++
		}
	}
	explain := r.explain
	r.explain = nil
	dst = r.appendSelected(dst, cells)
	r.explain = explain
	explain.dropped.Times += int64(otherTimes)
	explain.dropped.Values += int64(len(cells) - (len(dst) - before) - otherTimes)
	return dst
}

// partitionName returns the name of a partition with data of the table.
func (v *view) partitionName(id engine.PartitionID) string {
	for _, g := range v.schema.groups {
		if g.partition == id {
			return groupPartition + g.id
		}
	}
	return dataPrefix + v.table.name
}
