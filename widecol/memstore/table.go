package memstore

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// table is a table at one moment. It is immutable once it is in a Store.
type table struct {
	created  int64 // microseconds since the Unix epoch
	name     string
	settings widecol.TableSettings
	families map[string]widecol.Family
	groups   []widecol.Group    // their Families do not change in place
	cells    []version          // in the order of compare, no two equal
	keys     map[string]applied // by idempotency key; does not change in place
}

// applied is what a request did, and the record of its idempotency key.
type applied struct {
	request  string
	at       int64 // when the record was made
	time     int64 // of the commit, 0 for none
	outcomes []error
	matched  bool
	written  []version
	deleted  widecol.Deleted
}

// recall returns the record of a key. It fails with IdempotencyKeyReused if the key was applied
// with another request.
func (t *table) recall(key, request string, now int64) (before applied, found bool, err error) {
	if key == "" {
		return applied{}, false, nil
	}
	if err := widecol.CheckIdempotencyKey(key); err != nil {
		return applied{}, false, err
	}
	before, found = t.keys[key]
	window := widecol.GC{TTLSecs: widecol.IdempotencyWindowSecs}
	switch {
	case !found || window.Expired(before.at, now):
		return applied{}, false, nil
	case before.request != request:
		return applied{}, false, widecol.IdempotencyKeyReused(key)
	}
	return before, true, nil
}

// remember records an applied key.
func (t *table) remember(key string, a applied) {
	if key == "" {
		return
	}
	keys := make(map[string]applied, len(t.keys)+1)
	maps.Copy(keys, t.keys)
	keys[key] = a
	t.keys = keys
}

// version is one version of a cell.
type version struct {
	row, family, qualifier string
	time                   int64
	typ                    cell.Type
	value                  string
	label                  string // that a row filter gave it; never stored
}

// compare is the order of the data model: rows, families and qualifiers by bytes, versions newest
// first.
func compare(a, b version) int {
	return cmp.Or(
		strings.Compare(a.row, b.row),
		strings.Compare(a.family, b.family),
		strings.Compare(a.qualifier, b.qualifier),
		cmp.Compare(b.time, a.time),
	)
}

// column returns the column of a version in the encoding of filters.
func (v version) column() []byte {
	return cell.AppendColumn(nil, []byte(v.family), []byte(v.qualifier))
}

// split returns the family and the qualifier of a column.
func split(column []byte) (family, qualifier string) {
	f, q := cell.SplitColumn(column)
	return string(f), string(q)
}

// in reports whether a filter selects the version's column.
func (v version) in(f widecol.Filter) bool {
	return f.Columns == nil || f.Columns.Contains(v.column())
}

// matches reports whether a value filter selects the version.
func (v version) matches(f *widecol.ValueFilter) bool {
	if v.typ != f.Type {
		return false
	}
	order := 0
	switch a, b := []byte(v.value), f.Value; v.typ {
	case cell.I64, cell.I32:
		order = cmp.Compare(integer(a), integer(b))
	case cell.F64, cell.F32:
		order = cmp.Compare(float(a), float(b))
	default:
		order = strings.Compare(string(a), string(b))
	}
	holds := map[widecol.Comparison][]int{
		widecol.Equal: {0}, widecol.NotEqual: {-1, 1}, widecol.Less: {-1}, widecol.LessOrEqual: {-1, 0},
		widecol.Greater: {1}, widecol.GreaterOrEqual: {0, 1},
	}
	return slices.Contains(holds[f.Op], order)
}

// integer decodes a value of 4 or 8 bytes.
func integer(b []byte) (n int64) {
	for i, c := range b {
		n |= int64(c) << (8 * i)
	}
	unused := 64 - 8*len(b)
	return n << unused >> unused
}

func float(b []byte) float64 {
	if len(b) == 4 {
		return float64(math.Float32frombits(uint32(integer(b))))
	}
	return math.Float64frombits(uint64(integer(b)))
}

// set stores a version. It replaces one of the same cell and time.
func (t *table) set(v version) {
	i, found := slices.BinarySearchFunc(t.cells, v, compare)
	if found {
		t.cells[i] = v
	} else {
		t.cells = slices.Insert(t.cells, i, v)
	}
}

// rows yields the versions of each row.
func (t *table) rows() iter.Seq[[]version] {
	return func(yield func([]version) bool) {
		for rest := t.cells; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].row == rest[0].row {
				n++
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// inOrder yields the versions of each row, the rows in descending order if reverse.
func (t *table) inOrder(reverse bool) iter.Seq[[]version] {
	if !reverse {
		return t.rows()
	}
	rows := slices.Collect(t.rows())
	slices.Reverse(rows)
	return slices.Values(rows)
}

// left returns the versions of a row that are not garbage at now.
func (t *table) left(row []version, now int64) []version {
	var left []version
	newer := int64(0) // versions of the same column in left
	for i, v := range row {
		if i > 0 && (v.family != row[i-1].family || v.qualifier != row[i-1].qualifier) {
			newer = 0
		}
		gc := t.families[v.family].GC
		if gc.Gone(v.time, now, newer) {
			continue
		}
		newer++
		left = append(left, v)
	}
	return left
}

// known returns an error for a family that the filter names and the table does not have.
func (t *table) known(f widecol.Filter) error {
	for i, family := range f.Families {
		if _, ok := t.families[family]; !ok {
			return widecol.UnknownFamily(t.name, family).At(i)
		}
	}
	return nil
}

// partition returns the name of the partition that a family would have.
func (t *table) partition(family string) string {
	if id := t.groupOf(family); id != "" {
		return "_lg_" + id
	}
	return "_dat_" + t.name
}

// rawSize returns the size of a version in statistics, in bytes.
func (v version) rawSize() int64 {
	return int64(len(v.row) + len(v.column()) + 8 + len(v.value))
}
