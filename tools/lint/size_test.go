package lint

import (
	"cmp"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxProductLines = 97_000 // lowered with every reduction, never raised without a feature that needs it
	maxFunctionP95  = 32
)

// productRoots hold the program itself, without what only tests and measurements use.
var productRoots = []string{"client", "config", "theme", "ui", "server"}

// TestSizeOfTheProduct bounds the lines of code of the product, without comments, blank lines and tests, and the length
// that 95 % of its functions keep within. It logs the lines of each package.
func TestSizeOfTheProduct(t *testing.T) {
	perPackage := map[string]int{}
	total := 0
	var functions []int
	for _, f := range moduleFiles(t) {
		root, _, _ := strings.Cut(f.dir, "/")
		if f.isTest || !slices.Contains(productRoots, root) {
			continue
		}
		source, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		lines := codeLines(source)
		perPackage[f.dir] += lines
		total += lines
		for _, declaration := range f.content.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				functions = append(functions, f.set.Position(function.End()).Line-f.set.Position(function.Pos()).Line+1)
			}
		}
	}
	bySize := slices.SortedFunc(maps.Keys(perPackage), func(a, b string) int {
		return cmp.Or(perPackage[b]-perPackage[a], strings.Compare(a, b))
	})
	for _, dir := range bySize {
		t.Logf("%6d %s", perPackage[dir], dir)
	}
	slices.Sort(functions)
	p95 := functions[len(functions)*95/100]
	t.Logf("%6d lines of code in all (at most %d); 95%% of %d functions have at most %d lines (at most %d)",
		total, maxProductLines, len(functions), p95, maxFunctionP95)
	if total > maxProductLines || p95 > maxFunctionP95 {
		t.Error("the product outgrew its bound")
	}
}

// codeLines counts the lines on which a token stands. Each line of a raw string counts.
func codeLines(source []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var tokens scanner.Scanner
	tokens.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		position, kind, literal := tokens.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && literal == "\n" { // inserted at the end of a line
			continue
		}
		first := file.Line(position)
		for line := range strings.Count(literal, "\n") + 1 {
			lines[first+line] = true
		}
	}
}

func TestCodeLines(t *testing.T) {
	source := "package p\n\n// Comment.\nvar a = `x\n\ny` // why\n\nfunc f() {\n\t/* none\n\tof these */\n\treturn\n}\n"
	if got := codeLines([]byte(source)); got != 7 {
		t.Errorf("counted %d lines of code, want 7", got)
	}
}
