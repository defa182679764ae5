package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// Limits of what an expression of --jq or --template does.
const (
	shapeTime  = 30 * time.Second
	shapeBytes = 64 << 20 // of output
	// shapeMemory is what the heap may grow by while an expression runs, and shapeLook how often that is measured. jq's
	// library has no limit of its own and builds values of any size in one step, so the run is watched from outside,
	// and given up where it does not stop; the process ends with the error. A process of its own would cost each line
	// of events its start, and need the same watch where the system limits no memory.
	shapeMemory = 256_000_000
	shapeLook   = 5 * time.Millisecond
)

// shape is what --fields, --jq and --template make of JSON. The zero value leaves it as it is.
type shape struct {
	fields   []string
	query    *gojq.Code
	template *template.Template
}

// isText reports whether the output is that of an expression.
func (s shape) isText() bool { return s.query != nil || s.template != nil }

// readShape compiles the flags that shape JSON. They imply --json.
func (a *app) readShape(command *cobra.Command) {
	flags := a.flags
	given := slices.DeleteFunc([]string{"fields", "jq", "template"},
		func(name string) bool { return !command.Flags().Changed(name) })
	if len(given) == 0 {
		return
	}
	types := a.traits[command].json
	switch format := command.Flags().Lookup("format"); {
	case types == nil && !command.HasSubCommands():
		refuse("Omit the flag.", "--%s requires JSON; %s prints none", given[0], command.Name())
	case given[0] == "fields" && types != nil && types()[0].Properties["type"] != nil:
		refuse("Use --jq: each line of the output is an event.",
			"--fields works on results and lists; %s prints events", command.Name())
	case format != nil && format.Changed && !slices.Contains([]string{formatJSON, formatNDJSON}, format.Value.String()):
		refuse("Give only one of them.", "--%s and --format %s exclude each other", given[0], format.Value)
	case format == nil || !format.Changed:
		a.flags.JSON = true
	}
	a.shape.fields = cleanList(flags.Fields)
	var err error
	if flags.JQ != "" {
		if a.shape.query, err = compileQuery(flags.JQ); err != nil {
			refuse("Example: --jq '.results[].title'", "--jq: %v", err)
		}
	}
	if flags.Template != "" {
		if a.shape.template,
			err = template.New("--template").Funcs(a.templateFunctions()).Parse(flags.Template); err != nil {
			refuse(`Example: --template '{{range .results}}{{.title}}{{"\n"}}{{end}}'`, "%s",
				strings.TrimPrefix(err.Error(), "template: "))
		}
	}
}

// templateFunctions are those of gh that fit here.
func (a *app) templateFunctions() template.FuncMap {
	return template.FuncMap{
		"join": func(separator string, list []any) string {
			words := exslices.CastFunc(list, func(item any) string { return fmt.Sprint(item) })
			return strings.Join(words, separator)
		},
		"pluck": func(key string, list []any) []any {
			return exslices.CastFuncFilter(list, func(item any) (any, bool) {
				object, isObject := item.(map[string]any)
				return object[key], isObject
			})
		},
		"truncate": func(limit int, value any) string {
			if value == nil {
				return ""
			}
			return text.Shorten(fmt.Sprint(value), max(0, limit))
		},
		"timeago": func(value any) string {
			moment, _ := value.(string)
			return passage.Age(moment, a.now())
		},
		"timefmt": func(layout string, value any) (string, error) {
			moment, _ := value.(string)
			parsed, err := wire.ParseTime(moment)
			return parsed.Format(layout), err
		},
		"json": func(value any) string { return strings.TrimSuffix(encodeJSON(value, false), "\n") },
	}
}

// runShape returns what the expression makes of a value, or of each line.
func (a *app) runShape(value any) string {
	if lines, isLines := value.(jsonLines); isLines {
		all := ""
		for _, line := range lines {
			all += a.runShape(line)
		}
		return all
	}
	var input any
	guard.While("read the answer", wire.Unmarshal([]byte(encodeJSON(value, false)), &input))
	limited, stop := a.deadline(a.command.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(limited, shapeTime)
	defer cancel()
	out := &boundedText{ctx: ctx}
	done := make(chan error, 1)
	guard.Go(func() {
		if a.shape.query != nil {
			done <- a.runQuery(ctx, input, out)
			return
		}
		done <- a.shape.template.Execute(out, input)
	}, func(err error) { done <- err })
	err := awaitShape(ctx, done)
	if errors.Is(err, errShapeMemory) {
		cancel()
	}
	if err != nil {
		guard.Check(limited.Err())
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no result after %s", shapeTime)
		}
		refuse("Check the expression against the output of --json.", "%s", text.OneLine(err.Error()))
	}
	return out.String()
}

var errShapeMemory = fmt.Errorf("the expression needs more than %s of memory", text.Size(shapeMemory))

// awaitShape returns the result of an expression, or an error when its time or memory is used up: neither a template
// nor a single step of jq can be stopped.
func awaitShape(ctx context.Context, done <-chan error) error {
	start, look := heapBytes(), time.NewTicker(shapeLook)
	defer look.Stop()
	collected, collects := make(chan bool, 1), false
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case collects = <-collected:
			if heapBytes() > start+shapeMemory { // what is left is in use
				return errShapeMemory
			}
		case <-look.C:
			switch inUse := heapBytes(); {
			case inUse > start+3*shapeMemory: // values double while garbage is collected
				return errShapeMemory
			case inUse > start+shapeMemory && !collects:
				collects = true
				guard.Go(func() { runtime.GC(); collected <- false }, nil)
			}
		}
	}
}

// heapBytes returns the size of the heap's objects. Unlike runtime.ReadMemStats it stops nothing.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// runQuery writes each value of a jq program on a line, text without quotes.
func (a *app) runQuery(ctx context.Context, input any, out *boundedText) error {
	for values := a.shape.query.RunWithContext(ctx, input); ; {
		value, more := values.Next()
		if !more {
			return nil
		}
		if err, failed := value.(error); failed {
			if halted, ok := errors.AsType[*gojq.HaltError](err); ok && halted.Value() == nil {
				return nil
			}
			return fmt.Errorf("--jq: %w", err)
		}
		line, isText := value.(string)
		if !isText {
			line = strings.TrimSuffix(encodeJSON(value, a.indents()), "\n")
		}
		if _, err := out.Write([]byte(line + "\n")); err != nil {
			return err
		}
	}
}

// boundedText collects output until it is too long or its time is over.
type boundedText struct {
	strings.Builder
	ctx context.Context
}

// Write implements io.Writer.
func (b *boundedText) Write(data []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.Len()+len(data) > shapeBytes {
		return 0, fmt.Errorf("the output is larger than %s", text.Size(shapeBytes))
	}
	return b.Builder.Write(data)
}

// encode returns what is printed of a value.
func (a *app) encode(value any, indent bool) string {
	if a.shape.isText() {
		return a.runShape(value)
	}
	return encodeJSON(value, indent)
}

// rowKeys are the keys of an answer under which its rows are.
func rowKeys() []string { return []string{"results", "searches", "documents", "chunks", "passages"} }

// picked returns a value with the chosen fields of its rows, in the order in which they were given; null for one that a
// row lacks. A field that no row knows is an error.
func (s shape) picked(value any) any {
	var known []string
	eachRow(value, func(row object) object {
		known = append(known, exslices.CastFunc(row, func(f member) string { return f.key })...)
		return row
	})
	known = exslices.DeduplicateUnsorted(known)
	for _, name := range s.fields {
		if len(known) > 0 && !slices.Contains(known, name) {
			refuse(wire.Hint(name, "Fields: "+strings.Join(known, ", "), known), "unknown field %q", name)
		}
	}
	return eachRow(value, func(row object) object {
		return exslices.CastFunc(s.fields, func(name string) member {
			at := slices.IndexFunc(row, func(f member) bool { return f.key == name && !f.leftOut })
			if at < 0 {
				return member{key: name}
			}
			return row[at]
		})
	})
}

// eachRow replaces the rows of an answer. What has no rows is a row; one that is an error stays.
func eachRow(value any, change func(object) object) any {
	isRows := func(f member) bool {
		return slices.Contains(rowKeys(), f.key) && reflect.Indirect(reflect.ValueOf(f.value)).Kind() == reflect.Slice
	}
	isError := func(f member) bool { return f.key == "error" && !f.leftOut }
	switch value := value.(type) {
	case jsonLines:
		lines := slices.Clone(value)
		for i, line := range lines {
			if line[0].value == lineResult {
				lines[i] = append(object{line[0]}, change(line[1:])...)
			}
		}
		return lines
	case object:
		switch {
		case slices.ContainsFunc(value, isError):
			return value
		case !slices.ContainsFunc(value, isRows):
			return change(value)
		}
		changed := slices.Clone(value)
		for i, f := range changed {
			if isRows(f) {
				changed[i].value = eachRow(f.value, change)
			}
		}
		return changed
	}
	list := reflect.Indirect(reflect.ValueOf(value))
	if list.Kind() != reflect.Slice {
		return eachRow(objectOf(value), change)
	}
	changed := make([]any, list.Len())
	for i := range changed {
		changed[i] = eachRow(objectOf(list.Index(i).Interface()), change)
	}
	return changed
}

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
