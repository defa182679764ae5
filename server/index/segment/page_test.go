package segment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestEverySectionIsDocumented: docs/index-format.md names each section.
func TestEverySectionIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/index-format.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "format.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	sections := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "section") || spec.Names[0].Name == "sectionLast" {
			return true
		}
		if sections++; !strings.Contains(string(page), "`"+spec.Names[0].Name+"`") {
			t.Errorf("%s is missing", spec.Names[0].Name)
		}
		return true
	})
	if sections != int(sectionLast)-1 {
		t.Errorf("%d sections, want %d", sections, int(sectionLast)-1)
	}
}
