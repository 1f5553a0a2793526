// Package branches looks for code that handles an error and that no test has
// ever made run. Whoever reads it has to believe it; nobody has seen it work.
//
// An error branch is a block inside a function, such as the body of an if or a
// case, that returns an error other than nil or ends in a panic. The blocks come
// from the syntax tree, the counts from the coverage that the tests of the
// packages and the other parts of the harness have left.
package branches

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// branch is a block that returns an error.
type branch struct {
	file       string // import path of the package and name of the file, as in a profile
	line       int    // of the statement that returns the error
	lineBegins int    // column
}

// find returns the error branches of the packages' files, tests excepted. dir is
// the directory of a package and path its import path.
func find(dir, path string) ([]branch, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []branch
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		f := finder{set: set, file: path + "/" + filepath.Base(name)}
		ast.Inspect(tree, f.function)
		all = append(all, f.found...)
	}
	return all, nil
}

type finder struct {
	set   *token.FileSet
	file  string
	found []branch
}

// function looks into every function, literals included, for itself: the error
// that a literal returns is not that of the function around it.
func (f *finder) function(n ast.Node) bool {
	var kind *ast.FuncType
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.FuncDecl:
		kind, body = n.Type, n.Body
	case *ast.FuncLit:
		kind, body = n.Type, n.Body
	}
	if body != nil {
		f.blocks(body, returnsError(kind))
	}
	return true
}

func returnsError(t *ast.FuncType) bool {
	if t.Results == nil || len(t.Results.List) == 0 {
		return false
	}
	last, ok := t.Results.List[len(t.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

// blocks visits the blocks inside a function's body, but not those of functions
// inside it.
func (f *finder) blocks(body *ast.BlockStmt, fails bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			if n != body {
				f.block(n.List, fails)
			}
		case *ast.CaseClause:
			f.block(n.Body, fails)
		case *ast.CommClause:
			f.block(n.Body, fails)
		}
		return true
	})
}

// block notes the block if its last statement returns an error.
func (f *finder) block(list []ast.Stmt, fails bool) {
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	switch s := last.(type) {
	case *ast.ReturnStmt:
		if !fails || len(s.Results) == 0 || isNil(s.Results[len(s.Results)-1]) {
			return
		}
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return
		}
		if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "panic" {
			return
		}
	default:
		return
	}
	at := f.set.Position(last.Pos())
	f.found = append(f.found, branch{file: f.file, line: at.Line, lineBegins: at.Column})
}

func isNil(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "nil"
}

func (b branch) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }
