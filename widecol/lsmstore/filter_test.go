package lsmstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

const (
	largeValue  = 1 << 20
	largeValues = 64
)

// largeRow opens a store with a row of 64 MiB in two families, one in a group.
func largeRow(t *testing.T) *lsmstore.Store {
	t.Helper()
	fs := vfs.NewMem()
	s := openAt(t, fs)
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}, Groups: [][]string{{"b"}}}
	if err := s.CreateTable(t.Context(), "t", spec); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, largeValue)
	random := rand.NewChaCha8([32]byte{})
	for i := range largeValues {
		random.Read(value)
		m := widecol.Mutation{Row: []byte("r"), Family: []byte{"ab"[i*2/largeValues]}, Qualifier: fmt.Appendf(nil, "%02d", i), Time: 1, Value: value, Type: cell.Bytes}
		if _, err := s.Write(t.Context(), "t", []widecol.Mutation{m}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // which flushes
		t.Fatal(err)
	}
	s = openAt(t, fs)
	t.Cleanup(func() { s.Close() })
	return s
}

// heapContext measures the heap whenever it is asked.
type heapContext struct {
	context.Context
	most uint64
}

func (c *heapContext) Err() error {
	c.measure()
	return c.Context.Err()
}

func (c *heapContext) measure() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.most = max(c.most, m.HeapAlloc)
}

// TestFilterOfLargeRow: however large a row is, a filter holds little of it.
func TestFilterOfLargeRow(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads a row of 64 MiB some times")
	}
	s := largeRow(t)
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	regex := func(op widecol.FilterOp, pattern string) *widecol.RowFilter {
		return &widecol.RowFilter{Op: op, Pattern: []byte(pattern)}
	}
	pass := &widecol.RowFilter{Op: widecol.PassAll}
	last := regex(widecol.QualifierRegex, fmt.Sprint(largeValues-1))
	for _, tc := range []struct {
		name string
		f    *widecol.RowFilter
		want int
	}{
		{"a value", regex(widecol.ValueRegex, `\C*`), largeValues},
		{"a value, looked at", &widecol.RowFilter{Op: widecol.Chain, Filters: []*widecol.RowFilter{last, regex(widecol.ValueRegex, `(a|.)+\n.*`)}}, 0},
		{"copies", &widecol.RowFilter{Op: widecol.Interleave, Filters: []*widecol.RowFilter{pass, last, pass}}, 2*largeValues + 1},
		{"a condition that the end decides", &widecol.RowFilter{Op: widecol.Condition, If: last, Then: pass}, largeValues},
		{"a condition that is not met", &widecol.RowFilter{Op: widecol.Condition, If: regex(widecol.ValueRegex, "short"), Else: pass}, largeValues},
	} {
		ctx := &heapContext{Context: t.Context()}
		ctx.measure()
		before := ctx.most
		q := widecol.NewQuery()
		q.RowFilter = tc.f
		rows, err := view.Scan(ctx, &q)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for rows.Next() {
			got += len(rows.Cells())
			ctx.measure()
		}
		if err := rows.Err(); err != nil || got != tc.want {
			t.Errorf("%s: %d cells, %v, want %d", tc.name, got, err, tc.want)
		}
		rows.Close()
		if used := ctx.most - before; used > 16*largeValue {
			t.Errorf("%s: %d MiB of memory for a row of %d MiB", tc.name, used>>20, largeValues)
		} else {
			t.Logf("%s: %d KiB", tc.name, used>>10)
		}
	}
}

// TestFilterPushedDown: what a filter excludes by row, column or partition is not read.
func TestFilterPushedDown(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}, Groups: [][]string{{"b"}}}
	if err := s.CreateTable(t.Context(), "t", spec); err != nil {
		t.Fatal(err)
	}
	overwrite(t, s, 0, "v")
	regex := func(op widecol.FilterOp, pattern string) *widecol.RowFilter {
		return &widecol.RowFilter{Op: op, Pattern: []byte(pattern)}
	}
	chain := func(fs ...*widecol.RowFilter) *widecol.RowFilter {
		return &widecol.RowFilter{Op: widecol.Chain, Filters: fs}
	}
	for _, tc := range []struct {
		name                  string
		f                     *widecol.RowFilter
		cells, rows, partials int64
	}{
		{"all", &widecol.RowFilter{Op: widecol.PassAll}, 2000, 1000, 2},
		{"a row", regex(widecol.RowKeyRegex, "row000007"), 2, 1, 2},
		{"some rows", regex(widecol.RowKeyRegex, `row00001\d`), 20, 10, 2},
		{"a family", chain(regex(widecol.FamilyRegex, "b"), regex(widecol.ValueRegex, "v|w")), 1000, 1000, 1},
		{"a column that is not there", chain(regex(widecol.QualifierRegex, "x"), regex(widecol.ValueRegex, "v")), 0, 1000, 2},
		{"a row and a family", chain(regex(widecol.FamilyRegex, "a"), regex(widecol.RowKeyRegex, "row00001.*")), 10, 10, 1},
	} {
		view, err := s.View(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		q := widecol.NewQuery()
		q.RowFilter = tc.f
		rows, err := view.Scan(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
		}
		got := rows.Stats()
		if got.Cells != tc.cells || got.RowsScanned != tc.rows || got.Partitions != tc.partials {
			t.Errorf("%s: %+v, want %d cells, %d rows and %d partitions", tc.name, got, tc.cells, tc.rows, tc.partials)
		}
		rows.Close()
		view.Close()
	}
}

// countdown is a context that is done after it was asked some times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestFilterCancelled: a row that is read again to decide about a condition ends like any read. It must not
// be taken for a row without a match.
func TestFilterCancelled(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	if err := s.CreateTable(t.Context(), "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	m := widecol.Mutation{Row: []byte("r"), Family: []byte("a"), Value: make([]byte, 2<<20), Type: cell.Bytes}
	if _, err := s.Write(t.Context(), "t", []widecol.Mutation{m}, ""); err != nil {
		t.Fatal(err)
	}
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	none := &widecol.RowFilter{Op: widecol.QualifierRegex, Pattern: []byte("none")}
	q := widecol.NewQuery()
	q.RowFilter = &widecol.RowFilter{Op: widecol.Condition, If: none, Then: none, Else: &widecol.RowFilter{Op: widecol.PassAll}}
	asked := 0
	for ; ; asked++ {
		rows, err := view.Scan(&countdown{t.Context(), asked}, &q)
		if err != nil {
			t.Fatal(err)
		}
		cells := 0
		for rows.Next() {
			cells += len(rows.Cells())
		}
		err = rows.Err()
		rows.Close()
		if err == nil {
			if cells != 1 {
				t.Errorf("%d cells, want 1", cells)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled the %d. time: %d cells, %v", asked, cells, err)
		}
	}
	if asked < 2 {
		t.Errorf("the context was asked %d times, want it asked for the row and for the row again", asked)
	}
}
