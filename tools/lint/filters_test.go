package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestFiltersAreRows finds functions that name two lists of filters or more: such code forgets a field that is added later,
// which shows more documents than were asked for. Only package field may, and the types themselves.
func TestFiltersAreRows(t *testing.T) {
	t.Parallel()
	lists := listNames(wire.Filters{}, wire.ChatFilters{})
	set := token.NewFileSet()
	packages := typedPackages(t, set)
	selected := 0
	for _, p := range packages {
		for _, file := range p.files {
			for _, declaration := range file.Decls {
				names := namedLists(p.info, declaration, lists)
				selected += len(names)
				if len(names) > 1 && p.path != "quarry/client/field" && p.path != "quarry/client/wire" {
					t.Errorf("%s names %s: loop over field.All instead", set.Position(declaration.Pos()), strings.Join(names, ", "))
				}
			}
		}
	}
	if len(packages) < 40 || selected < 20 {
		t.Errorf("looked through %d packages that name %d lists", len(packages), selected)
	}
}

// listNames are the fields of structs that are lists.
func listNames(structs ...any) (names []string) {
	for _, one := range structs {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(one)) {
			if f.Type.Kind() == reflect.Slice && f.Name != "Exclude" && f.Name != "Phrases" { // which are words
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// namedLists are the lists of filters that a declaration names, by a selector or in a literal.
func namedLists(info *types.Info, in ast.Node, lists []string) (names []string) {
	add := func(object types.Object) {
		if v, ok := object.(*types.Var); ok && v.IsField() && slices.Contains(lists, v.Name()) && isFilters(v) &&
			!slices.Contains(names, v.Name()) {
			names = append(names, v.Name())
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			add(info.Uses[n.Sel])
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				add(info.Uses[key])
			}
		}
		return true
	})
	return names
}

// isFilters reports whether a field belongs to one of the structs that hold filters.
func isFilters(v *types.Var) bool {
	if v.Pkg() == nil || v.Pkg().Path() != "quarry/client/wire" {
		return false
	}
	for _, name := range []string{"Filters", "ChatFilters"} {
		holder, ok := v.Pkg().Scope().Lookup(name).Type().Underlying().(*types.Struct)
		for i := range holder.NumFields() {
			if ok && holder.Field(i) == v {
				return true
			}
		}
	}
	return false
}

// typedPackage is a package of the product with its types.
type typedPackage struct {
	path  string
	files []*ast.File
	info  *types.Info
}

// typedPackages type-checks the product, from its source; what it imports comes from the build cache.
func typedPackages(t *testing.T, set *token.FileSet) (packages []typedPackage) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,Module",
		"quarry/client/...", "quarry/server/...", "quarry/ui/...")
	list.Dir, list.Stderr = "../..", os.Stderr
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
		Module                  *struct{ Main bool }
	}
	exports, own := map[string]string{}, []listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[one.ImportPath] = one.Export
		if one.Module != nil && one.Module.Main {
			own = append(own, one)
		}
	}
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	for _, one := range own {
		p := typedPackage{path: one.ImportPath, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range one.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(one.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, file)
		}
		if _, err := (&types.Config{Importer: imports}).Check(p.path, set, p.files, p.info); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}
