package widecol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		name          string
		table, family bool
	}{
		{"t", true, true},
		{"_t", false, true},
		{"t_", true, true},
		{"AZaz09_.#$-", true, true},
		{".", true, true},
		{"-", true, true},
		{"", false, false},
		{"a:b", false, false},
		{"a/b", false, false},
		{"a b", false, false},
		{"a\x00", false, false},
		{"é", false, false},
		{"\xff", false, false},
		{strings.Repeat("x", MaxName), true, true},
		{strings.Repeat("x", MaxName+1), false, false},
	} {
		for _, check := range []struct {
			err  error
			ok   bool
			code string
		}{
			{CheckTableName(tc.name), tc.table, "invalid_table_name"},
			{CheckFamilyName(tc.name), tc.family, "invalid_column_family_name"},
		} {
			if got := check.err == nil; got != check.ok {
				t.Errorf("%.20q: %v, want ok = %t", tc.name, check.err, check.ok)
			}
			var e *Error
			if check.err != nil && (!errors.As(check.err, &e) || e.Code != check.code || e.Kind != Invalid) {
				t.Errorf("%.20q: %v, want the code %s", tc.name, check.err, check.code)
			}
		}
	}
}

func TestEveryByteOfAName(t *testing.T) {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.#$-"
	for b := range 256 {
		name := "x" + string([]byte{byte(b)})
		if got, want := CheckFamilyName(name) == nil, strings.IndexByte(allowed, byte(b)) >= 0; got != want {
			t.Errorf("byte %#x in a name: %t, want %t", b, got, want)
		}
	}
}

func TestCheckGC(t *testing.T) {
	for _, tc := range []struct {
		gc GC
		ok bool
	}{
		{GC{}, true},
		{GC{TTLSecs: 1}, true},
		{GC{TTLSecs: MaxTTLSecs}, true},
		{GC{TTLSecs: MaxTTLSecs + 1}, false},
		{GC{TTLSecs: -1}, false},
		{GC{VersionLimit: 1}, true},
		{GC{VersionLimit: -1}, false},
		{GC{TTLSecs: 1, VersionLimit: 1}, true},
		{GC{TTLSecs: 1, VersionLimit: 1, Intersection: true}, true},
		{GC{TTLSecs: 1, Intersection: true}, false},
		{GC{VersionLimit: 1, Intersection: true}, false},
		{GC{Intersection: true}, false},
	} {
		err := CheckGC(tc.gc)
		if got := err == nil; got != tc.ok || err != nil && KindOf(err) != Invalid {
			t.Errorf("CheckGC(%+v) = %v, want ok = %t", tc.gc, err, tc.ok)
		}
	}
}

func TestTableSpecCheck(t *testing.T) {
	families := func(names ...string) (fs []Family) {
		for _, n := range names {
			fs = append(fs, Family{Name: n})
		}
		return fs
	}
	for _, tc := range []struct {
		name string
		spec TableSpec
		want string // code and index, "" for no error
	}{
		{"empty", TableSpec{}, ""},
		{"families", TableSpec{Families: families("a", "b")}, ""},
		{"groups", TableSpec{families("a", "b", "c"), [][]string{{"c"}, {"a"}}}, ""},
		{"invalid name", TableSpec{Families: families("a", "b", "c:")}, "invalid_column_family_name 2"},
		{"family twice", TableSpec{Families: families("a", "b", "a")}, "duplicate_column_family 2"},
		{"invalid settings", TableSpec{Families: []Family{{Name: "a"}, {Name: "b", GC: GC{TTLSecs: -1}}}}, "invalid_gc_settings 1"},
		{"empty group", TableSpec{families("a"), [][]string{{}}}, "invalid_locality_group -1"},
		{"unknown family in a group", TableSpec{families("a"), [][]string{{"b"}}}, "invalid_locality_group -1"},
		{"family in two groups", TableSpec{families("a", "b"), [][]string{{"a", "b"}, {"a"}}}, "invalid_locality_group -1"},
		{"family twice in a group", TableSpec{families("a"), [][]string{{"a", "a"}}}, "invalid_locality_group -1"},
	} {
		got := ""
		var e *Error
		if err := tc.spec.Check(); errors.As(err, &e) {
			got = fmt.Sprintf("%s %d", e.Code, e.Index)
		} else if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
