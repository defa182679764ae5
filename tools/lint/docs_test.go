package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const maxArchitectureLines = 150

// TestDocsNameExistingFiles checks the paths that guides for developers name, such as `server/api/search.go`: those that
// begin with a folder of the module's root.
func TestDocsNameExistingFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	quoted := regexp.MustCompile("`([a-zA-Z_.]+(?:/[a-zA-Z_.0-9]+)*)/?`")
	for _, page := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, match := range quoted.FindAllStringSubmatch(string(text), -1) {
			top, _, nested := strings.Cut(match[1], "/")
			if _, err := os.Stat(filepath.Join(root, top)); err != nil || !nested {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(match[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", page, match[1])
			}
		}
		if checked == 0 {
			t.Errorf("%s: found no paths to check", page)
		}
		if lines := strings.Count(string(text), "\n"); page == "docs/architecture.md" && lines > maxArchitectureLines {
			t.Errorf("%s has %d lines, at most %d", page, lines, maxArchitectureLines)
		}
	}
}
