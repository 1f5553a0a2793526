package lsmstore

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// CreateTable implements widecol.Store.
func (s *Store) CreateTable(ctx context.Context, name string, spec widecol.TableSpec) error {
	if err := widecol.CheckTableName(name); err != nil {
		return err
	}
	if err := spec.Check(); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.Done()
	t := &table{name: name, changing: newExclusion()}
	if err := t.changing.exclude(ctx); err != nil {
		return err
	}
	if err := s.reserve(ctx, t); err != nil {
		return err
	}
	return s.seeThrough(ctx, t, func() error {
		err := s.build(ctx, t, spec)
		if err != nil {
			s.forget(t)
		}
		return err
	})
}

// seeThrough runs a change of a table. Once it has reached the disk, it cannot be cancelled: the tables in
// memory must match the disk whenever the disk answers. If the context ends first, the caller gets an
// unknown outcome, and the change goes on. The caller has t.changing exclusively; it is released with the
// change.
func (s *Store) seeThrough(ctx context.Context, t *table, change func() error) error {
	done := make(chan error, 1)
	s.calls.Go(func() {
		defer t.changing.endExclude()
		done <- change()
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return failure(&engine.UnknownError{Cause: ctx.Err()})
	}
}

// reserve takes the name of a table. If another call is creating or dropping a table of the name, it waits
// for that call: before its end, a crash could still decide otherwise.
func (s *Store) reserve(ctx context.Context, t *table) error {
	for {
		other := s.claim(t)
		if other == nil {
			return nil
		}
		if err := other.changing.share(ctx); err != nil {
			return err
		}
		dropped := other.dropped
		other.changing.endShare()
		if !dropped {
			return widecol.TableExists(t.name)
		}
	}
}

// claim takes the name of a table, or returns the table that has it.
func (s *Store) claim(t *table) (other *table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other = s.tables[t.name]; other == nil {
		s.tables[t.name] = t
		t.load = s.sampler.Table()
	}
	return other
}

// forget frees the name of a table. t.changing is held.
func (s *Store) forget(t *table) {
	t.mu.Lock()
	t.dropped = true
	t.mu.Unlock()
	t.load.Drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[t.name] == t {
		delete(s.tables, t.name)
		counts := t.counters.total()
		s.dropped.Add(&counts)
	}
}

// build creates the partitions of a new table and writes its metadata.
func (s *Store) build(ctx context.Context, t *table, spec widecol.TableSpec) error {
	l, err := s.lay(t, spec)
	if err != nil {
		return err
	}
	return s.establish(ctx, t, l)
}

// layout is what a table will have once its metadata are written.
type layout struct {
	partitions []engine.PartitionID
	families   []*family
	groups     []group
	record     *record
}

// lay creates the partitions of a new table. Until establish, the table does not exist, and the next open drops them.
// t.changing is held.
func (s *Store) lay(t *table, spec widecol.TableSpec) (*layout, error) {
	names := []string{metadataPrefix + t.name, dataPrefix + t.name}
	groups := make([]group, len(spec.Groups))
	for i := range groups {
		id, err := s.newGroupID()
		if err != nil {
			return nil, err
		}
		groups[i].id = id
		names = append(names, groupPartition+id)
	}
	ids, err := s.db.CreatePartitions(names...)
	if err != nil {
		return nil, failure(err)
	}
	t.metadata, t.data = ids[0], ids[1]
	l := &layout{partitions: ids, groups: groups, record: &record{partition: t.metadata}}
	members := make(map[string]group)
	for i := range groups {
		groups[i].partition = ids[2+i]
		l.record.group(groups[i])
		for _, name := range spec.Groups[i] {
			members[name] = groups[i]
		}
	}
	for _, f := range spec.Families {
		fam := &family{name: f.Name, gc: f.GC, partition: t.data, merge: f.Merge, annotation: f.Annotation}
		if g, ok := members[f.Name]; ok {
			fam.group, fam.partition = g.id, g.partition
		}
		l.families = append(l.families, fam)
		l.record.family(fam)
	}
	l.record.table(t.data, t.settings, formatOf(l.families))
	return l, nil
}

// establish writes the metadata of a new table: then it exists. t.changing is held.
func (s *Store) establish(ctx context.Context, t *table, l *layout) error {
	if err := s.record(ctx, l.record); err != nil {
		if widecol.KindOf(err) != widecol.Unknown {
			s.db.DropPartitions(l.partitions...) // if it fails, the next open does it
		}
		return err
	}
	return s.adopt(t, l.families, l.groups)
}

// newGroupID returns a unique id: 80 random bits.
func (s *Store) newGroupID() (string, error) {
	var b [10]byte
	source := s.opt.Engine.Rand
	if source == nil {
		source = rand.Reader
	}
	if _, err := io.ReadFull(source, b[:]); err != nil {
		return "", failure(fmt.Errorf("choose locality group id: %w", err))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:])), nil
}

// DropTable implements widecol.Store.
func (s *Store) DropTable(ctx context.Context, name string) error {
	return s.change(ctx, name, func(t *table) error {
		if t.settings.Protected {
			return widecol.DeletionProtected(name)
		}
		if err := s.db.DropPartitions(t.partitions()...); err != nil {
			return failure(err)
		}
		s.forget(t)
		return nil
	})
}

// change runs f while no write of a table and no other change of it is under way.
func (s *Store) change(ctx context.Context, name string, f func(t *table) error) error {
	t, err := s.beginOn(name)
	if err != nil {
		return err
	}
	defer s.calls.Done()
	if err := t.changing.exclude(ctx); err != nil {
		return err
	}
	return s.seeThrough(ctx, t, func() error {
		if err := t.exists(); err != nil {
			return err
		}
		return f(t)
	})
}

// CreateFamilies implements widecol.Store.
func (s *Store) CreateFamilies(ctx context.Context, name string, families []widecol.Family, grouped bool) error {
	return s.change(ctx, name, func(t *table) error {
		if len(families) == 0 {
			return widecol.Errorf(widecol.Invalid, "empty_column_families", "column_families must list at least one column family")
		}
		if err := (widecol.TableSpec{Families: families}).Check(); err != nil {
			return err
		}
		for i, f := range families {
			if t.schema.family([]byte(f.Name)) != nil {
				return widecol.FamilyExists(name, f.Name).At(i)
			}
		}
		home := group{partition: t.data}
		groups := t.schema.groups
		if grouped {
			g, err := s.newGroup()
			if err != nil {
				return err
			}
			home, groups = g, append(groups[:len(groups):len(groups)], g)
		}
		return s.addFamilies(ctx, t, families, home, groups)
	})
}

// newGroup creates the partition of a new locality group.
func (s *Store) newGroup() (group, error) {
	id, err := s.newGroupID()
	if err != nil {
		return group{}, err
	}
	ids, err := s.db.CreatePartitions(groupPartition + id)
	if err != nil {
		return group{}, failure(err)
	}
	return group{id: id, partition: ids[0]}, nil
}

func (s *Store) addFamilies(ctx context.Context, t *table, families []widecol.Family, home group, groups []group) error {
	r := &record{partition: t.metadata}
	if home.id != "" {
		r.group(home)
	}
	all := t.schema.families
	next := make([]*family, 0, len(all)+len(families))
	for _, f := range families {
		fam := &family{name: f.Name, gc: f.GC, group: home.id, partition: home.partition, merge: f.Merge, annotation: f.Annotation}
		if f.Inherit {
			fam.gc = t.settings.DefaultGC
		}
		if all[f.Name] != nil { // dropped: its cells may still be there
			fam.since = s.db.LastSeq()
		}
		next = append(next, fam)
		r.family(fam)
	}
	for _, f := range all {
		if !listed(families, f.name) {
			next = append(next, f)
		}
	}
	if format := formatOf(next); format != t.schema.format() {
		r.table(t.data, t.settings, format)
	}
	if err := s.record(ctx, r); err != nil {
		if home.id != "" && widecol.KindOf(err) != widecol.Unknown {
			s.db.DropPartitions(home.partition) // if it fails, the next open does it
		}
		return err
	}
	return s.adopt(t, next, groups)
}

func listed(families []widecol.Family, name string) bool {
	for _, f := range families {
		if f.Name == name {
			return true
		}
	}
	return false
}

// adopt sets a new schema for the table and the engine. No view is opened in between. t.changing is held.
func (s *Store) adopt(t *table, families []*family, groups []group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.schema
	t.schema = newSchema(s.db.LastSeq(), t.data, families, groups)
	t.schema.count(before, s.opt.Engine.Clock.Now())
	return s.apply(t, t.schema)
}

// AlterTable implements widecol.Store.
func (s *Store) AlterTable(ctx context.Context, name string, change widecol.TableChange) error {
	return s.change(ctx, name, func(t *table) error {
		settings, err := change.Apply(t.settings)
		if err != nil {
			return err
		}
		r := &record{partition: t.metadata}
		r.table(t.data, settings, t.schema.format())
		if err := s.record(ctx, r); err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.settings = settings
		return nil
	})
}

// AlterFamily implements widecol.Store.
func (s *Store) AlterFamily(ctx context.Context, name, familyName string, change widecol.FamilyChange) error {
	return s.alter(ctx, name, familyName, func(_ *table, f *family) error {
		changed := f.describe()
		err := change.Apply(&changed)
		f.gc, f.annotation = changed.GC, changed.Annotation
		return err
	})
}

// DropFamily implements widecol.Store. It drops a locality group with its last family.
func (s *Store) DropFamily(ctx context.Context, name, familyName string) error {
	return s.alter(ctx, name, familyName, func(t *table, f *family) error {
		if t.settings.Protected {
			return widecol.DeletionProtected(name)
		}
		f.dropped, f.from = true, nil
		return nil
	})
}

// alter changes one family of a table.
func (s *Store) alter(ctx context.Context, name, familyName string, edit func(*table, *family) error) error {
	return s.change(ctx, name, func(t *table) error {
		old := t.schema.family([]byte(familyName))
		if old == nil {
			return widecol.UnknownFamily(name, familyName)
		}
		changed := *old
		if err := edit(t, &changed); err != nil {
			return err
		}
		return s.replace(ctx, t, &record{partition: t.metadata}, &changed, t.schema.groups)
	})
}

// replace puts a family in the place of the one of its name, together with what r has. Of groups it drops those
// that no family is in any more. It drops their partitions after the metadata: a crash in between leaves
// partitions that nothing refers to.
func (s *Store) replace(ctx context.Context, t *table, r *record, changed *family, groups []group) error {
	all := []*family{changed}
	for _, f := range t.schema.families {
		if f.name != changed.name {
			all = append(all, f)
		}
	}
	var kept []group
	var gone []engine.PartitionID
	for _, g := range groups {
		if !slices.ContainsFunc(all, func(f *family) bool { return f.lives(g.id) }) {
			r.begin(groupPrefix + g.id)
			gone = append(gone, g.partition)
			continue
		}
		kept = append(kept, g)
	}
	for i, f := range all {
		if slices.Contains(gone, f.partition) { // dropped as well; should it come back, it starts in the default partition
			moved := *f
			moved.group, moved.partition = "", t.data
			all[i] = &moved
		}
		if i == 0 || f != all[i] {
			r.family(all[i])
		}
	}
	if format := formatOf(all); format != t.schema.format() {
		r.table(t.data, t.settings, format)
	}
	if err := s.record(ctx, r); err != nil {
		return err
	}
	if err := s.adopt(t, all, kept); err != nil {
		return err
	}
	if gone != nil {
		s.db.DropPartitions(gone...) // if it fails, the next open does it
	}
	return nil
}

// lives reports whether a group has cells of the family, or will have.
func (f *family) lives(group string) bool {
	return !f.dropped && (f.group == group || f.from != nil && f.from.group == group)
}
