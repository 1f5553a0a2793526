package storetest

import (
	"fmt"

	"github.com/colonnade-db/colonnade/widecol"
)

// pageSize is the limits of a page. They are not both NoLimit.
type pageSize struct{ rows, cells int64 }

func (s pageSize) String() string { return fmt.Sprintf("%d/%d", s.rows, s.cells) }

// sized returns the query of the page of q behind a position.
func (s pageSize) sized(q widecol.Query, at *widecol.Position) *widecol.Query {
	q.RowLimit, q.CellLimit, q.After = s.rows, s.cells, at
	return &q
}

// samePages compares all pages of q, joined, with what they should be. The sizes of the pages take turns.
func samePages(view widecol.View, q widecol.Query, sizes []pageSize, want []version) error {
	var at *widecol.Position
	var versions []version
	for i := 0; ; i++ {
		a, err := ask(background, view, sizes[i%len(sizes)].sized(q, at), all)
		if err != nil {
			return err
		}
		if versions = append(versions, a.versions...); !a.more || len(versions) > len(want) {
			return diff(versions, want)
		}
		if len(a.versions) == 0 {
			return fmt.Errorf("page %d has nothing, and more is to come", i)
		}
		at = &a.at
	}
}

// allPages reads a query in one go and page by page.
type allPages struct {
	table string
	query query
	sizes []pageSize
}

func (g *generator) allPages() op {
	table := g.table()
	o := &allPages{table: table, query: g.query(table, g.one(4))}
	for range 1 + g.IntN(3) {
		o.sizes = append(o.sizes, g.pageSize())
	}
	return o
}

func (g *generator) pageSize() pageSize {
	s := pageSize{1 + g.Int64N(4), 1 + g.Int64N(6)}
	switch g.IntN(3) {
	case 0:
		s.rows = widecol.NoLimit
	case 1:
		s.cells = widecol.NoLimit
	}
	return s
}

func (o *allPages) run(w *world) error {
	w.work.Pages++
	v, err := w.openView(o.table)
	if err != nil || v.subject == nil {
		return err
	}
	defer v.close()
	q := o.query.Query
	q.RowLimit, q.CellLimit = widecol.NoLimit, widecol.NoLimit
	if want, err := ask(background, v.model, &q, all); err == nil {
		return samePages(v.subject, q, o.sizes, want.versions)
	}
	return nil // an error of the query; a scan compares it
}

func (o *allPages) String() string {
	return fmt.Sprintf("pages %v of %q %s", o.sizes, o.table, &o.query)
}

func (o *allPages) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		ops = append(ops, &allPages{o.table, q, o.sizes})
	}
	if len(o.sizes) > 1 {
		ops = append(ops, &allPages{o.table, o.query, o.sizes[1:]}, &allPages{o.table, o.query, o.sizes[:1]})
	}
	return ops
}

// firstPage begins to read a query page by page, while the table changes.
type firstPage struct {
	table string
	query query
	size  pageSize
}

func (g *generator) firstPage() op {
	table := g.table()
	return &firstPage{table, g.query(table, g.one(4)), g.pageSize()}
}

func (o *firstPage) run(w *world) error {
	w.paged = paged{table: o.table, query: o.query.Query}
	return w.page(o.size)
}

func (o *firstPage) String() string {
	return fmt.Sprintf("first page %s of %q %s", o.size, o.table, &o.query)
}

func (o *firstPage) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		ops = append(ops, &firstPage{o.table, q, o.size})
	}
	return ops
}

// nextPage goes on with the pages that were begun last.
type nextPage struct{ size pageSize }

func (o *nextPage) run(w *world) error {
	if w.paged.table == "" {
		return nil
	}
	return w.page(o.size)
}

func (o *nextPage) String() string { return fmt.Sprintf("next page %s", o.size) }

// paged is a query that is read page by page.
type paged struct {
	table string // "" for none
	query widecol.Query
	at    *widecol.Position
}

// page compares the next page of both Stores, in a new view.
func (w *world) page(size pageSize) error {
	w.work.Pages++
	p := w.paged
	w.paged = paged{}
	v, err := w.openView(p.table)
	if err != nil || v.subject == nil {
		return err
	}
	defer v.close()
	q := size.sized(p.query, p.at)
	got, err := ask(background, v.subject, q, all)
	want, wantErr := ask(background, v.model, q, all)
	if err := sameError(err, wantErr); err != nil || wantErr != nil {
		return err
	}
	if got.more {
		p.at = &got.at
		w.paged = p
	}
	return want.sameAs(got)
}
