package bigtable

import (
	"context"
	"fmt"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

// ModifyColumnFamilies creates, changes and drops families. All modifications are checked before the first is made. If the
// Store fails in between, those before it stay.
func (s *tableAdmin) ModifyColumnFamilies(ctx context.Context, r *adminpb.ModifyColumnFamiliesRequest) (*adminpb.Table, error) {
	c, err := s.begin(ctx, access.Admin, admission.Write, r.Name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	t, err := s.store.Table(ctx, c.table)
	if err != nil {
		return nil, statusOf(err)
	}
	plan, err := planOf(&t, r.Modifications)
	if err != nil {
		return nil, err
	}
	for i, step := range plan {
		if err := step(ctx, s.store); err != nil {
			return nil, statusAt(modification(i), err)
		}
	}
	return s.describe(ctx, c.table, r.Name, adminpb.Table_SCHEMA_VIEW)
}

func modification(i int) string { return fmt.Sprintf("modifications[%d]", i) }

// planOf returns the steps of modifications of a table, or the first reason why one cannot be made.
func planOf(t *widecol.Table, list []*adminpb.ModifyColumnFamiliesRequest_Modification) (plan []func(context.Context, widecol.Store) error, err error) {
	families := make(map[string]widecol.MergeOperator) // as each step finds them
	for _, f := range t.Families {
		families[f.Name] = f.Merge
	}
	if len(list) == 0 {
		return nil, invalid("modifications", "there are none")
	}
	for i, m := range list {
		_, there := families[m.GetId()]
		if err := allowed(t, m, there); err != nil {
			return nil, statusAt(modification(i), err)
		}
		step, err := stepOf(modification(i), t.Name, m, families)
		if err != nil {
			return nil, err
		}
		plan = append(plan, step)
	}
	return plan, nil
}

// allowed returns why a modification cannot be made. there says whether the family is.
func allowed(t *widecol.Table, m *adminpb.ModifyColumnFamiliesRequest_Modification, there bool) error {
	switch {
	case m.GetCreate() != nil && there:
		return widecol.FamilyExists(t.Name, m.Id)
	case m.GetCreate() != nil:
		return widecol.CheckFamilyName(m.Id)
	case !there:
		return widecol.UnknownFamily(t.Name, m.GetId())
	case m.GetDrop() && t.Settings.Protected:
		return widecol.DeletionProtected(t.Name)
	}
	return nil
}

// stepOf returns the step of a modification, and brings families, by their operators, up to it.
func stepOf(place, table string, m *adminpb.ModifyColumnFamiliesRequest_Modification, families map[string]widecol.MergeOperator) (func(context.Context, widecol.Store) error, error) {
	switch mod := m.GetMod().(type) {
	case *adminpb.ModifyColumnFamiliesRequest_Modification_Create:
		f, err := familyOf(place+".create", m.Id, mod.Create)
		families[m.Id] = f.Merge
		return func(ctx context.Context, s widecol.Store) error {
			return s.CreateFamilies(ctx, table, []widecol.Family{f}, false)
		}, err
	case *adminpb.ModifyColumnFamiliesRequest_Modification_Update:
		f, err := familyOf(place+".update", m.Id, mod.Update)
		if err != nil {
			return nil, err
		}
		change, err := changeOf(place, &f, m.GetUpdateMask().GetPaths(), families[m.Id])
		return func(ctx context.Context, s widecol.Store) error { return s.AlterFamily(ctx, table, m.Id, change) }, err
	case *adminpb.ModifyColumnFamiliesRequest_Modification_Drop:
		if !mod.Drop {
			return nil, invalid(place+".drop", "it must be true if it is there")
		}
		delete(families, m.Id)
		return func(ctx context.Context, s widecol.Store) error { return s.DropFamily(ctx, table, m.Id) }, nil
	}
	return nil, invalid(place, "a modification needs one of create, update and drop")
}

// changeOf returns what of a family changes to that of f. Without paths it is the GC rule.
func changeOf(place string, f *widecol.Family, paths []string, merge widecol.MergeOperator) (c widecol.FamilyChange, err error) {
	if len(paths) == 0 {
		paths = []string{"gc_rule"}
	}
	for _, path := range paths {
		switch {
		case path == "gc_rule":
			c.GC = &f.GC
		case path == "value_type" && (merge != widecol.NoMerge || f.Merge != widecol.NoMerge):
			return c, invalid(place+".update_mask", "Immutable fields 'value_type.aggregate_type' cannot be updated")
		case path == "value_type":
			c.Annotation = &f.Annotation
		default:
			return c, unimplemented(place+".update_mask", fmt.Sprintf("the fields of a family that can be changed are gc_rule and value_type, not %q", path))
		}
	}
	return c, nil
}
