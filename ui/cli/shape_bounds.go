package cli

import (
	"fmt"
	"reflect"

	"github.com/itchyny/gojq"

	"quarry/internal/text"
)

// boundedOperators replace + and * of jq, which make a value of any size in one step: while one of gigabytes is copied,
// nothing can stop it. gojq calls these functions for += and *= by itself. The items of a list take 16 bytes each.
const boundedOperators = `
	def _size: if type == "string" then utf8bytelength elif type == "array" then 16 * length else 0 end;
	def _fits(size): if size > %d then error("a value needs more than %s of memory") else . end;
	def _times($times): if type == "string" and ($times | type) == "number" then _size * $times else 0 end;
	def _add(f; g): g as $r | f as $l | _fits(($l | _size) + ($r | _size)) | $l + $r;
	def _multiply(f; g): g as $r | f as $l | _fits(($l | _times($r)) + ($r | _times($l))) | $l * $r;
	.`

// compileQuery compiles an expression of jq whose operators make no text of more than shapeBytes, and no list that
// takes more.
func compileQuery(source string) (*gojq.Code, error) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, err
	}
	bounded, err := gojq.Parse(fmt.Sprintf(boundedOperators, shapeBytes, text.Size(shapeBytes)))
	if err != nil {
		return nil, err
	}
	replaceOperators(reflect.ValueOf(query))
	query.FuncDefs = append(bounded.FuncDefs, query.FuncDefs...)
	return gojq.Compile(query)
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
