package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
)

// Bounds of lists and of the texts in them, beyond those that the API itself names.
const (
	maxListItems = 1000
	maxItemRunes = 2048
	maxInputText = 100 // runes of a refused value that are echoed
)

// problem is one thing that is wrong with a request.
type problem struct {
	kind  string
	where []any // names and positions
	text  string
	input string // the refused value, as it is shown; empty: left out
}

// String is the problem as Onyx's validation writes it.
func (p problem) String() string {
	places := make([]string, len(p.where))
	for i, place := range p.where {
		if name, ok := place.(string); ok {
			places[i] = quoted(name)
		} else {
			places[i] = fmt.Sprint(place)
		}
	}
	where := strings.Join(places, ", ")
	if len(places) == 1 {
		where += ","
	}
	text := fmt.Sprintf("{'type': %s, 'loc': (%s), 'msg': %s", quoted(p.kind), where, quoted(p.text))
	if p.input != "" {
		text += ", 'input': " + p.input
	}
	return text + "}"
}

// quoted writes a text as Python does: in single quotes, unless it holds one and no double quote.
func quoted(text string) string {
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// echo shows a refused value, cut to a length that cannot flood a terminal.
func echo(raw json.RawMessage) string {
	if string(bytes.TrimSpace(raw)) == "null" {
		return "None"
	}
	var text string
	if wire.Unmarshal(raw, &text) == nil {
		return quoted(clip(text))
	}
	return clip(string(raw))
}

func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxInputText {
		return string(runes[:maxInputText]) + "…"
	}
	return text
}

// fields reads the fields of a request one by one and gathers what is wrong with them.
type fields struct {
	where    string // body or query
	raw      map[string]json.RawMessage
	problems []problem
	maxItems int // of lists
	maxRunes int // of the texts in lists
}

func newFields(where string) *fields {
	return &fields{
		where: where, raw: map[string]json.RawMessage{}, maxItems: maxListItems, maxRunes: maxItemRunes,
	}
}

// bodyFields reads a JSON object from the body. Its error is ready to be answered.
func bodyFields(r *http.Request) (*fields, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, unreadable(err)
	}
	return objectFields(body)
}

// unreadable tells a body that is too large from a caller who stopped sending.
func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fmt.Errorf("read the body: %w", err)
	}
	return detailed(http.StatusBadRequest, "There was an error parsing the body")
}

func objectFields(body []byte) (*fields, error) {
	f := newFields("body")
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil, invalid(problem{kind: "missing", where: []any{"body"}, text: "Field required", input: "None"})
	}
	if err := wire.Unmarshal(body, &f.raw); err != nil {
		var syntax *wire.SyntaxError
		if errors.As(err, &syntax) {
			return nil, invalid(problem{kind: "json_invalid", where: []any{"body", syntax.Offset}, text: "JSON decode error"})
		}
		f.raw = nil
	}
	if f.raw == nil {
		return nil, invalid(problem{kind: "model_attributes_type", where: []any{"body"},
			text:  "Input should be a valid dictionary or object to extract fields from",
			input: echo(body)})
	}
	return f, nil
}

// queryFields reads the parameters of a URL as if they were the fields of a body. Those that lists names become lists
// of all their values, of any other the last one counts.
func queryFields(values url.Values, lists ...string) *fields {
	f := newFields("query")
	for name, all := range values {
		f.raw[name] = mustJSON(all[len(all)-1])
	}
	for _, name := range lists {
		if all, ok := values[name]; ok {
			f.raw[name] = mustJSON(all)
		}
	}
	return f
}

// mustJSON encodes texts and lists of them, which cannot fail.
func mustJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

func (f *fields) refuse(raw json.RawMessage, kind, text string, where ...any) {
	const enough = 20
	if len(f.problems) >= enough {
		return
	}
	f.problems = append(f.problems, problem{
		kind: kind, where: append([]any{f.where}, where...), text: text, input: echo(raw),
	})
}

// failure is nil when nothing was wrong.
func (f *fields) failure() error {
	if len(f.problems) == 0 {
		return nil
	}
	return invalid(f.problems...)
}

// given returns a field that is neither missing nor null.
func (f *fields) given(name string) (json.RawMessage, bool) {
	raw, ok := f.raw[name]
	return raw, ok && string(bytes.TrimSpace(raw)) != "null"
}

func (f *fields) require(name string) bool {
	if _, ok := f.raw[name]; ok {
		return true
	}
	f.problems = append(f.problems, problem{
		kind: "missing", where: []any{f.where, name}, text: "Field required", input: "{…}",
	})
	return false
}

// text reads a string of min to max characters, wherever in the request it stands.
func (f *fields) text(raw json.RawMessage, least, most int, where ...any) string {
	var text string
	if string(bytes.TrimSpace(raw)) == "null" || wire.Unmarshal(raw, &text) != nil {
		f.refuse(raw, "string_type", "Input should be a valid string", where...)
		return ""
	}
	switch n := utf8.RuneCountInString(text); {
	case n < least:
		f.refuse(raw, "string_too_short", "String should have at least "+plural(least, "character"), where...)
	case n > most:
		f.refuse(raw, "string_too_long", "String should have at most "+plural(most, "character"), where...)
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// optionalText reads a string that may be missing.
func (f *fields) optionalText(name string, most int) *string {
	raw, ok := f.given(name)
	if !ok {
		return nil
	}
	text := f.text(raw, 0, most, name)
	return &text
}

// flag reads a boolean, which unlike other fields may not be null. As in Onyx, words and numbers that mean one will do.
func (f *fields) flag(name string) bool {
	if raw, ok := f.raw[name]; ok && string(bytes.TrimSpace(raw)) == "null" {
		f.refuse(raw, "bool_type", "Input should be a valid boolean", name)
		return false
	}
	return f.boolean(name, false)
}

// whole reads a whole number within bounds; nil when it is not given. As in Onyx, digits in quotes are one too, and so is
// a number whose fraction is zero.
func (f *fields) whole(name string, least, most int) *int {
	raw, ok := f.given(name)
	if !ok {
		return nil
	}
	text := strings.Trim(string(bytes.TrimSpace(raw)), `"`)
	if whole, fraction, found := strings.Cut(text, "."); found && fraction != "" && strings.Trim(fraction, "0") == "" {
		text = whole
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		f.refuse(raw, "int_parsing", "Input should be a valid integer", name)
		return nil
	case n < least:
		f.refuse(raw, "greater_than_equal", fmt.Sprintf("Input should be greater than or equal to %d", least), name)
	case n > most:
		f.refuse(raw, "less_than_equal", fmt.Sprintf("Input should be less than or equal to %d", most), name)
	}
	return &n
}

func (f *fields) moment(name string) *wire.Time {
	raw, ok := f.given(name)
	if !ok {
		return nil
	}
	moment := new(wire.Time)
	if err := moment.UnmarshalJSON(raw); err != nil || moment.IsZero() {
		f.refuse(raw, "datetime_from_date_parsing", "Input should be a valid datetime or date", name)
		return nil
	}
	return moment
}

// list reads the items of a list, which may be missing.
func (f *fields) list(name string) []json.RawMessage {
	raw, ok := f.given(name)
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if wire.Unmarshal(raw, &items) != nil {
		f.refuse(raw, "list_type", "Input should be a valid list", name)
		return nil
	}
	if len(items) > f.maxItems {
		f.refuse(json.RawMessage(strconv.Itoa(len(items))), "too_long",
			fmt.Sprintf("List should have at most %d items", f.maxItems), name)
		return nil
	}
	return items
}

func (f *fields) texts(name string) []string {
	var texts []string
	for i, raw := range f.list(name) {
		texts = append(texts, f.text(raw, 0, f.maxRunes, name, i))
	}
	return texts
}

// oneOf reads a list of values that must all be among the known ones.
func (f *fields) oneOf(name string, known []string) []string {
	var values []string
	for i, raw := range f.list(name) {
		values = append(values, f.enum(raw, known, name, i))
	}
	return values
}

func (f *fields) enum(raw json.RawMessage, known []string, where ...any) string {
	var value string
	if wire.Unmarshal(raw, &value) == nil {
		for _, k := range known {
			if value == k {
				return value
			}
		}
	}
	choices := make([]string, len(known))
	for i, k := range known {
		choices[i] = "'" + k + "'"
	}
	text := strings.Join(choices, ", ")
	if last := len(choices) - 1; last > 0 {
		text = strings.Join(choices[:last], ", ") + " or " + choices[last]
	}
	f.refuse(raw, "enum", "Input should be "+text, where...)
	return ""
}

// object reads an item of a list that must itself be an object.
func (f *fields) object(raw json.RawMessage, where ...any) *fields {
	inner := newFields(f.where)
	if wire.Unmarshal(raw, &inner.raw) != nil || inner.raw == nil {
		f.refuse(raw, "model_attributes_type",
			"Input should be a valid dictionary or object to extract fields from", where...)
		return nil
	}
	return inner
}

func sourceValues() []string {
	sources := wire.Sources()
	values := make([]string, len(sources))
	for i, s := range sources {
		values[i] = s.Value
	}
	return values
}

// wholeOr is whole with a value for what is not given.
func (f *fields) wholeOr(name string, otherwise, least, most int) int {
	if n := f.whole(name, least, most); n != nil {
		return *n
	}
	return otherwise
}
