package cell

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func column(family, qualifier string) []byte {
	return AppendColumn(nil, []byte(family), []byte(qualifier))
}

func TestCompareOrdersARow(t *testing.T) {
	tomb := func(kind Kind, column []byte, seq uint64) Cell {
		return Cell{Kind: kind, Column: column, Time: TombstoneTime, Seq: seq}
	}
	set := func(family, qualifier string, time int64, seq uint64) Cell {
		return Cell{Kind: Set, Type: String, Column: column(family, qualifier), Time: time, Seq: seq}
	}
	row := []Cell{
		tomb(DeleteRow, nil, 7),
		tomb(DeleteRow, nil, 2),
		tomb(DeleteFamily, []byte("a"), 3),
		set("a", "", 5, 1),
		set("a", "\x00", 5, 1),
		tomb(DeleteColumn, column("a", "x"), 1),
		set("a", "x", MaxTime, 1),
		set("a", "x", 5, 9),
		set("a", "x", 5, 8),
		set("a", "x", 4, 10),
		set("a", "x", 0, 10),
		set("a", "x\x00", 9, 1),
		set("a", "x:y", 9, 1),
		set("a", "\U0010ffff", 9, 1),
		tomb(DeleteFamily, []byte("a-b"), 1),
		set("a-b", "x", 1, 1),
		set("aa", "", 1, 1),
		set("b", "", 1, 1),
	}
	for i := range row {
		for j := range row {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := row[i].Compare(&row[j]); got != want {
				t.Errorf("Compare(%d, %d) = %d, want %d", i, j, got, want)
			}
		}
		if err := row[i].Check(); err != nil {
			t.Errorf("Check(%d) = %v", i, err)
		}
	}
}

func TestCompareIgnoresKindTypeAndValue(t *testing.T) {
	a := Cell{Column: column("a", "x"), Time: 1, Seq: 1, Kind: Set, Type: String, Value: []byte("v")}
	b := Cell{Column: column("a", "x"), Time: 1, Seq: 1, Kind: DeleteVersion}
	if got := a.Compare(&b); got != 0 {
		t.Errorf("Compare = %d, want 0: the same place", got)
	}
}

func TestRawSize(t *testing.T) {
	c := Cell{Column: column("fam", "q"), Value: []byte("value")}
	if got, want := c.RawSize([]byte("row")), 3+5+8+5; got != want {
		t.Errorf("RawSize = %d, want %d", got, want)
	}
}

func TestCheck(t *testing.T) {
	full, family := column("a", "x"), []byte("a")
	for _, tc := range []struct {
		name string
		cell Cell
		err  string // part of the error, "" for none
	}{
		{"set", Cell{Kind: Set, Column: full, Type: String, Value: []byte("v")}, ""},
		{"set with an empty qualifier", Cell{Kind: Set, Column: column("a", ""), Type: String}, ""},
		{"set at the largest time", Cell{Kind: Set, Column: full, Type: I64, Time: MaxTime}, ""},
		{"set past the largest time", Cell{Kind: Set, Column: full, Type: I64, Time: TombstoneTime}, "time"},
		{"set before the epoch", Cell{Kind: Set, Column: full, Type: I64, Time: -1}, "time"},
		{"set of a family", Cell{Kind: Set, Column: family, Type: String}, "column"},
		{"set of a row", Cell{Kind: Set, Type: String}, "column"},
		{"set without a family name", Cell{Kind: Set, Column: []byte("\x00x"), Type: String}, "column"},
		{"set without a type", Cell{Kind: Set, Column: full}, "type"},
		{"set of an unknown type", Cell{Kind: Set, Column: full, Type: TypeCount}, "type"},
		{"delete version", Cell{Kind: DeleteVersion, Column: full, Time: 3}, ""},
		{"delete version at the time of tombstones", Cell{Kind: DeleteVersion, Column: full, Time: TombstoneTime}, "time"},
		{"delete version of a family", Cell{Kind: DeleteVersion, Column: family, Time: 3}, "column"},
		{"delete column", Cell{Kind: DeleteColumn, Column: full, Time: TombstoneTime}, ""},
		{"delete column at a time", Cell{Kind: DeleteColumn, Column: full, Time: 3}, "time"},
		{"delete column without a column", Cell{Kind: DeleteColumn, Time: TombstoneTime}, "column"},
		{"delete family", Cell{Kind: DeleteFamily, Column: family, Time: TombstoneTime}, ""},
		{"delete family with a qualifier", Cell{Kind: DeleteFamily, Column: full, Time: TombstoneTime}, "column"},
		{"delete family without a family", Cell{Kind: DeleteFamily, Time: TombstoneTime}, "column"},
		{"delete family at a time", Cell{Kind: DeleteFamily, Column: family, Time: 3}, "time"},
		{"delete row", Cell{Kind: DeleteRow, Time: TombstoneTime}, ""},
		{"delete row with a family", Cell{Kind: DeleteRow, Column: family, Time: TombstoneTime}, "column"},
		{"delete row at a time", Cell{Kind: DeleteRow, Time: 3}, "time"},
		{"delete row with a value", Cell{Kind: DeleteRow, Time: TombstoneTime, Value: []byte("v")}, "value"},
		{"delete row with a type", Cell{Kind: DeleteRow, Time: TombstoneTime, Type: String}, "value"},
		{"unknown kind", Cell{Kind: KindCount, Column: full}, "kind"},
		{"kind 255", Cell{Kind: 255, Column: full}, "kind"},
	} {
		err := tc.cell.Check()
		if got := err != nil; got != (tc.err != "") || got && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: Check = %v, want an error about %q", tc.name, err, tc.err)
		}
	}
}

func TestTypeNamesGoBothWays(t *testing.T) {
	for typ := String; typ < TypeCount; typ++ {
		if got := TypeOf(typ.String()); got != typ {
			t.Errorf("TypeOf(%q) = %d, want %d", typ.String(), got, typ)
		}
	}
	for _, name := range []string{"", "none", "String", "int64", "type(9)"} {
		if got := TypeOf(name); got != None {
			t.Errorf("TypeOf(%q) = %s, want none", name, got)
		}
	}
	if got, want := Type(200).String(), "type(200)"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}

func TestFits(t *testing.T) {
	sizes := map[Type][]int{ // of those from 0 to 9
		None: nil, Bool: {1}, Byte: {1}, I32: {4}, F32: {4}, I64: {8}, F64: {8}, TypeCount: nil,
		String: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Bytes: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
	}
	for typ, want := range sizes {
		var got []int
		for n := range 10 {
			if typ.Fits(make([]byte, n)) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s fits values of %v bytes, want %v", typ, got, want)
		}
	}
	for b := range 256 {
		if got, want := Bool.Fits([]byte{byte(b)}), b <= 1; got != want {
			t.Errorf("Bool.Fits(%d) = %t, want %t", b, got, want)
		}
	}
}

func TestScannedAdds(t *testing.T) {
	s := Scanned{Cells: 1, Bytes: 10, Read: 100}
	s.Add(Scanned{Cells: 2, Bytes: 30, Read: 5})
	if want := (Scanned{Cells: 3, Bytes: 40, Read: 105}); s != want {
		t.Errorf("Add: %+v, want %+v", s, want)
	}
}

func TestTombstonesSortAboveEveryTime(t *testing.T) {
	if MaxTime != math.MaxInt64-1 || TombstoneTime <= MaxTime {
		t.Errorf("MaxTime %d, TombstoneTime %d", MaxTime, TombstoneTime)
	}
}

func BenchmarkCompare(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	cells := make([]Cell, 256)
	for i := range cells {
		cells[i] = Cell{Column: column("family", string(rune('a'+r.IntN(3)))), Time: r.Int64N(3), Seq: r.Uint64N(3)}
	}
	b.ReportAllocs()
	i, sum := 0, 0
	for b.Loop() {
		sum += cells[i&255].Compare(&cells[(i*7+1)&255])
		i++
	}
	if sum == math.MaxInt {
		b.Fatal("impossible")
	}
}
