package storetest

import (
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

// advise asks for advice on a table and makes the first of the moves that it gets. Each Store gives its own advice,
// so only what must be true of any is checked: see checkAdvice. Following it must change no answer.
type advise struct {
	table string
	moves int
}

func (g *generator) advise() op {
	return &advise{g.table(), g.IntN(4)}
}

func (o *advise) run(w *world) error {
	w.work.Advice++
	a, err := w.subject.Store.Advice(background, o.table)
	model, wantErr := w.model.Advice(background, o.table)
	if err := sameError(err, wantErr); err != nil || wantErr != nil {
		return err
	}
	if err := w.checkAdvice(o.table, &a, &model); err != nil {
		return fmt.Errorf("advice: %w", err)
	}
	for _, m := range a.Moves[:min(o.moves, len(a.Moves))] {
		if err := w.follow(o.table, m); err != nil {
			return fmt.Errorf("advice to move %s to %q: %w", m.Family, m.Place, err)
		}
	}
	q := widecol.NewQuery()
	return w.scan(o.table, &q, all)
}

// checkAdvice checks advice against the table, and that a second one has the same evidence: asking is no query.
func (w *world) checkAdvice(table string, a, model *widecol.Advice) error {
	t, err := w.subject.Store.Table(background, table)
	if err != nil {
		return err
	}
	if err := checkAdvice(a, &t); err != nil {
		return err
	}
	has := make(map[string]bool)
	for _, v := range visible(w.model, table) {
		has[v.family] = true
	}
	for i, f := range a.Families {
		if stored := model.Families[i].Bytes > 0; has[f.Family] && f.Bytes == 0 || !stored && f.Bytes > 0 {
			return fmt.Errorf("%s has %d bytes; it has visible cells: %t, any cells: %t", f.Family, f.Bytes, has[f.Family], stored)
		}
	}
	again, err := w.subject.Store.Advice(background, table)
	if err != nil {
		return err
	}
	if got, want := evidence(&again), evidence(a); got != want {
		return fmt.Errorf("asked again, the queries are\n\t%s\nbefore\n\t%s", got, want)
	}
	return nil
}

// evidence is the part of an advice that only queries change.
func evidence(a *widecol.Advice) string {
	s := fmt.Sprintf("%d others since %d", a.Others, a.Since)
	for _, q := range a.Queries {
		q.BytesOver = 0 // depends on how the partitions are stored
		s += fmt.Sprintf(" %+v", q)
	}
	return s
}

// follow makes an advised move and waits for its end.
func (w *world) follow(table string, m widecol.AdvisedMove) error {
	w.work.Moves++
	move, err := w.subject.Store.MoveFamily(background, table, m.Family, m.Place)
	if err != nil {
		return err
	}
	for more := w.subject.Step != nil; more; {
		if more, err = w.subject.Step(); err != nil {
			return err
		}
	}
	t, err := w.subject.Store.Table(background, table)
	if err != nil {
		return err
	}
	if got := placeOf(&t, m.Family); moving(t, m.Family) != nil || got != move.To {
		return fmt.Errorf("at its end the family is in %q, should be in %q", got, move.To)
	}
	return nil
}

func (o *advise) String() string {
	return fmt.Sprintf("advice for %q, of which %d moves are made", o.table, o.moves)
}

func (o *advise) reduced() (ops []op) {
	for n := range o.moves {
		ops = append(ops, &advise{o.table, n})
	}
	return ops
}

// checkAdvice checks what advice says of a table, and that its numbers fit: no more is saved than was read.
func checkAdvice(a *widecol.Advice, t *widecol.Table) error {
	if len(a.Families) != len(t.Families) {
		return fmt.Errorf("the families are %+v, those of the table %+v", a.Families, t.Families)
	}
	sizes := make(map[string]int64)
	for i, f := range a.Families {
		if place := placeOf(t, f.Family); f.Family != t.Families[i].Name || f.Place != place || f.Bytes < 0 {
			return fmt.Errorf("a family is %+v, in the table it is %s in %q", f, t.Families[i].Name, place)
		}
		sizes[f.Family] = f.Bytes
	}
	// Each number is rounded.
	bytes, partitions := int64(len(a.Queries)+len(a.Moves)), int64(0)
	for _, q := range a.Queries {
		if q.Queries < 1 || q.Partitions < 0 || q.BytesOver < 0 || q.BytesRead < q.BytesOver || !slices.IsSorted(q.Families) {
			return fmt.Errorf("queries are counted as %+v", q)
		}
		for _, name := range q.Families {
			if _, ok := sizes[name]; !ok {
				return fmt.Errorf("queries of an unknown family are counted: %+v", q)
			}
		}
		bytes, partitions = bytes+q.BytesOver, partitions+q.Partitions
	}
	moved := make(map[string]bool)
	for _, m := range a.Moves {
		size, ok := sizes[m.Family]
		if !ok || moved[m.Family] || m.SavesBytes <= 0 && m.SavesPartitions <= 0 || m.Bytes != size || m.Place == placeOf(t, m.Family) {
			return fmt.Errorf("a move of %s, now in %q with %d bytes, is advised as %+v", m.Family, placeOf(t, m.Family), size, m)
		}
		moved[m.Family] = true
		bytes, partitions = bytes-m.SavesBytes, partitions-m.SavesPartitions
	}
	if bytes < 0 || partitions < 0 || a.Others < 0 {
		return fmt.Errorf("the moves %+v save more than the queries %+v and %d others cost", a.Moves, a.Queries, a.Others)
	}
	return nil
}

// placeOf returns the ID of the locality group of a family, empty for the default partition.
func placeOf(t *widecol.Table, family string) string {
	for _, g := range t.Groups {
		if slices.Contains(g.Families, family) {
			return g.ID
		}
	}
	return ""
}
