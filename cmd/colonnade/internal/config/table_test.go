package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// tabled is the options of a program that has tables.
type tabled struct {
	*Set
	flags *pflag.FlagSet
	size  int64
	colds []Entry
	hots  []Entry
}

func newTabled() *tabled {
	e := &tabled{flags: pflag.NewFlagSet("example", pflag.ContinueOnError)}
	e.Set = New(e.flags)
	e.Section("Size")
	e.Int64(&e.size, "size-mib", 10, Range{1, 100, "MiB"}, "how large").Reloads()
	filled := func(key string) error {
		if key == "" {
			return errors.New("a name must not be empty")
		}
		return nil
	}
	e.Table(&e.colds, "temperature.cold", `"NAME"`, "what is cold", filled, Field{"low", Range{1, 9, "degrees"}, "least"}, Field{"high", Range{1, 9, "degrees"}, "most"})
	e.Table(&e.hots, "temperature.hot", `"NAME"`, "what is hot", filled, Field{"low", Range{1, 9, "degrees"}, "least"})
	e.Check(func() error {
		if e.size == 99 {
			return e.Wrong("size-mib", "must not be 99")
		}
		return nil
	})
	return e
}

func (e *tabled) load(t *testing.T, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.flags.Parse([]string{"--config", path}); err != nil {
		t.Fatal(err)
	}
	_, err := e.Load(nil)
	return err
}

// shown returns what entries say.
func shown(entries []Entry) map[string]map[string]int64 {
	all := map[string]map[string]int64{}
	for _, e := range entries {
		all[e.Key] = e.Values
	}
	return all
}

func TestTables(t *testing.T) {
	const text = "size-mib = 7\n[temperature.cold.\"a.b*\"]\nlow = 1\n\n[temperature.hot.x]\n[temperature.cold.'c\"']\nhigh = 9\nlow = 2\n"
	e := newTabled()
	if err := e.load(t, text); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]int64{"a.b*": {"low": 1}, `c"`: {"low": 2, "high": 9}}
	if got := shown(e.colds); !reflect.DeepEqual(got, want) || e.size != 7 || len(e.hots) != 1 || e.hots[0].Key != "x" {
		t.Errorf("got %v, %d, %v", got, e.size, e.hots)
	}
	// What is written is a file with the same values.
	var b strings.Builder
	if err := e.WriteTOML(&b); err != nil {
		t.Fatal(err)
	}
	second := newTabled()
	if err := second.load(t, b.String()); err != nil || !reflect.DeepEqual(shown(second.colds), want) || len(second.hots) != 1 {
		t.Errorf("%v in\n%s", err, b.String())
	}
	for _, line := range []string{
		"# [temperature.cold.\"NAME\"]: what is cold\n#   low: least; 1 to 9 degrees\n#   high: most; 1 to 9 degrees\n",
		"[temperature.cold.\"a.b*\"]  # from " + e.Path() + ":2; reload\nlow = 1  # 1 to 9 degrees\n",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no\n%s in\n%s", line, b.String())
		}
	}
	b.Reset()
	if err := e.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), "## `[temperature.hot.\"NAME\"]`\n") || !strings.Contains(b.String(), "| `high` | none | 1 to 9 degrees | most |\n") {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

// TestTableMistakes: all are reported, with their place and what must be.
func TestTableMistakes(t *testing.T) {
	const tables = ` begins a table, and options stand outside of tables, but for [temperature.cold."NAME"] and [temperature.hot."NAME"]`
	for text, want := range map[string]string{
		"[temperature.cold.a]\nlow = 0":                          "FILE:2: low = 0: must be a whole number from 1 to 9 (degrees)",
		"[temperature.cold.a]\nlow = \"1\"\nhigh = 1.5":          "FILE:2: low = \"1\": must be a whole number from 1 to 9 (degrees)\nFILE:3: high = 1.5: must be a whole number from 1 to 9 (degrees)",
		"[temperature.hot.a]\nhi = 1":                            `FILE:2: unknown key "hi" in [temperature.hot."a"]`,
		"[temperature.cold.a]\nhigg = 1":                         `FILE:2: unknown key "higg" in [temperature.cold."a"], did you mean high?`,
		"[temperature.cold.a]\nsize-mib = 1":                     `FILE:2: unknown key "size-mib" in [temperature.cold."a"]`,
		"[temperature.cold]\nlow = 1":                            "FILE:1: [temperature.cold]" + tables,
		"[temperature.warm.a]\nlow = 1":                          "FILE:1: [temperature.warm.a]" + tables,
		"[temperature.cold.a.b]\nlow = 1":                        "FILE:1: [temperature.cold.a.b]" + tables,
		"[[temperature.cold.a]]\nlow = 1":                        "FILE:1: [temperature.cold.a]" + tables,
		"[temperature.cold.\"\"]\nlow = 1":                       "FILE:1: [temperature.cold.]: a name must not be empty",
		"[temperature.cold.a]\n[temperature.cold.a]\nlow = 1":    "FILE:2: [temperature.cold.a]: ",
		"temperature.cold.a.low = 1":                             `FILE:1: unknown key "temperature.cold.a.low"`,
		"temperature = {cold = {a = {low = 1}}}":                 `FILE:1: unknown key "temperature"`,
		"[temperature.cold.a]\nlow.x = 1":                        `FILE:2: unknown key "low.x" in [temperature.cold."a"]`,
		"size-mib = 0\n[temperature.cold.a]\nlow = 10\n[x]\ny=1": "FILE:1: size-mib = 0: must be a whole number from 1 to 100 (MiB)\nFILE:3: low = 10: must be a whole number from 1 to 9 (degrees)\nFILE:4: [x]" + tables,
	} {
		e := newTabled()
		err := e.load(t, text)
		if err == nil {
			t.Errorf("%q: no error, want %q", text, want)
			continue
		}
		got := strings.ReplaceAll(err.Error(), e.Path(), "FILE")
		if got != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(got, want)) {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestTablesReload: a reload takes tables, and says what has changed; one that fails leaves them.
func TestTablesReload(t *testing.T) {
	e := newTabled()
	if err := e.load(t, "[temperature.cold.a]\nlow = 1\n"); err != nil {
		t.Fatal(err)
	}
	called := 0
	e.OnReload(func() { called++ })
	reload := func(text string) ([]Change, error) {
		if err := os.WriteFile(e.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return e.Reload()
	}
	changes, err := reload("# more\n\n[temperature.cold.a]\nlow = 1\n")
	if err != nil || changes != nil || called != 0 {
		t.Errorf("%v, %v, %d", changes, err, called)
	}
	changes, err = reload("[temperature.cold.a]\nlow = 2\n[temperature.cold.b]\n")
	if want := []Change{{`[temperature.cold."NAME"]`, `[temperature.cold."a"] low = 1`, `[temperature.cold."a"] low = 2 [temperature.cold."b"]`, true}}; err != nil || !reflect.DeepEqual(changes, want) || called != 1 {
		t.Errorf("%v, %v, %d", changes, err, called)
	}
	for _, wrong := range []string{"[temperature.cold.a]\nlow = 10\n", "size-mib = 99\n[temperature.cold.a]\nlow = 3\n"} {
		if _, err := reload(wrong); err == nil || called != 1 || !reflect.DeepEqual(shown(e.colds), map[string]map[string]int64{"a": {"low": 2}, "b": {}}) {
			t.Errorf("%q: %v, %d, %v", wrong, err, called, e.colds)
		}
	}
	if changes, err := reload(""); err != nil || len(changes) != 1 || len(e.colds) != 0 || called != 2 {
		t.Errorf("%v, %v, %v", changes, err, e.colds)
	}
}
