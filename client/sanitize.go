package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Sanitize makes foreign text safe to show on a terminal: it removes whole escape sequences, control characters except
// line feed and tab, and characters that hide or reorder text, and replaces invalid UTF-8. Joiners and variation
// selectors are kept, for emoji and scripts that need them.
func Sanitize(s string) string {
	clean, _ := sanitize(s, false, new(wire.SpanMover))
	return clean
}

// sanitizeLine is Sanitize for a single line: line feeds and tabs become spaces.
func sanitizeLine(s string) string {
	clean, _ := sanitize(s, true, new(wire.SpanMover))
	return clean
}

// SanitizeSpans is Sanitize for text with marked ranges. The ranges are moved along so that they mark the same visible
// text, clamped to it, widened to whole characters, sorted, and merged where they touch or overlap; empty ones go.
func SanitizeSpans(s string, spans ...wire.Span) (string, []wire.Span) {
	mover := wire.NewSpanMover(s, spans)
	clean, _ := sanitize(s, false, mover)
	return clean, mover.Spans()
}

// sanitize implements Sanitize. It reports whether anything changed, and passes every piece to the mover.
func sanitize(s string, oneLine bool, mover *wire.SpanMover) (clean string, changed bool) {
	var out strings.Builder
	copied := 0 // the text before is in out, or removed
	for at := 0; at < len(s); {
		start := out.Len() + at - copied
		if width := text.PlainWidth(s[at:]); width > 0 {
			mover.Keep(at, at+width, start)
			at += width
			continue
		}
		width, replacement, keep := piece(s[at:], oneLine)
		if keep {
			mover.Replace(at, at+width, start, start+width)
			at += width
			continue
		}
		mover.Replace(at, at+width, start, start+len(replacement))
		out.WriteString(s[copied:at])
		out.WriteString(replacement)
		at += width
		copied = at
	}
	if copied == 0 {
		return s, false
	}
	out.WriteString(s[copied:])
	return out.String(), true
}

// piece returns the width in bytes of the first character or escape sequence, and its replacement unless it is kept.
func piece(s string, oneLine bool) (width int, replacement string, keep bool) {
	c := s[0]
	switch {
	case c == '\n' || c == '\t':
		if oneLine {
			return 1, " ", false
		}
		return 1, "", true
	case c == 0x1b:
		return text.EscapeWidth(s), "", false
	case c < utf8.RuneSelf:
		return 1, "", false
	}
	r, width := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && width == 1:
		return 1, string(utf8.RuneError), false
	case r >= 0x80 && r < 0xa0:
		return text.EscapeWidth(s), "", false
	case r == 0x2028 || r == 0x2029:
		if oneLine {
			return width, " ", false
		}
		return width, "\n", false
	case hidesText(r):
		return width, "", false
	}
	return width, "", true
}

// hidesText reports whether a character is invisible and reorders or hides text.
func hidesText(r rune) bool {
	switch {
	case r == 0x061c, r == 0x180e, r == 0x200e, r == 0x200f, r == 0xfeff,
		r >= 0x202a && r <= 0x202e,   // embeddings and overrides
		r >= 0x2061 && r <= 0x2064,   // invisible operators
		r >= 0x2066 && r <= 0x206f,   // isolates, deprecated format controls
		r >= 0xfff9 && r <= 0xfffb,   // interlinear annotation
		r >= 0x1d173 && r <= 0x1d17a, // musical format controls
		r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}

// sanitizeValue sanitises every string in the value that a pointer refers to: fields, elements and keys of maps. It
// uses reflection so that no new field is forgotten.
func sanitizeValue(into any, local bool) {
	walker{local: local}.walk(reflect.ValueOf(into).Elem(), false)
}

type walker struct{ local bool }

// walk sanitises a settable value. Line feeds and tabs are kept only if multiline.
func (w walker) walk(v reflect.Value, multiline bool) {
	switch v.Kind() {
	case reflect.String:
		if clean, changed := sanitize(v.String(), !multiline, new(wire.SpanMover)); changed {
			v.SetString(clean)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			w.walk(v.Elem(), multiline)
		}
	case reflect.Interface:
		w.walkInterface(v)
	case reflect.Slice, reflect.Array:
		if mayHaveText(v.Type().Elem()) {
			for i := range v.Len() {
				w.walk(v.Index(i), multiline)
			}
		}
	case reflect.Map:
		w.walkMap(v)
	case reflect.Struct:
		w.walkStruct(v)
	}
}

// mayHaveText reports whether values of a type can contain text; long lists of numbers are skipped.
func mayHaveText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return true
	}
	return false
}

// walkInterface replaces the interface's value, which cannot be changed in place.
func (w walker) walkInterface(v reflect.Value) {
	if v.IsNil() {
		return
	}
	changed := reflect.New(v.Elem().Type()).Elem()
	changed.Set(v.Elem())
	w.walk(changed, true)
	v.Set(changed)
}

// walkMap rebuilds a map, whose keys and elements cannot be changed in place. Of keys that become equal one is kept.
func (w walker) walkMap(v reflect.Value) {
	if v.IsNil() || v.Len() == 0 {
		return
	}
	clean := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(entries.Key())
		element.Set(entries.Value())
		w.walk(key, false)
		w.walk(element, false)
		clean.SetMapIndex(key, element)
	}
	v.Set(clean)
}

func (w walker) walkStruct(v reflect.Value) {
	t := v.Type()
	switch marked := v.Addr().Interface().(type) {
	case *wire.SearchResult:
		sanitizeContent(marked)
	case *wire.Chunk:
		marked.Content, marked.Highlights = SanitizeSpans(marked.Content, marked.Highlights...)
	}
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() && mayHaveText(field.Type) {
			w.walk(v.Field(i), isMultiline(t, field.Name))
		}
	}
	switch document := v.Addr().Interface().(type) {
	case *wire.SearchResult:
		document.Link, document.UpdatedAt = w.link(document.Link), moment(document.UpdatedAt)
	case *wire.DocumentInfo:
		document.Link, document.UpdatedAt = w.link(document.Link), moment(document.UpdatedAt)
	case *wire.SearchDoc:
		document.Link, document.UpdatedAt = w.link(document.Link), moment(document.UpdatedAt)
	}
}

// isMultiline reports whether the text of a field may have several lines.
func isMultiline(owner reflect.Type, field string) bool {
	return text.IsAmong(field,
		"Content LLMFacingText Blurb SystemPrompt TaskPrompt Message UserPreferences Reasoning") ||
		field == "Description" && owner == reflect.TypeFor[wire.Persona]()
}

// sanitizeContent sanitises a result's content and moves its marked ranges along.
func sanitizeContent(result *wire.SearchResult) {
	_, best := SanitizeSpans(result.Content, result.BestPassage)
	result.Content, result.Highlights = SanitizeSpans(result.Content, result.Highlights...)
	result.BestPassage = wire.Span{}
	if len(best) > 0 {
		result.BestPassage = best[0]
	}
}

// link returns an address that is safe to open: http, https, mailto, and file from this machine's library; else nil.
func (w walker) link(link *string) *string {
	if link == nil {
		return nil
	}
	parsed, err := url.Parse(strings.TrimSpace(*link))
	if err != nil {
		return nil
	}
	safe := map[string]bool{"http": parsed.Host != "", "https": parsed.Host != "", "mailto": true, "file": w.local}
	if !safe[parsed.Scheme] {
		return nil
	}
	return link
}

// moment returns a date that can be parsed; else nil.
func moment(text *string) *string {
	if text != nil {
		if _, err := wire.ParseTime(*text); err == nil {
			return text
		}
	}
	return nil
}

// sanitizeRaw sanitises every text of a search's answer: order, numbers and unknown fields stay. Marked ranges of
// results are moved along with their text.
func sanitizeRaw(body []byte) (json.RawMessage, error) {
	var answer struct {
		Results []wire.SearchResult `json:"results"`
	}
	if err := wire.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	moved := map[string]any{}
	for i, result := range answer.Results {
		if Sanitize(result.Content) != result.Content {
			sanitizeContent(&result)
			moved[fmt.Sprintf("/results/%d/highlights", i)] = result.Highlights
			moved[fmt.Sprintf("/results/%d/best_passage", i)] = result.BestPassage
		}
	}
	return sanitizeJSON(body, moved)
}

// sanitizeJSON sanitises every text of JSON. The members that replaced names, by their JSON pointers, get other values.
func sanitizeJSON(text []byte, replaced map[string]any) (json.RawMessage, error) {
	clean, err := wire.EditJSON(text, func(in *jsontext.Decoder, out *jsontext.Encoder, token jsontext.Token,
		isName bool) error {
		if token.Kind() == jsontext.KindString {
			token = jsontext.String(Sanitize(token.String()))
		}
		err := out.WriteToken(token)
		value, found := replaced[string(in.StackPointer())]
		if err != nil || !isName || !found {
			return err
		}
		encoded, err := json.Marshal(value)
		return errors.Join(err, in.SkipValue(), out.WriteValue(encoded))
	}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return bytes.TrimSpace(clean), err
}
