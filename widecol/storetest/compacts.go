package storetest

import "github.com/colonnade-db/colonnade/widecol"

var compactCases = []testCase{
	{"a compaction changes no answer", func(f *fixture) {
		f.create("t", "a", "b+", "c+")
		f.write("t", "q a:x@2=v", "q a:x@1=v", "q b:x@1=v", "r a:x@1=v", "r c:x@3=v", "s b:@5=v")
		f.ok(f.store().AlterFamily(background, "t", "a", widecol.ChangeGC(widecol.GC{VersionLimit: 1})))
		same := func() { f.want("t", everything(), "q a:x@2=v", "q b:x@1=v", "r a:x@1=v", "r c:x@3=v", "s b:@5=v") }
		same()
		f.ok(f.store().Compact(background, "t", nil))
		same()
		for _, family := range []string{"a", "b", "c"} {
			place := f.groupOf(family)
			f.ok(f.store().Compact(background, "t", &place))
			same()
		}
	}},
	{"a compaction of what is not there", func(f *fixture) {
		f.create("t", "a", "b+")
		nope, fresh := "nope", widecol.NewGroup
		f.refused(f.store().Compact(background, "none", nil), widecol.NotFound, "unknown_table", -1)
		f.refused(f.store().Compact(background, "t", &nope), widecol.NotFound, "unknown_locality_group", -1)
		f.refused(f.store().Compact(background, "t", &fresh), widecol.NotFound, "unknown_locality_group", -1)
	}},
}
