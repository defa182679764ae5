package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// matcher holds an answer to a pattern, which is JSON:
//
//   - a value is itself, a list has exactly the items that are given, and an object the keys, those with a question mark
//     behind them or not;
//   - "$string", "$int", "$number", "$bool", "$time", "$uuid", "$object" and "$any" are values of that type, "$text" is a
//     string that is not empty, and "$Name" is what testdata/shapes.json calls so; with a question mark behind it null
//     will do too;
//   - "$~text" is a string with that text in it, "$>name" any value, which {name} stands for from then on;
//   - ["$*", p] is a list of any number of p, ["$+", p] one of at least one, ["$_", p, …] one that has each p among its
//     items; in a stream "$+:p" is one or more lines, and "$*:p" any number;
//   - {"$": "Name", …} is what has that shape and the values that are given beside it.
type matcher struct {
	shapes map[string]any
	names  map[string]any
	// nulls notes for the fields of shapes that may be null which of the two they were.
	nulls map[string]*struct{ null, value bool }
	used  map[string]bool
}

func newMatcher(t *testing.T) *matcher {
	m := &matcher{names: map[string]any{}, nulls: map[string]*struct{ null, value bool }{}, used: map[string]bool{}}
	readTestdata(t, "testdata/shapes.json", &m.shapes)
	return m
}

// match tells how a value differs from a pattern; nothing if it does not.
func (m *matcher) match(at string, want, got any) []string {
	switch want := want.(type) {
	case string:
		return m.matchText(at, want, got)
	case map[string]any:
		return m.matchObject(at, want, got)
	case []any:
		return m.matchList(at, want, got)
	}
	if want != got && !sameNumber(want, got) {
		return differs(at, want, got)
	}
	return nil
}

func sameNumber(a, b any) bool {
	x, ok := a.(json.Number)
	y, also := b.(json.Number)
	if !ok || !also {
		return false
	}
	one, err := x.Float64()
	other, otherErr := y.Float64()
	return err == nil && otherErr == nil && one == other
}

func differs(at string, want, got any) []string {
	return []string{fmt.Sprintf("%s is %s, not %s", at, shortJSON(got), shortJSON(want))}
}

func shortJSON(value any) string {
	const longest = 300
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(text) > longest {
		return string(text[:longest]) + "…"
	}
	return string(text)
}

func (m *matcher) matchText(at, want string, got any) []string {
	kind, special := strings.CutPrefix(want, "$")
	if !special {
		if value, ok := m.names[strings.Trim(want, "{}")]; ok && strings.HasPrefix(want, "{") && value == got {
			return nil // a number, perhaps
		}
		if m.expand(want) != got {
			return differs(at, m.expand(want), got)
		}
		return nil
	}
	if part, ok := strings.CutPrefix(kind, "~"); ok {
		if text, ok := got.(string); !ok || !strings.Contains(text, m.expand(part)) {
			return differs(at, want, got)
		}
		return nil
	}
	if name, ok := strings.CutPrefix(kind, ">"); ok {
		m.names[name] = got
		return nil
	}
	kind, nullable := strings.CutSuffix(kind, "?")
	if nullable && got == nil {
		return nil
	}
	if shape, ok := m.shapes[kind]; ok {
		return m.matchShape(at, kind, shape, got)
	}
	is, known := scalars()[kind]
	if !known {
		return []string{fmt.Sprintf("%s: nothing is called %q", at, want)}
	}
	if !is(got) {
		return differs(at, want, got)
	}
	return nil
}

func (m *matcher) matchShape(at, name string, shape, got any) []string {
	m.used[name] = true
	fields, _ := shape.(map[string]any)
	if object, ok := got.(map[string]any); ok {
		for field, pattern := range fields {
			if text, ok := pattern.(string); ok && strings.HasPrefix(text, "$") && strings.HasSuffix(text, "?") {
				m.note(name+"."+field, object[field])
			}
		}
	}
	return m.match(at, shape, got)
}

func (m *matcher) note(field string, value any) {
	if m.nulls[field] == nil {
		m.nulls[field] = new(struct{ null, value bool })
	}
	if value == nil {
		m.nulls[field].null = true
	} else {
		m.nulls[field].value = true
	}
}

func scalars() map[string]func(any) bool {
	is := func(check func(string) bool) func(any) bool {
		return func(v any) bool { text, ok := v.(string); return ok && check(text) }
	}
	offset := regexp.MustCompile(`(Z|[+-]\d\d:\d\d)$`)
	return map[string]func(any) bool{
		"any":    func(any) bool { return true },
		"object": func(v any) bool { _, ok := v.(map[string]any); return ok },
		"bool":   func(v any) bool { _, ok := v.(bool); return ok },
		"number": func(v any) bool { _, ok := v.(json.Number); return ok },
		"int": func(v any) bool {
			n, ok := v.(json.Number)
			return ok && !strings.ContainsAny(n.String(), ".eE")
		},
		"string": is(func(string) bool { return true }),
		"text":   is(func(text string) bool { return strings.TrimSpace(text) != "" && utf8.ValidString(text) }),
		"uuid":   is(func(text string) bool { _, err := uuid.Parse(text); return err == nil }),
		"time": is(func(text string) bool {
			_, err := time.Parse(time.RFC3339Nano, text)
			return err == nil && offset.MatchString(text)
		}),
	}
}

func (m *matcher) matchObject(at string, want map[string]any, got any) (wrong []string) {
	object, ok := got.(map[string]any)
	if !ok {
		return differs(at, want, got)
	}
	if name, ok := want["$"].(string); ok {
		wrong = m.matchText(at, "$"+name, got)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if value, ok := object[key]; key != "$" {
				if !ok {
					wrong = append(wrong, fmt.Sprintf("%s has no %s", at, key))
					continue
				}
				wrong = append(wrong, m.match(at+"."+key, want[key], value)...)
			}
		}
		return wrong
	}
	for _, written := range slices.Sorted(maps.Keys(want)) {
		key, optional := strings.CutSuffix(written, "?")
		value, ok := object[key]
		if !ok {
			if !optional {
				wrong = append(wrong, fmt.Sprintf("%s has no %s", at, key))
			}
			continue
		}
		wrong = append(wrong, m.match(at+"."+key, want[written], value)...)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		_, ok := want[key]
		if _, optional := want[key+"?"]; !ok && !optional {
			wrong = append(wrong, fmt.Sprintf("%s has %s, which nothing foresees", at, key))
		}
	}
	return wrong
}

func (m *matcher) matchList(at string, want []any, got any) (wrong []string) {
	list, ok := got.([]any)
	if !ok {
		return differs(at, want, got)
	}
	mark := ""
	if len(want) > 1 {
		mark, _ = want[0].(string)
	}
	switch mark {
	case "$+", "$*":
		if mark == "$+" && len(list) == 0 {
			return []string{at + " is empty"}
		}
		for i, item := range list {
			wrong = append(wrong, m.match(fmt.Sprintf("%s[%d]", at, i), want[1], item)...)
		}
		return wrong
	case "$_":
		for _, pattern := range want[1:] {
			if !slices.ContainsFunc(list, func(item any) bool { return len(m.match(at, pattern, item)) == 0 }) {
				wrong = append(wrong, differs(at, pattern, got)...)
			}
		}
		return wrong
	}
	if len(list) != len(want) {
		return []string{fmt.Sprintf("%s has %d items, not %d: %s", at, len(list), len(want), shortJSON(got))}
	}
	for i := range want {
		wrong = append(wrong, m.match(fmt.Sprintf("%s[%d]", at, i), want[i], list[i])...)
	}
	return wrong
}

// matchLines holds the lines of a stream to patterns.
func (m *matcher) matchLines(want, got []any) []string {
	for len(want) > 0 {
		text, _ := want[0].(string)
		pattern := want[0]
		name, many := strings.CutPrefix(text, "$+:")
		anyNumber := false
		if !many {
			name, anyNumber = strings.CutPrefix(text, "$*:")
			many = anyNumber
		}
		if many {
			pattern = "$" + name
		}
		if anyNumber && (len(got) == 0 || len(m.match("a line", pattern, got[0])) > 0) {
			want = want[1:]
			continue
		}
		if len(got) == 0 {
			return []string{"the stream ends before " + shortJSON(pattern)}
		}
		if wrong := m.match("a line", pattern, got[0]); len(wrong) > 0 {
			return append(wrong, "in "+shortJSON(got[0]))
		}
		got, want = got[1:], want[1:]
		for many && len(got) > 0 && len(m.match("a line", pattern, got[0])) == 0 {
			got = got[1:]
		}
	}
	if len(got) > 0 {
		return []string{"the stream goes on: " + shortJSON(got)}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{([a-z_]+|[^{}]+\*\d+)\}`)

// expand puts values in the place of {name}, and repeats of {text*times}.
func (m *matcher) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "{}")
		if value, ok := m.names[name]; ok {
			return fmt.Sprint(value)
		}
		if repeated, times, ok := strings.Cut(name, "*"); ok {
			n := 0
			if _, err := fmt.Sscan(times, &n); err == nil {
				return strings.Repeat(repeated, n)
			}
		}
		return found
	})
}

// expandBody fills in a body: a text that is nothing but {name} becomes the value itself.
func (m *matcher) expandBody(body []byte) string {
	for name, value := range m.names {
		if number, ok := value.(json.Number); ok {
			body = bytes.ReplaceAll(body, []byte(`"{`+name+`}"`), []byte(number))
		}
	}
	return m.expand(string(body))
}

func TestMatcher(t *testing.T) {
	m := &matcher{shapes: map[string]any{"Point": map[string]any{"x": "$int", "y": "$int?"}}, names: map[string]any{},
		nulls: map[string]*struct{ null, value bool }{}, used: map[string]bool{}}
	for _, test := range []struct {
		want, got string
		same      bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1,"b":null}`, `{"a":1}`, false},
		{`{"a":null}`, `{"a":null}`, true},
		{`{"a":null}`, `{"a":0}`, false},
		{`{"a?":1}`, `{}`, true},
		{`{"a?":1}`, `{"a":1}`, true},
		{`{"a?":1}`, `{"a":2}`, false},
		{`{"a":1.0}`, `{"a":1}`, true},
		{`"$Point"`, `{"x":1,"y":null}`, true},
		{`"$Point"`, `{"x":null,"y":null}`, false},
		{`"$Point"`, `{"x":1}`, false},
		{`"$Point"`, `null`, false},
		{`"$Point?"`, `null`, true},
		{`{"$":"Point","x":2}`, `{"x":2,"y":3}`, true},
		{`{"$":"Point","x":2}`, `{"x":1,"y":3}`, false},
		{`{"$":"Point","z":2}`, `{"x":1,"y":3}`, false},
		{`{"$":"Point","x":2}`, `{"x":2,"y":3,"z":1}`, false},
		{`["$*","$int"]`, `[]`, true},
		{`["$+","$int"]`, `[]`, false},
		{`["$+","$int"]`, `[1,2]`, true},
		{`["$+","$int"]`, `[1,"2"]`, false},
		{`["$*","$int"]`, `null`, false},
		{`["$_",2]`, `[1,2]`, true},
		{`["$_",3]`, `[1,2]`, false},
		{`[1,2]`, `[1]`, false},
		{`"$int"`, `1.5`, false},
		{`"$number"`, `1.5`, true},
		{`"$text"`, `" "`, false},
		{`"$~b"`, `"abc"`, true},
		{`"$~d"`, `"abc"`, false},
		{`"$time"`, `"2026-03-02T08:00:00+00:00"`, true},
		{`"$time"`, `"2026-03-02T08:00:00"`, false},
		{`"$time"`, `"2026-03-02"`, false},
		{`"$uuid"`, `"x"`, false},
		{`"$bool"`, `0`, false},
		{`"$nothing"`, `0`, false},
		{`"a{b*3}"`, `"abbb"`, true},
	} {
		wrong := m.match("it", parsed(t, test.want), parsed(t, test.got))
		if (len(wrong) == 0) != test.same {
			t.Errorf("%s, %s: %q", test.want, test.got, wrong)
		}
	}
	for _, test := range []struct {
		want, got string
		same      bool
	}{
		{`[1,"$+:int",true]`, `[1,2,3,true]`, true},
		{`["$+:int",true]`, `[true]`, false},
		{`["$+:int"]`, `[1,true]`, false},
		{`["$*:int",true]`, `[true]`, true},
		{`["$*:int",true]`, `[1,1,true]`, true},
		{`["$*:int",true]`, `[1,1]`, false},
		{`[1,2]`, `[1]`, false},
		{`[1]`, `[1,2]`, false},
	} {
		wrong := m.matchLines(parsed(t, test.want).([]any), parsed(t, test.got).([]any))
		if (len(wrong) == 0) != test.same {
			t.Errorf("lines %s, %s: %q", test.want, test.got, wrong)
		}
	}
}

// parsed decodes JSON with its numbers as they are written.
func parsed(t *testing.T, text string) any {
	t.Helper()
	value, err := decodeJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return value
}

func decodeJSON(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return value, nil
}
