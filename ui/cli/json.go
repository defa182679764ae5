package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// encodeJSON writes a value on one line, or indented by two spaces. Characters of HTML stay as they are.
func encodeJSON(value any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if indent {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(plainJSON(value)); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b.Bytes(), nil
}

// plainJSON returns what is encoded for a value: structs become objects, and a missing list is an empty one.
func plainJSON(value any) any {
	v := reflect.ValueOf(value)
	if _, encodes := value.(json.Marshaler); encodes && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return value
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return plainJSON(v.Elem().Interface())
		}
	case reflect.Struct:
		return objectOf(value)
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice:
			list := make([]any, v.Len())
			for i := range list {
				list[i] = plainJSON(v.Index(i).Interface())
			}
			return list
		}
		if v.IsNil() {
			return []any{}
		}
	case reflect.Map:
		if v.IsNil() {
			return object{}
		}
	}
	return value
}

// object is a JSON object with its keys in order.
type object []member

// member is a key with its value. A key that ends in "?" is left out with a zero or empty value.
type member struct {
	key   string
	value any
}

// name is the key as it is printed.
func (f member) name() string { return strings.TrimSuffix(f.key, "?") }

// isLeftOut reports whether the field is optional and has no value.
func (f member) isLeftOut() bool {
	if f.name() == f.key {
		return false
	}
	value := reflect.ValueOf(f.value)
	isList := value.Kind() == reflect.Slice || value.Kind() == reflect.Map
	return !value.IsValid() || value.IsZero() || isList && value.Len() == 0
}

// everyKey as the type of a struct's field keeps the optional keys of that struct when it is true, also without a
// value.
type everyKey bool

// objectOf returns the fields of a struct in order, under the names of their json tags. Optional ones are those with
// omitempty or omitzero. A list whose description says so is null where it is missing.
func objectOf(value any) object {
	if known, isObject := value.(object); isObject {
		return known
	}
	v, o := reflect.Indirect(reflect.ValueOf(value)), object{}
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if options != "" && !keepsEvery(v.FieldByIndex(f.Index[:len(f.Index)-1])) {
			name += "?"
		}
		one := member{name, nil}
		if fieldValue := v.FieldByIndex(f.Index); fieldValue.Kind() != reflect.Slice || !fieldValue.IsNil() || !isNullable(f) {
			one.value = fieldValue.Interface()
		}
		o = append(o, one)
	}
	return o
}

func keepsEvery(v reflect.Value) bool {
	for i := range v.NumField() {
		if v.Type().Field(i).Type == reflect.TypeFor[everyKey]() {
			return v.Field(i).Bool()
		}
	}
	return false
}

// isNullable reports whether a list may be null, which its description then says.
func isNullable(f reflect.StructField) bool { return strings.Contains(f.Tag.Get("jsonschema"), "null") }

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	written := []byte{'{'}
	for _, f := range o {
		if f.isLeftOut() {
			continue
		}
		encoded, err := encodeJSON(f.value, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name(), err)
		}
		if len(written) > 1 {
			written = append(written, ',')
		}
		written = append(strconv.AppendQuote(written, f.name()), ':')
		written = append(written, bytes.TrimSuffix(encoded, []byte("\n"))...)
	}
	return append(written, '}'), nil
}
