package storetest

import "github.com/colonnade-db/colonnade/widecol"

// alter changes settings of table t.
func (f *fixture) alter(change widecol.TableChange) {
	f.Helper()
	f.ok(f.store().AlterTable(background, "t", change))
}

// settings checks the settings of table t.
func (f *fixture) settings(want widecol.TableSettings) {
	f.Helper()
	t, err := f.store().Table(background, "t")
	if err != nil {
		f.Fatal(err)
	}
	if t.Settings != want {
		f.Errorf("the settings are %+v, want %+v", t.Settings, want)
	}
}

var settingCases = []testCase{
	{"a protected table and its families cannot be dropped", func(f *fixture) {
		f.deleting()
		yes, no := true, false
		f.settings(widecol.TableSettings{})
		f.alter(widecol.TableChange{Protected: &yes})
		f.settings(widecol.TableSettings{Protected: true})
		f.refused(f.store().DropTable(background, "t"), widecol.Conflict, "deletion_protected", -1)
		f.refused(f.store().DropFamily(background, "t", "a"), widecol.Conflict, "deletion_protected", -1)
		f.refused(f.store().DropFamily(background, "t", "c"), widecol.NotFound, "unknown_column_family", -1)
		f.left()
		f.alter(widecol.TableChange{Protected: &no})
		f.ok(f.store().DropFamily(background, "t", "a"))
		f.ok(f.store().DropTable(background, "t"))
		f.create("t", "a")
		f.settings(widecol.TableSettings{})
	}},
	{"a new family may inherit the settings of its table", func(f *fixture) {
		f.create("t", "a")
		gc := widecol.GC{VersionLimit: 1, TTLSecs: 7, Intersection: true}
		f.alter(widecol.TableChange{DefaultGC: &gc})
		f.alter(widecol.TableChange{})
		f.settings(widecol.TableSettings{DefaultGC: gc})
		f.ok(f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "b", Inherit: true}, {Name: "c", GC: widecol.GC{VersionLimit: 2}}}, true))
		t, err := f.store().Table(background, "t")
		if err != nil || len(t.Families) != 3 || t.Families[0].GC != (widecol.GC{}) || t.Families[1].GC != gc || t.Families[2].GC != (widecol.GC{VersionLimit: 2}) {
			f.Errorf("the families are %+v, %v", t.Families, err)
		}
		bad := widecol.GC{VersionLimit: -1}
		f.refused(f.store().AlterTable(background, "t", widecol.TableChange{DefaultGC: &bad}), widecol.Invalid, "invalid_gc_settings", -1)
		f.settings(widecol.TableSettings{DefaultGC: gc})
		f.refused(f.store().AlterTable(background, "u", widecol.TableChange{}), widecol.NotFound, "unknown_table", -1)
	}},
	{"what other settings would remove is counted", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 3})
		f.ok(f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "b"}}, false))
		f.write("t", "r a:x@-1s=v", "r a:x@-2s=v", "r a:x@-3s=v", "r a:x@-4s=gone", "r a:y@-9s=v", "r b:x@-9s=v", "r b:x@-8s=v", "s a:x@-1s=v")
		before := f.ask("t", everything())
		for _, c := range []struct {
			gc   widecol.GC
			want widecol.Garbage
		}{
			{widecol.GC{}, widecol.Garbage{}},
			{widecol.GC{VersionLimit: 1}, widecol.Garbage{Rows: 1, Cells: 2, Bytes: 26}},
			{widecol.GC{TTLSecs: 1}, widecol.Garbage{Rows: 2, Cells: 5, Bytes: 65}},
			{widecol.GC{TTLSecs: 3, VersionLimit: 2, Intersection: true}, widecol.Garbage{Rows: 1, Cells: 1, Bytes: 13}},
		} {
			got, err := f.store().Garbage(background, "t", "a", c.gc)
			if err != nil || got != c.want {
				f.Errorf("with %+v it is %+v, %v, want %+v", c.gc, got, err, c.want)
			}
		}
		_, err := f.store().Garbage(background, "t", "c", widecol.GC{})
		f.refused(err, widecol.NotFound, "unknown_column_family", -1)
		if after := f.ask("t", everything()); len(after.versions) != len(before.versions) {
			f.Error("counting has changed something")
		}
	}},
}
