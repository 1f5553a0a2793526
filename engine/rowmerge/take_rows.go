package rowmerge

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
)

// RowTaker is an optional interface of a Source.
type RowTaker interface {
	// TakeRows fills dst with the entries of the current row, none of which was taken, and of rows after it, and
	// moves behind them. It takes rows before until alone, nil for all, and may take none: then it does not
	// move. The entries are valid until the next call of a method that moves.
	TakeRows(dst *cell.Rows, until []byte)
}

// TakeRows implements RowTaker: it takes rows that only one Source has, up to the next row of another.
func (m *Iterator) TakeRows(dst *cell.Rows, until []byte) {
	dst.Reset()
	if m.sharing != 1 || m.opened {
		return
	}
	src, ok := m.byRow[0].src.(RowTaker)
	if !ok {
		return
	}
	if len(m.byRow) > 1 {
		if next := m.byRow[1].row; until == nil || bytes.Compare(next, until) < 0 {
			until = next
		}
	}
	src.TakeRows(dst, until)
	if len(dst.Ends) == 0 {
		return
	}
	m.reposition(0)
	m.countSharing()
}

// VisibleRows is Visible for the entries of several rows: it leaves in rows those that the reader sees. deleted is that
// of DeleteBelow, the same for each row.
func (v *Visibility) VisibleRows(rows *cell.Rows, deleted uint64) {
	run := &rows.Run
	v.BeginRow()
	v.dictionaryID = run.DictionaryID
	if len(rows.Cells) == 0 || deleted <= run.MinSeq && v.seesAll(run) && v.policiesKeep(rows.Cells, run, v.now) {
		return
	}
	all := rows.Cells
	from := 0
	rows.Cells = rows.Cells[:0]
	for i, end := range rows.Ends {
		v.BeginRow()
		v.DeleteBelow(deleted)
		seen := v.Visible(all[from:end], run)
		rows.Cells = append(rows.Cells, seen...)
		rows.Ends[i], from = len(rows.Cells), end
	}
}
