package storetest

import (
	"fmt"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// deleteRows are the versions of the delete cases: a row, and similar rows and columns.
var deleteRows = []string{
	"q a:x@1=v",
	"r a:@1=v", "r a:x@9=v", "r a:x@1=v", "r a:xy@1=v", "r a:y@1=v", "r aa:x@1=v", "r b:x@1=v",
	"r\x00 a:x@1=v", "r: a:x@1=v", "r:a a:x@1=v", "rr b:x@1=v",
}

// deleting creates a table of deleteRows.
func (f *fixture) deleting() {
	f.Helper()
	f.create("t", "a", "aa", "b+")
	f.write("t", deleteRows...)
}

// left checks that the table has deleteRows without the deleted ones.
func (f *fixture) left(deleted ...string) {
	f.Helper()
	gone := make(map[string]bool)
	for _, text := range deleted {
		gone[text] = true
	}
	var left []string
	for _, text := range deleteRows {
		if !gone[text] {
			left = append(left, text)
		}
	}
	f.want("t", everything(), left...)
}

var deleteCases = []testCase{
	{"a row is deleted, and no other", func(f *fixture) {
		f.deleting()
		f.remove("t", "r", widecol.Filter{}, 7)
		f.left(deleteRows[1:8]...)
		f.remove("t", "r:a", widecol.Filter{}, 1)
		f.left(append(deleteRows[1:8:8], "r:a a:x@1=v")...)
	}},
	{"a column is deleted, and no other", func(f *fixture) {
		f.deleting()
		f.remove("t", "r", f.columns("a:x"), 2)
		f.left("r a:x@9=v", "r a:x@1=v")
	}},
	{"the column with the empty qualifier is deleted", func(f *fixture) {
		f.deleting()
		columns := cell.NewColumns(cell.ColumnRange([]byte("a"), nil))
		f.remove("t", "r", widecol.Filter{Columns: columns}, 1)
		f.left("r a:@1=v")
	}},
	{"a family is deleted in a row, and no other", func(f *fixture) {
		f.deleting()
		f.remove("t", "r", f.columns("a"), 5)
		f.left("r a:@1=v", "r a:x@9=v", "r a:x@1=v", "r a:xy@1=v", "r a:y@1=v")
		f.remove("t", "rr", f.columns("b:"), 1)
		f.left("r a:@1=v", "r a:x@9=v", "r a:x@1=v", "r a:xy@1=v", "r a:y@1=v", "rr b:x@1=v")
	}},
	{"columns with a prefix are deleted", func(f *fixture) {
		f.deleting()
		f.remove("t", "r", widecol.PrefixFilter("a:x"), 3)
		f.left("r a:x@9=v", "r a:x@1=v", "r a:xy@1=v")
		f.remove("t", "r", widecol.PrefixFilter("a"), 3)
		f.left("r a:@1=v", "r a:x@9=v", "r a:x@1=v", "r a:xy@1=v", "r a:y@1=v", "r aa:x@1=v")
	}},
	{"several columns and families are deleted at once", func(f *fixture) {
		f.deleting()
		f.remove("t", "r", f.columns("b", "a:xy", "a:nothing", "aa:x"), 3)
		f.left("r a:xy@1=v", "r aa:x@1=v", "r b:x@1=v")
	}},
	{"deleting nothing changes nothing", func(f *fixture) {
		f.deleting()
		f.remove("t", "nothing", widecol.Filter{}, 0)
		f.remove("t", "rr", f.columns("a"), 0)
		f.remove("t", "r", f.columns("a:nothing"), 0)
		f.remove("t", "r", widecol.PrefixFilter("c"), 0)
		f.remove("t", "r", f.columns(), 0)
		f.left()
		f.remove("t", "r", widecol.Filter{}, 7)
		f.remove("t", "r", widecol.Filter{}, 0)
	}},
	{"deleting an unknown family is refused", func(f *fixture) {
		f.deleting()
		_, err := removeRow(f.store(), "t", "r", f.columns("a:x", "c"), "")
		f.refused(err, widecol.NotFound, "unknown_column_family", 1)
		f.left()
	}},
	{"what is deleted stays so", func(f *fixture) {
		f.create("t", "a", "b+")
		for i := range 4 {
			at := fmt.Sprintf("@%d=v", i+1)
			f.write("t", "r a:x"+at, "r b:x"+at)
			f.remove("t", "r", widecol.Filter{}, 2)
			f.want("t", everything())
		}
	}},
	{"a delete hides versions of any time", func(f *fixture) {
		for i, filter := range f.scopes() {
			table := fmt.Sprint("t", i)
			f.create(table, "a", "b+")
			f.write(table, "r a:x@0=v", "r a:x@5=v", "r a:x@+1000h0m0s=v", fmt.Sprintf("r a:x@%d=v", cell.MaxTime), "r b:x@1=v")
			f.remove(table, "r", filter, 4)
			f.want(table, everything(), "r b:x@1=v")
		}
	}},
	{"a delete hides nothing that is written later, whatever its time", func(f *fixture) {
		for i, filter := range f.scopes() {
			table := fmt.Sprint("t", i)
			f.create(table, "a", "b+")
			f.write(table, fmt.Sprintf("r a:x@%d=old", cell.MaxTime), "r a:x@5=old", "r a:x=old")
			f.remove(table, "r", filter, 3)
			f.write(table, "r a:x@4=new", "r a:x@5=new")
			f.want(table, everything(), "r a:x@5=new", "r a:x@4=new")
			f.tick(-time.Hour)
			time := f.write(table, "r a:x=newer")
			f.want(table, everything(), fmt.Sprintf("r a:x@%d=newer", time), "r a:x@5=new", "r a:x@4=new")
			f.remove(table, "r", filter, 3)
			f.want(table, everything())
			f.write(table, "r a:x@0=zero")
			f.want(table, everything(), "r a:x@0=zero")
		}
	}},
	{"deletes of different scopes add up", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=1", "r a:y@1=1", "r b:x@1=1")
		f.remove("t", "r", f.columns("a:x"), 1)
		f.write("t", "r a:x@1=2", "r a:y@1=2")
		f.remove("t", "r", f.columns("a"), 2)
		f.write("t", "r a:y@1=3")
		f.remove("t", "r", f.columns("a:y"), 1)
		f.write("t", "r a:x@1=4")
		f.want("t", everything(), "r a:x@1=4", "r b:x@1=1")
		f.remove("t", "r", widecol.Filter{}, 2)
		f.write("t", "r b:x@0=5")
		f.want("t", everything(), "r b:x@0=5")
	}},
	{"what has gone does not count as deleted", func(f *fixture) {
		f.create("t", "b")
		f.ok(f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "a", GC: widecol.GC{TTLSecs: 10, VersionLimit: 2}}}, true))
		f.write("t", "r a:x@-20s=v", "r a:x@-9s=v", "r a:x@-8s=v", "r a:x@-7s=v", "r a:y@-11s=v", "r b:x@1=v")
		f.remove("t", "r", f.columns("a:y"), 0)
		f.remove("t", "r", f.columns("a"), 2)
		f.want("t", everything(), "r b:x@1=v")
	}},
	{"what has gone is deleted too", func(f *fixture) {
		for i, filter := range append(f.scopes(), widecol.Filter{}) {
			table := fmt.Sprint("t", i)
			f.createGC(table, "a", widecol.GC{TTLSecs: 10})
			f.write(table, "r a:x@-20s=gone")
			f.remove(table, "r", filter, 0)
			f.ok(f.store().AlterFamily(background, table, "a", widecol.ChangeGC(widecol.GC{})))
			f.want(table, everything())
		}
	}},
	{"a row can be empty at the head of a page", func(f *fixture) {
		f.create("t", "a")
		versions := f.numbered("t", 10)
		for _, v := range versions[:5] {
			f.remove("t", v.row, widecol.Filter{}, 1)
		}
		f.wantVersions("t", asking(func(q *widecol.Query) { q.RowLimit = 2 }), versions[5:7])
		f.wantVersions("t", asking(func(q *widecol.Query) { q.Offset, q.RowLimit = 3, 3 }), versions[8:])
	}},
}

// scopes are filters that all select column a:x: the column, its family, a prefix of the family, a
// prefix of the column, and a set of columns.
func (f *fixture) scopes() []widecol.Filter {
	f.Helper()
	return []widecol.Filter{f.columns("a:x"), f.columns("a"), widecol.PrefixFilter("a:"), widecol.PrefixFilter("a:x"), f.columns("a:y", "a:x")}
}
