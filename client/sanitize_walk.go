package client

import (
	"net/url"
	"reflect"
	"strings"

	"quarry/client/wire"
)

// sanitizeValue sanitises every string in the value that a pointer refers to: fields, elements and keys of maps. It uses
// reflection so that no new field is forgotten.
func sanitizeValue(into any, local bool) {
	walker{local: local}.walk(reflect.ValueOf(into).Elem(), false)
}

type walker struct{ local bool }

var (
	resultType   = reflect.TypeFor[wire.SearchResult]()
	documentType = reflect.TypeFor[wire.DocumentInfo]()
	foundType    = reflect.TypeFor[wire.SearchDoc]()
)

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
	if t == resultType {
		sanitizeContent(v.Addr().Interface().(*wire.SearchResult))
	}
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() && mayHaveText(field.Type) {
			w.walk(v.Field(i), isMultiline(t, field.Name))
		}
	}
	switch t {
	case resultType:
		result := v.Addr().Interface().(*wire.SearchResult)
		result.Link, result.UpdatedAt = w.link(result.Link), moment(result.UpdatedAt)
	case documentType:
		document := v.Addr().Interface().(*wire.DocumentInfo)
		document.Link, document.UpdatedAt = w.link(document.Link), moment(document.UpdatedAt)
	case foundType:
		document := v.Addr().Interface().(*wire.SearchDoc)
		document.Link, document.UpdatedAt = w.link(document.Link), moment(document.UpdatedAt)
	}
}

// isMultiline reports whether the text of a field may have several lines.
func isMultiline(owner reflect.Type, field string) bool {
	switch field {
	case "Content", "LLMFacingText", "Blurb", "SystemPrompt", "TaskPrompt", "Message", "UserPreferences",
		"Reasoning":
		return true
	case "Description":
		return owner == reflect.TypeFor[wire.Persona]()
	}
	return false
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
	switch strings.ToLower(parsed.Scheme) {
	case "http", "https":
		if parsed.Host == "" {
			return nil
		}
	case "mailto":
	case "file":
		if !w.local {
			return nil
		}
	default:
		return nil
	}
	return link
}

// moment returns a date that can be parsed; else nil.
func moment(text *string) *string {
	if text == nil {
		return nil
	}
	if _, err := wire.ParseTime(*text); err != nil {
		return nil
	}
	return text
}
