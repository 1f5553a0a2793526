package config

import (
	"os"
	"reflect"
	"testing"
)

// TestReload: options that a reload takes change, and their owner is told; others are reported.
func TestReload(t *testing.T) {
	e := newExample()
	if _, err := e.load(t, "size-mib = 7\nnote = \"n\"\n", nil, "--level", "warn"); err != nil {
		t.Fatal(err)
	}
	told := 0
	e.OnReload(func() { told++ })
	for _, step := range []struct {
		file        string
		want        []Change
		size, twice int64
		told        int
	}{
		{"size-mib = 7\nnote = \"n\"\n", nil, 7, 14, 0},
		{"# a line more\nsize-mib = 8\nnote = \"n\"\n", []Change{{"size-mib", "7", "8", true}, {"twice-mib", "14", "16", true}}, 8, 16, 1},
		{"note = \"m\"\nwait = \"2s\"\nlevel = \"debug\"\nsize-mib = 8\n", []Change{{"note", `"n"`, `"m"`, false}, {"wait", `"1m"`, `"2s"`, false}}, 8, 16, 1},
		{"note = \"n\"\n", []Change{{"size-mib", "8", "10", true}, {"twice-mib", "16", "20", true}}, 10, 20, 2},
	} {
		write(t, e.Path(), step.file)
		got, err := e.Reload()
		if err != nil || !reflect.DeepEqual(got, step.want) || e.size != step.size || e.twice != step.twice || told != step.told {
			t.Errorf("%q: got %v, %v, sizes %d and %d, told %d times, want %+v", step.file, got, err, e.size, e.twice, told, step)
		}
		if e.note != "n" || e.level != "warn" {
			t.Errorf("%q: note %q and level %q have changed", step.file, e.note, e.level)
		}
	}
}

// TestReloadOfABrokenFile: it changes nothing, also when the values alone are good and do not go together.
func TestReloadOfABrokenFile(t *testing.T) {
	e := newExample()
	if _, err := e.load(t, "size-mib = 7\n", nil); err != nil {
		t.Fatal(err)
	}
	e.OnReload(func() { t.Error("told of a change") })
	before := printed(t, e)
	for _, file := range []string{"size-mib = 8\nlevel = \"loud\"\n", "size-mib = 8\ntwice-mib = 3\n", "size-mib = 8\n\x00"} {
		write(t, e.Path(), file)
		if changes, err := e.Reload(); err == nil || changes != nil {
			t.Errorf("%q: got %v, no error", file, changes)
		}
		if after := printed(t, e); after != before {
			t.Errorf("%q: got\n%s\nwant\n%s", file, after, before)
		}
		if e.size != 7 || e.twice != 14 {
			t.Errorf("%q: sizes %d and %d", file, e.size, e.twice)
		}
	}
	if err := os.Remove(e.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reload(); err == nil {
		t.Error("no error without the file")
	}
}
