package script

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// tables is a Store on the data model: a space is a table with three families,
// of which two are in a locality group of their own until one moves.
type tables struct {
	s     *lsmstore.Store
	moves bool
	step  sync.Mutex // of MoveSome
}

// Tables is the Level of the data model, for workloads without moves.
func Tables(fs vfs.FS, size Size) (Store, error) {
	s, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: size.options(fs)})
	if err != nil {
		return nil, err
	}
	return &tables{s: s}, nil
}

// moveBytes is a step of a move: a few rows.
const moveBytes = 500

// Moving is the Level of the data model, for workloads with moves. Families move in MoveSome alone.
func Moving(fs vfs.FS, size Size) (Store, error) {
	s, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: size.options(fs), StepMoves: true, MoveBytes: moveBytes})
	if err != nil {
		return nil, err
	}
	return &tables{s: s, moves: true}, nil
}

var families = [Parts]string{"a", "b", "c"}

func (t *tables) Create(space string) error {
	spec := widecol.TableSpec{Groups: [][]string{{families[1]}, {families[2]}}}
	for _, name := range families {
		spec.Families = append(spec.Families, widecol.Family{Name: name})
	}
	return t.s.CreateTable(context.Background(), space, spec)
}

func (t *tables) Drop(space string) error { return t.s.DropTable(context.Background(), space) }

func (t *tables) Write(space string, rows []Row) error {
	var list []widecol.Mutation
	for _, row := range rows {
		for part, value := range row.Values {
			if value != "" {
				list = append(list, widecol.Mutation{Row: []byte(row.Key), Family: []byte(families[part]),
					Qualifier: []byte("q"), Value: []byte(value), Time: writeTime, Type: cell.Bytes})
			}
		}
	}
	_, err := t.s.Write(context.Background(), space, list, "")
	return err
}

func (t *tables) Delete(space, row string) error {
	_, err := t.s.Delete(context.Background(), space, widecol.RowDeletion([]byte(row), widecol.Filter{}), "")
	return err
}

func (t *tables) Move(space string, part int, to Place) error {
	table, err := t.s.Table(context.Background(), space)
	if err != nil {
		return err
	}
	family, place := families[part], ""
	moves := slices.IndexFunc(table.Moves, func(m widecol.Move) bool { return m.Family == family })
	switch {
	case moves >= 0:
		place = table.Moves[moves].From
	case to == alone:
		place = widecol.NewGroup
	case to == another:
		place = groupOf(&table, families[(part+1)%Parts])
	}
	_, err = t.s.MoveFamily(context.Background(), space, family, place)
	if code := widecol.KindOf(err); code == widecol.NotFound || code == widecol.Conflict {
		return nil // another writer has moved the other part, or this one, meanwhile
	}
	return err
}

// groupOf returns the group of a family, empty for none.
func groupOf(table *widecol.Table, family string) string {
	for _, g := range table.Groups {
		if slices.Contains(g.Families, family) {
			return g.ID
		}
	}
	return ""
}

func (t *tables) MoveSome() (bool, error) {
	t.step.Lock()
	defer t.step.Unlock()
	return t.s.MoveStep(context.Background())
}

func (t *tables) Flush() error   { return t.s.Engine().Flush(context.Background()) }
func (t *tables) Compact() error { return compact(t.s.Engine()) }

func (t *tables) Read() (ledger.Cells, error) {
	list, err := t.s.Tables(context.Background())
	if err != nil {
		return nil, err
	}
	found := make(ledger.Cells)
	for _, table := range list {
		if len(table.Families) != Parts || !t.moves && len(table.Groups) != Parts-1 || t.moves && empty(&table) {
			return nil, fmt.Errorf("table %s is there with %d families in the groups %v", table.Name, len(table.Families), table.Groups)
		}
		err := t.readTable(table.Name, found)
		if widecol.KindOf(err) == widecol.NotFound {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// empty reports whether a group has no family, and none that comes from it.
func empty(table *widecol.Table) bool {
	return slices.ContainsFunc(table.Groups, func(g widecol.Group) bool {
		return len(g.Families) == 0 && !slices.ContainsFunc(table.Moves, func(m widecol.Move) bool { return m.From == g.ID })
	})
}

func (t *tables) readTable(space string, found ledger.Cells) error {
	view, err := t.s.View(context.Background(), space)
	if err != nil {
		return err
	}
	defer view.Close()
	found[spacePlace(space)] = ""
	q := widecol.NewQuery()
	rows, err := view.Scan(context.Background(), &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			family, _ := cell.SplitColumn(c.Column)
			at := place(space, string(rows.Row()), int(family[0]-'a'))
			if _, twice := found[at]; twice {
				return fmt.Errorf("a reader sees %s twice", at)
			}
			found[at] = string(c.Value)
		}
	}
	return rows.Err()
}

func (t *tables) Health() error { return t.s.Health() }
func (t *tables) Close() error  { return t.s.Close() }
