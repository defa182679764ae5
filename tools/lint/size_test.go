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
	"unicode/utf8"
)

const (
	// Lowered with every reduction, never raised without a feature that needs it.
	maxProductLines  = 100_710
	maxProductTokens = 799_900
	maxFunctionP95   = 30
	maxColumns       = 120 // with tabs of four
)

// TestSizeOfTheProduct bounds what the binary links: its lines of code, without comments, blank lines and tests, its
// tokens, which do not depend on where lines are broken, and the length that 95 % of its functions keep within. It logs
// the lines of each package.
func TestSizeOfTheProduct(t *testing.T) {
	perPackage := map[string]int{}
	var total size
	var functions []int
	for _, f := range linkedFiles(t) {
		source, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		size := measure(source)
		perPackage[f.dir] += size.lines
		total.lines += size.lines
		total.tokens += size.tokens
		total.long += size.long
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
		t.Logf("%6d %s", perPackage[dir], cmp.Or(dir, "main.go"))
	}
	slices.Sort(functions)
	p95 := functions[len(functions)*95/100]
	t.Logf("%6d lines of code (at most %d)", total.lines, maxProductLines)
	t.Logf("%6d tokens (at most %d)", total.tokens, maxProductTokens)
	t.Logf("95 %% of %d functions have at most %d lines (at most %d)", len(functions), p95, maxFunctionP95)
	t.Logf("%6d lines have more than %d columns", total.long, maxColumns)
	if total.lines > maxProductLines || total.tokens > maxProductTokens || total.long > 0 || p95 > maxFunctionP95 {
		t.Error("the product outgrew its bounds")
	}
}

// linkedFiles returns the files of main and of every package that it imports, directly or not, on any system.
func linkedFiles(t *testing.T) []file {
	t.Helper()
	byDir := map[string][]file{}
	for _, f := range moduleFiles(t) {
		if !f.isTest {
			byDir[f.dir] = append(byDir[f.dir], f)
		}
	}
	var linked []file
	seen := map[string]bool{"": true}
	for todo := []string{""}; len(todo) > 0; todo = todo[1:] {
		linked = append(linked, byDir[todo[0]]...)
		for _, f := range byDir[todo[0]] {
			for _, spec := range f.content.Imports {
				dir, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
				if ours && !seen[dir] {
					seen[dir] = true
					todo = append(todo, dir)
				}
			}
		}
	}
	for _, dir := range []string{"client/wire", "internal/text", "internal/guard", "server/weaviate", "ui/ssh"} {
		if !seen[dir] {
			t.Errorf("the binary does not link %s: the imports are not followed", dir)
		}
	}
	return linked
}

// size is how large a source file is.
type size struct {
	lines  int // on which a token stands; each line of a raw string counts
	tokens int // without those that the compiler inserts at the end of a line
	long   int // lines with more than maxColumns
}

func measure(source []byte) size {
	var result size
	for line := range strings.Lines(string(source)) {
		if utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")) > maxColumns {
			result.long++
		}
	}
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var tokens scanner.Scanner
	tokens.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		position, kind, literal := tokens.Scan()
		if kind == token.EOF {
			result.lines = len(lines)
			return result
		}
		if kind == token.SEMICOLON && literal == "\n" { // inserted at the end of a line
			continue
		}
		result.tokens++
		first := file.Line(position)
		for line := range strings.Count(literal, "\n") + 1 {
			lines[first+line] = true
		}
	}
}

func TestMeasure(t *testing.T) {
	source := "package p\n\n// Comment.\nvar a = `x\n\ny` // why\n\n" +
		"func f() {\n\t/* none\n\tof these */\n\treturn; f()\n}\n" +
		"\n\t// " + strings.Repeat("é", 114) + "\n\t// " + strings.Repeat("é", 113) + "\n"
	if got, want := measure([]byte(source)), (size{lines: 7, tokens: 17, long: 1}); got != want {
		t.Errorf("measured %+v, want %+v", got, want)
	}
}
