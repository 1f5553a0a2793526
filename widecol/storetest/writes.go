package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var writeCases = []testCase{
	{"values of all types come back", func(f *fixture) {
		f.create("t", "a")
		versions := []version{
			{"r", "a", "0", 1, cell.String, ""},
			{"r", "a", "1", 1, cell.String, "text, ünïcode, \x00"},
			{"r", "a", "2", 1, cell.I64, "\xff\xff\xff\xff\xff\xff\xff\x7f"},
			{"r", "a", "3", 1, cell.Bool, "\x00"},
			{"r", "a", "4", 1, cell.Bool, "\x01"},
			{"r", "a", "5", 1, cell.Byte, "\xff"},
			{"r", "a", "6", 1, cell.I32, "\x01\x02\x03\x04"},
			{"r", "a", "7", 1, cell.F32, "\x00\x00\x80\x7f"},
			{"r", "a", "8", 1, cell.F64, "\x01\x00\x00\x00\x00\x00\xf8\x7f"},
			{"r", "a", "9", 1, cell.Bytes, "\xff\x00\xfe"},
			{"r", "a", "A", 1, cell.Bytes, ""},
		}
		f.writeAll("t", versions)
		f.wantVersions("t", everything(), versions)
	}},
	{"versions keep their times", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@5=b", "r a:x@0=a")
		f.write("t", fmt.Sprintf("r a:x@%d=d", cell.MaxTime), "r a:x@+1h0m0s=c")
		f.want("t", everything(), fmt.Sprintf("r a:x@%d=d", cell.MaxTime), "r a:x@+1h0m0s=c", "r a:x@5=b", "r a:x@0=a")
	}},
	{"a write without a time has that of the commit", func(f *fixture) {
		f.create("t", "a", "b+")
		time := f.write("t", "r a:x=v", "r b:x=v", "q a:x=v", "q a:x@7=w")
		at := fmt.Sprintf("@%d", time)
		f.want("t", everything(), "q a:x"+at+"=v", "q a:x@7=w", "r a:x"+at+"=v", "r b:x"+at+"=v")
		if now := f.clock.Now(); time < now || time > now+second {
			f.Errorf("the first commit time is %s, the clock is %s", clockText(time), clockText(now))
		}
	}},
	{"commit times increase whatever the clock does", func(f *fixture) {
		f.create("t", "a")
		f.create("u", "a")
		last := int64(0)
		for i, d := range []time.Duration{0, 0, time.Second, 0, -time.Hour, 0, time.Microsecond, -time.Microsecond, 2 * time.Hour, 0} {
			f.tick(d)
			table := []string{"t", "u"}[i%2]
			time := f.write(table, "r a:x=v")
			if time <= last || time < f.clock.Now() {
				f.Errorf("commit time %s after %s, the clock is %s", clockText(time), clockText(last), clockText(f.clock.Now()))
			}
			last = time
			f.want(table, asking(func(q *widecol.Query) { q.CellLimit = 1 }), fmt.Sprintf("r a:x@%d=v", time))
		}
	}},
	{"times of cells do not move those of commits", func(f *fixture) {
		f.create("t", "a")
		time := f.write("t", fmt.Sprintf("r a:x@%d=v", cell.MaxTime), "r a:x@+1000h0m0s=v")
		if after := f.write("t", "r a:x=v"); after <= time || after > f.clock.Now()+second {
			f.Errorf("commit times %s and %s, the clock is %s", clockText(time), clockText(after), clockText(f.clock.Now()))
		}
	}},
	{"the same version is replaced", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@5=old", "r b:x@5=old", "r a:x@4=other")
		f.write("t", "r a:x@5=new")
		f.writeAll("t", []version{{"r", "b", "x", 5, cell.Byte, "\x07"}})
		f.wantVersions("t", everything(), []version{
			f.parse("r a:x@5=new"), f.parse("r a:x@4=other"), {"r", "b", "x", 5, cell.Byte, "\x07"},
		})
	}},
	{"the later of two mutations counts", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@5=1", "r a:x@5=2", "r a:y@5=1", "r a:x@5=3", "r a:y=1", "r a:y=2")
		got := f.ask("t", where(f.columns("a:y"))).versions
		if len(got) != 2 || got[0].value != "2" || got[1].value != "1" {
			f.Errorf("a:y has the versions %v, want 2 at the commit's time and 1", got)
		}
		f.want("t", where(f.columns("a:x")), "r a:x@5=3")
		time := f.write("t", "q a:x=1")
		f.write("t", fmt.Sprintf("q a:x@%d=2", time))
		f.want("t", asking(func(q *widecol.Query) { q.SetKey([]byte("q")) }), fmt.Sprintf("q a:x@%d=2", time))
	}},
	{"a wrong mutation undoes the whole write", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=before")
		good := f.parseAll([]string{"r a:x@1=v", "r b:x@1=v", "q a:x@1=v", "q b:x=v"})
		v := f.parse("z a:x@1=v")
		wrong := func(change func(v *version)) version { w := v; change(&w); return w }
		for _, bad := range []struct {
			version version
			kind    widecol.Kind
			code    string
		}{
			{wrong(func(v *version) { v.family = "unknown" }), widecol.NotFound, "unknown_column_family"},
			{wrong(func(v *version) { v.family = "" }), widecol.NotFound, "unknown_column_family"},
			{wrong(func(v *version) { v.family = "a\x00" }), widecol.NotFound, "unknown_column_family"},
			{wrong(func(v *version) { v.row = "" }), widecol.Invalid, "invalid_row_key"},
			{wrong(func(v *version) { v.row = strings.Repeat("r", widecol.MaxRowKey+1) }), widecol.Invalid, "invalid_row_key"},
			{wrong(func(v *version) { v.qualifier = strings.Repeat("q", widecol.MaxQualifier+1) }), widecol.Invalid, "invalid_column_key"},
			{wrong(func(v *version) { v.time = -2 }), widecol.Invalid, "invalid_time"},
			{wrong(func(v *version) { v.time = cell.MaxTime + 1 }), widecol.Invalid, "invalid_time"},
			{wrong(func(v *version) { v.typ = cell.None }), widecol.Invalid, "invalid_value"},
			{wrong(func(v *version) { v.typ = cell.TypeCount }), widecol.Invalid, "invalid_value"},
			{wrong(func(v *version) { v.typ = cell.I64 }), widecol.Invalid, "invalid_value"},
			{wrong(func(v *version) { v.value = strings.Repeat("v", maxValue+1) }), widecol.TooLarge, "value_too_large"},
		} {
			for at := range 2 { // in the last place, then before it
				versions := append(good[:len(good):len(good)], bad.version)
				if at == 1 {
					versions = append(versions, v)
				}
				_, err := f.tryWrite("t", versions...)
				f.refused(err, bad.kind, bad.code, len(good))
			}
		}
		f.want("t", everything(), "r a:x@1=before")
	}},
	{"a write without mutations is refused", func(f *fixture) {
		f.create("t", "a")
		if _, err := f.tryWrite("t"); widecol.KindOf(err) != widecol.Invalid {
			f.Errorf("error of an empty write: %v, want one of the kind Invalid", err)
		}
	}},
	{"keys and values can be as large as they may", func(f *fixture) {
		f.create("t", "a")
		row, qualifier := strings.Repeat("r", widecol.MaxRowKey), strings.Repeat("q", widecol.MaxQualifier)
		versions := []version{
			{row[1:], "a", qualifier, 1, cell.String, "v"},
			{row, "a", "", 1, cell.Bytes, strings.Repeat("\xff", maxValue)},
			{row, "a", qualifier[1:], 1, cell.String, "v"},
			{row, "a", qualifier, 2, cell.String, strings.Repeat("v", maxValue)},
			{row, "a", qualifier, 1, cell.String, "v"},
		}
		f.writeAll("t", versions)
		f.wantVersions("t", everything(), versions)
		f.wantVersions("t", where(f.columns("a:"+qualifier)), []version{versions[0], versions[3], versions[4]})
		f.wantVersions("t", asking(func(q *widecol.Query) { q.SetKey([]byte(row)) }), versions[1:])
	}},
	{"a write borrows its bytes only", func(f *fixture) {
		f.create("t", "a")
		m := f.parse("row a:qualifier@1=value").mutation()
		_, err := f.store().Write(background, "t", []widecol.Mutation{m}, "")
		for _, b := range [][]byte{m.Row, m.Family, m.Qualifier, m.Value} {
			copy(b, "************")
		}
		f.ok(err)
		f.want("t", everything(), "row a:qualifier@1=value")
	}},
	{"a large write", func(f *fixture) {
		f.create("t", "a", "b+")
		var versions []version
		for i := range 2000 {
			for _, family := range []string{"a", "b"} {
				versions = append(versions, version{fmt.Sprintf("row%05d", i), family, "x", 1, cell.String, fmt.Sprint(i)})
			}
		}
		f.writeAll("t", versions)
		f.wantVersions("t", everything(), versions)
	}},
}
