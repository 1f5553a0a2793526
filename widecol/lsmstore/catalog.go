package lsmstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// A table's metadata are rows of its _man_ partition. All columns are in the
// family "d". This is part of the on-disk format:
//
//	row "table"          format i64 (1; 2 while a family moves; 3 with a merge operator), data i64 (id of the _dat_ partition),
//	                     protected boolean, and default_ttl_secs,
//	                     default_version_limit, default_intersection as
//	                     those of a family; missing ones are 0 and false
//	row "group:<id>"     partition i64
//	row "family:<name>"  group string (empty for none), ttl_secs i64,
//	                     version_limit i64, intersection boolean, since i64,
//	                     dropped boolean; while it moves: moving boolean (true),
//	                     from string (the group that it comes from, empty for
//	                     none), from_since i64; with a merge operator: merge i64
//	                     (its number); with an annotation: annotation bytes
//
// A program that does not know of moves would lose the cells that are still where the family comes from. It
// refuses format 2. One that does not know of merge operators would set cells of their families. It refuses format 3.
//
// A table exists once its row "table" does. A crash while a table or group is
// created can leave partitions that no table refers to. The next open drops
// them.
const (
	metaFamily    = "d"
	tableRow      = "table"
	groupPrefix   = "group:"
	familyPrefix  = "family:"
	catalogFormat = 1
	movingFormat  = 2
	mergeFormat   = 3 // whether or not a family moves

	metadataPrefix = "_man_"
	dataPrefix     = "_dat_"
	groupPartition = "_lg_"
)

// record builds the batch of a change of the metadata.
type record struct {
	partition engine.PartitionID
	batch     engine.Batch
	row       []byte
}

// begin starts a row and replaces its old content.
func (r *record) begin(row string) *record {
	r.row = []byte(row)
	r.batch.Add(r.partition, r.row, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
	return r
}

func (r *record) set(name string, t cell.Type, value []byte) *record {
	column := cell.AppendColumn(nil, []byte(metaFamily), []byte(name))
	r.batch.Add(r.partition, r.row, &cell.Cell{Column: column, Time: engine.CommitTime, Type: t, Value: value})
	return r
}

func (r *record) text(name, value string) *record { return r.set(name, cell.String, []byte(value)) }

func (r *record) number(name string, value int64) *record {
	return r.set(name, cell.I64, binary.LittleEndian.AppendUint64(nil, uint64(value)))
}

func (r *record) flag(name string, value bool) *record {
	b := []byte{0}
	if value {
		b[0] = 1
	}
	return r.set(name, cell.Bool, b)
}

// formatOf returns the format of the metadata of a table with these families.
func formatOf(families []*family) int64 {
	format := int64(catalogFormat)
	for _, f := range families {
		switch {
		case f.merge != widecol.NoMerge:
			return mergeFormat
		case f.from != nil:
			format = movingFormat
		}
	}
	return format
}

func (r *record) table(data engine.PartitionID, s widecol.TableSettings, format int64) {
	r.begin(tableRow).number("format", format).number("data", int64(data))
	if s != (widecol.TableSettings{}) {
		r.flag("protected", s.Protected).number("default_ttl_secs", s.DefaultGC.TTLSecs).
			number("default_version_limit", s.DefaultGC.VersionLimit).flag("default_intersection", s.DefaultGC.Intersection)
	}
}

func (r *record) group(g group) {
	r.begin(groupPrefix+g.id).number("partition", int64(g.partition))
}

func (r *record) family(f *family) {
	r.begin(familyPrefix+f.name).text("group", f.group).
		number("ttl_secs", f.gc.TTLSecs).number("version_limit", f.gc.VersionLimit).flag("intersection", f.gc.Intersection).
		number("since", int64(f.since)).flag("dropped", f.dropped)
	if f.from != nil {
		r.flag("moving", true).text("from", f.from.group).number("from_since", int64(f.from.since))
	}
	if f.merge != widecol.NoMerge {
		r.number("merge", int64(f.merge))
	}
	if f.annotation != "" {
		r.set("annotation", cell.Bytes, []byte(f.annotation))
	}
}

// load reads the metadata of every table, finds the partition of the keys, and drops the partitions
// of tables and groups whose creation did not finish. A table with damaged metadata stays as it is
// and cannot be used. load then drops nothing: the partitions of that table are unknown.
func (s *Store) load() error {
	unclaimed := make(map[engine.PartitionID]bool)
	all := s.db.Partitions()
	damaged := false
	s.keys.init(s.db.LastSeq())
	for _, p := range all {
		if p.Name == keysPartition {
			if err := s.keys.adopt(s.db, p.ID); err != nil {
				return err
			}
			continue
		}
		unclaimed[p.ID] = true
	}
	for _, p := range all {
		name, ok := strings.CutPrefix(p.Name, metadataPrefix)
		if !ok {
			continue
		}
		t, err := s.loadTable(name, p.ID)
		var damage *engine.CorruptError
		if errors.As(err, &damage) {
			s.tables[name] = &table{name: name, changing: newExclusion(), metadata: p.ID, damage: damage}
			damaged = true
			continue
		}
		if err != nil {
			return fmt.Errorf("read metadata of table %s: %w", name, err)
		}
		if t == nil {
			continue
		}
		for _, id := range t.partitions() {
			if !unclaimed[id] {
				return fmt.Errorf("metadata of table %s refers to partition %d, which it does not own", name, id)
			}
			delete(unclaimed, id)
		}
		s.tables[name] = t
		if err := s.apply(t, t.schema); err != nil {
			return err
		}
	}
	if damaged || len(unclaimed) == 0 {
		return nil
	}
	return s.db.DropPartitions(slices.Sorted(maps.Keys(unclaimed))...)
}

// loadTable reads the metadata of one table. It returns nil if the creation of the table did not
// finish.
func (s *Store) loadTable(name string, id engine.PartitionID) (*table, error) {
	rows, err := s.readMeta(id)
	if err != nil || rows[tableRow] == nil {
		return nil, err
	}
	head := rows[tableRow]
	if v := head.number("format"); v < catalogFormat || v > mergeFormat {
		return nil, fmt.Errorf("format %d, this program reads %d to %d", v, catalogFormat, mergeFormat)
	}
	t := &table{name: name, changing: newExclusion(), load: s.sampler.Table(), metadata: id, data: engine.PartitionID(head.number("data")), settings: head.settings()}
	var groups []group
	partitions := map[string]engine.PartitionID{"": t.data}
	for row, m := range rows {
		if gid, ok := strings.CutPrefix(row, groupPrefix); ok {
			g := group{id: gid, partition: engine.PartitionID(m.number("partition"))}
			groups = append(groups, g)
			partitions[gid] = g.partition
		}
	}
	var families []*family
	for row, m := range rows {
		fname, ok := strings.CutPrefix(row, familyPrefix)
		if !ok {
			continue
		}
		f := m.family(fname)
		if f.partition, ok = partitions[f.group]; !ok {
			return nil, fmt.Errorf("family %s is in group %s, which is not there", f.name, f.group)
		}
		if f.from != nil {
			if f.from.partition, ok = partitions[f.from.group]; !ok {
				return nil, fmt.Errorf("family %s comes from group %s, which is not there", f.name, f.from.group)
			}
		}
		families = append(families, f)
	}
	t.schema = newSchema(s.db.LastSeq(), t.data, families, groups)
	t.schema.count(nil, s.opt.Engine.Clock.Now())
	return t, nil
}

// meta is a row of metadata: the newest value of each column, by qualifier.
type meta map[string][]byte

func (m meta) number(name string) int64 {
	if v := m[name]; len(v) == 8 {
		return int64(binary.LittleEndian.Uint64(v))
	}
	return 0
}

func (m meta) flag(name string) bool { return len(m[name]) == 1 && m[name][0] == 1 }

func (m meta) settings() widecol.TableSettings {
	return widecol.TableSettings{Protected: m.flag("protected"), DefaultGC: widecol.GC{
		TTLSecs: m.number("default_ttl_secs"), VersionLimit: m.number("default_version_limit"), Intersection: m.flag("default_intersection"),
	}}
}

func (m meta) family(name string) *family {
	f := &family{
		name: name, group: string(m["group"]),
		gc: cell.GC{
			TTLSecs: m.number("ttl_secs"), VersionLimit: m.number("version_limit"),
			Intersection: m.flag("intersection"),
		},
		since: uint64(m.number("since")), dropped: m.flag("dropped"),
		merge: widecol.MergeOperator(m.number("merge")), annotation: string(m["annotation"]),
	}
	if m.flag("moving") {
		f.from = &origin{group: string(m["from"]), since: uint64(m.number("from_since"))}
	}
	return f
}

func (s *Store) readMeta(id engine.PartitionID) (map[string]meta, error) {
	scan, err := s.db.Scan(id, engine.ScanOptions{Now: math.MaxInt64})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	rows := make(map[string]meta)
	for scan.NextRow() {
		m := make(meta)
		for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
			for _, c := range cells {
				_, qualifier := cell.SplitColumn(c.Column)
				if _, newer := m[string(qualifier)]; !newer {
					m[string(qualifier)] = slices.Clone(c.Value)
				}
			}
		}
		if len(m) > 0 {
			rows[string(scan.Row())] = m
		}
	}
	return rows, scan.Err()
}

// apply tells the engine which families the partitions of a table have.
func (s *Store) apply(t *table, schema *schema) error {
	for id, policies := range schema.policies {
		if err := s.db.SetPolicies(id, policies); err != nil {
			return failure(err)
		}
	}
	return nil
}
