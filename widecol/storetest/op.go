package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

// op is a random operation. It runs in any world, whatever happened before, so a list without some
// of its operations is still valid.
type op interface {
	run(w *world) error // an error describes a difference of subject and model
	String() string
}

// change is an op that changes tables.
type change interface {
	op
	// apply makes the change in one Store. It writes commit for CommitTime.
	apply(s widecol.Store, g grouping, commit int64) (result, error)
}

// result is the result of a change.
type result struct {
	time  int64 // of the commit, 0 for none
	count int64 // cells deleted
	text  string
}

// sender is a change that may be sent again under its idempotency key, and whose commit has a time.
type sender interface {
	change
	// sent returns the key, empty for none, and whether this is a repetition.
	sent() (key string, again bool)
	// repeat returns the repetition.
	repeat() change
}

// reducible is an op with simpler forms.
type reducible interface {
	reduced() []op // each simpler in one way
}

var background = context.Background()

type createTable struct {
	table    string
	families []widecol.Family
}

func (o *createTable) run(w *world) error { return w.change(o) }

func (o *createTable) apply(s widecol.Store, g grouping, _ int64) (result, error) {
	return result{}, s.CreateTable(background, o.table, g.spec(slices.Clone(o.families)))
}

func (o *createTable) String() string {
	return fmt.Sprintf("create table %q with %s", o.table, familiesText(o.families))
}

func (o *createTable) reduced() (ops []op) {
	for _, fs := range without(o.families) {
		ops = append(ops, &createTable{table: o.table, families: fs})
	}
	return ops
}

type dropTable struct {
	table string
}

func (o *dropTable) run(w *world) error { return w.change(o) }

func (o *dropTable) apply(s widecol.Store, _ grouping, _ int64) (result, error) {
	return result{}, s.DropTable(background, o.table)
}

func (o *dropTable) String() string { return fmt.Sprintf("drop table %q", o.table) }

type createFamilies struct {
	table    string
	families []widecol.Family
}

func (o *createFamilies) run(w *world) error { return w.change(o) }

func (o *createFamilies) apply(s widecol.Store, g grouping, _ int64) (result, error) {
	return result{}, s.CreateFamilies(background, o.table, slices.Clone(o.families), g[o.families[0].Name] > 0)
}

func (o *createFamilies) String() string {
	return fmt.Sprintf("create in %q the families %s", o.table, familiesText(o.families))
}

type dropFamily struct {
	table, family string
}

func (o *dropFamily) run(w *world) error { return w.change(o) }

func (o *dropFamily) apply(s widecol.Store, _ grouping, _ int64) (result, error) {
	return result{}, s.DropFamily(background, o.table, o.family)
}

func (o *dropFamily) String() string {
	return fmt.Sprintf("drop from %q the family %s", o.table, o.family)
}

type setGC struct {
	table, family string
	gc            widecol.GC
}

func (o *setGC) run(w *world) error {
	return w.doubtfully(func() error { return w.change(o) }, o.table)
}

func (o *setGC) apply(s widecol.Store, _ grouping, _ int64) (result, error) {
	return result{}, s.AlterFamily(background, o.table, o.family, widecol.ChangeGC(o.gc))
}

func (o *setGC) String() string {
	return fmt.Sprintf("set in %q %s", o.table, familiesText([]widecol.Family{{Name: o.family, GC: o.gc}}))
}

type write struct {
	table    string
	versions []version
	key      string // for idempotency, empty for none
	again    bool   // may have been applied before
}

func (o *write) run(w *world) error { return w.change(o) }

// apply overwrites the bytes that it passed to the Store: the Store only borrows them.
func (o *write) apply(s widecol.Store, _ grouping, commit int64) (result, error) {
	ms := make([]widecol.Mutation, len(o.versions))
	for i, v := range o.versions {
		ms[i] = v.mutation()
		if v.time == widecol.CommitTime {
			ms[i].Time = commit
		}
	}
	time, err := s.Write(background, o.table, ms, o.key)
	for _, m := range ms {
		for _, b := range [][]byte{m.Row, m.Family, m.Qualifier, m.Value} {
			for i := range b {
				b[i] = 'W'
			}
		}
	}
	return result{time: time}, err
}

// mutation returns the mutation that writes v. Its bytes are a copy.
func (v version) mutation() widecol.Mutation {
	return widecol.Mutation{
		Row: []byte(v.row), Family: []byte(v.family), Qualifier: []byte(v.qualifier),
		Value: []byte(v.value), Time: v.time, Type: v.typ,
	}
}

func (o *write) sent() (string, bool) { return o.key, o.again }

func (o *write) repeat() change {
	c := *o
	c.again = true
	return &c
}

func (o *write) String() string {
	lines := []string{fmt.Sprintf("write to %q%s", o.table, keyText(o.key, o.again))}
	for _, v := range o.versions {
		lines = append(lines, v.String())
	}
	return strings.Join(lines, "\n  ")
}

func (o *write) reduced() (ops []op) {
	for _, vs := range without(o.versions) {
		ops = append(ops, &write{table: o.table, versions: vs, key: o.key, again: o.again})
	}
	return ops
}

// filter is a filter with its description.
type filter struct {
	widecol.Filter
	text string
}

type deleteRow struct {
	table, row string
	filter     filter
	key        string // as in write
	again      bool
}

func (o *deleteRow) run(w *world) error { return w.change(o) }

func (o *deleteRow) apply(s widecol.Store, _ grouping, _ int64) (result, error) {
	n, err := removeRow(s, o.table, o.row, o.filter.Filter, o.key)
	return result{count: n}, err
}

func (o *deleteRow) String() string {
	return fmt.Sprintf("delete from %q row %s %s%s", o.table, short(o.row), o.filter.text, keyText(o.key, o.again))
}

func keyText(key string, again bool) string {
	switch {
	case key == "":
		return ""
	case again:
		return fmt.Sprintf(" again with the key %q", key)
	}
	return fmt.Sprintf(" with the key %q", key)
}

// reductions returns simpler forms of an op.
func reductions(o op) []op {
	if r, ok := o.(reducible); ok {
		return r.reduced()
	}
	return nil
}

// without returns copies of the list that each lack one element, none for a list of one.
func without[T any](list []T) (lists [][]T) {
	if len(list) < 2 {
		return nil
	}
	for i := range list {
		lists = append(lists, slices.Delete(slices.Clone(list), i, i+1))
	}
	return lists
}

func familiesText(families []widecol.Family) string {
	var texts []string
	for _, f := range families {
		text := f.Name
		if f.GC.TTLSecs != 0 {
			text += fmt.Sprintf(" ttl=%ds", f.GC.TTLSecs)
		}
		if f.GC.VersionLimit != 0 {
			text += fmt.Sprintf(" versions=%d", f.GC.VersionLimit)
		}
		if f.GC.Intersection {
			text += " intersection"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
