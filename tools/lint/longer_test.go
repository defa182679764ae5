package lint

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLongerFormsRun requires each test that has a longer form to be run in it: by a line of the Makefile with $(SLOW) whose
// pattern matches its name, or by tools/scale/test.sh, which says itself how long. Of the folders
// that LONG names, `make long` runs all tests but those of ELSEWHERE.
func TestLongerFormsRun(t *testing.T) {
	makefile := readFile(t, "../../Makefile")
	patterns := map[string][]*regexp.Regexp{} // by folder
	for _, lines := range [][][]string{
		regexp.MustCompile(`(?m)^\t\$\(SLOW\).* -run ['"]([^'"]+)['"](.*)$`).FindAllStringSubmatch(makefile, -1),
		regexp.MustCompile(`(?m)\btests\b.* -run ['"]?([^'" ]+)['"]?(.*)$`).FindAllStringSubmatch(readFile(t, "../scale/test.sh"), -1),
	} {
		for _, line := range lines {
			pattern := regexp.MustCompile(strings.ReplaceAll(line[1], "$$", "$"))
			for _, folder := range regexp.MustCompile(`\./(\S+)`).FindAllStringSubmatch(line[2], -1) {
				patterns[folder[1]] = append(patterns[folder[1]], pattern)
			}
		}
	}
	folders := regexp.MustCompile(`(?m)^LONG = .*'QUARRY_SLOW\|testkit/longtest' ([^|]+) \|`).FindStringSubmatch(makefile)
	elsewhere := regexp.MustCompile(`(?m)^ELSEWHERE = (.*)$`).FindStringSubmatch(makefile)
	if len(patterns) < 4 || elsewhere == nil || folders == nil {
		t.Fatalf("found only the patterns %v, %v and %v", patterns, folders, elsewhere)
	}
	long := regexp.MustCompile("^(" + strings.ReplaceAll(folders[1], " ", "|") + ")(/|$)")
	notLong := regexp.MustCompile(strings.ReplaceAll(elsewhere[1], "$$", "$"))
	tests := map[string]map[string]*ast.FuncDecl{} // functions of tests by folder and name
	for _, f := range moduleFiles(t) {
		if !f.isTest {
			continue
		}
		if tests[f.dir] == nil {
			tests[f.dir] = map[string]*ast.FuncDecl{}
		}
		for _, declaration := range f.content.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil {
				tests[f.dir][function.Name.Name] = function
			}
		}
	}
	count := 0
	for folder, functions := range tests {
		for name, function := range functions {
			if !strings.HasPrefix(name, "Test") || !hasLongerForm(function, functions, map[string]bool{}) {
				continue
			}
			count++
			isLong := long.MatchString(folder) && !notLong.MatchString(name)
			if !isLong && !slices.ContainsFunc(patterns[folder], func(r *regexp.Regexp) bool { return r.MatchString(name) }) {
				t.Errorf("%s: no target of the Makefile runs %s in its longer form", folder, name)
			}
		}
	}
	if count < 10 {
		t.Errorf("found only %d tests with a longer form", count)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// hasLongerForm reports whether a function of a test package, or one that it names, asks for the longer form.
func hasLongerForm(function *ast.FuncDecl, functions map[string]*ast.FuncDecl, seen map[string]bool) (found bool) {
	seen[function.Name.Name] = true
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			found = found || node.Value == `"QUARRY_SLOW"`
		case *ast.Ident:
			found = found || node.Name == "longtest"
			if next := functions[node.Name]; next != nil && !seen[node.Name] {
				found = found || hasLongerForm(next, functions, seen)
			}
		}
		return !found
	})
	return found
}
