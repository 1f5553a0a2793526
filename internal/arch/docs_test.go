package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Docs name places in the code as `engine/commit.go:Commit`, and link to each other. These
// tests keep both from going stale.

func TestDocsNameWhatExists(t *testing.T) {
	stale, err := staleDocs(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range stale {
		t.Error(sentence)
	}
}

func TestStaleDocs(t *testing.T) {
	fsys := fstest.MapFS{
		"a/a.go": {Data: []byte("package a\nimport \"net/url\"\nvar _ url.URL\ntype T struct{ field int }\nfunc (*T) Method() {}\nconst one, two = 1, 2\nfunc plain() {}\n")},
		"README.md": {Data: []byte("# Title\n`a/a.go:T` `a/a.go:Method` `a/a.go:two` `a/a.go:field` `a/a.go` [docs](docs/b.md#two-words)\n" +
			"`a/a.go:gone` `a/b.go` `a/b.go:x` [x](docs/c.md) [y](docs/b.md#three) [z](#title) [web](https://example.com/q.md)\n")},
		"docs/n.md":           {Data: []byte("`T.field` `T.Method` `a.plain` `a.T` `url.Parse` `a.go` `T.gone` `a.gone` `other.field`\n")},
		"docs/api.md":         {Data: []byte("`row.limit`\n")},
		"clients/c/README.md": {Data: []byte("`row.limit` is of another language\n")},
		"docs/b.md":           {Data: []byte("## Two `words`\n[back](../README.md)\n```\n# not a heading, [not a link](gone.md) `a/c.go`\n```\n")},
	}
	got, err := staleDocs(fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"docs/n.md names T.gone, which is not declared",
		"docs/n.md names a.gone, which is not declared",
		"docs/n.md names other.field, which is not declared",
		"README.md names a/a.go:gone, which is not declared there",
		"README.md names a/b.go, which does not exist",
		"README.md names a/b.go:x, whose file does not exist",
		"README.md links to docs/c.md, which does not exist",
		"README.md links to docs/b.md#three, which has no such heading",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	fencePattern   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	placePattern   = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)+\\.go)(?::([A-Za-z0-9_]+))?`")
	linkPattern    = regexp.MustCompile(`\]\(([^)\s:]*)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// staleDocs returns a sentence for every place, every name of two parts and every relative link in the Markdown
// files of a module that leads nowhere. A place starts with its package's directory. Fenced blocks are
// skipped.
func staleDocs(fsys fs.FS) (stale []string, err error) {
	texts, err := markdown(fsys)
	if err != nil {
		return nil, err
	}
	if stale, err = staleNames(fsys, texts); err != nil {
		return nil, err
	}
	for name, text := range texts {
		for _, m := range placePattern.FindAllStringSubmatch(text, -1) {
			if sentence := stalePlace(fsys, m[1], m[2]); sentence != "" {
				stale = append(stale, name+" names "+sentence)
			}
		}
		for _, m := range linkPattern.FindAllStringSubmatch(text, -1) {
			if sentence := staleLink(fsys, texts, name, m[1]); sentence != "" {
				stale = append(stale, name+" links to "+sentence)
			}
		}
	}
	return stale, nil
}

// markdown returns the Markdown files of a module without their fenced blocks, by name.
func markdown(fsys fs.FS) (map[string]string, error) {
	texts := make(map[string]string)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(name) > 1 && (name == "bin" || name == "dist" || d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		texts[name] = fencePattern.ReplaceAllString(string(data), "")
		return err
	})
	return texts, err
}

// stalePlace says what is wrong with a place in the code, "" if nothing is.
func stalePlace(fsys fs.FS, file, ident string) string {
	source, err := fs.ReadFile(fsys, file)
	switch {
	case err != nil && ident == "":
		return file + ", which does not exist"
	case err != nil:
		return file + ":" + ident + ", whose file does not exist"
	case ident == "" || declares(source, ident):
		return ""
	}
	return file + ":" + ident + ", which is not declared there"
}

// declares reports whether a Go file declares a function, method, type, field, variable or
// constant of this name outside of function bodies.
func declares(source []byte, ident string) (found bool) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = found || n.Name.Name == ident
			return false
		case *ast.TypeSpec:
			found = found || n.Name.Name == ident
		case *ast.ValueSpec:
			found = found || named(n.Names, ident)
		case *ast.Field:
			found = found || named(n.Names, ident)
		}
		return !found
	})
	return found
}

func named(names []*ast.Ident, ident string) bool {
	return slices.ContainsFunc(names, func(n *ast.Ident) bool { return n.Name == ident })
}

// staleLink says what is wrong with a link in a document, "" if nothing is.
func staleLink(fsys fs.FS, texts map[string]string, from, link string) string {
	target, anchor, _ := strings.Cut(link, "#")
	name := from
	if target != "" {
		name = path.Join(path.Dir(from), target)
	}
	if _, err := fs.Stat(fsys, name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s, which does not exist", link)
	}
	if anchor == "" || slices.Contains(anchors(texts[name]), anchor) {
		return ""
	}
	return fmt.Sprintf("%s, which has no such heading", link)
}

// anchors returns what links to the headings of a document say after the #.
func anchors(text string) (list []string) {
	for _, m := range headingPattern.FindAllStringSubmatch(text, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		list = append(list, anchor)
	}
	return list
}
