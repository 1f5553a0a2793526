package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// cases is how many faults the catalogue has in each chapter.
var cases = map[string]int{
	"W": 26, "M": 8, "S": 18, "C": 14, "G": 11, "R": 8, "F": 8, "K": 7, "H": 19, "X": 8, "Z": 12,
}

const catalogue = "../docs/reliability.md"

// catalogueRow is a row of the catalogue: | W1 | what happens | the tests |.
var catalogueRow = regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \|(.*)\|([^|]*)\|$`)

// TestCatalogue: every fault of the catalogue has its row, and the tests that a
// row names exist.
func TestCatalogue(t *testing.T) {
	data, err := os.ReadFile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range checkCatalogue(string(data), testExists) {
		t.Error(complaint)
	}
}

func checkCatalogue(text string, exists func(name string) bool) (complaints []string) {
	missing := map[string]bool{}
	for chapter, n := range cases {
		for i := range n {
			missing[fmt.Sprint(chapter, i+1)] = true
		}
	}
	for _, row := range catalogueRow.FindAllStringSubmatch(text, -1) {
		id, what, tests := row[1], strings.TrimSpace(row[2]), strings.TrimSpace(row[3])
		if !missing[id] {
			complaints = append(complaints, id+": no such case, or a second row for it")
		}
		delete(missing, id)
		if what == "" {
			complaints = append(complaints, id+": does not say what happens")
		}
		if tests == "none" {
			if !strings.HasPrefix(what, "Does not apply") && !strings.HasPrefix(what, "**Open:**") {
				complaints = append(complaints, id+": has no test, and neither does not apply nor is open")
			}
			continue
		}
		for name := range strings.SplitSeq(tests, ", ") {
			if !exists(strings.Trim(name, "`")) {
				complaints = append(complaints, id+": there is no test "+name)
			}
		}
	}
	for id := range missing {
		complaints = append(complaints, id+": no row")
	}
	return complaints
}

// testExists reports whether a name is that of a part ("part crash") or of a test
// function with its directory ("engine.TestX").
func testExists(name string) bool {
	if part, ok := strings.CutPrefix(name, "part "); ok {
		return slices.ContainsFunc(parts, func(p report.Part) bool { return p.Name == part })
	}
	i := strings.LastIndexByte(name, '.')
	return i > 0 && testFunctions(name[:i])[name[i+1:]]
}

// testFunctions returns the tests and fuzz targets in a directory of the project.
func testFunctions(dir string) map[string]bool {
	names, _ := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	found := map[string]bool{}
	for _, name := range names {
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

// TestCatalogueWithFaults: rows that are missing, unknown, without a test or with
// one that does not exist are found.
func TestCatalogueWithFaults(t *testing.T) {
	text := "| W1 | Whole. | engine.TestX |\n| W2 | Whole. | engine.TestGone |\n| W99 | ? | engine.TestX |\n| W3 | Whole. | none |\n| W4 | Does not apply: no. | none |\n"
	got := checkCatalogue(text, func(name string) bool { return name == "engine.TestX" })
	for _, want := range []string{"W2: there is no test engine.TestGone", "W99: no such case, or a second row for it", "W3: has no test, and neither does not apply nor is open", "W5: no row"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "W1:") || strings.HasPrefix(s, "W4:") }) {
		t.Errorf("complains about good rows: %q", got)
	}
	if !testExists("reliability.TestCatalogue") || testExists("reliability.TestNoSuchThing") || testExists("part nothing") {
		t.Error("tests are not told from names that are none")
	}
}
