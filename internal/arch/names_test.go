package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Docs also name what is in the code as `DB.mu` or `engine.Batch`: a field or method of a type, or a declaration
// of a package.

// namePattern matches a name of two parts.
var namePattern = regexp.MustCompile("`([A-Za-z][A-Za-z0-9]*)\\.([A-Za-z][A-Za-z0-9]*)`")

// notOfCode are documents in which such names are fields of requests, or what was there once. In those of clients/ they are
// of other languages.
var notOfCode = []string{"docs/api.md", "CHANGELOG.md"}

// endings are those of names of files.
var endings = []string{"go", "md", "wal"}

// declared is what the Go files of a module declare, outside of function bodies.
type declared struct {
	parts   map[string]map[string]bool // of types and packages, by the last part of their name
	foreign map[string]bool            // names of packages of other modules
}

// staleNames returns a sentence for every name in the documents whose first part is a type or package without
// the second, or nothing at all.
func staleNames(fsys fs.FS, texts map[string]string) (stale []string, err error) {
	d, err := declarations(fsys)
	if err != nil {
		return nil, err
	}
	for name, text := range texts {
		if slices.Contains(notOfCode, name) || strings.HasPrefix(name, "clients/") {
			continue
		}
		for _, m := range namePattern.FindAllStringSubmatch(text, -1) {
			if of, part := m[1], m[2]; !slices.Contains(endings, part) && !d.foreign[of] && !d.parts[of][part] {
				stale = append(stale, name+" names "+of+"."+part+", which is not declared")
			}
		}
	}
	return stale, nil
}

func declarations(fsys fs.FS) (declared, error) {
	d := declared{parts: make(map[string]map[string]bool), foreign: make(map[string]bool)}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && len(name) > 1 && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		d.add(file)
		return nil
	})
	return d, err
}

// add adds what a file declares and imports.
func (d *declared) add(file *ast.File) {
	for _, s := range file.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err == nil && !strings.HasPrefix(p, "github.com/colonnade-db/colonnade/") {
			d.foreign[path.Base(p)] = true
		}
	}
	pkg := strings.TrimSuffix(file.Name.Name, "_test")
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				d.put(pkg, decl.Name)
			} else {
				d.put(receiver(decl.Recv.List[0].Type), decl.Name)
			}
		case *ast.GenDecl:
			for _, s := range decl.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					d.put(pkg, s.Names...)
				case *ast.TypeSpec:
					d.put(pkg, s.Name)
					d.addType(s)
				}
			}
		}
	}
}

// addType adds the fields or methods of a type.
func (d *declared) addType(s *ast.TypeSpec) {
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	for _, f := range fields.List {
		d.put(s.Name.Name, f.Names...)
	}
}

func (d *declared) put(of string, names ...*ast.Ident) {
	if d.parts[of] == nil {
		d.parts[of] = make(map[string]bool)
	}
	for _, n := range names {
		d.parts[of][n.Name] = true
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	}
	return ""
}
