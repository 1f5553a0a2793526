// Package arch checks which package of the module may use which: imports go down, each library is used
// only where it is allowed, and files, time, randomness and environment come in only where a test can
// replace them. rules.go has the rules of this module.
//
// It parses files without compiling them, so it covers all build constraints. Test files may use
// anything.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Rules say what the packages of a module may use.
type Rules struct {
	Module string
	// Packages has a rule for each package, by its directory. The longest entry that ends in a slash
	// is the rule of the packages below it without one.
	Packages map[string]Rule
	// Imports maps forbidden packages of the standard library to the reason, Names forbidden names,
	// such as "log/slog.Default". "math/rand/v2.*" means all names of a package of random numbers but
	// those of seeded generators.
	Imports map[string]string
	Names   map[string]string
}

// Rule says what one package may use.
type Rule struct {
	// Free packages may use everything; nothing but another free package may
	// import them.
	Free bool
	// Packages of the module and Libraries, by the prefix of their import
	// path, that may be imported.
	Packages  []string
	Libraries []string
	// Except allows what Rules.Imports or Rules.Names forbid. It maps each name to its reason.
	Except map[string]string
}

// Check reads the module in root and returns the violations, a sentence for each, sorted. It returns an
// error if it cannot read the module.
func Check(root fs.FS, rules Rules) ([]string, error) {
	c := checker{rules: rules, root: root, seen: make(map[string]bool)}
	if err := fs.WalkDir(root, ".", c.visit); err != nil {
		return nil, err
	}
	for dir := range rules.Packages {
		if !strings.HasSuffix(dir, "/") && !c.seen[dir] {
			c.report(dir, "has a rule and no files: remove the rule")
		}
	}
	slices.Sort(c.broken)
	return slices.Compact(c.broken), nil
}

type checker struct {
	rules  Rules
	root   fs.FS
	seen   map[string]bool // directories with files
	broken []string
}

func (c *checker) report(place, format string, args ...any) {
	c.broken = append(c.broken, place+" "+fmt.Sprintf(format, args...))
}

func (c *checker) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir():
		if name != "." && c.skip(name) {
			return fs.SkipDir
		}
		return nil
	case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
		return nil
	}
	text, err := fs.ReadFile(c.root, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	c.seen[dir] = true
	rule, ok := c.rule(dir)
	switch {
	case !ok:
		c.report(dir, "has no rule: say in internal/arch what it may import")
	case !rule.Free:
		c.file(name, file, rule)
	}
	return nil
}

// skip reports whether a directory is not part of the module's packages.
func (c *checker) skip(dir string) bool {
	base := path.Base(dir)
	if base[0] == '.' || base[0] == '_' || base == "testdata" {
		return true
	}
	_, err := fs.Stat(c.root, dir+"/go.mod")
	return err == nil // a module of its own
}

// rule returns the rule of the package in dir.
func (c *checker) rule(dir string) (Rule, bool) {
	if r, ok := c.rules.Packages[dir]; ok {
		return r, true
	}
	for d := dir; d != "."; d = path.Dir(d) {
		if r, ok := c.rules.Packages[d+"/"]; ok {
			return r, true
		}
	}
	return Rule{}, false
}

func (c *checker) file(name string, file *ast.File, rule Rule) {
	imported := make(map[string]string) // name in the file -> import path
	for _, spec := range file.Imports {
		from, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			c.report(name, "has a broken import")
			continue
		}
		c.imports(name, from, rule)
		switch {
		case spec.Name == nil:
			imported[packageName(from)] = from
		case spec.Name.Name == "." && c.watched(from):
			c.report(name, "imports %s with a dot, which hides its names", from)
		default:
			imported[spec.Name.Name] = from
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != "" {
				c.use(name, imported[x.Name], s.Sel.Name, rule)
			}
		}
		return true
	})
}

// packageName guesses the name of a package from its import path.
func packageName(from string) string {
	base := path.Base(from)
	if strings.Trim(base, "v0123456789") == "" && strings.Contains(from, "/") {
		base = path.Base(path.Dir(from))
	}
	return base
}

// watched reports whether some names of a package are forbidden.
func (c *checker) watched(from string) bool {
	for name := range c.rules.Names {
		if strings.HasPrefix(name, from+".") {
			return true
		}
	}
	return false
}

func (c *checker) imports(name, from string, rule Rule) {
	if inner, ok := strings.CutPrefix(from, c.rules.Module+"/"); ok {
		if !slices.Contains(rule.Packages, inner) {
			c.report(name, "imports %s, which its package may not: imports go down", from)
		}
		return
	}
	first, _, _ := strings.Cut(from, "/")
	if strings.Contains(first, ".") {
		if !slices.ContainsFunc(rule.Libraries, func(l string) bool { return from == l || strings.HasPrefix(from, l+"/") }) {
			c.report(name, "imports %s, which was not let in here", from)
		}
		return
	}
	if reason, ok := c.rules.Imports[from]; ok && rule.Except[from] == "" {
		c.report(name, "imports %s: %s", from, reason)
	}
}

// seeded are the names of seeded generators in the packages of random numbers.
var seeded = []string{"Rand", "Source", "PCG", "ChaCha8", "Zipf", "New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf"}

// use checks a use of a name of an imported package.
func (c *checker) use(name, from, selected string, rule Rule) {
	full := from + "." + selected
	reason, ok := c.rules.Names[full]
	if !ok && !slices.Contains(seeded, selected) {
		reason, ok = c.rules.Names[from+".*"]
	}
	if ok && rule.Except[full] == "" {
		c.report(name, "uses %s: %s", full, reason)
	}
}
