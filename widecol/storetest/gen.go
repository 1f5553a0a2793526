package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"colonnade/cell"
	"colonnade/widecol"
)

// The spaces that random operations draw from are small, so that they meet.
var (
	tableNames = []string{"t", "u"}
	rowKeys    = []string{
		"a", "a\x00", "a\x00b", "a/", "a:", "a:b", "aa", "b", "row1", "row2", "row3", "row4",
		"é", "ÿ", "\U0010ffff", "\U0010ffffa",
	}
	familyNames = []string{"a", "a-b", "b", zeroFamily}
	qualifiers  = []string{"", "x", "x\x00", "x:y", "xy", "y", "\x00", "\U0010ffff"}
	types       = []cell.Type{cell.String, cell.String, cell.I64, cell.Bool, cell.Byte, cell.I32, cell.F32, cell.F64, cell.Bytes}
	limits      = []int64{0, 1, 1, 2, 3, 5}
	ttls        = []int64{1, 5, 10, 30, widecol.MaxTTLSecs}
	samples     = []float64{0.99, 0.5, 0.34, 0.29, 0.1}
	ticks       = []int64{1, second - 1, second, 5 * second, 10 * second, -1, -second, -20 * second}
)

// zeroFamily is the family whose versions may have the time 0, which has no age.
// Its settings are never such that a version may go by age or by number: one
// with time 0 that was one too many would show again, or not, once the newer
// ones have expired.
const zeroFamily = "z"

// generator makes random operations.
type generator struct {
	*rand.Rand
	// live holds the tables and families that there would be in the end.
	live map[string]map[string]bool
}

// kinds are the kinds of operations and how often they come, out of 1000.
var kinds = []struct {
	weight int
	make   func(g *generator) op
}{
	{250, func(g *generator) op { return g.write(1, 5) }},
	{80, func(g *generator) op { return g.write(5, 3) }},
	{100, (*generator).deleteRow},
	{130, func(g *generator) op { return &scan{g.table(), g.query(true)} }},
	{150, func(g *generator) op { return &scan{g.table(), g.query(false)} }},
	{30, func(g *generator) op { return &openView{g.IntN(slots), g.table()} }},
	{60, func(g *generator) op { return &scanView{g.IntN(slots), g.query(g.one(3))} }},
	{20, func(g *generator) op { return &closeView{g.IntN(slots)} }},
	{25, func(g *generator) op { return g.schema() }},
	{25, func(g *generator) op { f := g.family(); return &setGC{g.table(), f, g.gc(f)} }},
	{37, func(g *generator) op { return tick{pick(g, ticks)} }},
	{30, func(g *generator) op { return flush }},
	{20, func(g *generator) op { return compact }},
	{12, func(g *generator) op { return reopen }},
	{12, func(g *generator) op { return crash }},
	{9, func(g *generator) op { return faulty{g.change()} }},
	{10, func(g *generator) op { return checkAll }},
}

// generate returns n operations, the same for the same seed.
func generate(seed uint64, n int) []op {
	g := &generator{rand.New(rand.NewPCG(seed, 1)), make(map[string]map[string]bool)}
	var ops []op
	for _, name := range tableNames {
		ops = append(ops, g.createTable(name))
	}
	for len(ops) < n {
		die := g.IntN(1000)
		for _, kind := range kinds {
			if die -= kind.weight; die < 0 {
				ops = append(ops, kind.make(g))
				break
			}
		}
	}
	return ops
}

// one is true one time in n.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func (g *generator) table() string {
	if g.one(100) {
		return "unknown"
	}
	return pick(g, tableNames)
}

func (g *generator) family() string { return pick(g, familyNames) }

// liveFamily returns a family that is there, most of the time.
func (g *generator) liveFamily(table string) string {
	family := g.family()
	for range 20 {
		if g.live[table][family] {
			break
		}
		family = g.family()
	}
	return family
}

func (g *generator) gc(family string) widecol.GC {
	var gc widecol.GC
	if g.one(2) {
		gc.TTLSecs = pick(g, ttls)
	}
	if g.one(2) {
		gc.VersionLimit = 1 + g.Int64N(3)
	}
	if gc.TTLSecs > 0 && gc.VersionLimit > 0 {
		gc.Intersection = family == zeroFamily || g.one(2)
	}
	return gc
}

func (g *generator) families() []widecol.Family {
	families := make([]widecol.Family, 1+g.IntN(3))
	for i := range families {
		name := g.family()
		families[i] = widecol.Family{Name: name}
		if g.one(4) {
			families[i].GC = g.gc(name)
		}
	}
	return families
}

// change returns a change, for use with a fault.
func (g *generator) change() change {
	switch g.IntN(8) {
	case 0:
		return g.schema()
	case 1, 2:
		return g.deleteRow().(change)
	default:
		return g.write(3, 3).(change)
	}
}

// schema returns a change of tables or families, which brings back what is not
// there more often than it drops what is.
func (g *generator) schema() change {
	table := pick(g, tableNames)
	if g.live[table] == nil && !g.one(4) {
		return g.createTable(table)
	}
	family := g.family()
	switch die := g.IntN(10); {
	case die == 0:
		delete(g.live, table)
		return &dropTable{table: table}
	case die == 1:
		return g.createTable(table)
	case die < 5:
		delete(g.live[table], family)
		return &dropFamily{table: table, family: family}
	default:
		families := g.families()
		for _, f := range families {
			if g.live[table] != nil {
				g.live[table][f.Name] = true
			}
		}
		return &createFamilies{table: table, families: families}
	}
}

func (g *generator) createTable(name string) change {
	o := &createTable{table: name}
	for _, family := range familyNames {
		if !g.one(5) {
			o.families = append(o.families, widecol.Family{Name: family})
			if g.one(3) {
				o.families[len(o.families)-1].GC = g.gc(family)
			}
		}
	}
	if g.live[name] == nil {
		g.live[name] = make(map[string]bool)
		for _, f := range o.families {
			g.live[name][f.Name] = true
		}
	}
	return o
}

// write returns a write of at most so many rows, with so many versions each.
func (g *generator) write(rows, versions int) op {
	o := &write{table: g.table()}
	for range 1 + g.IntN(rows) {
		row := pick(g, rowKeys)
		for range 1 + g.IntN(versions) {
			v := version{row: row, family: g.liveFamily(o.table), qualifier: pick(g, qualifiers)}
			v.time = g.time(v.family)
			v.typ, v.value = g.value()
			o.versions = append(o.versions, v)
		}
	}
	if g.one(40) {
		g.spoil(&o.versions[g.IntN(len(o.versions))])
	}
	return o
}

// spoil makes a version invalid, in one way or another.
func (g *generator) spoil(v *version) {
	switch g.IntN(6) {
	case 0:
		v.row = ""
	case 1:
		v.family = "unknown"
	case 2:
		v.time = math.MaxInt64
	case 3:
		v.typ, v.value = cell.I64, "1234567"
	case 4:
		v.typ = cell.None
	case 5:
		v.row = strings.Repeat("r", widecol.MaxRowKey+1)
	}
}

func (g *generator) time(family string) int64 {
	switch die := g.IntN(20); {
	case die < 9:
		return widecol.CommitTime
	case die == 9:
		return cell.MaxTime - g.Int64N(2)
	case die == 10 && family == zeroFamily:
		return 0
	case die == 11:
		return 1
	default: // past and future, at distances that ttls have
		return start + 5*second*(g.Int64N(13)-6)
	}
}

func (g *generator) value() (cell.Type, string) {
	typ := pick(g, types)
	var b []byte
	switch typ {
	case cell.Bool:
		b = []byte{byte(g.IntN(2))}
	case cell.Byte:
		b = []byte{byte(g.IntN(256))}
	case cell.I32, cell.F32:
		b = binary.LittleEndian.AppendUint32(nil, g.Uint32())
	case cell.I64, cell.F64:
		b = binary.LittleEndian.AppendUint64(nil, g.Uint64())
	default:
		n := g.IntN(9)
		if g.one(50) {
			n = 5_000
		} else if g.one(500) {
			n = 150_000
		}
		text := fmt.Sprintf("%x", g.Uint64())
		return typ, strings.Repeat(text, 1+n/len(text))[:n]
	}
	return typ, string(b)
}

func (g *generator) deleteRow() op {
	return &deleteRow{table: g.table(), row: pick(g, rowKeys), filter: g.filter()}
}

// columnKey returns the text of a column key.
func (g *generator) columnKey() string { return g.family() + ":" + pick(g, qualifiers) }

func (g *generator) filter() filter {
	var keys []string
	switch die := g.IntN(20); {
	case die < 7:
		return filter{text: "all columns"}
	case die < 11:
		keys = []string{g.columnKey()}
	case die < 13:
		keys = []string{g.family()}
	case die < 16:
		keys = []string{g.columnKey(), g.columnKey(), g.columnKey()}
	default:
		key := g.columnKey()
		prefix := key[:g.IntN(len(key)+1)]
		return filter{widecol.PrefixFilter(prefix), fmt.Sprintf("prefix %q", prefix)}
	}
	f, err := widecol.ColumnsFilter(keys...)
	if err != nil {
		panic(err) // the names are valid
	}
	return filter{f, fmt.Sprintf("columns %q", keys)}
}

// query returns a query of one row, or of several.
func (g *generator) query(get bool) query {
	f := g.filter()
	q := query{Query: widecol.NewQuery(), chunks: all}
	q.Filter = f.Filter
	switch row := pick(g, rowKeys); {
	case get:
		q.SetKey([]byte(row))
		q.text = fmt.Sprintf("row %s", short(row))
	case g.one(3):
		prefix := row[:g.IntN(len(row)+1)]
		q.SetPrefix([]byte(prefix))
		q.text = fmt.Sprintf("prefix %q", prefix)
	case g.one(3):
		q.Start = []byte(row)
		q.text = fmt.Sprintf("from %q", q.Start)
		if !g.one(3) {
			q.End = []byte(pick(g, rowKeys))
			q.text += fmt.Sprintf(" to %q", q.End)
		}
	default:
		q.text = "all rows"
	}
	q.text += ", " + f.text
	g.limit(&q)
	return q
}

// limit gives a query some limits.
func (g *generator) limit(q *query) {
	for _, limit := range []*int64{&q.ColumnCellLimit, &q.RowCellLimit, &q.RowLimit, &q.Offset, &q.CellLimit} {
		if g.one(6) {
			*limit = pick(g, limits)
		}
	}
	if g.one(8) {
		q.Sample = pick(g, samples)
	}
	q.KeysOnly = g.one(10)
	if g.one(20) {
		q.chunks = g.IntN(4)
	}
}
