package storetest

import (
	"slices"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// move moves a family of table t, which goes there on its own if the Subject has no Step.
func (f *fixture) move(family, place string) widecol.Move {
	f.Helper()
	m, err := f.store().MoveFamily(background, "t", family, place)
	f.ok(err)
	if m.Family != family || place != widecol.NewGroup && m.To != place {
		f.Errorf("moving %s to %q is described as %+v", family, place, m)
	}
	if f.subject.Step == nil && m.Moving() {
		f.Errorf("the Store moves %s step by step, but the Subject has no Step", family)
	}
	return m
}

// step moves families on by one step.
func (f *fixture) step() (more bool) {
	f.Helper()
	if f.subject.Step == nil {
		return false
	}
	more, err := f.subject.Step()
	f.ok(err)
	return more
}

// arrive waits until no family moves. It calls check before, after and in between.
func (f *fixture) arrive(check func()) {
	f.Helper()
	check()
	for n := 0; f.step(); n++ {
		check()
		if n == 1000 {
			f.Fatal("1000 steps have not ended a move")
		}
	}
	if moves := f.describe("t").Moves; moves != nil {
		f.Errorf("moves after their end: %+v", moves)
	}
	check()
}

// groupOf returns the ID of the locality group of a family of table t.
func (f *fixture) groupOf(family string) string {
	f.Helper()
	t := f.describe("t")
	return placeOf(&t, family)
}

var moveCases = []testCase{
	{"a family moves to a new group, to another, and back", func(f *fixture) {
		f.create("t", "a", "b", "c+")
		texts := []string{"q a:x@2=v", "q a:x@1=v", "q a:y@9=v", "q b:x@1=v", "r a:x@1=v", "r c:x@3=v", "s a:@5=v"}
		f.write("t", texts...)
		same := func() { f.want("t", everything(), texts...) }
		m := f.move("a", widecol.NewGroup)
		if m.To == "" || m.To == widecol.NewGroup || m.To != f.groupOf("a") || m.Moving() && m.From != "" {
			f.Errorf("a is in the group %q and moves as %+v", f.groupOf("a"), m)
		}
		f.arrive(same)
		f.wantGroups("t", "a", "c")
		f.move("a", f.groupOf("c"))
		f.arrive(same)
		f.wantGroups("t", "a+c")
		f.move("c", "")
		f.arrive(same)
		f.wantGroups("t", "a")
		f.move("a", "")
		f.arrive(same)
		f.wantGroups("t")
	}},
	{"a move that makes no sense is refused", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=v")
		for _, c := range []struct{ table, family, place, code string }{
			{"u", "a", "", "unknown_table"},
			{"t", "c", "", "unknown_column_family"},
			{"t", "a", "nowhere", "unknown_locality_group"},
		} {
			_, err := f.store().MoveFamily(background, c.table, c.family, c.place)
			f.refused(err, widecol.NotFound, c.code, -1)
		}
		f.wantGroups("t", "b")
		if m := f.move("a", ""); m.Moving() || m.From != "" {
			f.Errorf("a family that is there moves: %+v", m)
		}
		if m := f.move("b", f.groupOf("b")); m.Moving() {
			f.Errorf("a family that is there moves: %+v", m)
		}
	}},
	{"a family that moves goes on, or back, and nowhere else", func(f *fixture) {
		f.create("t", "a", "b+")
		texts := []string{"q a:x@1=v", "r a:x@1=v", "s a:x@1=v"}
		f.write("t", texts...)
		if m := f.move("a", f.groupOf("b")); !m.Moving() {
			return
		}
		f.step()
		m := moving(f.describe("t"), "a")
		if m == nil || m.From != "" || m.To != f.groupOf("b") || m.Err != nil {
			f.Fatalf("the move is described as %+v", m)
		}
		if !f.mode.restarts && (m.Cells != 1 && m.Cells != 2 || m.Rows > m.Cells || m.Bytes < 10*m.Cells) {
			f.Errorf("after a step it is %+v", m)
		}
		_, err := f.store().MoveFamily(background, "t", "a", widecol.NewGroup)
		f.refused(err, widecol.Conflict, "column_family_moves", -1)
		if again := f.move("a", f.groupOf("b")); again.From != "" || !again.Moving() {
			f.Errorf("asked again for the same place it is %+v", again)
		}
		f.want("t", everything(), texts...)
		back := f.move("a", "")
		if back.To != "" || back.From != f.groupOf("b") {
			f.Errorf("on its way back it is %+v", back)
		}
		f.arrive(func() { f.want("t", everything(), texts...) })
		f.wantGroups("t", "b")
	}},
	{"a group whose last family leaves stays until it has left", func(f *fixture) {
		f.create("t", "a+", "b")
		f.write("t", "q a:x@1=v", "r a:x@1=v", "s a:x@1=v")
		if m := f.move("a", ""); m.Moving() {
			f.step()
			f.wantGroups("t", "")
			f.move("b", f.describe("t").Groups[0].ID) // which then stays
			f.arrive(func() {})
			f.wantGroups("t", "b")
			f.move("b", "")
		}
		f.arrive(func() {})
		f.wantGroups("t")
		f.want("t", everything(), "q a:x@1=v", "r a:x@1=v", "s a:x@1=v")
	}},
	{"what is written while a family moves counts", func(f *fixture) {
		f.create("t", "a", "b")
		f.write("t", "q a:x@1=old", "q a:x@2=old", "q a:y@2=old", "r a:x@1=old", "r a:y@2=old", "s a:x@1=old", "s b:x@1=old")
		f.move("a", widecol.NewGroup)
		f.write("t", "q a:x@2=new", "q a:x@3=new", "r a:w@1=new", "s a:x@1=new", "t a:x@1=new")
		all := []string{
			"q a:x@3=new", "q a:x@2=new", "q a:x@1=old", "q a:y@2=old", "r a:w@1=new", "r a:x@1=old", "r a:y@2=old",
			"s a:x@1=new", "s b:x@1=old", "t a:x@1=new",
		}
		f.arrive(func() {
			f.want("t", everything(), all...)
			f.want("t", asking(func(q *widecol.Query) { q.Reverse, q.RowLimit, q.ColumnCellLimit = true, 4, 1 }),
				"t a:x@1=new", "s a:x@1=new", "s b:x@1=old", "r a:w@1=new", "r a:x@1=old", "r a:y@2=old", "q a:x@3=new", "q a:y@2=old")
			f.want("t", asking(func(q *widecol.Query) { q.Times = widecol.TimeRange{Start: 2, End: 3} }),
				"q a:x@2=new", "q a:y@2=old", "r a:y@2=old")
		})
	}},
	{"the time of a commit may be that of a version that has not moved", func(f *fixture) {
		f.create("t", "a")
		var texts []version
		for at := range int64(3) { // commits get the time of the clock, or one after the last
			texts = append(texts, f.parse("r a:x=old"))
			texts[at].time = f.clock.Now() + at
		}
		f.writeAll("t", texts)
		f.move("a", widecol.NewGroup)
		time := f.write("t", "r a:x=new")
		var want []version
		for _, v := range slices.Backward(texts) {
			if v.time != time {
				want = append(want, v)
			}
		}
		v := f.parse("r a:x=new")
		v.time = time
		at, _ := slices.BinarySearchFunc(want, v, func(a, b version) int { return int(b.time - a.time) })
		want = slices.Insert(want, at, v)
		f.arrive(func() { f.wantVersions("t", everything(), want) })
	}},
	{"what is deleted while a family moves is gone", func(f *fixture) {
		f.create("t", "a", "b")
		rows := []string{"q", "r", "s", "t", "u", "v"}
		for _, row := range rows {
			f.write("t", row+" a:x@2=v", row+" a:x@1=v", row+" a:y@1=v")
		}
		f.move("a", widecol.NewGroup)
		f.step()
		for _, row := range rows {
			f.write("t", row+" a:x@3=v")
		}
		f.remove("t", "q", widecol.Filter{}, 4)
		f.remove("t", "r", f.columns("a:x"), 3)
		f.remove("t", "s", f.columns("a"), 4)
		_, err := f.store().Write(background, "t", []widecol.Mutation{
			{Op: widecol.DeleteColumn, Row: []byte("t"), Family: []byte("a"), Qualifier: []byte("x"), Time: 2, End: 4},
			{Op: widecol.DeleteFamily, Row: []byte("u"), Family: []byte("a")},
			{Op: widecol.DeleteRow, Row: []byte("v")},
		}, "")
		f.ok(err)
		f.arrive(func() { f.want("t", everything(), "r a:y@1=v", "t a:x@1=v", "t a:y@1=v") })
	}},
	{"version limits count over all of a family that moves", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 2})
		f.write("t", "r a:x@1=v", "r a:x@4=v", "r a:x@6=v", "r a:y@1=v", "r a:y@2=v", "s a:x@5=v")
		f.move("a", widecol.NewGroup)
		f.write("t", "r a:x@5=v", "r a:y@3=v", "s a:x@3=v", "s a:x@4=v")
		f.arrive(func() {
			f.want("t", everything(), "r a:x@6=v", "r a:x@5=v", "r a:y@3=v", "r a:y@2=v", "s a:x@5=v", "s a:x@4=v")
			f.want("t", asking(func(q *widecol.Query) { q.Times = widecol.TimeRange{Start: 0, End: 5} }), "r a:y@3=v", "r a:y@2=v", "s a:x@4=v")
		})
	}},
	{"a family expires while it moves", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10, VersionLimit: 2, Intersection: true})
		f.write("t", "r a:x@-20s=v", "r a:x@-1s=v", "s a:x@-20s=v")
		f.move("a", widecol.NewGroup)
		f.write("t", "r a:x@-5s=v", "s a:x@-30s=v")
		f.arrive(func() {
			f.want("t", everything(), "r a:x@-1s=v", "r a:x@-5s=v", "s a:x@-20s=v", "s a:x@-30s=v")
		})
		f.tick(time.Minute)
		f.want("t", everything(), "r a:x@-1s=v", "r a:x@-5s=v", "s a:x@-20s=v", "s a:x@-30s=v")
	}},
	{"updates of a row read all of a family that moves", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=v", "s a:x@1=v")
		f.move("a", widecol.NewGroup)
		appending := func(row string, value string) {
			f.Helper()
			_, _, err := f.store().ReadModifyWrite(background, "t", &widecol.ReadModifyWrite{Row: []byte(row), Rules: []widecol.Rule{
				{Family: []byte("a"), Qualifier: []byte("x"), Append: []byte(value), Type: cell.String},
			}}, "")
			f.ok(err)
		}
		newest := asking(func(q *widecol.Query) { q.ColumnCellLimit = 1 })
		values := func(want ...string) {
			f.Helper()
			var got []string
			for _, v := range f.ask("t", newest).versions {
				got = append(got, v.value)
			}
			if !slices.Equal(got, want) {
				f.Errorf("values are %q, want %q", got, want)
			}
		}
		appending("s", "w")
		values("v", "vw")
		f.step()
		appending("r", "w")
		f.arrive(func() { values("vw", "vw") })
		appending("r", "x")
		values("vwx", "vw")
	}},
	{"a view does not see a move", func(f *fixture) {
		f.create("t", "a", "b")
		texts := []string{"q a:x@2=v", "q a:x@1=v", "q b:x@1=v", "r a:x@1=v", "s a:x@1=v"}
		f.write("t", texts...)
		before := f.view("t")
		defer before.close()
		f.move("a", widecol.NewGroup)
		between := f.view("t")
		defer between.close()
		f.step()
		f.write("t", "q a:x@1=new", "q a:x@3=new", "r a:y@1=new")
		f.step()
		f.remove("t", "s", widecol.Filter{}, 1)
		for f.step() {
			before.want(everything(), texts...)
			between.want(everything(), texts...)
		}
		f.move("a", "")
		f.arrive(func() {
			before.want(everything(), texts...)
			between.want(everything(), texts...)
			f.want("t", everything(), "q a:x@3=new", "q a:x@2=v", "q a:x@1=new", "q b:x@1=v", "r a:x@1=v", "r a:y@1=new")
		})
	}},
	{"what a family left behind does not come back with it", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "q a:x@1=old", "r a:x@1=old", "s a:x@1=old")
		for range 3 {
			for _, to := range []string{f.groupOf("b"), ""} {
				f.move("a", to)
				f.arrive(func() {})
				f.want("t", everything(), "q a:x@1=old", "r a:x@1=old", "s a:x@1=old")
			}
		}
		f.move("a", f.groupOf("b"))
		f.arrive(func() {})
		f.remove("t", "r", widecol.Filter{}, 1)
		f.write("t", "s a:x@1=new")
		f.move("a", "")
		f.arrive(func() { f.want("t", everything(), "q a:x@1=old", "s a:x@1=new") })
	}},
	{"what was deleted behind a family that has left stays deleted when it comes back", func(f *fixture) {
		f.create("t", "a", "b", "c+")
		f.write("t", "q a:x@1=v", "q a:y@1=v", "r a:x@1=v", "r b:x@1=v")
		rewrite := func(hooks ...func() error) {
			for _, hook := range hooks {
				if err := optional(hook); err != nil {
					f.Fatal(err)
				}
			}
		}
		rewrite(f.subject.Flush, f.subject.Compact)
		f.move("a", f.groupOf("c"))
		f.arrive(func() {})
		rewrite(f.subject.Flush)
		f.remove("t", "q", f.columns("a:x"), 1)
		f.remove("t", "r", f.columns("a"), 1)
		f.move("a", "")
		f.arrive(func() { f.want("t", everything(), "q a:y@1=v", "r b:x@1=v") })
	}},
	{"a family that moves can be dropped, and created again", func(f *fixture) {
		for _, grouped := range []bool{false, true} {
			for _, steps := range []int{0, 1, 2} {
				f.create("t", "a", "b")
				f.write("t", "q a:x@1=v", "q b:x@1=v", "r a:x@1=v", "s a:x@1=v")
				f.move("a", widecol.NewGroup)
				f.write("t", "q a:y@1=v")
				for range steps {
					f.step()
				}
				f.ok(f.store().DropFamily(background, "t", "a"))
				if moves := f.describe("t").Moves; moves != nil {
					f.Errorf("a dropped family moves: %+v", moves)
				}
				f.wantGroups("t")
				f.want("t", everything(), "q b:x@1=v")
				f.ok(f.store().CreateFamilies(background, "t", spec("a").Families, grouped))
				f.want("t", everything(), "q b:x@1=v")
				f.write("t", "r a:x@1=new")
				f.move("b", widecol.NewGroup)
				f.arrive(func() { f.want("t", everything(), "q b:x@1=v", "r a:x@1=new") })
				f.ok(f.store().DropTable(background, "t"))
			}
		}
	}},
	{"a table with a family that moves can be changed and dropped", func(f *fixture) {
		f.create("t", "a+", "b")
		f.write("t", "q a:x@1=v", "q a:x@2=v", "r a:x@1=v")
		f.move("a", "")
		yes := true
		f.alter(widecol.TableChange{Protected: &yes})
		f.ok(f.store().AlterFamily(background, "t", "a", widecol.ChangeGC(widecol.GC{VersionLimit: 1})))
		f.ok(f.store().CreateFamilies(background, "t", spec("c").Families, true))
		f.want("t", everything(), "q a:x@2=v", "r a:x@1=v")
		f.step()
		no := false
		f.alter(widecol.TableChange{Protected: &no})
		f.ok(f.store().DropFamily(background, "t", "b"))
		f.want("t", everything(), "q a:x@2=v", "r a:x@1=v")
		f.ok(f.store().DropTable(background, "t"))
		f.create("t", "a")
		f.step()
		f.want("t", everything())
	}},
}
