package lint

import (
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestPassageIsOneType finds structs that repeat keys of a passage: each copy is a place that the next key is forgotten
// in. Other forms of a passage are profiles of wire.SearchResult, and structs with more keys embed it.
func TestPassageIsOneType(t *testing.T) {
	t.Parallel()
	const most = 5 // a reference to a document, with its title, link and date, is no copy
	other := map[string]string{
		"client/wire.SearchResult": "the type itself",
		"client/wire.SearchDoc":    "Onyx's document of a chat, which is read as well as written: half of its keys are its own",
		"client/wire.Chunk":        "a passage of a document that is described once beside all of them",
		"client/wire.DocumentInfo": "a document, which has no text; it has one key more than a reference",
	}
	keys := passageKeys()
	found := 0
	for _, f := range linkedFiles(t) {
		if top, _, _ := strings.Cut(f.dir, "/"); top != "client" && top != "server" && top != "ui" {
			continue
		}
		for _, declaration := range f.content.Decls {
			for name, fields := range structsOf(declaration) {
				repeated := slices.DeleteFunc(jsonNames(fields), func(key string) bool { return !slices.Contains(keys, key) })
				if len(repeated) <= most {
					continue
				}
				if _, known := other[f.dir+"."+name]; known {
					found++
				} else {
					t.Errorf("%s: %s repeats %s of wire.SearchResult: use a profile of it, or embed it",
						f.set.Position(fields.Pos()), name, strings.Join(repeated, ", "))
				}
			}
		}
	}
	if found != len(other) {
		t.Errorf("%d of the %d known types were found", found, len(other))
	}
}

// passageKeys are the keys of a passage, under all names that profiles write them by.
func passageKeys() (keys []string) {
	for _, t := range []reflect.Type{reflect.TypeFor[wire.SearchResult](), wire.AgentResult.Type(), wire.ToolResult.Type(),
		wire.ModelResult.Type(), wire.CandidateResult.Type(), wire.EvidenceResult.Type()} {
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && !slices.Contains(keys, name) {
				keys = append(keys, name)
			}
		}
	}
	return keys
}

// structsOf yields the structs of a declaration, also those within others and in functions.
func structsOf(declaration ast.Decl) func(yield func(string, *ast.FieldList) bool) {
	return func(yield func(string, *ast.FieldList) bool) {
		name, more := "a struct", true
		ast.Inspect(declaration, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = "a struct in " + n.Name.Name
			case *ast.TypeSpec:
				name = n.Name.Name
			case *ast.StructType:
				more = more && yield(name, n.Fields)
			}
			return more
		})
	}
}

// jsonNames are the names in the tags of fields.
func jsonNames(fields *ast.FieldList) (names []string) {
	for _, f := range fields.List {
		if f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
