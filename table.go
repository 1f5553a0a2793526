package colonnade

import (
	"context"
	"fmt"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
)

// Table is a table of a DB. Its methods fail with ErrNotFound while the table does not exist.
type Table struct {
	db   *DB
	name string
}

// Family is a column family.
type Family struct {
	Name string
	GC   GC
}

// GC says which versions of a family are garbage: no read returns them, and compactions free their space. The zero GC
// keeps all.
type GC struct {
	TTL          time.Duration // a version of this age is garbage, in whole seconds; 0 for no limit
	VersionLimit int64         // so are all versions of a cell but the newest; 0 for no limit
	Intersection bool          // both reasons are needed, not just one
}

// NewGroup, as a place for MoveFamily, is a locality group of the family's own.
const NewGroup = widecol.NewGroup

// Group is a locality group.
type Group struct {
	ID       string
	Families []string
}

// TableInfo describes a table.
type TableInfo struct {
	Name      string
	Families  []Family // by name
	Groups    []Group  // families in none of them share what is left
	DiskBytes int64
}

// Info describes the table.
func (t *Table) Info(ctx context.Context) (TableInfo, error) {
	table, err := t.db.store.Table(ctx, t.name)
	return tableInfo(table), failure(err)
}

// CreateFamilies adds families, all or none. With group they form a new locality group. It fails with ErrExists if
// there is one of them.
func (t *Table) CreateFamilies(ctx context.Context, group bool, families ...Family) error {
	list, err := modelFamilies(families)
	if err != nil {
		return err
	}
	return failure(t.db.store.CreateFamilies(ctx, t.name, list, group))
}

// SetGC changes which versions of a family are garbage. Reads obey at once.
func (t *Table) SetGC(ctx context.Context, family string, gc GC) error {
	set, err := gc.model()
	if err != nil {
		return err
	}
	return failure(t.db.store.AlterFamily(ctx, t.name, family, widecol.ChangeGC(set)))
}

// MoveFamily moves a family to another place: the ID of a locality group, NewGroup, or "" for out of all groups. It
// returns when the move has begun. That goes on in the background, and after the next Open, while the family is read
// and written.
func (t *Table) MoveFamily(ctx context.Context, family, place string) error {
	_, err := t.db.store.MoveFamily(ctx, t.name, family, place)
	return failure(err)
}

// DropFamily removes a family with all its cells.
func (t *Table) DropFamily(ctx context.Context, family string) error {
	return failure(t.db.store.DropFamily(ctx, t.name, family))
}

func tableInfo(t widecol.Table) TableInfo {
	info := TableInfo{Name: t.Name, DiskBytes: t.DiskBytes}
	for _, f := range t.Families {
		gc := GC{TTL: time.Duration(f.GC.TTLSecs) * time.Second, VersionLimit: f.GC.VersionLimit, Intersection: f.GC.Intersection}
		info.Families = append(info.Families, Family{Name: f.Name, GC: gc})
	}
	for _, g := range t.Groups {
		info.Groups = append(info.Groups, Group(g))
	}
	return info
}

func modelFamilies(families []Family) ([]widecol.Family, error) {
	list := make([]widecol.Family, 0, len(families))
	for i, f := range families {
		gc, err := f.GC.model()
		if err != nil {
			return nil, err.at(i)
		}
		list = append(list, widecol.Family{Name: f.Name, GC: gc})
	}
	return list, nil
}

func (g GC) model() (widecol.GC, *Error) {
	if g.TTL%time.Second != 0 {
		return widecol.GC{}, invalid("invalid_gc_settings", fmt.Sprintf("a TTL of %v is not a number of whole seconds", g.TTL))
	}
	return widecol.GC{TTLSecs: int64(g.TTL / time.Second), VersionLimit: g.VersionLimit, Intersection: g.Intersection}, nil
}

// Write applies mutations in their order, all or none, whatever rows they are of. It returns the time of the commit, in
// microseconds since the Unix epoch, which is later than that of every commit before. There must be a mutation.
func (t *Table) Write(ctx context.Context, mutations ...Mutation) (time int64, err error) {
	list, err := modelMutations(mutations)
	if err != nil {
		return 0, err
	}
	time, err = t.db.store.Write(ctx, t.name, list, "")
	return time, failure(err)
}

// Check is a change of a row that depends on what the row holds. The Index of an Error counts through Then and Else.
type Check struct {
	Row        string
	If         Condition
	Then, Else []Mutation // of the row, applied when If is met, or when it is not; one of them may be empty
}

// CheckAndMutate looks at a row, and changes it by what is there. No other change of the row comes between. It reports
// whether the condition was met.
func (t *Table) CheckAndMutate(ctx context.Context, c Check) (met bool, err error) {
	change := widecol.CheckAndMutate{Row: []byte(c.Row), If: c.If.query()}
	if c.If.err != nil {
		return false, c.If.err
	}
	if change.Then, err = modelMutations(c.Then); err == nil {
		change.Else, err = modelMutations(c.Else)
	}
	if err != nil {
		return false, err
	}
	met, _, err = t.db.store.CheckAndMutate(ctx, t.name, &change, "")
	return met, failure(err)
}

// Increment adds n to the newest version of a column, an I64, and writes the sum as a new version, which it returns.
// No other change of the row comes between. A column without a version counts as 0. It fails with ErrConflict if the
// value is of another type, or if the sum overflows.
//
// A counter in a family with a VersionLimit of 1 keeps no history.
func (t *Table) Increment(ctx context.Context, row, family, qualifier string, n int64) (sum int64, err error) {
	u := widecol.ReadModifyWrite{Row: []byte(row), Rules: []widecol.Rule{{Family: []byte(family), Qualifier: []byte(qualifier), Increment: n}}}
	written, _, err := t.db.store.ReadModifyWrite(ctx, t.name, &u, "")
	if err != nil {
		return 0, failure(err)
	}
	sum, _ = Cell{&written[0]}.Value().Int()
	return sum, nil
}

// DeleteRows deletes all cells of rows. Each row is deleted at once; of many rows, some may be deleted before others, and
// after any error some may be deleted and others not: call it again. The zero RowSet is refused: Prefix("") is all rows.
func (t *Table) DeleteRows(ctx context.Context, rows RowSet) error {
	if rows.set == nil {
		return invalid("invalid_row_set", "no rows are named: Prefix(\"\") is all rows of the table")
	}
	d := widecol.NewDeletion()
	d.Rows = rows.set
	_, err := t.db.store.Delete(ctx, t.name, &d, "")
	return failure(err)
}

// Snapshot opens a snapshot of the table. The caller closes it.
func (t *Table) Snapshot(ctx context.Context) (*Snapshot, error) {
	view, err := t.db.store.View(ctx, t.name)
	if err != nil {
		return nil, failure(err)
	}
	return &Snapshot{view: view}, nil
}
