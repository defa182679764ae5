package cli

import (
	"fmt"
	"reflect"

	"github.com/itchyny/gojq"

	"quarry/internal/text"
)

// boundedOperators replace + and * of jq, which make a value of any size in one step: while such a value of gigabytes is
// copied, nothing can stop it. gojq calls these functions for += and *= by itself.
const boundedOperators = `
	def _add(f; g): g as $r | f as $l | _fits($l; $r; 1) | $l + $r;
	def _multiply(f; g): g as $r | f as $l | (if ($l | type) == "string" then _fits($l; null; $r)
		elif ($r | type) == "string" then _fits($r; null; $l) else . end) | $l * $r;
	.`

// compileQuery compiles an expression of jq whose operators make no text of more than shapeBytes, and no list that
// takes more.
func compileQuery(source string) (*gojq.Code, error) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, err
	}
	bounded, err := gojq.Parse(boundedOperators)
	if err != nil {
		return nil, err
	}
	replaceOperators(reflect.ValueOf(query))
	query.FuncDefs = append(bounded.FuncDefs, query.FuncDefs...)
	return gojq.Compile(query, gojq.WithFunction("_fits", 3, 3, func(input any, given []any) any {
		times, isNumber := given[2].(float64)
		if whole, isWhole := given[2].(int); isWhole {
			times, isNumber = float64(whole), true
		}
		if size := float64(sizeInMemory(given[0]) + sizeInMemory(given[1])); isNumber && size*max(1, times) > shapeBytes {
			return fmt.Errorf("a value needs more than %s of memory", text.Size(shapeBytes))
		}
		return input
	}))
}

// sizeInMemory returns the bytes of a text, or of the items of a list without what they refer to.
func sizeInMemory(value any) int {
	switch value := value.(type) {
	case string:
		return len(value)
	case []any:
		return len(value) * int(reflect.TypeFor[any]().Size())
	}
	return 0
}

// replaceOperators replaces the operators below a part of a parsed expression.
func replaceOperators(part reflect.Value) {
	switch part.Kind() {
	case reflect.Pointer:
		if part.IsNil() {
			return
		}
		replaceOperators(part.Elem())
		q, isQuery := part.Interface().(*gojq.Query)
		if isQuery && (q.Op == gojq.OpAdd || q.Op == gojq.OpMul) {
			name := map[gojq.Operator]string{gojq.OpAdd: "_add", gojq.OpMul: "_multiply"}[q.Op]
			call := &gojq.Func{Name: name, Args: []*gojq.Query{q.Left, q.Right}}
			q.Term, q.Left, q.Right, q.Op = &gojq.Term{Type: gojq.TermTypeFunc, Func: call}, nil, nil, 0
		}
	case reflect.Slice:
		for i := range part.Len() {
			replaceOperators(part.Index(i))
		}
	case reflect.Struct:
		for i := range part.NumField() {
			replaceOperators(part.Field(i))
		}
	}
}
