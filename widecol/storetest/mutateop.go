package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// mutate writes lists of mutations, each of one row: all or none of them, or row by row.
type mutate struct {
	table string
	rows  [][]mutation
	byRow bool
	key   string // as in write
	again bool
}

// mutation is a mutation in a form that can be printed.
type mutation struct {
	version // of a deletion without value; time is the first time deleted
	op      widecol.Op
	end     int64
}

func (m mutation) mutation() widecol.Mutation {
	c := m.version.mutation()
	c.Op, c.End = m.op, m.end
	return c
}

func (m mutation) String() string {
	switch m.op {
	case widecol.DeleteRow:
		return fmt.Sprintf("delete row %s", short(m.row))
	case widecol.DeleteFamily:
		return fmt.Sprintf("delete row %s family %s", short(m.row), m.family)
	case widecol.DeleteColumn:
		return fmt.Sprintf("delete row %s column %s:%q times %d-%d", short(m.row), m.family, m.qualifier, m.time, m.end)
	case widecol.Merge:
		return "merge " + m.version.String()
	}
	return m.version.String()
}

// run allows for garbage: an older version may be one no more when a newer one is deleted.
func (o *mutate) run(w *world) error {
	return w.doubtfully(func() error { return w.change(o) }, o.table)
}

func (o *mutate) apply(s widecol.Store, _ grouping, commit int64) (r result, err error) {
	defer setCommit(s, commit)()
	if !o.byRow {
		r.time, err = s.Write(background, o.table, slices.Concat(mutationsOf(o.rows)...), o.key)
		return r, err
	}
	time, outcomes, err := s.WriteRows(background, o.table, mutationsOf(o.rows), o.key)
	r.time = time
	for i, e := range outcomes {
		if e != nil {
			r.text += fmt.Sprintf("row %d: kind %d, %v; ", i, widecol.KindOf(e), codeOf(e))
		}
	}
	return r, err
}

// setCommit has the model's next commit take the time of the subject's. It returns what ends that.
func setCommit(s widecol.Store, commit int64) func() {
	m, ok := s.(*memstore.Store)
	if !ok || commit <= 0 {
		return func() {}
	}
	m.SetNextCommit(commit)
	return func() { m.SetNextCommit(0) }
}

func codeOf(err error) string {
	if e, ok := err.(*widecol.Error); ok {
		return fmt.Sprintf("code %s, index %d", e.Code, e.Index)
	}
	return err.Error()
}

func mutationsOf(rows [][]mutation) [][]widecol.Mutation {
	lists := make([][]widecol.Mutation, len(rows))
	for i, row := range rows {
		for _, m := range row {
			lists[i] = append(lists[i], m.mutation())
		}
	}
	return lists
}

func (o *mutate) sent() (string, bool) { return o.key, o.again }

func (o *mutate) repeat() change {
	c := *o
	c.again = true
	return &c
}

func (o *mutate) String() string {
	text := fmt.Sprintf("mutate %q%s", o.table, keyText(o.key, o.again))
	if o.byRow {
		text += " row by row"
	}
	return text + listText(slices.Concat(o.rows...))
}

func listText(list []mutation) (text string) {
	for _, m := range list {
		text += "\n  " + m.String()
	}
	return text
}

func (o *mutate) reduced() (ops []op) {
	for _, rows := range without(o.rows) {
		c := *o
		c.rows = rows
		ops = append(ops, &c)
	}
	for i, row := range o.rows {
		for _, fewer := range without(row) {
			c := *o
			c.rows = slices.Clone(o.rows)
			c.rows[i] = fewer
			ops = append(ops, &c)
		}
	}
	return ops
}

// checkAndMutate changes a row by what it holds.
type checkAndMutate struct {
	table, row string
	query      query
	not        bool
	yes, no    []mutation
	key        string
	again      bool
}

func (o *checkAndMutate) run(w *world) error {
	return w.doubtfully(func() error { return w.change(o) }, o.table)
}

func (o *checkAndMutate) apply(s widecol.Store, _ grouping, commit int64) (r result, err error) {
	defer setCommit(s, commit)()
	lists := mutationsOf([][]mutation{o.yes, o.no})
	c := &widecol.CheckAndMutate{Row: []byte(o.row), If: o.query.Query, Not: o.not, Then: lists[0], Else: lists[1]}
	matched, time, err := s.CheckAndMutate(background, o.table, c, o.key)
	if err == nil {
		r.text = fmt.Sprintf("matched %t", matched)
	}
	r.time = time
	return r, err
}

func (o *checkAndMutate) sent() (string, bool) { return o.key, o.again }

func (o *checkAndMutate) repeat() change {
	c := *o
	c.again = true
	return &c
}

func (o *checkAndMutate) String() string {
	return fmt.Sprintf("check and mutate %q row %s%s if %s not=%t then%s\n else%s",
		o.table, short(o.row), keyText(o.key, o.again), &o.query, o.not, listText(o.yes), listText(o.no))
}

func (o *checkAndMutate) reduced() (ops []op) {
	for _, fewer := range without(o.yes) {
		c := *o
		c.yes = fewer
		ops = append(ops, &c)
	}
	for _, fewer := range without(o.no) {
		c := *o
		c.no = fewer
		ops = append(ops, &c)
	}
	for _, q := range o.query.reduced() {
		c := *o
		c.query = q
		ops = append(ops, &c)
	}
	return ops
}

// readModifyWrite derives new versions from the newest ones.
type readModifyWrite struct {
	table, row string
	rules      []widecol.Rule
	key        string
	again      bool
}

func (o *readModifyWrite) run(w *world) error { return w.change(o) }

func (o *readModifyWrite) apply(s widecol.Store, _ grouping, commit int64) (r result, err error) {
	defer setCommit(s, commit)()
	written, time, err := s.ReadModifyWrite(background, o.table, &widecol.ReadModifyWrite{Row: []byte(o.row), Rules: o.rules}, o.key)
	for i := range written {
		c := &written[i]
		r.text += fmt.Sprintf("%q@%d %s %q; ", c.Column, c.Time, c.Type, c.Value)
	}
	r.time = time
	return r, err
}

func (o *readModifyWrite) sent() (string, bool) { return o.key, o.again }

func (o *readModifyWrite) repeat() change {
	c := *o
	c.again = true
	return &c
}

func (o *readModifyWrite) String() string {
	lines := []string{fmt.Sprintf("read modify write %q row %s%s", o.table, short(o.row), keyText(o.key, o.again))}
	for _, r := range o.rules {
		if r.Append != nil {
			lines = append(lines, fmt.Sprintf("%s:%q append %s %q", r.Family, r.Qualifier, r.Type, r.Append))
		} else {
			lines = append(lines, fmt.Sprintf("%s:%q increment %d", r.Family, r.Qualifier, r.Increment))
		}
	}
	return strings.Join(lines, "\n  ")
}

func (o *readModifyWrite) reduced() (ops []op) {
	for _, fewer := range without(o.rules) {
		c := *o
		c.rules = fewer
		ops = append(ops, &c)
	}
	return ops
}

// deletion deletes from a set of rows.
type deletion struct {
	table string
	query query // whose rows, columns and times
	count bool
	dry   bool
	key   string
	again bool
}

func (o *deletion) run(w *world) error {
	return w.doubtfully(func() error { return w.change(o) }, o.table)
}

func (o *deletion) apply(s widecol.Store, _ grouping, _ int64) (result, error) {
	d := &widecol.Deletion{Rows: o.query.Rows, Filter: o.query.Filter, Times: o.query.Times, Count: o.count, DryRun: o.dry}
	n, err := s.Delete(background, o.table, d, o.key)
	return result{count: n.Cells, text: fmt.Sprintf("%d rows", n.Rows)}, err
}

func (o *deletion) sent() (string, bool) { return o.key, o.again }

func (o *deletion) repeat() change {
	c := *o
	c.again = true
	return &c
}

func (o *deletion) String() string {
	return fmt.Sprintf("delete from %q%s %s count=%t dry=%t", o.table, keyText(o.key, o.again), &o.query, o.count, o.dry)
}

func (o *deletion) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		c := *o
		c.query = q
		ops = append(ops, &c)
	}
	return ops
}
