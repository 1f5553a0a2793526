package storetest

import (
	"errors"
	"fmt"

	"github.com/colonnade-db/colonnade/widecol"
)

// moveFamily moves a family to a place of the table. Where it goes does not change a result, so each Store has
// places of its own.
type moveFamily struct {
	table, family string
	place         int
}

func (o *moveFamily) run(w *world) error {
	w.work.Moves++
	return w.change(o)
}

func (o *moveFamily) apply(s widecol.Store, _ grouping, _ int64) (result, error) {
	t, err := s.Table(background, o.table)
	if err != nil {
		return result{}, err
	}
	err = place(s, t, o.family, o.place)
	var e *widecol.Error
	if errors.As(err, &e) && e.Code == "column_family_moves" && moving(t, o.family) != nil {
		return result{}, nil
	}
	return result{}, err
}

// place moves a family to place n of a table: first the default partition, then a new group, then those there are.
func place(s widecol.Store, t widecol.Table, family string, n int) error {
	places := []string{"", widecol.NewGroup}
	for _, g := range t.Groups {
		places = append(places, g.ID)
	}
	_, err := s.MoveFamily(background, t.Name, family, places[n%len(places)])
	return err
}

// moving returns the move of a family, nil if it does not move.
func moving(t widecol.Table, family string) *widecol.Move {
	for i := range t.Moves {
		if t.Moves[i].Family == family {
			return &t.Moves[i]
		}
	}
	return nil
}

func (o *moveFamily) String() string {
	return fmt.Sprintf("move in %q the family %s to place %d", o.table, o.family, o.place)
}

// moveOn has the families that move get on, by some steps.
type moveOn int

func (o moveOn) run(w *world) error {
	if w.subject.Step == nil {
		return nil
	}
	for range o {
		more, err := w.subject.Step()
		if err != nil {
			return fmt.Errorf("step of a move: %w", err)
		}
		if !more {
			return nil
		}
		w.work.Steps++
	}
	return nil
}

func (o moveOn) String() string { return fmt.Sprintf("%d steps of moves", int(o)) }

func (o moveOn) reduced() []op {
	if o == 1 {
		return nil
	}
	return []op{o - 1}
}
