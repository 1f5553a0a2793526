package storetest

import (
	"math/rand/v2"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Random operations draw from small sets, so that they meet. The first row keys and qualifiers are
// drawn more often.
var (
	tableNames = []string{"t", "u"}
	rowKeys    = []string{
		"a", "a\x00", "a:b", "row1",
		"a\x00b", "a/", "a:", "aa", "b", "row2", "row3", "row4", "é", "ÿ", "\U0010ffff", "\U0010ffffa",
	}
	familyNames = []string{"a", "a-b", "b", merging, "z"}
	qualifiers  = []string{"", "x", "x:y", "xy", "x\x00", "y", "\x00", "\U0010ffff"}
	types       = []cell.Type{cell.String, cell.String, cell.I64, cell.Bool, cell.Byte, cell.I32, cell.F32, cell.F64, cell.Bytes}
	limits      = []int64{0, 1, 1, 1, 2, 2, 3, 5, 8}
	ttls        = []int64{1, 5, 10, 30, widecol.MaxTTLSecs}
	samples     = []float64{0.99, 0.5, 0.34, 0.29, 0.1}
	ticks       = []int64{1, second - 1, second, 5 * second, 10 * second, -1, -second, -20 * second}
)

// merging is the family that has a merge operator. It has no settings of garbage collection: what a Merge makes of
// garbage is open, and so would be what the family shows when that is no garbage any more.
const merging = "m"

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
	{weight: 12, make: (*generator).advise},
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

// settingFamily returns a family whose cells are set, most of the time.
func (g *generator) settingFamily(table string) string {
	family := g.liveFamily(table)
	for family == merging && !g.one(20) {
		family = g.liveFamily(table)
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
	if name == merging {
		f.Merge = pick(g, []widecol.MergeOperator{widecol.MergeSum, widecol.MergeSum, widecol.MergeMin, widecol.MergeMax})
	} else if g.one(3) {
		f.GC = g.gc()
	}
	return f
}
