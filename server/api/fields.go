package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/internal/text"
)

// fields reads the fields of a request one by one and collects what is wrong with them.
type fields struct {
	where    []any // body, query or path, and where in it
	raw      map[string]json.RawMessage
	values   url.Values // of a URL, whose lists are repeated parameters
	body     []byte
	broken   error // why the body cannot be read as an object
	problems []problem
	maxItems int // of lists
	maxRunes int // of the texts in lists
}

func newFields(where string) *fields {
	return &fields{
		where: []any{where}, raw: map[string]json.RawMessage{}, maxItems: maxListItems, maxRunes: maxItemRunes,
	}
}

// bodyFields reads a JSON object from the body.
func bodyFields(r *http.Request) *fields {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f := newFields("body")
		f.broken = unreadable(err)
		return f
	}
	return objectFields(body)
}

// unreadable returns the error of a body that could not be read.
func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fmt.Errorf("read the body: %w", err)
	}
	return detailed(http.StatusBadRequest, "There was an error parsing the body")
}

func objectFields(body []byte) *fields {
	f := newFields("body")
	f.body = bytes.TrimSpace(body)
	if len(f.body) == 0 {
		f.broken = invalid(problem{kind: "missing", where: []any{"body"}, text: "Field required", input: "None"})
		return f
	}
	err := wire.Unmarshal(f.body, &f.raw)
	var syntax *wire.SyntaxError
	switch {
	case errors.As(err, &syntax):
		f.broken = invalid(problem{kind: "json_invalid", where: []any{"body", syntax.Offset},
			text: "JSON decode error"})
	case err != nil || f.raw == nil:
		f.broken = invalid(problem{kind: "model_attributes_type", where: []any{"body"}, text: notAnObject,
			input: echo(f.body)})
	}
	return f
}

// queryFields reads the parameters of a URL as if they were the fields of a body. Of a parameter that is no list, the
// last value counts.
func queryFields(values url.Values) *fields {
	f := newFields("query")
	f.values = values
	for name, all := range values {
		f.raw[name] = mustJSON(all[len(all)-1])
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

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func (f *fields) refuse(raw json.RawMessage, kind, text string, where ...any) {
	const enough = 20
	if len(f.problems) >= enough {
		return
	}
	f.problems = append(f.problems, problem{
		kind: kind, where: slices.Concat(f.where, where), text: text, input: echo(raw),
	})
}

// conflict adds a problem of several fields.
func (f *fields) conflict(text string) {
	f.problems = append(f.problems, problem{kind: "value_error", where: f.where, text: "Value error, " + text})
}

// failure returns the collected problems as an error; nil if there are none.
func (f *fields) failure() error {
	if f.broken != nil || len(f.problems) == 0 {
		return f.broken
	}
	return invalid(f.problems...)
}

// given returns a field that is neither missing nor null.
func (f *fields) given(name string) (json.RawMessage, bool) {
	raw, ok := f.raw[name]
	return raw, ok && !isNull(raw)
}

func (f *fields) require(name string) bool {
	if _, ok := f.raw[name]; ok {
		return true
	}
	f.problems = append(f.problems, problem{
		kind: "missing", where: slices.Concat(f.where, []any{name}), text: "Field required", input: "{…}",
	})
	return false
}

// text reads a string of least to most characters, wherever in the request it is.
func (f *fields) text(raw json.RawMessage, least, most int, where ...any) string {
	var text string
	if isNull(raw) || wire.Unmarshal(raw, &text) != nil {
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

// plural writes no separators between thousands, as pydantic.
func plural(n int, noun string) string {
	return strconv.Itoa(n) + " " + text.Plural(n, noun)
}

// requireText reads a string that must be given, of least to most characters.
func (f *fields) requireText(name string, least, most int) string {
	if !f.require(name) {
		return ""
	}
	return f.text(f.raw[name], least, most, name)
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

// textOf is optionalText where a missing text is empty.
func (f *fields) textOf(name string, most int) string {
	return text.OrEmpty(f.optionalText(name, most))
}

// flag reads a boolean that is false if it is missing, and unlike other fields may not be null.
func (f *fields) flag(name string) bool {
	if raw, ok := f.raw[name]; ok && isNull(raw) {
		f.refuse(raw, "bool_type", "Input should be a valid boolean", name)
		return false
	}
	return f.boolean(name, false)
}

// boolean reads a boolean as FastAPI does: some words and numbers are one too.
func (f *fields) boolean(name string, otherwise bool) bool {
	raw, ok := f.given(name)
	if !ok {
		return otherwise
	}
	switch strings.ToLower(strings.Trim(string(bytes.TrimSpace(raw)), `"`)) {
	case "true", "1", "on", "yes", "t", "y":
		return true
	case "false", "0", "off", "no", "f", "n":
		return false
	}
	f.refuse(raw, "bool_parsing", "Input should be a valid boolean, unable to interpret input", name)
	return otherwise
}

// whole reads a whole number within bounds; nil when it is not given. As in Onyx, digits in quotes are one too, and so
// is a number whose fraction is zero.
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
		f.refuse(raw, "int_parsing", notAnInteger, name)
		return nil
	case n < least:
		f.refuse(raw, "greater_than_equal", fmt.Sprintf("Input should be greater than or equal to %d", least), name)
	case n > most:
		f.refuse(raw, "less_than_equal", fmt.Sprintf("Input should be less than or equal to %d", most), name)
	}
	return &n
}

// wholeOr is whole with a value for what is not given.
func (f *fields) wholeOr(name string, otherwise, least, most int) int {
	return *cmp.Or(f.whole(name, least, most), &otherwise)
}

// moment reads a date, or a date and time.
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
	var text string
	if wire.Unmarshal(raw, &text) == nil {
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Equal(moment.Time) {
			moment.Time = wire.InZone(t)
		}
	}
	return moment
}

func (f *fields) uuid(raw json.RawMessage, where ...any) string {
	var text string
	_ = wire.Unmarshal(raw, &text) // what is no text is no UUID
	id, err := uuid.Parse(text)
	if err != nil {
		f.refuse(raw, "uuid_parsing", "Input should be a valid UUID", where...)
		return ""
	}
	return id.String()
}

// list reads the items of a list, which may be missing.
func (f *fields) list(name string) []json.RawMessage {
	raw, ok := f.given(name)
	if !ok {
		return nil
	}
	if all, ok := f.values[name]; ok {
		raw = mustJSON(all)
	}
	var items []json.RawMessage
	if wire.Unmarshal(raw, &items) != nil {
		f.refuse(raw, "list_type", "Input should be a valid list", name)
		return nil
	}
	if f.refuseLong(name, len(items), f.maxItems) {
		return nil
	}
	return items
}

func (f *fields) refuseLong(name string, items, most int) bool {
	if items > most {
		f.refuse(json.RawMessage(strconv.Itoa(items)), "too_long",
			fmt.Sprintf("List should have at most %d items", most), name)
	}
	return items > most
}

// bytes reads base64. What is wrong with it is not repeated: it may be long.
func (f *fields) bytes(name string) (content []byte) {
	if raw, ok := f.given(name); ok && wire.Unmarshal(raw, &content) != nil {
		f.refuse(mustJSON(""), "bytes_type", "Input should be valid base64", name)
	}
	return content
}

func (f *fields) texts(name string) []string {
	var texts []string
	for i, raw := range f.list(name) {
		texts = append(texts, f.text(raw, 0, f.maxRunes, name, i))
	}
	return texts
}

// numbers reads a list of whole numbers.
func (f *fields) numbers(name string) []int {
	var numbers []int
	for i, raw := range f.list(name) {
		n, err := strconv.Atoi(strings.Trim(string(raw), `" `))
		if err != nil {
			f.refuse(raw, "int_parsing", notAnInteger, name, i)
		}
		numbers = append(numbers, n)
	}
	return numbers
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
	if wire.Unmarshal(raw, &value) == nil && slices.Contains(known, value) {
		return value
	}
	text := "'" + strings.Join(known, "', '") + "'"
	if last := len(known) - 1; last > 0 {
		text = "'" + strings.Join(known[:last], "', '") + "' or '" + known[last] + "'"
	}
	f.refuse(raw, "enum", "Input should be "+text, where...)
	return ""
}

// enumOr reads a string that may be missing, one of the known ones.
func (f *fields) enumOr(name, otherwise string, known ...string) string {
	if raw, ok := f.given(name); ok {
		return f.enum(raw, known, name)
	}
	return otherwise
}

// dictionary checks that a field is an object, if it is given. Its content is ignored.
func (f *fields) dictionary(name string) {
	var object map[string]json.RawMessage
	if raw, ok := f.given(name); ok && wire.Unmarshal(raw, &object) != nil {
		f.refuse(raw, "dict_type", notADictionary, name)
	}
}

// object reads a value that must itself be an object.
func (f *fields) object(raw json.RawMessage, where ...any) *fields {
	inner := newFields("")
	inner.where = slices.Concat(f.where, where)
	if wire.Unmarshal(raw, &inner.raw) != nil || inner.raw == nil {
		f.refuse(raw, "model_attributes_type", notAnObject, where...)
		return nil
	}
	return inner
}

// nested reads an object, which may be missing.
func nested[T any](f *fields, name string, read func(*fields) T) *T {
	raw, ok := f.given(name)
	if !ok {
		return nil
	}
	inner := f.object(raw, name)
	if inner == nil {
		return nil
	}
	value := read(inner)
	f.problems = append(f.problems, inner.problems...)
	return &value
}

// objects reads a list of objects.
func objects[T any](f *fields, name string, read func(*fields) T) (values []T) {
	for i, raw := range f.list(name) {
		if object := f.object(raw, name, i); object != nil {
			values = append(values, read(object))
			f.problems = append(f.problems, object.problems...)
		}
	}
	return values
}

// requireEnum reads a string that must be given, one of the known ones.
func (f *fields) requireEnum(name string, known []string) string {
	if !f.require(name) {
		return ""
	}
	return f.enum(f.raw[name], known, name)
}

// numbered returns a route about what has the number id of its path, which field is in errors.
func numbered(field string, do func(c *call, id int) any) responder {
	return func(c *call) any {
		id := c.pathNumber("id", field)
		check(c.failure())
		return do(c, id)
	}
}

// pathNumber reads a number of the path. An error in the path is the only one that is answered.
func (c *call) pathNumber(name, field string) int {
	id, err := strconv.Atoi(c.PathValue(name))
	if err != nil {
		f := newFields("path")
		f.refuse(mustJSON(c.PathValue(name)), "int_parsing", notAnInteger, field)
		c.broken = f.failure()
	}
	return id
}

// pathSession reads the id of a chat session of the path.
func (c *call) pathSession() string {
	f := newFields("path")
	id := f.uuid(mustJSON(c.PathValue("id")), "session_id")
	if err := f.failure(); err != nil {
		c.broken = err
	}
	return id
}
