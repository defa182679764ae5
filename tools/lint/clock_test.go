package lint

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
	"time"
)

// shortest is the least real deadline of a test: a busy machine may take long for anything.
const shortest = time.Minute

// waits are the functions that wait in real time, with the position of the duration among their arguments.
func waits() map[string]int {
	return map[string]int{"time.After": 0, "time.NewTimer": 0, "time.AfterFunc": 0,
		"context.WithTimeout": 1, "context.WithTimeoutCause": 1, "net.DialTimeout": 2}
}

// polls are the functions that may sleep: they watch the files and goroutines of the process, which nothing reports.
func polls() map[string]bool {
	return map[string]bool{"server.settles": true, "ui/ssh.calm": true, "ui/ssh.settles": true}
}

// TestTestsDoNotDependOnTheMachine forbids tests to sleep, and to wait less than a minute, except in synctest bubbles.
func TestTestsDoNotDependOnTheMachine(t *testing.T) {
	files := moduleFiles(t)
	constants := map[string]ast.Expr{}
	for _, f := range files {
		for _, name := range constantsOf(f.content) {
			constants[f.dir+"."+name.Name] = name.Obj.Decl.(*ast.ValueSpec).Values[0]
		}
	}
	checked := 0
	for _, f := range files {
		for _, declaration := range f.content.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !f.isTest || inBubble(function) || polls()[f.dir+"."+function.Name.Name] {
				continue
			}
			ast.Inspect(function, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := selector(call.Fun)
				if name == "time.Sleep" {
					t.Errorf("%s: a test sleeps: wait for the cause, or use testing/synctest", f.set.Position(call.Pos()))
				}
				if at, waiting := waits()[name]; waiting && at < len(call.Args) {
					checked++
					wait, known := duration(call.Args[at], f.dir, constants)
					if known && wait > 0 && wait < shortest {
						t.Errorf("%s: a test waits %v: use minutes, or testing/synctest", f.set.Position(call.Pos()), wait)
					}
				}
				return true
			})
		}
	}
	if checked == 0 {
		t.Error("no wait was found in any test: this test looks for the wrong names")
	}
}

// constantsOf lists the constants of a file that are given a value of their own.
func constantsOf(content *ast.File) (names []*ast.Ident) {
	for _, declaration := range content.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			if value := spec.(*ast.ValueSpec); len(value.Names) == 1 && len(value.Values) == 1 {
				names = append(names, value.Names[0])
			}
		}
	}
	return names
}

// inBubble reports whether a function runs in a synctest bubble, or over the network in memory that is made for them.
func inBubble(function *ast.FuncDecl) (found bool) {
	ast.Inspect(function, func(node ast.Node) bool {
		name, ok := node.(*ast.Ident)
		found = found || ok && (name.Name == "synctest" || name.Name == "inBubble" || name.Name == "memnet")
		return !found
	})
	return found
}

// selector is the name of a function of a package, such as "time.After".
func selector(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return of.Name + "." + s.Sel.Name
}

// duration computes products of numbers, units and constants of the package.
func duration(e ast.Expr, dir string, constants map[string]ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseFloat(e.Value, 64)
		return time.Duration(n), err == nil
	case *ast.Ident:
		if value, ok := constants[dir+"."+e.Name]; ok {
			return duration(value, dir, constants)
		}
	case *ast.SelectorExpr:
		unit, ok := map[string]time.Duration{"time.Nanosecond": 1, "time.Microsecond": time.Microsecond,
			"time.Millisecond": time.Millisecond, "time.Second": time.Second, "time.Minute": time.Minute, "time.Hour": time.Hour}[selector(e)]
		return unit, ok
	case *ast.BinaryExpr:
		x, knownX := duration(e.X, dir, constants)
		y, knownY := duration(e.Y, dir, constants)
		if e.Op == token.MUL {
			return x * y, knownX && knownY
		}
	}
	return 0, false
}
