package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var tableCases = []testCase{
	{"a new store has no tables", func(f *fixture) {
		f.wantTables()
	}},
	{"a table is described", func(f *fixture) {
		f.ok(f.store().CreateTable(background, "t", widecol.TableSpec{Families: []widecol.Family{
			{Name: "b", GC: widecol.GC{TTLSecs: 5}},
			{Name: "a"},
			{Name: "a-b", GC: widecol.GC{TTLSecs: 7, VersionLimit: 2, Intersection: true}},
		}}))
		t := f.describe("t")
		want := []widecol.Family{
			{Name: "a"},
			{Name: "a-b", GC: widecol.GC{TTLSecs: 7, VersionLimit: 2, Intersection: true}},
			{Name: "b", GC: widecol.GC{TTLSecs: 5}},
		}
		if t.Name != "t" || !slices.Equal(t.Families, want) {
			f.Errorf("table %q with the families %+v, want %q with %+v", t.Name, t.Families, "t", want)
		}
		if len(t.Groups) != 0 || t.DiskBytes < 0 {
			f.Errorf("groups %+v, disk bytes %d", t.Groups, t.DiskBytes)
		}
		f.wantPartitions("t", "_man_t", "_dat_t")
	}},
	{"a table without families is empty and takes nothing", func(f *fixture) {
		f.create("t")
		f.want("t", everything())
		_, err := f.tryWrite("t", f.parse("r a:x@1=v"))
		f.refused(err, widecol.NotFound, "unknown_column_family", 0)
	}},
	{"tables are sorted by name", func(f *fixture) {
		for _, name := range []string{"b", "a", "c", "B", "a-b", "aa", "#"} {
			f.create(name, "f")
		}
		f.wantTables("#", "B", "a", "a-b", "aa", "b", "c")
	}},
	{"a table can be created only once", func(f *fixture) {
		f.create("t", "a")
		f.refused(f.store().CreateTable(background, "t", spec("b")), widecol.Exists, "table_exists", -1)
		f.wantFamilies("t", "a")
	}},
	{"names of tables are checked", func(f *fixture) {
		for _, name := range []string{"", "_t", "a/b", "a b", "a:b", "é", "\x00", strings.Repeat("t", widecol.MaxName+1)} {
			f.refused(f.store().CreateTable(background, name, spec("a")), widecol.Invalid, "invalid_table_name", -1)
		}
		f.wantTables()
	}},
	{"names of tables can be anything that is allowed", func(f *fixture) {
		names := []string{"#$-", "-", ".", "..", "0", "T", "t", "t.", strings.Repeat("x", widecol.MaxName)}
		for i, name := range names {
			f.create(name, "a")
			f.write(name, fmt.Sprintf("r a:x@1=%d", i))
		}
		f.wantTables(names...)
		for i, name := range names {
			f.want(name, everything(), fmt.Sprintf("r a:x@1=%d", i))
		}
	}},
	{"a table that is refused is not there", func(f *fixture) {
		gc := func(gc widecol.GC) widecol.TableSpec {
			return widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b", GC: gc}}}
		}
		group := func(groups ...[]string) widecol.TableSpec {
			s := spec("a", "b")
			s.Groups = groups
			return s
		}
		for _, bad := range []struct {
			spec  widecol.TableSpec
			code  string
			index int
		}{
			{spec("a", "b:"), "invalid_column_family_name", 1},
			{spec(""), "invalid_column_family_name", 0},
			{spec("a", "b", "a"), "duplicate_column_family", 2},
			{gc(widecol.GC{TTLSecs: -1}), "invalid_gc_settings", 1},
			{gc(widecol.GC{TTLSecs: widecol.MaxTTLSecs + 1}), "invalid_gc_settings", 1},
			{gc(widecol.GC{VersionLimit: -1}), "invalid_gc_settings", 1},
			{gc(widecol.GC{TTLSecs: 1, Intersection: true}), "invalid_gc_settings", 1},
			{group([]string{}), "invalid_locality_group", -1},
			{group([]string{"c"}), "invalid_locality_group", -1},
			{group([]string{"a"}, []string{"b", "a"}), "invalid_locality_group", -1},
		} {
			f.refused(f.store().CreateTable(background, "t", bad.spec), widecol.Invalid, bad.code, bad.index)
		}
		f.wantTables()
	}},
	{"every method tells of an unknown table", func(f *fixture) {
		f.create("u", "a")
		for name, err := range f.callAll("t") {
			if !slices.Contains([]string{"CreateTable", "Tables"}, name) {
				f.refused(err, widecol.NotFound, "unknown_table", -1)
			}
		}
	}},
	{"a dropped table is gone", func(f *fixture) {
		f.create("t", "a", "b+")
		f.create("u", "a")
		f.write("t", "r a:x@1=v", "r b:x@1=v")
		f.write("u", "r a:x@1=v")
		f.ok(f.store().DropTable(background, "t"))
		f.wantTables("u")
		_, err := f.store().Table(background, "t")
		f.refused(err, widecol.NotFound, "unknown_table", -1)
		f.refused(f.store().DropTable(background, "t"), widecol.NotFound, "unknown_table", -1)
		f.want("u", everything(), "r a:x@1=v")
	}},
	{"a table created again is empty", func(f *fixture) {
		for _, layout := range [][]string{{"a", "b"}, {"a", "b+"}, {"a+b"}, {"b"}, {"a", "b"}} {
			f.create("t", layout...)
			f.want("t", everything())
			f.write("t", "r b:x@5=v")
			f.want("t", everything(), "r b:x@5=v")
			f.ok(f.store().DropTable(background, "t"))
		}
	}},
	{"a table created again has only its new families and settings", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 1})
		f.ok(f.store().DropTable(background, "t"))
		f.create("t", "b")
		f.wantFamilies("t", "b")
		f.write("t", "r b:x@1=v", "r b:x@2=w")
		f.want("t", everything(), "r b:x@2=w", "r b:x@1=v")
	}},
	{"tables keep their rows apart", func(f *fixture) {
		names := []string{"T", "t", "t.a", "ta"}
		for _, name := range names {
			f.create(name, "a", "b+")
			f.write(name, "r a:x@1="+name, "r b:x@1="+name)
		}
		f.remove("ta", "r", widecol.Filter{}, 2)
		for _, name := range names[:3] {
			f.want(name, everything(), "r a:x@1="+name, "r b:x@1="+name)
		}
		f.want("ta", everything())
	}},
}

// wantTables checks the names of the tables.
func (f *fixture) wantTables(want ...string) {
	f.Helper()
	tables, err := f.store().Tables(background)
	if err != nil {
		f.Fatal(err)
	}
	var got []string
	for _, t := range tables {
		got = append(got, t.Name)
		if one := f.describe(t.Name); outline([]widecol.Table{one}) != outline([]widecol.Table{t}) {
			f.Errorf("Table describes %+v, Tables %+v", one, t)
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("tables are %q, want %q", got, want)
	}
}

// wantFamilies checks the names of a table's families.
func (f *fixture) wantFamilies(table string, want ...string) {
	f.Helper()
	var got []string
	for _, family := range f.describe(table).Families {
		got = append(got, family.Name)
	}
	if !slices.Equal(got, want) {
		f.Errorf("families are %q, want %q", got, want)
	}
}

// wantPartitions checks the names of a table's partitions.
func (f *fixture) wantPartitions(table string, want ...string) {
	f.Helper()
	if f.mode.moves {
		return
	}
	var got []string
	for _, p := range f.describe(table).Partitions {
		got = append(got, p.Name)
		if p.Path == "" || p.Stats.Err != nil || p.Stats.DiskBytes < 0 || p.Stats.MemtableBytes < 0 {
			f.Errorf("partition %+v", p)
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("partitions are %q, want %q", got, want)
	}
}

// callAll calls every method of the Store that returns an error, except Close, with a table and
// otherwise valid arguments. It returns their errors.
func (f *fixture) callAll(table string) map[string]error {
	s := f.store()
	errs := map[string]error{
		"CreateTable":    s.CreateTable(background, "new", spec("a")),
		"CreateFamilies": s.CreateFamilies(background, table, spec("new").Families, false),
		"AlterFamily":    s.AlterFamily(background, table, "a", widecol.ChangeGC(widecol.GC{VersionLimit: 1})),
		"DropFamily":     s.DropFamily(background, table, "a"),
		"DropTable":      s.DropTable(background, table),
	}
	_, errs["Table"] = s.Table(background, table)
	_, errs["Tables"] = s.Tables(background)
	_, errs["Advice"] = s.Advice(background, table)
	_, errs["Write"] = f.tryWrite(table, version{"r", "a", "x", 1, cell.String, "v"})
	_, errs["DeleteRow"] = removeRow(s, table, "r", widecol.Filter{}, "")
	var v widecol.View
	if v, errs["View"] = s.View(background, table); v != nil && errs["View"] == nil {
		v.Close()
	}
	return errs
}
