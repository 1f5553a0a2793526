package storetest

import (
	"fmt"

	"github.com/colonnade-db/colonnade/widecol"
)

// slots is the number of views that operations can hold open.
const slots = 3

// heldView is a view of the subject and one of the model, with the result that is being read from
// it, if any. The zero value is no view.
type heldView struct {
	subject, model widecol.View
	reading        *reading
}

// reading is a result that is read in parts.
type reading struct {
	rows widecol.Rows
	reader
	want answer // the whole result
}

// openView opens a view of both Stores. It returns the zero heldView if both report that there is
// no such table.
func (w *world) openView(table string) (heldView, error) {
	subject, err := w.subject.Store.View(background, table)
	model, wantErr := w.model.View(background, table)
	if err := sameError(err, wantErr); err != nil || wantErr != nil {
		return heldView{}, err
	}
	return heldView{subject: subject, model: model}, nil
}

// close closes the view, if it is one.
func (v *heldView) close() {
	if v.subject == nil {
		return
	}
	if v.reading != nil {
		v.reading.rows.Close()
	}
	v.subject.Close()
	v.model.Close()
	*v = heldView{}
}

// scan runs a query in both views and compares the results, up to the given number of chunks of the
// subject's. It first finishes the result that is being read.
func (v *heldView) scan(q *widecol.Query, chunks int) error {
	if v.subject == nil {
		return nil
	}
	if err := v.read(all); err != nil {
		return err
	}
	got, err := ask(background, v.subject, q, chunks)
	want, wantErr := ask(background, v.model, q, all)
	if err := sameError(err, wantErr); err != nil {
		return err
	}
	if !got.whole {
		want.versions = want.versions[:min(len(got.versions), len(want.versions))]
		return diff(got.versions, want.versions)
	}
	if err := want.sameAs(got); err != nil {
		return err
	}
	return want.explainsAs(got, q)
}

// sameAs returns an error if another whole answer is not the same.
func (a *answer) sameAs(got answer) error {
	if err := diff(got.versions, a.versions); err != nil {
		return err
	}
	return a.ending.differs(got.ending)
}

// differs returns an error if another end is not the same.
func (e ending) differs(got ending) error {
	if got.String() != e.String() {
		return fmt.Errorf("behind the answer comes %s, should be %s", got, e)
	}
	return nil
}

// begin starts to read a result. read continues.
func (v *heldView) begin(q *widecol.Query) error {
	if v.subject == nil {
		return nil
	}
	if err := v.read(all); err != nil {
		return err
	}
	rows, err := v.subject.Scan(background, q)
	want, wantErr := ask(background, v.model, q, all)
	if err := sameError(err, wantErr); err != nil || wantErr != nil {
		return err
	}
	v.reading = &reading{rows: rows, reader: reader{query: q}, want: want}
	return nil
}

// read reads the next chunks of the result, or all that is left.
func (v *heldView) read(chunks int) error {
	r := v.reading
	if r == nil {
		return nil
	}
	for ; chunks != 0 && r.rows.Next(); chunks-- {
		if err := r.take(r.rows); err != nil {
			return err
		}
	}
	got, want := r.versions, r.want.versions
	if chunks != 0 {
		v.reading = nil
		defer r.rows.Close()
		end, err := r.end(r.rows)
		if err == nil {
			err = r.want.ending.differs(end)
		}
		if err != nil {
			return err
		}
	} else if len(got) <= len(want) {
		want = want[:len(got)]
	}
	if err := diff(got, want); err != nil {
		return fmt.Errorf("an answer that was begun earlier: %w", err)
	}
	return nil
}
