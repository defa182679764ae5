package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// unguarded lists the goroutines that may run without internal/guard, by file and function, with the reason.
var unguarded = map[string]string{
	"internal/guard/guard.go Go":    "the helper itself",
	"internal/guard/guard.go Run":   "the helper itself",
	"client/inprocess.go RoundTrip": "closes a pipe, and nothing else",
	"ui/serve.go serve":             "resets signals, and nothing else",
	"ui/ui.go readSecret":           "restores the terminal of a local command, and nothing else",
}

// testDoubles are packages of which no program is made.
var testDoubles = []string{"tools", "internal/testkit", "internal/e2e"}

// A panic in a goroutine that does not recover ends the process, and with it everybody's session. So goroutines are
// started by guard.Go or a guard.Group, and what sync.WaitGroup and timers run comes from guard.Func.
func TestGoroutinesRecover(t *testing.T) {
	used := map[string]bool{}
	for _, f := range moduleFiles(t) {
		if f.isTest || slices.ContainsFunc(testDoubles, func(dir string) bool { return f.dir == dir || strings.HasPrefix(f.dir, dir+"/") }) {
			continue
		}
		for _, declaration := range f.content.Decls {
			name := f.path
			if function, ok := declaration.(*ast.FuncDecl); ok {
				name += " " + function.Name.Name
			}
			ast.Inspect(declaration, func(node ast.Node) bool {
				if !bare(node) {
					return true
				}
				if used[name] = true; unguarded[name] == "" {
					t.Errorf("%s: a goroutine that does not recover: use guard.Go, guard.Group or guard.Func", f.set.Position(node.Pos()))
				}
				return true
			})
		}
	}
	for name := range unguarded {
		if !used[name] {
			t.Errorf("%s is no exception any more: remove it from unguarded", name)
		}
	}
}

// bare reports whether a node starts a goroutine of a function that does not recover.
func bare(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		selector, ok := node.Fun.(*ast.SelectorExpr)
		if !ok || len(node.Args) == 0 {
			return false
		}
		starts := selector.Sel.Name == "Go" && len(node.Args) == 1 || selector.Sel.Name == "AfterFunc"
		return starts && !isGuard(node.Args[len(node.Args)-1])
	}
	return false
}

// isGuard reports whether an expression is a call of guard.Func.
func isGuard(expression ast.Expr) bool {
	call, ok := expression.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == "guard" && selector.Sel.Name == "Func"
}

// parse returns a statement as it stands in a function.
func parse(t *testing.T, statement string) ast.Node {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+statement+"\n}", 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBareGoroutinesAreFound(t *testing.T) {
	for source, want := range map[string]bool{
		`go f()`:                                true,
		`go guard.Func(f, g)()`:                 true,
		`group.Go(f)`:                           true,
		`group.Go(func() { panic(1) })`:         true,
		`group.Go(guard.Func(f, g))`:            false,
		`group.Run(f)`:                          false,
		`time.AfterFunc(d, f)`:                  true,
		`time.AfterFunc(d, guard.Func(f, g))`:   false,
		`context.AfterFunc(ctx, guard.Call)`:    true,
		`guard.Go(f, g)`:                        false,
		`guard.Go(func() { go f() }, g)`:        true,
		`guard.Go(func() { time.Sleep(1) }, g)`: false,
	} {
		found := false
		ast.Inspect(parse(t, source), func(node ast.Node) bool {
			found = found || node != nil && bare(node)
			return true
		})
		if found != want {
			t.Errorf("%s: %v, want %v", source, found, want)
		}
	}
}
