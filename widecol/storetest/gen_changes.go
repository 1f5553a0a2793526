package storetest

import (
	"fmt"
	"math"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Random changes: of tables, families and cells, with and without faults.

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
	for family == merging {
		family = g.family()
	}
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
		g.mend = &createFamilies{table: o.table, families: []widecol.Family{g.newFamily(o.family)}}
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
	v := version{row: row, family: g.settingFamily(table), qualifier: g.skewed(qualifiers)}
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
