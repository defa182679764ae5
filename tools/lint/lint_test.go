// Package lint holds the structure of the code to its rules: which way imports run, and how long a file or a function
// may become. It reads the source of the whole module and runs with the other tests.
package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module           = "quarry"
	maxFileLines     = 500
	maxFunctionLines = 75
	maxTestLines     = 100 // a table of cases is data
)

// mayImport lists, for each package of the module, what else of the module it may import; an entry ending in /... means
// everything below. The longest matching key decides.
var mayImport = map[string][]string{
	"":                       {"ui", "server/encoder/builtin"},
	"ui":                     {"ui/...", "client/...", "config", "theme"},
	"ui/cli":                 {"client/...", "config", "theme", "ui/explorer/paint", "ui/mcp", "ui/passage", "ui/state", "ui/target"},
	"ui/mcp":                 {"client/...", "ui/passage"},
	"ui/passage":             {"client/..."},
	"ui/state":               {"client/...", "config", "ui/passage"},
	"ui/plain":               {"client/...", "theme", "ui/passage", "ui/explorer/paint"},
	"ui/ssh":                 {"client/...", "config", "theme", "ui/cli", "ui/explorer", "ui/plain", "ui/state", "ui/target"},
	"ui/explorer":            {"client/...", "theme", "ui/passage", "ui/state", "ui/explorer/..."},
	"ui/explorer/paint":      {"client/wire", "theme"},
	"ui/explorer/line":       {"client/wire", "theme", "ui/explorer/paint"},
	"ui/target":              {"client/...", "config", "server/..."},
	"client":                 {"client/..."},
	"client/field":           {"client/wire"},
	"client/wire":            {},
	"config":                 {"client/wire"},
	"theme":                  {},
	"internal/guard":         {},
	"internal/memo":          {},
	"internal/pattern":       {},
	"internal/text":          {},
	"internal/testkit":       {"client/...", "server/...", "internal/testkit/..."},
	"internal/e2e":           {"ui", "ui/cli", "ui/target", "internal/testkit/..."},
	"server":                 {"server/...", "client/field", "client/wire"},
	"server/fault":           {},
	"server/index":           {"client/field"},
	"server/sqldb":           {"server/fault", "client/wire"},
	"server/sqlite":          {"server/fault", "server/sqldb"},
	"server/postgres":        {"server/fault", "server/sqldb"},
	"server/index/analysis":  {"server/index"},
	"server/index/segment":   {"server/index", "server/index/analysis", "server/language", "client/field"},
	"server/index/lexical":   {"server/index/...", "client/field", "server/language"},
	"server/index/vector":    {"server/index", "server/index/segment"},
	"server/documents":       {"server/fault", "server/index/...", "server/language", "server/postgres", "server/sqldb", "server/sqlite"},
	"server/segments":        {"server/documents", "server/fault", "server/index/...", "server/sqldb", "server/sqlite"},
	"server/weaviate":        {"server/documents", "server/fault", "server/index/...", "server/language", "client/field", "client/wire"},
	"server/directory":       {"server/index", "server/postgres", "server/sqldb", "server/sqlite", "client/wire"},
	"server/llm":             {"server/encoder", "client/wire"},
	"server/encoder":         {"client/wire"},
	"server/encoder/builtin": {},
	"server/chat":            {"server/llm", "server/postgres", "server/sqldb", "server/sqlite", "client/wire"},
	"server/metrics":         {},
	"server/pipeline": {"server/fault", "server/index", "server/language", "server/llm", "client/field",
		"client/wire"},
	"server/slack":    {"server/index/analysis", "server/pipeline", "client/field", "client/wire"},
	"server/language": {},
	"server/ingest":   {"server/fault", "server/index", "server/ingest/...", "server/slack", "client/field", "client/wire"},
	"server/sample":   {"server/index", "server/directory", "server/ingest", "client/wire"},
	"server/api": {"server/fault", "server/index", "server/chat", "server/directory", "server/ingest", "server/llm",
		"server/language", "server/metrics", "server/pipeline", "client/field", "client/wire"},
	"tools": {"server/...", "client/...", "ui/...", "config", "tools/...", "internal/testkit/..."},
}

// file is one Go file of the module.
type file struct {
	path    string // relative to the module's root, with slashes
	dir     string
	isTest  bool
	set     *token.FileSet
	content *ast.File
}

func moduleFiles(t *testing.T) []file {
	t.Helper()
	files, err := parsedModule()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Go files", len(files))
	}
	return files
}

// parsedModule parses the module once for all tests, which only read it.
var parsedModule = sync.OnceValues(parseModule)

func parseModule() (files []file, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		content, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(relative)
		dir := strings.TrimSuffix(strings.TrimSuffix(slashed, name), "/")
		files = append(files, file{slashed, dir, strings.HasSuffix(name, "_test.go"), set, content})
		return nil
	})
	return files, err
}

// rule finds what dir may import.
func rule(dir string) ([]string, bool) {
	for at := dir; ; {
		if allowed, ok := mayImport[at]; ok && (at != "" || dir == "") {
			return allowed, true
		}
		slash := strings.LastIndexByte(at, '/')
		if slash < 0 {
			return nil, false
		}
		at = at[:slash]
	}
}

func allows(allowed []string, imported string) bool {
	if slices.Contains([]string{"internal/memo", "internal/guard", "internal/pattern", "internal/text"}, imported) { // helpers of every package
		return true
	}
	for _, a := range allowed {
		if below, all := strings.CutSuffix(a, "/..."); all && (imported == below || strings.HasPrefix(imported, below+"/")) {
			return true
		}
		if a == imported {
			return true
		}
	}
	return false
}

func TestImportsRunOneWay(t *testing.T) {
	for _, f := range moduleFiles(t) {
		allowed, known := rule(f.dir)
		if !known {
			t.Errorf("%s: no rule says what package %q may import: add it to mayImport", f.path, f.dir)
			continue
		}
		for _, spec := range f.content.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			inner, ours := strings.CutPrefix(imported, module+"/")
			if !ours || inner == f.dir || f.isTest {
				continue
			}
			if !allows(allowed, inner) {
				t.Errorf("%s imports %s; %q may import only %v", f.path, imported, f.dir, allowed)
			}
		}
	}
}

// TestOnlyMainCarriesTheModel: the package with the model, of 34 MB, is linked into the program, the comparison of
// rankings and the tests of the encoder alone.
func TestOnlyMainCarriesTheModel(t *testing.T) {
	for _, f := range moduleFiles(t) {
		for _, spec := range f.content.Imports {
			imported := spec.Path.Value == strconv.Quote(module+"/server/encoder/builtin")
			if imported && f.path != "main.go" && f.path != "tools/compare/main.go" && (f.dir != "server/encoder" || !f.isTest) {
				t.Errorf("%s carries the model into whatever imports %q", f.path, f.dir)
			}
		}
	}
}

// TestFoldersHaveNoCircle: inside server, and inside ui, the first-level folders import each other one way only. Each
// of their packages alone does, or the program would not compile.
func TestFoldersHaveNoCircle(t *testing.T) {
	files := moduleFiles(t)
	for _, root := range []string{"server", "ui"} {
		imports := map[string][]string{}
		for _, f := range files {
			from, below := strings.CutPrefix(f.dir, root+"/")
			if !below || f.isTest {
				continue
			}
			from, _, _ = strings.Cut(from, "/")
			for _, spec := range f.content.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				to, ours := strings.CutPrefix(path, module+"/"+root+"/")
				to, _, _ = strings.Cut(to, "/")
				if ours && to != from && !slices.Contains(imports[from], to) {
					imports[from] = append(imports[from], to)
				}
			}
		}
		if len(imports) < 3 {
			t.Errorf("only %d folders of %s import others", len(imports), root)
		}
		if found := circle(imports); found != nil {
			t.Errorf("folders of %s import each other in a circle: %s", root, strings.Join(found, " → "))
		}
	}
}

// circle returns a path that ends where it begins, or nil if there is none.
func circle(imports map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(string) []string
	visit = func(folder string) []string {
		if at := slices.Index(path, folder); at >= 0 {
			return append(path[at:], folder)
		}
		if done[folder] {
			return nil
		}
		done[folder] = true
		path = append(path, folder)
		for _, next := range imports[folder] {
			if found := visit(next); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		return nil
	}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		if found := visit(folder); found != nil {
			return found
		}
	}
	return nil
}

func TestCircle(t *testing.T) {
	for _, c := range []struct {
		imports map[string][]string
		want    string
	}{
		{map[string][]string{"a": {"b", "c"}, "b": {"c"}}, ""},
		{map[string][]string{"a": {"b"}, "b": {"a"}}, "a b a"},
		{map[string][]string{"a": {"d", "b"}, "b": {"c"}, "c": {"d", "b"}}, "b c b"},
	} {
		if got := strings.Join(circle(c.imports), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.imports, got, c.want)
		}
	}
}

// bubbleTea belongs to the full-screen explorer and the SSH server alone.
func TestCommandsDoNotImportBubbleTea(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if f.dir != "ui/cli" {
			continue
		}
		for _, spec := range f.content.Imports {
			if strings.Contains(spec.Path.Value, "bubbletea") {
				t.Errorf("%s imports %s", f.path, spec.Path.Value)
			}
		}
	}
}

// plainJSON lists the files that may decode by encoding/json, which ignores the case of keys, and why.
var plainJSON = map[string]string{}

// TestKeysOfJSONAreMatchedExactly: what the program reads is decoded by wire.Unmarshal or wire.Decoder.
func TestKeysOfJSONAreMatchedExactly(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if f.isTest || plainJSON[f.path] != "" || strings.HasPrefix(f.dir, "internal/testkit/") || strings.HasPrefix(f.dir, "tools/") {
			continue
		}
		name := importName(f.content, "encoding/json")
		ast.Inspect(f.content, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := selector.X.(*ast.Ident)
			if ok && of.Name == name && (selector.Sel.Name == "Unmarshal" || selector.Sel.Name == "NewDecoder") {
				t.Errorf("%s: json.%s matches keys in any case: use wire.Unmarshal or wire.NewDecoder",
					f.set.Position(node.Pos()), selector.Sel.Name)
			}
			return true
		})
	}
}

// importName returns the name by which a file calls a package, or "" if it does not import it.
func importName(content *ast.File, path string) string {
	for _, spec := range content.Imports {
		if spec.Path.Value != strconv.Quote(path) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return ""
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if !f.isTest {
			if lines := f.set.Position(f.content.End()).Line; lines > maxFileLines {
				t.Errorf("%s has %d lines, at most %d", f.path, lines, maxFileLines)
			}
		}
		for _, declaration := range f.content.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := f.set.Position(function.End()).Line - f.set.Position(function.Pos()).Line + 1
			bound := maxFunctionLines
			if f.isTest {
				bound = maxTestLines
			}
			if lines > bound {
				t.Errorf("%s: %s has %d lines, at most %d", f.path, function.Name.Name, lines, bound)
			}
		}
	}
}
