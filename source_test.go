package sbx_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// sourceFile is one Go file of the module, whatever system it is for. Files are
// read, not listed by the go command, so that those of other systems count too.
type sourceFile struct {
	path, dir string
	test      bool
	generator bool // never built as part of a package: //go:build ignore
	syntax    *ast.File
}

func (f sourceFile) imports() []string {
	paths := make([]string, 0, len(f.syntax.Imports))
	for _, spec := range f.syntax.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser accepted it
		paths = append(paths, path)
	}
	return paths
}

var positions = token.NewFileSet()

var parsed = sync.OnceValues(func() ([]sourceFile, error) {
	var files []sourceFile
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skipFolder(path, entry.Name())
		case filepath.Ext(path) != ".go":
			return nil
		}
		syntax, err := parser.ParseFile(positions, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, sourceFile{
			path:      path,
			dir:       filepath.ToSlash(filepath.Dir(path)),
			test:      strings.HasSuffix(path, "_test.go"),
			generator: neverBuilt(syntax),
			syntax:    syntax,
		})
		return nil
	})
	return files, err
})

func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go file found: the test does not run at the root of the module")
	}
	return files
}

// skipFolder leaves out what the go command leaves out: hidden folders, test
// data, and modules of their own.
func skipFolder(path, name string) error {
	if path == "." {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// neverBuilt reports whether no system and no release builds the file.
func neverBuilt(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, comment := range group.List {
			if expr, err := constraint.Parse(comment.Text); err == nil {
				return !expr.Eval(func(tag string) bool { return tag != "ignore" })
			}
		}
	}
	return false
}

func TestNothingRunsAtImport(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.test {
			continue
		}
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: func init: importing a package must do nothing; registration is one visible list",
					positions.Position(fn.Pos()))
			}
		}
	}
}

// Package variables that need code at start-up are paid for by every command,
// whether it uses them or not.
func TestLightRoomsDoNoWorkAtStart(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if row, _ := roomOf(f.dir); f.test || f.generator || !row.light {
			continue
		}
		for _, value := range packageValues(f.syntax) {
			if why := startWork(value); why != "" {
				t.Errorf("%s: package variable %s", positions.Position(value.Pos()), why)
			}
		}
	}
}

// packageValues are the initial values of the variables of a file.
func packageValues(f *ast.File) []ast.Expr {
	var values []ast.Expr
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			values = append(values, spec.(*ast.ValueSpec).Values...)
		}
	}
	return values
}

// startWork says what an initial value does at start-up that it should not. What
// stands in a function literal runs later, if at all (sync.OnceValue).
func startWork(value ast.Expr) (why string) {
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CompositeLit:
			if _, isMap := n.Type.(*ast.MapType); isMap && len(n.Elts) > 0 {
				why = "fills a map at start-up: use a sorted slice, a switch or sync.OnceValue"
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "MustCompile") {
				why = "compiles a regular expression at start-up: use sync.OnceValue or no expression"
			}
		}
		return true
	})
	return why
}
