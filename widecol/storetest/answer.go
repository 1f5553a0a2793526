package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// version is one version of a cell in a result.
type version struct {
	row, family, qualifier string
	time                   int64
	typ                    cell.Type
	value                  string
}

// compare is the order of a result. It returns 0 for versions of the same cell and time.
func (v version) compare(w version) int {
	return cmp.Or(
		strings.Compare(v.row, w.row),
		strings.Compare(v.family, w.family),
		strings.Compare(v.qualifier, w.qualifier),
		cmp.Compare(w.time, v.time),
	)
}

func (v version) String() string {
	return fmt.Sprintf("%s %s:%s @%s %s %s", short(v.row), v.family, short(v.qualifier), clockText(v.time), v.typ, short(v.value))
}

// short quotes s and shortens it.
func short(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", s[:40], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// clockText shows a time near the start of the clock as its distance from the start.
func clockText(time int64) string {
	switch d := time - start; {
	case time == widecol.CommitTime:
		return "commit"
	case time >= cell.MaxTime-9:
		return fmt.Sprintf("max-%d", cell.MaxTime-time)
	case time < start/2 || time > 2*start:
		return fmt.Sprint(time)
	case d%second == 0:
		return fmt.Sprintf("start%+ds", d/second)
	default:
		return fmt.Sprintf("start%+dµs", d)
	}
}

// all, as a number of chunks, means all of them.
const all = -1

// answer is the result of a query.
type answer struct {
	versions []version
	stats    widecol.Stats
	whole    bool             // it was read to its end
	ending                    // of a whole one
	explain  *widecol.Explain // nil if nobody asked
}

// ending says whether more comes behind an answer that a limit has ended, and where.
type ending struct {
	more bool
	at   widecol.Position
}

// String shows the end of an answer.
func (e ending) String() string {
	if !e.more {
		return "nothing more"
	}
	p := &e.at
	return fmt.Sprintf("more behind row %s (%d seen, %d kept), column %q @%s, %d copies",
		short(string(p.Row)), p.Seen, p.Kept, p.Column, clockText(p.Time), p.Copies)
}

// ask runs a query and reads the first chunks of its result, or all. It returns an error if the
// result is malformed. Of some queries it asks for an explanation, too.
func ask(ctx context.Context, view widecol.View, q *widecol.Query, chunks int) (answer, error) {
	q = explained(q)
	rows, err := view.Scan(ctx, q)
	if err != nil {
		return answer{}, err
	}
	r := reader{query: q}
	a, err := r.read(rows, chunks)
	rows.Close()
	if err == nil && q.Explain != nil {
		err = r.checkExplain(a.stats, a.whole)
	}
	return a, err
}

// read reads the first chunks of a result, or all.
func (r *reader) read(rows widecol.Rows, chunks int) (a answer, err error) {
	for chunks != 0 && rows.Next() {
		if err := r.take(rows); err != nil {
			return a, err
		}
		chunks--
	}
	a = answer{versions: r.versions, whole: chunks != 0, explain: r.query.Explain}
	if a.whole {
		a.ending, err = r.end(rows)
	}
	a.stats = rows.Stats()
	return a, err
}

// reader takes the chunks of a result, copies them and checks that they keep the contract of Rows.
type reader struct {
	query    *widecol.Query
	versions []version
	rows     int64
	size     int64 // of the versions, as BytesScanned counts them; without values for KeysOnly
}

func (r *reader) take(rows widecol.Rows) error {
	row := string(rows.Row())
	if rows.First() {
		r.rows++
	}
	last := ""
	if n := len(r.versions); n > 0 {
		last = r.versions[n-1].row
	}
	switch cells := rows.Cells(); {
	case len(cells) == 0:
		return errors.New("a chunk without cells")
	case rows.First() && !r.follows(row, last):
		return fmt.Errorf("row %s comes after row %s", short(row), short(last))
	case !rows.First() && row != last:
		return fmt.Errorf("a chunk that is not the first of row %s comes after row %s", short(row), short(last))
	default:
		labels := rows.Labels()
		if labels != nil && len(labels) != len(cells) {
			return fmt.Errorf("%d labels for %d cells", len(labels), len(cells))
		}
		for i := range cells {
			label := ""
			if labels != nil {
				label = labels[i]
			}
			if err := r.takeCell(row, &cells[i], label); err != nil {
				return err
			}
		}
	}
	return nil
}

// follows reports whether row may come after the row last, "" for none.
func (r *reader) follows(row, last string) bool {
	if r.query.Reverse && last != "" {
		return row != "" && row < last
	}
	return row > last
}

// labelMark comes before the label of a version, which is shown at the end of its value.
const labelMark = " label "

func (r *reader) takeCell(row string, c *cell.Cell, label string) error {
	family, qualifier := cell.SplitColumn(c.Column)
	v := version{row, string(family), string(qualifier), c.Time, c.Type, string(c.Value)}
	r.size += int64(len(row) + len(c.Column) + 8)
	if r.query.KeysOnly {
		v.value = ""
	} else {
		r.size += int64(len(c.Value))
		if !c.Type.Fits(c.Value) {
			return fmt.Errorf("the value of %s does not have its type", v)
		}
	}
	if c.Kind != cell.Set || bytes.IndexByte(c.Column, 0) <= 0 || c.Time < 0 || c.Time > cell.MaxTime {
		return fmt.Errorf("%s of kind %d with the column %q is no version of a cell", v, c.Kind, c.Column)
	}
	if label != "" {
		v.value += labelMark + label
	}
	if n := len(r.versions); n > 0 && r.versions[n-1].row == row {
		order := r.versions[n-1].compare(v)
		if order > 0 || order == 0 && r.query.RowFilter == nil { // which can make copies
			return fmt.Errorf("%s comes after %s", v, r.versions[n-1])
		}
	}
	r.versions = append(r.versions, v)
	return nil
}

// end checks the contract of Rows at the end of a result.
func (r *reader) end(rows widecol.Rows) (e ending, err error) {
	if err := rows.Err(); err != nil {
		return e, err
	}
	if rows.Next() {
		return e, errors.New("a second Next is true after it was false")
	}
	s := rows.Stats()
	if e.at, e.more = rows.More(); rows.Err() != nil {
		return e, rows.Err()
	}
	switch after := rows.Stats(); {
	case after != s:
		return e, fmt.Errorf("method More has changed the statistics from %+v to %+v", s, after)
	case e.more && int64(len(r.versions)) != r.query.CellLimit && r.rows != r.query.RowLimit:
		return e, errors.New("there is more without a limit")
	}
	return e, r.compareStats(s)
}

// compareStats compares statistics with what was returned.
func (r *reader) compareStats(s widecol.Stats) error {
	switch {
	case s.Rows != r.rows || s.Cells != int64(len(r.versions)):
		return fmt.Errorf("statistics tell of %d rows and %d cells, returned were %d and %d", s.Rows, s.Cells, r.rows, len(r.versions))
	case r.query.RowFilter != nil: // copies are scanned once
		return nil
	case s.RowsScanned < s.Rows || s.CellsScanned < s.Cells || s.BytesScanned < r.size:
		return fmt.Errorf("less was scanned than returned: %+v, returned were %d bytes", s, r.size)
	}
	return nil
}

// diff returns the first difference of two results, or nil.
func diff(got, want []version) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("the answer ends after %d versions, next should be\n\t%s", i, want[i])
		case i >= len(want):
			return fmt.Errorf("the answer should end after %d versions, next is\n\t%s", i, got[i])
		case got[i] != want[i]:
			return fmt.Errorf("version %d of the answer is\n\t%s\nshould be\n\t%s", i, got[i], want[i])
		}
	}
	return nil
}

// sameError returns an error if got and want differ in what a program can see of them.
func sameError(got, want error) error {
	if g, w := errorText(got), errorText(want); g != w {
		return fmt.Errorf("error is %s (%v), should be %s", g, got, w)
	}
	return nil
}

func errorText(err error) string {
	var e *widecol.Error
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &e):
		return fmt.Sprintf("kind %d, code %s, index %d", e.Kind, e.Code, e.Index)
	default:
		return err.Error()
	}
}
