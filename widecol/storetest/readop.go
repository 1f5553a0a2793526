package storetest

import (
	"fmt"

	"colonnade/widecol"
)

// query is a query with the text that tells which rows and columns it selects,
// and the number of chunks of the answer to read.
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
		func(r *query) { r.chunks = all },
	} {
		r := *q
		relax(&r)
		if r.String() != q.String() {
			qs = append(qs, r)
		}
	}
	return qs
}

type scan struct {
	table string
	query query
}

func (o *scan) run(w *world) error {
	v, err := w.view(o.table)
	if err != nil || v.subject == nil {
		return err
	}
	defer v.model.Close()
	defer v.subject.Close()
	return v.scan(&o.query.Query, o.query.chunks)
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
	w.closeView(o.slot)
	w.views[o.slot], err = w.view(o.table)
	return err
}

func (o *openView) String() string { return fmt.Sprintf("open view %d of %q", o.slot, o.table) }

type scanView struct {
	slot  int
	query query
}

// run takes the next view that is open.
func (o *scanView) run(w *world) error {
	for i := range slots {
		if v := w.views[(o.slot+i)%slots]; v.subject != nil {
			return v.scan(&o.query.Query, o.query.chunks)
		}
	}
	return nil
}

func (o *scanView) String() string { return fmt.Sprintf("scan view %d %s", o.slot, &o.query) }

func (o *scanView) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		ops = append(ops, &scanView{o.slot, q})
	}
	return ops
}

type closeView struct{ slot int }

func (o *closeView) run(w *world) error { w.closeView(o.slot); return nil }
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
		return w.check()
	case flush:
		return optional(w.subject.Flush)
	case compact:
		return optional(w.subject.Compact)
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

// run leaves out a step back while a ttl is set: what had expired would come
// back, or not, depending on whether its space was reclaimed.
func (o tick) run(w *world) error {
	if o.micros < 0 {
		tables, err := w.model.Tables(background)
		if err != nil {
			return err
		}
		for _, t := range tables {
			for _, f := range t.Families {
				if f.GC.TTLSecs > 0 {
					return nil
				}
			}
		}
	}
	w.clock.Set(w.clock.Now() + o.micros)
	return nil
}

func (o tick) String() string { return fmt.Sprintf("the clock moves by %+dµs", o.micros) }
