package lint

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of docs/security.md names a test, each reader of foreign input a fuzz target, and each test that is
// named is there. That each reader has a row is tested beside the readers.
func TestPromisesAreTested(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, f := range moduleFiles(t) {
		for _, declaration := range f.content.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && f.isTest {
				tests[function.Name.Name] = true
			}
		}
	}
	_, promises, _ := strings.Cut(string(text), "\n## Confidentiality\n")
	_, readers, _ := strings.Cut(promises, "\n| reader |")
	rows, named := 0, regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	for line := range strings.Lines(promises) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise ") || strings.HasPrefix(line, "| reader ") {
			continue
		}
		rows++
		names := named.FindAllStringSubmatch(line, -1)
		if names == nil {
			t.Errorf("no test is named: %s", line)
		}
		if strings.Contains(readers, line) && !strings.Contains(line, "`Fuzz") {
			t.Errorf("no fuzz target is named: %s", line)
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("there is no %s: %s", name[1], line)
			}
		}
	}
	if fuzzed := strings.Count(readers, "`Fuzz"); rows < 20 || fuzzed < 20 {
		t.Errorf("found only %d promises and %d fuzz targets", rows, fuzzed)
	}
}
