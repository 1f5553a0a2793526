package storetest

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// fixture is a Store under test, with helpers for the cases.
type fixture struct {
	testing.TB
	subject *Subject
	clock   *clock
	mode    mode
	held    int  // open views
	closed  bool // the case has closed the Store
}

func (f *fixture) store() widecol.Store { return f.subject.Store }

// ok fails the test if a change returned an error. Otherwise it settles the change.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
	if f.mode.restarts && f.held > 0 {
		return
	}
	if err := f.mode.settle(f.subject); err != nil {
		f.Fatalf("%s: %v", f.mode.name, err)
	}
}

// refused checks the error of a request that must fail.
func (f *fixture) refused(err error, kind widecol.Kind, code string, index int) {
	f.Helper()
	var e *widecol.Error
	switch {
	case err == nil:
		f.Errorf("no error, want %s", code)
	case !errors.As(err, &e):
		f.Errorf("%v (%T) is no Error, want %s", err, err, code)
	case e.Kind != kind || e.Code != code || e.Index != index:
		f.Errorf("error of kind %d, code %s, index %d, want kind %d, code %s, index %d", e.Kind, e.Code, e.Index, kind, code, index)
	case e.Message == "" || err.Error() == "":
		f.Errorf("%s comes without a message", code)
	}
}

// spec returns a spec of families with these names. Names joined by + form a locality group.
func spec(names ...string) widecol.TableSpec {
	var s widecol.TableSpec
	for _, name := range names {
		group := strings.Split(name, "+")
		if len(group) > 1 || strings.HasSuffix(name, "+") {
			group = strings.Split(strings.TrimSuffix(name, "+"), "+")
			s.Groups = append(s.Groups, group)
		}
		for _, g := range group {
			s.Families = append(s.Families, widecol.Family{Name: g})
		}
	}
	return s
}

// create creates a table; see spec.
func (f *fixture) create(table string, names ...string) {
	f.Helper()
	f.ok(f.store().CreateTable(background, table, spec(names...)))
}

// createGC creates a table with one family and its settings.
func (f *fixture) createGC(table, family string, gc widecol.GC) {
	f.Helper()
	f.ok(f.store().CreateTable(background, table, widecol.TableSpec{Families: []widecol.Family{{Name: family, GC: gc}}}))
}

// parse parses a version such as "row family:qualifier@time=value". The time is a number, or a
// distance from the start of the clock: +3s, -1µs. Without a time it is the commit time. The type
// is String.
func (f *fixture) parse(text string) version {
	f.Helper()
	row, rest, ok1 := strings.Cut(text, " ")
	place, value, ok2 := strings.Cut(rest, "=")
	column, at, timed := strings.Cut(place, "@")
	family, qualifier, ok3 := strings.Cut(column, ":")
	v := version{row, family, qualifier, widecol.CommitTime, cell.String, value}
	var err error
	if timed && strings.HasSuffix(at, "s") {
		var d time.Duration
		d, err = time.ParseDuration(at)
		v.time = start + d.Microseconds()
	} else if timed {
		v.time, err = strconv.ParseInt(at, 10, 64)
	}
	if !ok1 || !ok2 || !ok3 || err != nil {
		f.Fatalf("%q is not the text of a version (%v)", text, err)
	}
	return v
}

func (f *fixture) parseAll(texts []string) []version {
	f.Helper()
	versions := make([]version, len(texts))
	for i, text := range texts {
		versions[i] = f.parse(text)
	}
	return versions
}

// write writes versions in one request and returns its commit time.
func (f *fixture) write(table string, texts ...string) int64 {
	f.Helper()
	return f.writeAll(table, f.parseAll(texts))
}

func (f *fixture) writeAll(table string, versions []version) int64 {
	f.Helper()
	time, err := f.tryWrite(table, versions...)
	f.ok(err)
	return time
}

func (f *fixture) tryWrite(table string, versions ...version) (int64, error) {
	ms := make([]widecol.Mutation, len(versions))
	for i, v := range versions {
		ms[i] = v.mutation()
	}
	return f.store().Write(background, table, ms, "")
}

// remove deletes the columns of a row that a filter selects and checks the number of versions
// deleted.
func (f *fixture) remove(table, row string, filter widecol.Filter, want int64) {
	f.Helper()
	got, err := removeRow(f.store(), table, row, filter, "")
	f.ok(err)
	if got != want {
		f.Errorf("deleted %d cells of row %s, want %d", got, short(row), want)
	}
}

// columns returns a filter for column keys.
func (f *fixture) columns(keys ...string) widecol.Filter {
	f.Helper()
	filter, err := widecol.ColumnsFilter(keys...)
	if err != nil {
		f.Fatal(err)
	}
	return filter
}

// asking returns a query for the whole table, changed by change.
func asking(change func(q *widecol.Query)) *widecol.Query {
	q := widecol.NewQuery()
	change(&q)
	return &q
}

// everything returns a query for the whole table.
func everything() *widecol.Query { return asking(func(*widecol.Query) {}) }

// where returns a query for the columns that a filter selects.
func where(filter widecol.Filter) *widecol.Query {
	return asking(func(q *widecol.Query) { q.Filter = filter })
}

// want checks the result of a query.
func (f *fixture) want(table string, q *widecol.Query, texts ...string) {
	f.Helper()
	f.wantVersions(table, q, f.parseAll(texts))
}

func (f *fixture) wantVersions(table string, q *widecol.Query, versions []version) {
	f.Helper()
	v := f.view(table)
	defer v.close()
	v.wantVersions(q, versions)
}

// ask returns the result of a query.
func (f *fixture) ask(table string, q *widecol.Query) answer {
	f.Helper()
	v := f.view(table)
	defer v.close()
	a, err := ask(background, v, q, all)
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// fixtureView is an open View.
type fixtureView struct {
	widecol.View
	f *fixture
}

func (f *fixture) view(table string) fixtureView {
	f.Helper()
	v, err := f.store().View(background, table)
	if err != nil {
		f.Fatalf("View: %v", err)
	}
	f.held++
	return fixtureView{v, f}
}

func (v fixtureView) close() {
	v.Close()
	v.f.held--
}

func (v fixtureView) want(q *widecol.Query, texts ...string) {
	v.f.Helper()
	v.wantVersions(q, v.f.parseAll(texts))
}

func (v fixtureView) wantVersions(q *widecol.Query, versions []version) {
	v.f.Helper()
	got, err := ask(background, v, q, all)
	if err == nil {
		err = diff(got.versions, versions)
	}
	if err != nil {
		shown := query{Query: *q, chunks: all, text: "query"}
		v.f.Errorf("%s: %v", &shown, err)
	}
}

// describe returns the description of a table.
func (f *fixture) describe(table string) widecol.Table {
	f.Helper()
	t, err := f.store().Table(background, table)
	if err != nil {
		f.Fatal(err)
	}
	return t
}

// tick moves the clock.
func (f *fixture) tick(d time.Duration) { f.clock.Set(f.clock.Now() + d.Microseconds()) }
