package lsmstore

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/keyspace"
	"github.com/colonnade-db/colonnade/widecol"
)

// table is an open table.
type table struct {
	name     string
	metadata engine.PartitionID
	data     engine.PartitionID
	damage   error // of the metadata, found at the open: the table cannot be used

	// changing is shared while a write is checked against the schema and committed. It is exclusive while
	// the table is created, changed or dropped, so that no write is under way. It is held while waiting
	// for the disk.
	changing exclusion
	filling  []engine.PartitionID // those of a table that LoadTable fills; guarded by changing

	// mu guards dropped, settings and schema. It is not held while waiting for a disk: reads use the old schema
	// until the new one is durable. A holder of changing may read both without mu.
	mu       sync.RWMutex
	dropped  bool
	settings widecol.TableSettings
	schema   *schema // nil until the table is there

	rows     rowLocks
	counters tableCounters
	load     *keyspace.Table // nil of a table that is damaged, or is being loaded
}

// exists returns an error if the table was dropped or does not exist yet. The caller holds mu or changing.
func (t *table) exists() error {
	if t.dropped || t.schema == nil {
		return widecol.UnknownTable(t.name)
	}
	return nil
}

// partitions returns the partitions of the table, that of its metadata first. The caller holds mu or changing.
func (t *table) partitions() []engine.PartitionID {
	return append([]engine.PartitionID{t.metadata}, t.stores()...)
}

// stores returns the partitions with the table's data. The caller holds mu or changing.
func (t *table) stores() []engine.PartitionID { return t.schema.stores }

// schema is the families of a table and where they are stored. It is immutable.
type schema struct {
	families map[string]*family
	sorted   []*family            // those that are not dropped, by name
	moving   []*family            // those of sorted that move
	groups   []group              // by id
	stores   []engine.PartitionID // the default partition, then those of groups
	policies map[engine.PartitionID]*engine.Policies
	// bare are the policies without garbage collection. A deletion uses them, to delete garbage too.
	bare map[engine.PartitionID]*engine.Policies

	log *queryLog // nil if there are too many families
}

// family is a column family, or the record of a dropped one.
type family struct {
	name      string
	gc        cell.GC
	group     string // id, empty for none
	partition engine.PartitionID
	since     uint64  // see engine.Policy
	from      *origin // nil unless it moves
	dropped   bool

	merge      widecol.MergeOperator
	annotation string
}

// describe returns the family as others see it.
func (f *family) describe() widecol.Family {
	return widecol.Family{Name: f.name, GC: f.gc, Merge: f.merge, Annotation: f.annotation}
}

// origin is where a family that moves comes from: a partition with cells of it that are not in family.partition
// yet. One origin is one move.
type origin struct {
	group     string
	partition engine.PartitionID
	since     uint64
	progress
}

// format returns the format of the metadata.
func (s *schema) format() int64 { return formatOf(slices.Collect(maps.Values(s.families))) }

type group struct {
	id        string
	partition engine.PartitionID
}

// newSchema derives a schema. asOf is as in engine.NewPolicies.
func newSchema(asOf uint64, data engine.PartitionID, families []*family, groups []group) *schema {
	s := &schema{
		families: make(map[string]*family), groups: slices.Clone(groups),
		policies: make(map[engine.PartitionID]*engine.Policies),
		bare:     make(map[engine.PartitionID]*engine.Policies),
	}
	slices.SortFunc(s.groups, func(a, b group) int { return strings.Compare(a.id, b.id) })
	s.stores = append(s.stores, data)
	for _, g := range s.groups {
		s.stores = append(s.stores, g.partition)
	}
	lists := map[engine.PartitionID]map[string]engine.Policy{data: {}}
	for _, g := range groups {
		lists[g.partition] = map[string]engine.Policy{}
	}
	for _, f := range families {
		s.families[f.name] = f
		if f.dropped {
			continue
		}
		s.sorted = append(s.sorted, f)
		lists[f.partition][f.name] = engine.Policy{GC: f.gc, Since: f.since}
		if f.from != nil {
			lists[f.from.partition][f.name] = engine.Policy{GC: f.gc, Since: f.from.since}
		}
	}
	slices.SortFunc(s.sorted, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	for _, f := range s.sorted {
		if f.from != nil {
			s.moving = append(s.moving, f)
		}
	}
	for id, list := range lists {
		s.policies[id] = engine.NewPolicies(asOf, maps.Clone(list))
		for name, policy := range list {
			list[name] = engine.Policy{Since: policy.Since}
		}
		s.bare[id] = engine.NewPolicies(asOf, list)
	}
	return s
}

// family returns a family that exists, nil if there is none.
func (s *schema) family(name []byte) *family {
	if f := s.families[string(name)]; f != nil && !f.dropped {
		return f
	}
	return nil
}

func (s *schema) inGroup(id string) []string {
	var names []string
	for _, f := range s.sorted {
		if f.group == id {
			names = append(names, f.name)
		}
	}
	return names
}

// holding returns the partitions that can have cells of the columns, and where queries of these count, nil for
// nowhere.
func (s *schema) holding(columns *cell.Columns) ([]engine.PartitionID, *querySet) {
	if s.log == nil {
		return s.partitionsWith(func(i int) bool { return columns.Overlaps([]byte(s.sorted[i].name)) }), nil
	}
	var asked familySet
	for i, f := range s.sorted {
		if columns.Overlaps([]byte(f.name)) {
			asked.add(i)
		}
	}
	if q := s.log.of(&asked, s); q != nil {
		return q.partitions, q
	}
	return s.partitionsOf(&asked), nil
}

func (s *schema) partitionsOf(families *familySet) []engine.PartitionID {
	return s.partitionsWith(families.has)
}

// partitionsWith returns the partitions that have any of the families, given by their index in sorted.
func (s *schema) partitionsWith(has func(i int) bool) []engine.PartitionID {
	var ids []engine.PartitionID
	for i, f := range s.sorted {
		if !has(i) {
			continue
		}
		if !slices.Contains(ids, f.partition) {
			ids = append(ids, f.partition)
		}
		if f.from != nil && !slices.Contains(ids, f.from.partition) {
			ids = append(ids, f.from.partition)
		}
	}
	return ids
}

// count has the queries of the schema counted from now on, together with those of the one before, nil for none, if
// the families lie as they did.
func (s *schema) count(before *schema, now int64) {
	switch {
	case before != nil && slices.EqualFunc(before.sorted, s.sorted, (*family).liesAs):
		s.log = before.log
	case len(s.sorted) <= maxFamilies:
		s.log = newQueryLog(now)
	}
}

// liesAs reports whether g is the same family in the same place.
func (f *family) liesAs(g *family) bool {
	return f.name == g.name && f.partition == g.partition && f.since == g.since && f.from == g.from
}

// movesIn reports whether a family with any of the columns moves. Its cells are in two partitions, which apply
// its version limit each for itself. So what a query of these columns leaves to the engine must not leave out
// a version that is newer than one it returns: mergingRows counts them.
func (s *schema) movesIn(columns *cell.Columns) bool {
	for _, f := range s.moving {
		if columns.Overlaps([]byte(f.name)) {
			return true
		}
	}
	return false
}

// check returns an error for a family that a filter names and the schema does not have.
func (s *schema) check(table string, f *widecol.Filter) error {
	for i, name := range f.Families {
		if s.family([]byte(name)) == nil {
			return widecol.UnknownFamily(table, name).At(i)
		}
	}
	return nil
}
