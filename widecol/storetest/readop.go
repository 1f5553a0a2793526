package storetest

import (
	"fmt"

	"github.com/colonnade-db/colonnade/widecol"
)

// query is a query with a description of the rows and columns that it selects, and the number of
// chunks to read of its result.
type query struct {
	widecol.Query
	text   string
	chunks int
}

func (q *query) String() string {
	s := q.text
	add := func(name string, limit, none int64) {
		if limit != none {
			s += fmt.Sprintf(" %s=%d", name, limit)
		}
	}
	add("column-cell-limit", q.ColumnCellLimit, widecol.NoLimit)
	add("row-cell-limit", q.RowCellLimit, widecol.NoLimit)
	add("row-limit", q.RowLimit, widecol.NoLimit)
	add("offset", q.Offset, 0)
	add("cell-limit", q.CellLimit, widecol.NoLimit)
	add("chunks", int64(q.chunks), all)
	if q.Sample != 1 {
		s += fmt.Sprintf(" sample=%v", q.Sample)
	}
	if q.KeysOnly {
		s += " keys-only"
	}
	if q.Reverse {
		s += " reverse"
	}
	if q.Times != widecol.AllTimes {
		s += fmt.Sprintf(" times=%d-%d", q.Times.Start, q.Times.End)
	}
	if f := q.Value; f != nil {
		s += fmt.Sprintf(" value %s %d %.40q", f.Type, f.Op, f.Value)
	}
	if q.RowFilter != nil {
		s += " filter " + treeText(q.RowFilter)
	}
	return s
}

// reduced returns queries with one limit less.
func (q *query) reduced() (qs []query) {
	plain := widecol.NewQuery()
	for _, relax := range []func(r *query){
		func(r *query) { r.ColumnCellLimit = plain.ColumnCellLimit },
		func(r *query) { r.RowCellLimit = plain.RowCellLimit },
		func(r *query) { r.RowLimit = plain.RowLimit },
		func(r *query) { r.Offset = plain.Offset },
		func(r *query) { r.CellLimit = plain.CellLimit },
		func(r *query) { r.Sample = plain.Sample },
		func(r *query) { r.KeysOnly = false },
		func(r *query) { r.Reverse = false },
		func(r *query) { r.Times = plain.Times },
		func(r *query) { r.Value = nil },
		func(r *query) { r.RowFilter = nil },
		func(r *query) { r.chunks = all },
	} {
		r := *q
		relax(&r)
		if r.String() != q.String() {
			qs = append(qs, r)
		}
	}
	for _, f := range simplerTrees(q.RowFilter) {
		r := *q
		r.RowFilter = f
		qs = append(qs, r)
	}
	return qs
}

type scan struct {
	table string
	query query
}

func (o *scan) run(w *world) error {
	w.work.Scans++
	return w.scan(o.table, &o.query.Query, o.query.chunks)
}

func (o *scan) String() string { return fmt.Sprintf("scan %q %s", o.table, &o.query) }

func (o *scan) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		ops = append(ops, &scan{o.table, q})
	}
	return ops
}

type openView struct {
	slot  int
	table string
}

func (o *openView) run(w *world) (err error) {
	w.work.Views++
	w.views[o.slot].close()
	w.views[o.slot], err = w.openView(o.table)
	return err
}

func (o *openView) String() string { return fmt.Sprintf("open view %d of %q", o.slot, o.table) }

// nextView returns the first open view from a slot on, or a zero heldView.
func (w *world) nextView(slot int) *heldView {
	for i := range slots {
		if v := &w.views[(slot+i)%slots]; v.subject != nil {
			return v
		}
	}
	return new(heldView)
}

type scanView struct {
	slot  int
	query query
}

func (o *scanView) run(w *world) error {
	w.work.ViewReads++
	return w.nextView(o.slot).scan(&o.query.Query, o.query.chunks)
}

func (o *scanView) String() string { return fmt.Sprintf("scan view %d %s", o.slot, &o.query) }

func (o *scanView) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		ops = append(ops, &scanView{o.slot, q})
	}
	return ops
}

// beginScan starts to read a result from a view. readOn continues.
type beginScan struct {
	slot  int
	query query
}

func (o *beginScan) run(w *world) error {
	v := w.nextView(o.slot)
	if err := v.begin(&o.query.Query); err != nil {
		return err
	}
	return v.read(1)
}

func (o *beginScan) String() string { return fmt.Sprintf("begin to scan view %d %s", o.slot, &o.query) }

func (o *beginScan) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		ops = append(ops, &beginScan{o.slot, q})
	}
	return ops
}

type readOn struct{ slot, chunks int }

func (o *readOn) run(w *world) error {
	w.work.ViewReads++
	return w.nextView(o.slot).read(o.chunks)
}

func (o *readOn) String() string {
	return fmt.Sprintf("read on in view %d, %d chunks", o.slot, o.chunks)
}

type closeView struct{ slot int }

func (o *closeView) run(w *world) error { w.views[o.slot].close(); return nil }
func (o *closeView) String() string     { return fmt.Sprintf("close view %d", o.slot) }

// step is an operation without parameters.
type step int

const (
	checkAll step = iota
	flush
	compact
	reopen
	crash
)

func (o step) run(w *world) error {
	switch o {
	case checkAll:
		return w.checkAll()
	case flush:
		return w.flush()
	case compact:
		return w.compact()
	case reopen:
		return w.reopen()
	default:
		return w.crash()
	}
}

func (o step) String() string {
	return [...]string{"check everything", "flush", "compact", "reopen", "crash"}[o]
}

func optional(hook func() error) error {
	if hook == nil {
		return nil
	}
	return hook()
}

// tick moves the clock.
type tick struct{ micros int64 }

// run moves the clock. Garbage may become visible again: versions with the time 0 when the versions
// that filled the version limit expire, and expired versions when the clock steps back.
func (o tick) run(w *world) error {
	tables, err := w.model.Tables(background)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	return w.doubtfully(func() error {
		w.clock.Set(w.clock.Now() + o.micros)
		return nil
	}, names...)
}

func (o tick) String() string { return fmt.Sprintf("the clock moves by %+dµs", o.micros) }
