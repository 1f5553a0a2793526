package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"colonnade/cell"
	"colonnade/widecol"
)

// Random operations draw from small sets, so that they meet. The first row keys and qualifiers are
// drawn more often.
var (
	tableNames = []string{"t", "u"}
	rowKeys    = []string{
		"a", "a\x00", "a:b", "row1",
		"a\x00b", "a/", "a:", "aa", "b", "row2", "row3", "row4", "é", "ÿ", "\U0010ffff", "\U0010ffffa",
	}
	familyNames = []string{"a", "a-b", "b", "z"}
	qualifiers  = []string{"", "x", "x:y", "xy", "x\x00", "y", "\x00", "\U0010ffff"}
	types       = []cell.Type{cell.String, cell.String, cell.I64, cell.Bool, cell.Byte, cell.I32, cell.F32, cell.F64, cell.Bytes}
	limits      = []int64{0, 1, 1, 1, 2, 2, 3, 5, 8}
	ttls        = []int64{1, 5, 10, 30, widecol.MaxTTLSecs}
	samples     = []float64{0.99, 0.5, 0.34, 0.29, 0.1}
	ticks       = []int64{1, second - 1, second, 5 * second, 10 * second, -1, -second, -20 * second}
)

// generator makes random operations.
type generator struct {
	*rand.Rand
	ops []op
	// live holds the tables and families that exist after the operations so far. Most operations
	// use these.
	live map[string]map[string]bool
	// viewed holds the tables of the views opened last, by slot.
	viewed [slots]string
	// recent are some versions written lately, to be overwritten.
	recent [8]version
	// sent are some recent changes with an idempotency key, to be sent again; keys counts the keys.
	sent [6]change
	keys int
	// mend, if not nil, is the next operation. It makes live correct again after an operation that
	// may or may not have been applied.
	mend op
}

// kinds are the kinds of operations with their weights.
var kinds = []struct {
	weight  int
	restart bool // the Store is reopened, which closes all views
	make    func(g *generator) op
}{
	{weight: 250, make: func(g *generator) op { return g.write(1, 5) }},
	{weight: 90, make: func(g *generator) op { return g.write(5, 3) }},
	{weight: 22, make: func(g *generator) op { return g.together(false) }},
	{weight: 100, make: func(g *generator) op { return g.deleteRow() }},
	{weight: 60, make: func(g *generator) op { return g.mutate(true) }},
	{weight: 40, make: func(g *generator) op { return g.checkAndMutate(true) }},
	{weight: 60, make: func(g *generator) op { return g.readModifyWrite() }},
	{weight: 12, make: func(g *generator) op { return g.deletion(true) }},
	{weight: 40, make: func(g *generator) op { return g.keyed() }},
	{weight: 45, make: (*generator).again},
	{weight: 145, make: func(g *generator) op { return g.scan(true) }},
	{weight: 135, make: func(g *generator) op { return g.scan(false) }},
	{weight: 70, make: (*generator).aggregate},
	{weight: 50, make: (*generator).allPages},
	{weight: 20, make: (*generator).firstPage},
	{weight: 40, make: func(g *generator) op { return &nextPage{g.pageSize()} }},
	{weight: 22, make: (*generator).openView},
	{weight: 45, make: (*generator).scanView},
	{weight: 15, make: (*generator).beginScan},
	{weight: 20, make: func(g *generator) op { return &readOn{g.IntN(slots), g.IntN(4) - 1} }},
	{weight: 3, make: func(g *generator) op { return &closeView{g.IntN(slots)} }},
	{weight: 24, make: func(g *generator) op { return g.schema() }},
	{weight: 20, make: (*generator).setGC},
	{weight: 50, make: func(g *generator) op { return g.moveFamily() }},
	{weight: 70, make: func(g *generator) op { return moveOn(1 + g.IntN(6)) }},
	{weight: 25, make: func(g *generator) op { return tick{pick(g, ticks)} }},
	{weight: 30, make: func(*generator) op { return flush }},
	{weight: 20, make: func(*generator) op { return compact }},
	{weight: 10, make: func(*generator) op { return checkAll }},
	{weight: 20, restart: true, make: func(*generator) op { return reopen }},
	{weight: 18, restart: true, make: func(*generator) op { return crash }},
	{weight: 15, restart: true, make: (*generator).faulty},
	{weight: 10, restart: true, make: func(g *generator) op { return g.together(true) }},
}

// calm is a divisor: one seed in calm has no restarts. Views then grow old, and files accumulate
// from many flushes.
const calm = 3

// generate returns n operations. The same seed gives the same operations.
func generate(seed uint64, n int) []op {
	g := newGenerator(rand.New(rand.NewPCG(seed, 1)))
	for len(g.ops) < n {
		g.step(seed%calm != 0)
	}
	return g.ops
}

// newGenerator returns a generator that has made the first operations. They create the tables.
func newGenerator(rnd *rand.Rand) *generator {
	g := &generator{Rand: rnd, live: make(map[string]map[string]bool)}
	for _, name := range tableNames {
		g.ops = append(g.ops, g.createTable(name))
	}
	return g
}

// step makes the next operation.
func (g *generator) step(restarts bool) {
	total := 0
	for _, kind := range kinds {
		if restarts || !kind.restart {
			total += kind.weight
		}
	}
	die := g.IntN(total)
	for _, kind := range kinds {
		if die -= kind.weight; die < 0 {
			g.ops = append(g.ops, kind.make(g))
			break
		}
	}
	if g.mend != nil {
		g.ops = append(g.ops, g.mend)
		g.mend = nil
	}
}

// one returns true one time in n.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// skewed returns one of the first four elements more than half of the time.
func (g *generator) skewed(list []string) string {
	if g.one(2) {
		return list[g.IntN(4)]
	}
	return pick(g, list)
}

func (g *generator) table() string {
	if g.one(100) {
		return "unknown"
	}
	return pick(g, tableNames)
}

func (g *generator) family() string { return pick(g, familyNames) }

// liveFamily returns an existing family, most of the time.
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

func (g *generator) gc() widecol.GC {
	var gc widecol.GC
	if g.one(2) {
		gc.TTLSecs = pick(g, ttls)
	}
	if g.one(2) {
		gc.VersionLimit = 1 + g.Int64N(3)
	}
	if gc.TTLSecs > 0 && gc.VersionLimit > 0 {
		gc.Intersection = g.one(2)
	}
	return gc
}

// families returns some families that the table does not have, if possible.
func (g *generator) families(table string) (families []widecol.Family) {
	missing := len(familyNames) - len(g.live[table])
	for range 1 + g.IntN(max(1, missing)) {
		name := g.family()
		for range 20 {
			if !g.live[table][name] && !named(families, name) {
				break
			}
			name = g.family()
		}
		families = append(families, g.newFamily(name))
	}
	return families
}

func named(families []widecol.Family, name string) bool {
	return slices.ContainsFunc(families, func(f widecol.Family) bool { return f.Name == name })
}

func (g *generator) newFamily(name string) widecol.Family {
	f := widecol.Family{Name: name}
	if g.one(3) {
		f.GC = g.gc()
	}
	return f
}

// schema returns a change of tables or families. It creates missing ones more often than it drops
// existing ones.
func (g *generator) schema() change {
	table := pick(g, tableNames)
	if g.live[table] == nil && !g.one(4) {
		return g.createTable(table)
	}
	missing := len(familyNames) - len(g.live[table])
	switch die := g.IntN(10); {
	case die < 2:
		delete(g.live, table)
		if !g.one(4) {
			g.mend = g.createTable(table)
		}
		return &dropTable{table: table}
	case die == 2:
		return g.createTable(table)
	case missing > 1 || missing == 1 && die < 6 || die == 3:
		return g.createFamilies(table)
	default:
		family := g.liveFamily(table)
		delete(g.live[table], family)
		return &dropFamily{table: table, family: family}
	}
}

func (g *generator) createTable(name string) change {
	o := &createTable{table: name}
	for _, family := range familyNames {
		if !g.one(5) {
			o.families = append(o.families, g.newFamily(family))
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

func (g *generator) createFamilies(table string) change {
	o := &createFamilies{table: table, families: g.families(table)}
	live := g.live[table]
	possible := live != nil
	for i, f := range o.families {
		possible = possible && !live[f.Name] && !named(o.families[:i], f.Name)
	}
	if possible {
		for _, f := range o.families {
			live[f.Name] = true
		}
	}
	return o
}

func (g *generator) setGC() op {
	table := g.table()
	family := g.liveFamily(table)
	return &setGC{table, family, g.gc()}
}

func (g *generator) moveFamily() change {
	table := g.table()
	return &moveFamily{table, g.liveFamily(table), g.IntN(12)}
}

// faulty returns changes with a fault: one of any kind, then perhaps more, which may be refused or
// lost as well.
func (g *generator) faulty() op {
	var c change
	switch g.IntN(7) {
	case 0:
		c = g.schema()
	case 1:
		c = g.deleteRow()
	case 6:
		c = g.moveFamily()
	case 2, 3:
		c = g.keyed()
	default:
		c = g.write(3, 3)
	}
	changes := []change{c}
	switch o := c.(type) {
	case *createTable, *createFamilies:
		g.mend = c
	case *dropFamily:
		g.mend = &createFamilies{table: o.table, families: []widecol.Family{{Name: o.family}}}
		if g.live[o.table] != nil {
			g.live[o.table][o.family] = true
		}
	case *dropTable:
		if g.mend == nil {
			g.mend = g.createTable(o.table)
		}
	}
	for len(changes) < 4 && g.one(2) {
		if g.one(4) {
			changes = append(changes, g.deleteRow())
		} else if g.one(6) {
			changes = append(changes, g.moveFamily())
		} else {
			changes = append(changes, g.write(2, 2))
		}
	}
	return &faulty{changes}
}

// together returns concurrent writes, with reads meanwhile, and perhaps a crash at the end.
func (g *generator) together(crash bool) op {
	o := &together{flush: g.one(2), step: g.one(2), crash: crash}
	for range 1 + g.IntN(4) {
		o.writes = append(o.writes, g.write(2, 3))
	}
	for range g.IntN(4) {
		o.meanwhile = append(o.meanwhile, pick(g, reads)(g))
	}
	return o
}

// reads are operations that change nothing.
var reads = []func(g *generator) op{
	func(g *generator) op { return g.scan(true) },
	func(g *generator) op { return g.scan(false) },
	(*generator).aggregate,
	(*generator).openView,
	(*generator).scanView,
	(*generator).beginScan,
	func(g *generator) op { return &readOn{g.IntN(slots), 1} },
}

func (g *generator) scan(get bool) op {
	table := g.table()
	return &scan{table, g.query(table, get)}
}

func (g *generator) openView() op {
	o := &openView{g.IntN(slots), g.table()}
	g.viewed[o.slot] = o.table
	return o
}

func (g *generator) scanView() op {
	slot := g.IntN(slots)
	return &scanView{slot, g.query(g.viewed[slot], g.one(3))}
}

func (g *generator) beginScan() op {
	slot := g.IntN(slots)
	return &beginScan{slot, g.query(g.viewed[slot], false)}
}

// write returns a write of at most rows rows with at most versions versions each.
func (g *generator) write(rows, versions int) *write {
	o := &write{table: g.table()}
	for range 1 + g.IntN(rows) {
		row := g.skewed(rowKeys)
		for range 1 + g.IntN(versions) {
			o.versions = append(o.versions, g.version(o.table, row))
		}
	}
	if g.one(40) {
		g.spoil(&o.versions[g.IntN(len(o.versions))])
	}
	return o
}

// version returns a new version of a row, or sometimes one that overwrites a recent version.
func (g *generator) version(table, row string) version {
	v := version{row: row, family: g.liveFamily(table), qualifier: g.skewed(qualifiers)}
	v.time = g.time()
	recent := &g.recent[g.IntN(len(g.recent))]
	if recent.row != "" && g.live[table][recent.family] && g.one(6) {
		v = *recent
	} else {
		*recent = v
	}
	v.typ, v.value = g.value()
	return v
}

// spoil makes a version invalid in one way.
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

func (g *generator) time() int64 {
	switch die := g.IntN(20); {
	case die < 9:
		return widecol.CommitTime
	case die == 9:
		return cell.MaxTime - g.Int64N(2)
	case die == 10:
		return 0
	case die == 11:
		return 1
	default: // past and future, in steps that match the ttls
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
	case cell.I32, cell.F32, cell.I64, cell.F64:
		b = g.number(typ)
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

// keyed returns a change with an idempotency key of its own.
func (g *generator) keyed() change {
	g.keys++
	key := fmt.Sprintf("key-%d", g.keys)
	var c change
	switch {
	case g.one(3):
		o := g.deleteRow()
		o.key = key
		c = o
	case g.one(2):
		c = g.updateWithKey(key)
	default:
		o := g.write(2, 3)
		o.key = key
		c = o
	}
	g.sent[g.IntN(len(g.sent))] = c
	return c
}

// again returns an earlier change with its key, or sometimes another change with that key. The
// other change is of the other kind: whether two writes are the same request may depend on a commit
// time.
func (g *generator) again() op {
	var o op
	switch sent := pick(g, g.sent[:]).(type) {
	case nil:
		return g.keyed()
	case *write:
		o = repeated(sent)
		if g.one(8) {
			d := g.deleteRow()
			d.key, d.again = sent.key, true
			o = d
		}
	case *deleteRow:
		o = repeated(sent)
		if g.one(8) {
			w := g.write(1, 2)
			w.key, w.again = sent.key, true
			o = w
		}
	case sender:
		o = repeated(sent)
		if g.one(8) {
			d := g.deleteRow()
			d.key, _ = sent.sent()
			d.again = true
			o = d
		}
	}
	return o
}

func (g *generator) deleteRow() *deleteRow {
	table := g.table()
	return &deleteRow{table: table, row: g.skewed(rowKeys), filter: g.filter(table)}
}

// filter returns a filter for a table.
func (g *generator) filter(table string) filter {
	family := func() string {
		if g.one(30) {
			return g.family()
		}
		return g.liveFamily(table)
	}
	key := func() string { return family() + ":" + g.skewed(qualifiers) }
	var keys []string
	switch die := g.IntN(20); {
	case die < 7:
		return filter{text: "all columns"}
	case die < 11:
		keys = []string{key()}
	case die < 13:
		keys = []string{family()}
	case die < 16:
		keys = []string{key(), key(), key()}
	default:
		prefix := key()
		prefix = prefix[:g.IntN(len(prefix)+1)]
		return filter{widecol.PrefixFilter(prefix), fmt.Sprintf("prefix %q", prefix)}
	}
	f, err := widecol.ColumnsFilter(keys...)
	if err != nil {
		panic(err) // the names are valid
	}
	return filter{f, fmt.Sprintf("columns %q", keys)}
}

// query returns a query of a table, for one row with get, else for several.
func (g *generator) query(table string, get bool) query {
	f := g.filter(table)
	q := query{Query: widecol.NewQuery(), chunks: all}
	q.Filter = f.Filter
	switch row := g.skewed(rowKeys); {
	case get:
		q.SetKey([]byte(row))
		q.text = fmt.Sprintf("row %s", short(row))
	case g.one(3):
		prefix := row[:g.IntN(len(row)+1)]
		q.SetPrefix([]byte(prefix))
		q.text = fmt.Sprintf("prefix %q", prefix)
	case g.one(3):
		var end []byte
		if !g.one(3) {
			end = []byte(g.skewed(rowKeys))
		}
		q.SetRange([]byte(row), end)
		q.text = fmt.Sprintf("from %q to %q", row, end)
	case g.one(3):
		var ranges []widecol.RowRange
		for range g.IntN(6) {
			ranges = append(ranges, g.rowRange())
		}
		q.Rows = widecol.NewRowSet(ranges...)
		q.text = fmt.Sprintf("ranges %q", q.Rows)
	default:
		q.text = "all rows"
	}
	q.text += ", " + f.text
	g.selectVersions(&q)
	g.limitCells(&q)
	if !get || g.one(10) {
		g.limitRows(&q)
		q.Reverse = g.one(3)
	}
	return q
}

func (g *generator) rowRange() widecol.RowRange {
	switch row := []byte(g.skewed(rowKeys)); {
	case g.one(2):
		return widecol.KeyRange(row)
	case g.one(2):
		return widecol.PrefixRange(row[:g.IntN(len(row)+1)])
	default:
		return widecol.RowRange{Start: row, End: []byte(g.skewed(rowKeys))}
	}
}

func (g *generator) selectVersions(q *query) {
	if g.one(5) {
		q.Times = widecol.TimeRange{Start: g.pastOrFuture(), End: g.pastOrFuture()}
		if g.one(3) {
			q.Times.End = widecol.AllTimes.End
		}
	}
	if g.one(5) {
		typ, value := g.value()
		q.Value = &widecol.ValueFilter{Op: widecol.Comparison(1 + g.IntN(6)), Type: typ, Value: []byte(value)}
	}
	if g.one(3) {
		q.RowFilter = g.tree()
	}
}

func (g *generator) pastOrFuture() int64 {
	if t := g.time(); t != widecol.CommitTime {
		return t
	}
	return start + second*g.Int64N(20)
}

func (g *generator) limitRows(q *query) {
	for _, limit := range []*int64{&q.RowLimit, &q.Offset} {
		if g.one(5) {
			*limit = pick(g, limits)
		}
	}
	if g.one(6) {
		q.Sample = pick(g, samples)
	}
}

func (g *generator) limitCells(q *query) {
	for _, limit := range []*int64{&q.ColumnCellLimit, &q.RowCellLimit, &q.CellLimit} {
		if g.one(6) {
			*limit = pick(g, limits)
		}
	}
	q.KeysOnly = g.one(10)
	if g.one(20) {
		q.chunks = g.IntN(4)
	}
}
