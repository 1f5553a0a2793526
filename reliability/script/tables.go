package script

import (
	"context"
	"fmt"

	"colonnade/cell"
	"colonnade/reliability/ledger"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
)

// tables is a Store on the data model: a space is a table with three families,
// of which two are in a locality group of their own.
type tables struct{ s *lsmstore.Store }

// Tables is the Level of the data model.
func Tables(fs vfs.FS, size Size) (Store, error) {
	s, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: size.options(fs)})
	if err != nil {
		return nil, err
	}
	return &tables{s}, nil
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

func (t *tables) Flush() error   { return t.s.Engine().Flush(context.Background()) }
func (t *tables) Compact() error { return compact(t.s.Engine()) }

func (t *tables) Read() (ledger.Cells, error) {
	list, err := t.s.Tables(context.Background())
	if err != nil {
		return nil, err
	}
	found := make(ledger.Cells)
	for _, table := range list {
		if len(table.Families) != Parts || len(table.Groups) != Parts-1 {
			return nil, fmt.Errorf("table %s is there with %d families in %d groups", table.Name, len(table.Families), len(table.Groups))
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
