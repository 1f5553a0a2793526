package arch

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"
)

func TestModuleKeepsItsRules(t *testing.T) {
	broken, err := Check(os.DirFS("../.."), moduleRules)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range broken {
		t.Error(sentence)
	}
}

// The rules of a small module: app on top of leaf, tool apart.
var smallRules = Rules{
	Module: "m",
	Packages: map[string]Rule{
		"app":   {Packages: []string{"leaf"}, Libraries: []string{"example.com/lib"}},
		"leaf":  {Except: map[string]string{"time.Sleep": "has to wait", "os": "opens files"}},
		"tool/": {Free: true},
	},
	Imports: map[string]string{"os": "files come in from outside", "flag": "options come in from outside"},
	Names:   map[string]string{"time.Now": "a test decides on time", "time.Sleep": "the same", "math/rand/v2.*": "needs a seed"},
}

func TestCheck(t *testing.T) {
	const good = "package app\nimport (\"m/leaf\"; \"example.com/lib/part\"; \"time\")\nvar _ = leaf.X\nvar _ time.Time\nvar _ = part.Y\n"
	const leaf = "package leaf\nimport (\"os\"; \"time\")\nfunc f() { os.Exit(1); time.Sleep(0) }\n"
	tests := []struct {
		name  string
		files map[string]string // instead of or beside the good ones
		want  []string
	}{
		{name: "all good"},
		{
			name:  "test files, other modules and hidden directories are free",
			files: map[string]string{"app/a_test.go": "package app\nimport _ \"os\"", "other/go.mod": "module other", "other/o.go": "package other\nimport _ \"os\"", ".x/x.go": "no Go", "app/testdata/x.go": "no Go"},
		},
		{
			name:  "imports go up",
			files: map[string]string{"leaf/up.go": "package leaf\nimport _ \"m/app\""},
			want:  []string{"leaf/up.go imports m/app, which its package may not: imports go down"},
		},
		{
			name:  "a free package is imported",
			files: map[string]string{"app/up.go": "package app\nimport _ \"m/tool/x\"", "tool/x/x.go": "package x\nimport _ \"m/app\""},
			want:  []string{"app/up.go imports m/tool/x, which its package may not: imports go down"},
		},
		{
			name:  "a library in the wrong place, and one with a name that starts alike",
			files: map[string]string{"leaf/lib.go": "package leaf\nimport _ \"example.com/lib\"", "app/lib.go": "package app\nimport _ \"example.com/library\""},
			want: []string{
				"app/lib.go imports example.com/library, which was not let in here",
				"leaf/lib.go imports example.com/lib, which was not let in here",
			},
		},
		{
			name:  "the standard library",
			files: map[string]string{"app/std.go": "//go:build never\n\npackage app\nimport (\"os\"; \"strings\")\nvar _ = os.Args\nvar _ = strings.ToUpper"},
			want:  []string{"app/std.go imports os: files come in from outside"},
		},
		{
			name: "names, also under another one, with a dot, and in a deep place",
			files: map[string]string{
				"app/now.go":   "package app\nimport clock \"time\"\nvar f = func() any { return func() { _ = clock.Now } }",
				"app/dot.go":   "package app\nimport . \"time\"",
				"app/rand.go":  "package app\nimport \"math/rand/v2\"\nvar _ = rand.New(rand.NewPCG(1, 2)).IntN(3)\nvar _ = rand.IntN(3)",
				"app/other.go": "package app\nimport \"crypto/rand\"\nvar _ = rand.Reader",
				"leaf/else.go": "package leaf\nimport \"time\"\nvar _ = time.Now",
			},
			want: []string{
				"app/dot.go imports time with a dot, which hides its names",
				"app/now.go uses time.Now: a test decides on time",
				"app/rand.go uses math/rand/v2.IntN: needs a seed",
				"leaf/else.go uses time.Now: a test decides on time",
			},
		},
		{
			name:  "a package without a rule",
			files: map[string]string{"app/new/n.go": "package new"},
			want:  []string{"app/new has no rule: say in internal/arch what it may import"},
		},
	}
	for _, test := range tests {
		tree := fstest.MapFS{"app/a.go": {Data: []byte(good)}, "leaf/l.go": {Data: []byte(leaf)}}
		for name, text := range test.files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := Check(tree, smallRules)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q, want\n%q", test.name, got, test.want)
		}
	}
}

func TestRuleWithoutFiles(t *testing.T) {
	tree := fstest.MapFS{"leaf/l.go": {Data: []byte("package leaf")}}
	got, err := Check(tree, smallRules)
	want := []string{"app has a rule and no files: remove the rule"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestFileThatCannotBeParsed(t *testing.T) {
	if _, err := Check(fstest.MapFS{"app/a.go": {Data: []byte("pack age")}}, smallRules); err == nil {
		t.Error("a file that is no Go was passed over")
	}
}
