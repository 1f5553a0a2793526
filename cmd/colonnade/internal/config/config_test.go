package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// example is the options of a program that has one of each type.
type example struct {
	*Set
	flags *pflag.FlagSet

	dir, note, level string
	hosts            []string
	force            bool
	size, twice      int64
	wait             time.Duration
	part             float64
}

func newExample() *example {
	e := &example{flags: pflag.NewFlagSet("example", pflag.ContinueOnError)}
	e.Set = New(e.flags)
	e.Section("Place")
	e.String(&e.dir, "dir", "./data", "the directory")
	e.String(&e.note, "note", "", "any text")
	e.Strings(&e.hosts, "host", "names")
	e.Bool(&e.force, "force", "do it")
	e.Section("Size")
	e.Int64(&e.size, "size-mib", 10, Range{1, 100, "MiB"}, "how large").Reloads()
	e.Derived(&e.twice, "twice-mib", "twice size-mib", func() int64 { return 2 * e.size }, Range{1, 1000, "MiB"}, "how large in all").Reloads()
	e.Duration(&e.wait, "wait", time.Minute, Span{time.Second, time.Hour}, "how long")
	e.Fraction(&e.part, "share", 0.25, "how much of it")
	e.Choice(&e.level, "level", "info", []string{"debug", "info", "warn"}, "how much").Reloads()
	e.Check(func() error {
		if e.twice < e.size {
			return e.Wrong("twice-mib", "must be at least size-mib, which is %d", e.size)
		}
		return nil
	})
	return e
}

// load loads the example with a file of this text, none if it is empty.
func (e *example) load(t *testing.T, text string, environ []string, args ...string) ([]string, error) {
	t.Helper()
	if text != "" {
		path := filepath.Join(t.TempDir(), "c.toml")
		write(t, path, text)
		args = append(args, "--config", path)
	}
	if err := e.flags.Parse(args); err != nil {
		return nil, err
	}
	return e.Load(environ)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// values returns the values, without where they come from.
func (e *example) values() []any {
	return []any{e.dir, e.note, e.level, strings.Join(e.hosts, "|"), e.force, e.size, e.twice, e.wait, e.part}
}

func TestSources(t *testing.T) {
	defaults := []any{"./data", "", "info", "", false, int64(10), int64(20), time.Minute, 0.25}
	all := []any{"d", "n", "warn", "a|b", true, int64(7), int64(8), 90 * time.Second, 0.5}
	file := "dir = \"d\"\nnote = 'n'\nlevel = \"warn\"\nhost = [\"a\",\n \"b\"]\nforce = true\nsize-mib = 7\ntwice-mib = 8\nwait = \"90s\"\nshare = 0.5\n"
	for _, test := range []struct {
		name    string
		file    string
		environ []string
		args    []string
		want    []any
	}{
		{"nothing", "", nil, nil, defaults},
		{"an empty file", "# nothing\n", nil, nil, defaults},
		{"file", file, nil, nil, all},
		{"BOM and CRLF", "\xef\xbb\xbf" + strings.ReplaceAll(file, "\n", "\r\n"), nil, nil, all},
		{"environment", "", []string{"COLONNADE_DIR=d", "COLONNADE_NOTE=n", "COLONNADE_LEVEL=warn", "COLONNADE_HOST=a, b", "COLONNADE_FORCE=1",
			"COLONNADE_SIZE_MIB=7", "COLONNADE_TWICE_MIB=8", "COLONNADE_WAIT=1m30s", "COLONNADE_SHARE=.5", "OTHER=x"}, nil, all},
		{"flags", "", nil, []string{"--dir", "d", "--note=n", "--level", "warn", "--host", "a", "--host", "b", "--force",
			"--size-mib", "7", "--twice-mib", "8", "--wait", "90s", "--share", "5e-1"}, all},
		{"a derived default follows", "size-mib = 7\n", nil, nil, []any{"./data", "", "info", "", false, int64(7), int64(14), time.Minute, 0.25}},
		{"the environment wins over the file", "dir = \"f\"\nsize-mib = 5\nnote = \"f\"\nhost = [\"f\"]\n", []string{"COLONNADE_DIR=e", "COLONNADE_SIZE_MIB=6", "COLONNADE_NOTE=", "COLONNADE_HOST=e"}, nil,
			[]any{"e", "f", "info", "e", false, int64(6), int64(12), time.Minute, 0.25}},
		{"a flag wins over both", "dir = \"f\"\nforce = true\n", []string{"COLONNADE_DIR=e", "COLONNADE_HOST=e"}, []string{"--dir", "g", "--host", "h", "--force=false"},
			[]any{"g", "", "info", "h", false, int64(10), int64(20), time.Minute, 0.25}},
	} {
		e := newExample()
		warnings, err := e.load(t, test.file, test.environ, test.args...)
		if got := e.values(); err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, %v, %v, want %v", test.name, got, warnings, err, test.want)
		}
	}
}

// TestFileOfTheEnvironment: COLONNADE_CONFIG names a file, unless --config does.
func TestFileOfTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.toml")
	write(t, path, "size-mib = 3\n")
	e := newExample()
	if _, err := e.load(t, "", []string{"COLONNADE_CONFIG=" + path}); err != nil || e.size != 3 || e.Path() != path {
		t.Errorf("got %d of %q, %v", e.size, e.Path(), err)
	}
	e = newExample()
	if _, err := e.load(t, "size-mib = 4\n", []string{"COLONNADE_CONFIG=" + path}); err != nil || e.size != 4 {
		t.Errorf("got %d of %q, %v", e.size, e.Path(), err)
	}
}

// TestMistakes: every mistake is reported with its place, its value and what it must be, all in one go.
func TestMistakes(t *testing.T) {
	const size = "must be a whole number from 1 to 100 (MiB)"
	const form = `, as ["a", "b"]`
	const list = "must be a list of strings that are not empty"
	for _, test := range []struct {
		file    string
		environ []string
		args    []string
		want    string
	}{
		{"size-mib = 0 # small", nil, nil, "FILE:1: size-mib = 0 # small: " + size},
		{"\n\nsize-mib = 101", nil, nil, "FILE:3: size-mib = 101: " + size},
		{`size-mib = "7"`, nil, nil, `FILE:1: size-mib = "7": ` + size},
		{"size-mib = 7.5", nil, nil, "FILE:1: size-mib = 7.5: " + size},
		{"size-mib = 2026-09-01", nil, nil, "FILE:1: size-mib = 2026-09-01: " + size},
		{"size-mib = [7]", nil, nil, "FILE:1: size-mib = [7]: " + size},
		{"wait = 30", nil, nil, "FILE:1: wait = 30: must be a duration from 1s to 1h, such as 90s, in quotes"},
		{`wait = "30"`, nil, nil, `FILE:1: wait = "30": must be a duration from 1s to 1h, such as 90s, in quotes`},
		{`wait = "61m"`, nil, nil, `FILE:1: wait = "61m": must be a duration from 1s to 1h, such as 90s, in quotes`},
		{"share = 1.01", nil, nil, "FILE:1: share = 1.01: must be a number from 0 to 1"},
		{"share = nan", nil, nil, "FILE:1: share = nan: must be a number from 0 to 1"},
		{"share = 2", nil, nil, "FILE:1: share = 2: must be a number from 0 to 1"},
		{"", nil, []string{"--share", "-0.1"}, `invalid argument "-0.1" for "--share" flag: must be a number from 0 to 1`},
		{`force = "true"`, nil, nil, `FILE:1: force = "true": must be true or false`},
		{`level = "loud"`, nil, nil, `FILE:1: level = "loud": must be debug, info or warn`},
		{"level = 1", nil, nil, "FILE:1: level = 1: must be debug, info or warn"},
		{`dir = ""`, nil, nil, `FILE:1: dir = "": must be a string that is not empty, in quotes`},
		{"note = 1", nil, nil, "FILE:1: note = 1: must be a string, in quotes"},
		{`host = "a"`, nil, nil, `FILE:1: host = "a": ` + list + form},
		{`host = ["a", 1]`, nil, nil, `FILE:1: host = ["a", 1]: ` + list + form},
		{`host = ["a", ""]`, nil, nil, `FILE:1: host = ["a", ""]: ` + list + form},
		{"size-mb = 7", nil, nil, `FILE:1: unknown key "size-mb", did you mean size-mib?`},
		{"Size_MiB = 7", nil, nil, `FILE:1: unknown key "Size_MiB", did you mean size-mib?`},
		{"colour = 7", nil, nil, `FILE:1: unknown key "colour"`},
		{"size.mib = 7", nil, nil, `FILE:1: unknown key "size.mib", did you mean size-mib?`},
		{"dir = \"d\"\n[server]\nsize-mib = 0", nil, nil, "FILE:2: [server] begins a table, and options stand outside of tables"},
		{"[[server]]", nil, nil, "FILE:1: [server] begins a table, and options stand outside of tables"},
		{"size-mib = 7\nsize-mib = 7", nil, nil, "FILE:2: size-mib = 7: key size-mib is already defined"},
		{"dir = \"d\"\nwait = 30s", nil, nil, "FILE:2: wait = 30s: strings must be quoted"},
		{"size-mib = " + strings.Repeat("9", 100), nil, nil, "FILE:1: size-mib = " + strings.Repeat("9", 69) + "…: decimal number is too large to fit in a 64-bit signed integer"},
		{"size-mib", nil, nil, "FILE:1: size-mib: expected '=' after key"},
		{"\xff\xfed\x00", nil, nil, "FILE is UTF-16: convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8"},
		{strings.Repeat("#\n", maxFile), nil, nil, "configuration: FILE has more than 1048576 bytes"},
		{"twice-mib = 9", nil, nil, "FILE:1: twice-mib = 9: must be at least size-mib, which is 10"},
		{"size-mib = 0\nnot = 1", []string{"COLONNADE_WAIT=1", "COLONNADE_HOST=a,,b", "COLONNADE_SIZE_MIB="}, nil,
			"COLONNADE_WAIT=1: must be a duration from 1s to 1h, such as 90s\nCOLONNADE_HOST=a,,b: " + list + "\nFILE:1: size-mib = 0: " + size + "\nFILE:2: unknown key \"not\", did you mean note?"},
		{"", nil, []string{"--size-mib", "0"}, `invalid argument "0" for "--size-mib" flag: ` + size},
		{"", nil, []string{"--size-mb", "1"}, "unknown flag: --size-mb, did you mean --size-mib?"},
		{"", nil, []string{"--zzzzzz"}, "unknown flag: --zzzzzz"},
		{"", nil, []string{"--host", ""}, `invalid argument "" for "--host" flag: ` + list},
		{"", []string{"COLONNADE_CONFIG=FILE"}, []string{"--config", ""}, "--config: must name a file"},
		{"", nil, []string{"--twice-mib", "9"}, "--twice-mib 9: must be at least size-mib, which is 10"},
	} {
		e := newExample()
		_, err := e.load(t, test.file, test.environ, test.args...)
		if err == nil {
			t.Errorf("%q, %q, %q: no error, want %q", test.file, test.environ, test.args, test.want)
			continue
		}
		got := e.FlagError(err).Error()
		if e.Path() != "" {
			got = strings.ReplaceAll(got, e.Path(), "FILE")
		}
		if got != test.want {
			t.Errorf("%.60q, %q, %q:\ngot  %s\nwant %s", test.file, test.environ, test.args, got, test.want)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                "is a directory, and must be a file",
		"/dev/null":        "is not a regular file",
		dir + "/no":        "no such file or directory",
		dir + "/no/c.toml": "no such file or directory",
	} {
		e := newExample()
		_, err := e.load(t, "", nil, "--config", path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestUnknownVariables: they are warnings, because Kubernetes sets variables for each service.
func TestUnknownVariables(t *testing.T) {
	warnings, err := newExample().load(t, "", []string{"COLONNADE_SIZE=1", "COLONNADE_PORT=tcp://10.0.0.1:9876", "COLONNADE_size_mib=3", "COLONNADEX=1"})
	want := []string{
		"the environment variable COLONNADE_SIZE is no option",
		"the environment variable COLONNADE_PORT is no option",
		"the environment variable COLONNADE_size_mib is no option, did you mean COLONNADE_SIZE_MIB?",
	}
	if err != nil || !reflect.DeepEqual(warnings, want) {
		t.Errorf("got %q, %v", warnings, err)
	}
}

// TestRoundTrip: what WriteTOML writes gives the same values, and says where they come from.
func TestRoundTrip(t *testing.T) {
	odd := "a\"b\\c\x7f\t\u2028é<&>\n"
	for _, args := range [][]string{
		nil,
		{"--dir", odd, "--note", odd, "--host", odd, "--host", "b", "--force", "--size-mib", "100", "--wait", "1h0m0s", "--level", "debug"},
		{"--twice-mib", "1000", "--wait", "61s", "--share", "0.001"}, {"--share", "1"},
	} {
		first := newExample()
		if _, err := first.load(t, "", nil, args...); err != nil {
			t.Fatal(err)
		}
		second := newExample()
		if _, err := second.load(t, printed(t, first), nil); err != nil {
			t.Fatalf("%v in\n%s", err, printed(t, first))
		}
		if !reflect.DeepEqual(first.values(), second.values()) {
			t.Errorf("got %q, want %q", second.values(), first.values())
		}
	}
}

func printed(t *testing.T, e *example) string {
	t.Helper()
	var b strings.Builder
	if err := e.WriteTOML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteTOML(t *testing.T) {
	e := newExample()
	if _, err := e.load(t, "\nlevel = \"warn\"\n", []string{"COLONNADE_WAIT=30m"}, "--dir", "d", "--host", "h"); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(strings.ReplaceAll(printed(t, e), e.Path(), "FILE"), "\n\n")
	want := `# Place
dir = "d"      # from --dir; restart
note = ""      # default; restart
host = ["h"]   # from --host; restart
force = false  # default; restart

# Size
size-mib = 10     # default; 1 to 100 MiB; reload
# twice-mib = 20  # default, twice size-mib; 1 to 1000 MiB; reload
wait = "30m"      # from COLONNADE_WAIT; 1s to 1h; restart
share = 0.25      # default; 0 to 1; restart
level = "warn"    # from FILE:2; debug, info or warn; reload
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWriteMarkdown(t *testing.T) {
	var b strings.Builder
	if err := newExample().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n## Size\n\n| option |",
		"| `dir` | `./data` |  | restart | the directory |\n",
		"| `host` |  |  | restart | names |\n",
		"| `twice-mib` | twice size-mib | 1 to 1000 MiB | reload | how large in all |\n",
		"| `wait` | `1m` | 1s to 1h | restart | how long |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
