package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

// CreateTable implements widecol.Store.
func (s *Store) CreateTable(ctx context.Context, name string, spec widecol.TableSpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(ctx); err != nil {
		return err
	}
	if err := widecol.CheckTableName(name); err != nil {
		return err
	}
	if s.tables[name] != nil {
		return widecol.TableExists(name)
	}
	t := &table{name: name, created: s.opt.Now(), families: make(map[string]widecol.Family)}
	if err := t.add(spec, s.opt.ID); err != nil {
		return err
	}
	s.tables[name] = t
	return nil
}

// add gives the table the families and groups of spec.
func (t *table) add(spec widecol.TableSpec, id func() string) error {
	if err := spec.Check(); err != nil {
		return err
	}
	for i, f := range spec.Families {
		if _, ok := t.families[f.Name]; ok {
			return widecol.FamilyExists(t.name, f.Name).At(i)
		}
		if f.Inherit {
			f.GC, f.Inherit = t.settings.DefaultGC, false
		}
		t.families[f.Name] = f
	}
	for _, g := range spec.Groups {
		t.groups = append(t.groups, widecol.Group{ID: id(), Families: slices.Clone(g)})
	}
	return nil
}

// DropTable implements widecol.Store.
func (s *Store) DropTable(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.findLocked(ctx, name)
	if err != nil {
		return err
	}
	if t.settings.Protected {
		return widecol.DeletionProtected(name)
	}
	delete(s.tables, name)
	return nil
}

// AlterTable implements widecol.Store.
func (s *Store) AlterTable(ctx context.Context, name string, change widecol.TableChange) error {
	return s.update(ctx, name, func(t *table) (err error) {
		t.settings, err = change.Apply(t.settings)
		return err
	})
}

// Garbage implements widecol.Store.
func (s *Store) Garbage(ctx context.Context, name, family string, gc widecol.GC) (g widecol.Garbage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.findLocked(ctx, name)
	if err != nil {
		return g, err
	}
	if _, ok := t.families[family]; !ok {
		return g, widecol.UnknownFamily(name, family)
	}
	if err := widecol.CheckGC(gc); err != nil {
		return g, err
	}
	after := t.clone()
	changed := after.families[family]
	changed.GC = gc
	after.families[family] = changed
	for row := range t.rows() {
		seen := t.left(row, s.opt.Now())
		kept := after.left(seen, s.opt.Now())
		if len(kept) < len(seen) {
			g.Rows++
		}
		g.Cells += int64(len(seen) - len(kept))
		for _, v := range seen {
			g.Bytes += v.rawSize()
		}
		for _, v := range kept {
			g.Bytes -= v.rawSize()
		}
	}
	return g, nil
}

// Table implements widecol.Store.
func (s *Store) Table(ctx context.Context, name string) (widecol.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.findLocked(ctx, name)
	if err != nil {
		return widecol.Table{}, err
	}
	return t.describe(), nil
}

// Tables implements widecol.Store.
func (s *Store) Tables(ctx context.Context) ([]widecol.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(ctx); err != nil {
		return nil, err
	}
	var tables []widecol.Table
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		tables = append(tables, s.tables[name].describe())
	}
	return tables, nil
}

// describe describes the table, with the partitions that its groups imply.
func (t *table) describe() widecol.Table {
	d := widecol.Table{Name: t.name, Settings: t.settings}
	for _, name := range slices.Sorted(maps.Keys(t.families)) {
		d.Families = append(d.Families, t.families[name])
	}
	names := []string{"_man_" + t.name, "_dat_" + t.name}
	for _, g := range slices.SortedFunc(slices.Values(t.groups), func(a, b widecol.Group) int { return strings.Compare(a.ID, b.ID) }) {
		d.Groups = append(d.Groups, widecol.Group{ID: g.ID, Families: slices.Clone(g.Families)})
		names = append(names, "_lg_"+g.ID)
	}
	stats := make(map[string]widecol.PartitionStats)
	for _, v := range t.cells {
		name := t.partition(v.family)
		p := stats[name]
		p.Cells++
		p.MemtableBytes += v.rawSize()
		stats[name] = p
	}
	for _, name := range names {
		d.Partitions = append(d.Partitions, widecol.Partition{Name: name, Path: "memory", Stats: stats[name]})
	}
	return d
}

// CreateFamilies implements widecol.Store.
func (s *Store) CreateFamilies(ctx context.Context, name string, families []widecol.Family, group bool) error {
	return s.update(ctx, name, func(t *table) error {
		spec := widecol.TableSpec{Families: families}
		if group {
			var names []string
			for _, f := range families {
				names = append(names, f.Name)
			}
			spec.Groups = [][]string{names}
		}
		return t.add(spec, s.opt.ID)
	})
}

// AlterFamily implements widecol.Store.
func (s *Store) AlterFamily(ctx context.Context, name, family string, change widecol.FamilyChange) error {
	return s.update(ctx, name, func(t *table) error {
		f, ok := t.families[family]
		if !ok {
			return widecol.UnknownFamily(name, family)
		}
		if err := change.Apply(&f); err != nil {
			return err
		}
		t.families[family] = f
		return nil
	})
}

// MoveFamily implements widecol.Store. It moves at once.
func (s *Store) MoveFamily(ctx context.Context, name, family, place string) (m widecol.Move, err error) {
	return m, s.update(ctx, name, func(t *table) error {
		if _, ok := t.families[family]; !ok {
			return widecol.UnknownFamily(name, family)
		}
		to := slices.IndexFunc(t.groups, func(g widecol.Group) bool { return g.ID == place })
		switch {
		case place == widecol.NewGroup:
			place = s.opt.ID()
		case place != "" && to < 0:
			return widecol.UnknownGroup(name, place)
		}
		m = widecol.Move{Family: family, To: place, From: place}
		t.place(family, place)
		return nil
	})
}

// Compact implements widecol.Store. There are no files to write anew.
func (s *Store) Compact(ctx context.Context, name string, place *string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.findLocked(ctx, name)
	if err == nil && place != nil && *place != "" && !slices.ContainsFunc(t.groups, func(g widecol.Group) bool { return g.ID == *place }) {
		err = widecol.UnknownGroup(name, *place)
	}
	return err
}

// Advice implements widecol.Store. All families are in one place, so it advises nothing and counts nothing.
func (s *Store) Advice(ctx context.Context, name string) (widecol.Advice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.findLocked(ctx, name)
	if err != nil {
		return widecol.Advice{}, err
	}
	a := widecol.Advice{Since: t.created}
	for _, f := range slices.Sorted(maps.Keys(t.families)) {
		size := widecol.FamilySize{Family: f, Place: t.groupOf(f)}
		for _, v := range t.cells {
			if v.family == f {
				size.Bytes += v.rawSize()
			}
		}
		a.Families = append(a.Families, size)
	}
	return a, nil
}

// groupOf returns the id of a family's group, empty for none.
func (t *table) groupOf(family string) string {
	for _, g := range t.groups {
		if slices.Contains(g.Families, family) {
			return g.ID
		}
	}
	return ""
}

// place puts a family into a group, which may be new, or into none.
func (t *table) place(family, id string) {
	var groups []widecol.Group
	for _, g := range t.groups {
		names := slices.DeleteFunc(slices.Clone(g.Families), func(name string) bool { return name == family })
		if g.ID == id {
			names, id = append(names, family), ""
		}
		if len(names) > 0 {
			groups = append(groups, widecol.Group{ID: g.ID, Families: names})
		}
	}
	if id != "" {
		groups = append(groups, widecol.Group{ID: id, Families: []string{family}})
	}
	t.groups = groups
}

// DropFamily implements widecol.Store. It drops a group with its last family.
func (s *Store) DropFamily(ctx context.Context, name, family string) error {
	return s.update(ctx, name, func(t *table) error {
		if _, ok := t.families[family]; !ok {
			return widecol.UnknownFamily(name, family)
		}
		if t.settings.Protected {
			return widecol.DeletionProtected(name)
		}
		delete(t.families, family)
		t.cells = slices.DeleteFunc(t.cells, func(v version) bool { return v.family == family })
		t.place(family, "")
		return nil
	})
}
