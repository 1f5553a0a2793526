package storetest

import (
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

var familyCases = []testCase{
	{"families are added to a table", func(f *fixture) {
		f.create("t", "b")
		f.write("t", "r b:x@1=v")
		f.ok(f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "c", GC: widecol.GC{TTLSecs: 9}}, {Name: "a"}}, false))
		f.wantFamilies("t", "a", "b", "c")
		if got := f.describe("t").Families[2].GC; got != (widecol.GC{TTLSecs: 9}) {
			f.Errorf("settings of c are %+v", got)
		}
		f.write("t", "r c:x@+0s=v", "r a:x@1=v")
		f.want("t", everything(), "r a:x@1=v", "r b:x@1=v", "r c:x@+0s=v")
	}},
	{"families are added all or none", func(f *fixture) {
		f.create("t", "b")
		f.write("t", "r b:x@1=v")
		for _, group := range []bool{false, true} {
			err := f.store().CreateFamilies(background, "t", spec("a", "b", "c").Families, group)
			f.refused(err, widecol.Exists, "column_family_exists", 1)
			err = f.store().CreateFamilies(background, "t", spec("a", "c/").Families, group)
			f.refused(err, widecol.Invalid, "invalid_column_family_name", 1)
			err = f.store().CreateFamilies(background, "t", spec("a", "a").Families, group)
			f.refused(err, widecol.Invalid, "duplicate_column_family", 1)
			err = f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "a", GC: widecol.GC{TTLSecs: -1}}}, group)
			f.refused(err, widecol.Invalid, "invalid_gc_settings", 0)
		}
		f.wantFamilies("t", "b")
		f.wantPartitions("t", "_man_t", "_dat_t")
		f.want("t", everything(), "r b:x@1=v")
	}},
	{"a dropped family is gone with its cells", func(f *fixture) {
		f.create("t", "a", "b", "c+")
		f.write("t", "q b:x@1=v", "r a:x@1=v", "r b:x@1=v", "r b:y@2=v", "r c:x@1=v")
		f.ok(f.store().DropFamily(background, "t", "b"))
		f.wantFamilies("t", "a", "c")
		f.want("t", everything(), "r a:x@1=v", "r c:x@1=v")
		_, err := f.tryWrite("t", f.parse("r b:x@1=v"))
		f.refused(err, widecol.NotFound, "unknown_column_family", 0)
		f.refused(f.store().DropFamily(background, "t", "b"), widecol.NotFound, "unknown_column_family", -1)
		f.refused(f.store().AlterFamily(background, "t", "b", widecol.ChangeGC(widecol.GC{})), widecol.NotFound, "unknown_column_family", -1)
	}},
	{"a family created again is empty", func(f *fixture) {
		f.create("t", "a", "b")
		f.write("t", "r a:x@1=v")
		for i, group := range []bool{false, true, true, false, false} {
			f.write("t", fmt.Sprintf("r b:x@%d=v", 9-i))
			f.ok(f.store().DropFamily(background, "t", "b"))
			f.ok(f.store().CreateFamilies(background, "t", spec("b").Families, group))
			f.want("t", everything(), "r a:x@1=v")
			f.write("t", "r b:y@1=v")
			f.want("t", everything(), "r a:x@1=v", "r b:y@1=v")
		}
	}},
	{"a family created again has only its new settings", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 1})
		f.ok(f.store().DropFamily(background, "t", "a"))
		f.ok(f.store().CreateFamilies(background, "t", spec("a").Families, false))
		f.write("t", "r a:x@1=v", "r a:x@2=v")
		f.want("t", everything(), "r a:x@2=v", "r a:x@1=v")
	}},
	{"dropping a family leaves those whose names start alike", func(f *fixture) {
		f.create("t", "a", "a-b", "aa")
		f.write("t", "r a:x@1=v", "r a-b:x@1=v", "r aa:x@1=v")
		f.ok(f.store().DropFamily(background, "t", "a"))
		f.want("t", everything(), "r a-b:x@1=v", "r aa:x@1=v")
	}},
	{"settings of a family change", func(f *fixture) {
		f.create("t", "a", "b")
		gc := widecol.GC{TTLSecs: 3, VersionLimit: 4, Intersection: true}
		f.ok(f.store().AlterFamily(background, "t", "b", widecol.ChangeGC(gc)))
		want := []widecol.Family{{Name: "a"}, {Name: "b", GC: gc}}
		if got := f.describe("t").Families; !slices.Equal(got, want) {
			f.Errorf("families are %+v, want %+v", got, want)
		}
		f.refused(f.store().AlterFamily(background, "t", "c", widecol.ChangeGC(gc)), widecol.NotFound, "unknown_column_family", -1)
		f.refused(f.store().AlterFamily(background, "t", "b", widecol.ChangeGC(widecol.GC{Intersection: true})), widecol.Invalid, "invalid_gc_settings", -1)
		if got := f.describe("t").Families; !slices.Equal(got, want) {
			f.Errorf("families are %+v after errors, want %+v", got, want)
		}
	}},
}

var groupCases = []testCase{
	{"groups are described", func(f *fixture) {
		f.create("t", "d", "c+b", "e+", "a")
		f.wantGroups("t", "b+c", "e")
		f.wantFamilies("t", "a", "b", "c", "d", "e")
	}},
	{"families created as a group are one", func(f *fixture) {
		f.create("t", "a")
		f.ok(f.store().CreateFamilies(background, "t", spec("c", "b").Families, true))
		f.ok(f.store().CreateFamilies(background, "t", spec("d").Families, false))
		f.ok(f.store().CreateFamilies(background, "t", spec("e").Families, true))
		f.wantGroups("t", "b+c", "e")
	}},
	{"ids of groups are never the same", func(f *fixture) {
		seen := make(map[string]bool)
		for i := range 3 {
			for _, table := range []string{"t", "u"} {
				f.create(table, "a+", "b+", "c+")
				for _, g := range f.describe(table).Groups {
					if g.ID == "" || seen[g.ID] {
						f.Errorf("in round %d the group %v of %s has the id %q, which is empty or was there before", i, g.Families, table, g.ID)
					}
					seen[g.ID] = true
				}
			}
			for _, table := range []string{"t", "u"} {
				f.ok(f.store().DropTable(background, table))
			}
		}
	}},
	{"a group goes with its last family", func(f *fixture) {
		f.create("t", "a", "b+c", "d+")
		f.ok(f.store().DropFamily(background, "t", "c"))
		f.wantGroups("t", "b", "d")
		f.ok(f.store().DropFamily(background, "t", "b"))
		f.wantGroups("t", "d")
		f.ok(f.store().DropFamily(background, "t", "d"))
		f.wantGroups("t")
	}},
	{"groups do not change an answer", func(f *fixture) {
		layouts := map[string][]string{
			"t0": {"a", "a-b", "b", "c"},
			"t1": {"a+", "a-b+", "b+", "c+"},
			"t2": {"a+b", "a-b+c"},
			"t3": {"a", "a-b+", "b", "c+"},
			"t4": {"a+a-b+b+c"},
		}
		for table, layout := range layouts {
			f.create(table, layout...)
			f.write(table, "r1 c:@1=v", "r1 a:y@1=v", "r1 a-b:x@2=v", "r1 b:@9=v", "r1 a:y@3=v")
			f.write(table, "r2 c:@1=v", "r3 a:y@1=v", "r4 b:x@2=v", "r0 a-b:@9=v")
			f.remove(table, "r4", widecol.Filter{}, 1)
			f.want(table, everything(),
				"r0 a-b:@9=v",
				"r1 a:y@3=v", "r1 a:y@1=v", "r1 a-b:x@2=v", "r1 b:@9=v", "r1 c:@1=v",
				"r2 c:@1=v", "r3 a:y@1=v")
			f.want(table, asking(func(q *widecol.Query) { q.RowCellLimit, q.Offset, q.RowLimit = 3, 1, 2 }),
				"r1 a:y@3=v", "r1 a:y@1=v", "r1 a-b:x@2=v", "r2 c:@1=v")
			f.want(table, where(f.columns("c", "a-b:x")), "r1 a-b:x@2=v", "r1 c:@1=v", "r2 c:@1=v")
			f.want(table, where(widecol.PrefixFilter("a")),
				"r0 a-b:@9=v", "r1 a:y@3=v", "r1 a:y@1=v", "r1 a-b:x@2=v", "r3 a:y@1=v")
		}
	}},
}

// wantGroups checks the groups of a table, each given as its sorted families joined by +, and the
// partitions that they imply.
func (f *fixture) wantGroups(table string, want ...string) {
	f.Helper()
	var got []string
	partitions := []string{"_man_" + table, "_dat_" + table}
	last := ""
	for _, g := range f.describe(table).Groups {
		text := ""
		for _, name := range slices.Sorted(slices.Values(g.Families)) {
			text += "+" + name
		}
		got = append(got, text[min(1, len(text)):])
		partitions = append(partitions, "_lg_"+g.ID)
		if g.ID <= last {
			f.Errorf("group %q comes after group %q", g.ID, last)
		}
		last = g.ID
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.Errorf("groups are %q, want %q", got, want)
	}
	f.wantPartitions(table, partitions...)
}
