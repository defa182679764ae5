package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"quarry/internal/pattern"
)

// Profile writes a T, such as a passage or what embeds one, as a JSON object of chosen keys in a chosen order. What is
// written, its JSON Schema and what is read back follow from the same list.
type Profile[T any] struct{ plan func() profilePlan }

type profilePlan struct {
	keys []profileKey
	of   reflect.Type // a struct of these keys
}

type profileKey struct {
	index   []int // of the field in a T
	pointed bool  // the field is a pointer to what is written
	falsely bool  // a pointer to the field is written, where that is false
}

// NewProfile returns the profile of keys of T, which white space separates. A key is written as
//
//	[NAME=]KEY[?|!|+][(DESCRIPTION)]
//
// where NAME takes the place of the key; ? leaves it out without a value; ! leaves out true; + writes 0 or "" in place
// of null; and DESCRIPTION takes the place of the field's own in the JSON Schema. A key that T has not panics at first
// use.
func NewProfile[T any](keys string) Profile[T] {
	return Profile[T]{sync.OnceValue(func() profilePlan { return planOf(reflect.TypeFor[T](), keys) })}
}

var writtenKey = pattern.Lazy(`([^\s(]+)(\(([^)]*)\))?`)

func planOf(t reflect.Type, keys string) profilePlan {
	known := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			known[name] = f
		}
	}
	var plan profilePlan
	var fields []reflect.StructField
	for _, written := range writtenKey().FindAllStringSubmatch(keys, -1) {
		key, described, description := written[1], written[2] != "", written[3]
		key, optional := strings.CutSuffix(key, "?")
		key, falsely := strings.CutSuffix(key, "!")
		key, never := strings.CutSuffix(key, "+")
		name, key, renamed := strings.Cut(key, "=")
		if !renamed {
			key = name
		}
		f, ok := known[key]
		if !ok {
			panic(fmt.Sprintf("%s has no key %q", t, key))
		}
		if !described {
			description = f.Tag.Get("jsonschema")
		}
		one := profileKey{index: f.Index, falsely: falsely}
		tag := name
		if optional || falsely {
			tag += ",omitempty"
		}
		switch one.pointed = (optional || never) && isPlainPointer(f.Type); {
		case one.pointed:
			f.Type = f.Type.Elem()
		case falsely:
			f.Type = reflect.PointerTo(f.Type)
		}
		f.Tag = reflect.StructTag("json:" + strconv.Quote(tag))
		if description != "" {
			f.Tag += reflect.StructTag(" jsonschema:" + strconv.Quote(description))
		}
		plan.keys = append(plan.keys, one)
		fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
	}
	plan.of = reflect.StructOf(fields)
	return plan
}

func isPlainPointer(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Struct
}

// Type returns the type of the struct that Of points to.
func (p Profile[T]) Type() reflect.Type { return p.plan().of }

// Of returns a pointer to a struct with the keys of the profile and no others, which shares the lists of value.
func (p Profile[T]) Of(value *T) any {
	plan := p.plan()
	from, to := reflect.ValueOf(value).Elem(), reflect.New(plan.of)
	for i, key := range plan.keys {
		field := from.FieldByIndex(key.index)
		switch {
		case key.pointed:
			if field.IsNil() {
				continue
			}
			field = field.Elem()
		case key.falsely:
			if field.Bool() {
				continue
			}
			field = field.Addr()
		}
		to.Elem().Field(i).Set(field)
	}
	return to.Interface()
}

// Marshal returns the JSON of a value in the profile.
func (p Profile[T]) Marshal(value *T) ([]byte, error) {
	var text strings.Builder
	err := WriteJSON(&text, p.Of(value))
	return []byte(text.String()), err
}

// Unmarshal sets the fields of the profile's keys from JSON, and leaves the others.
func (p Profile[T]) Unmarshal(text []byte, into *T) error {
	plan := p.plan()
	from, to := reflect.New(plan.of), reflect.ValueOf(into).Elem()
	if err := Unmarshal(text, from.Interface()); err != nil {
		return err
	}
	for i, key := range plan.keys {
		field, value := to.FieldByIndex(key.index), from.Elem().Field(i)
		switch {
		case key.pointed && value.IsZero():
			field.SetZero()
		case key.pointed:
			field.Set(value.Addr())
		case key.falsely:
			field.SetBool(value.IsNil() || value.Elem().Bool())
		default:
			field.Set(value)
		}
	}
	return nil
}

// Only returns a copy of a value without what the profile has no key for.
func (p Profile[T]) Only(value T) (kept T) {
	from, to := reflect.ValueOf(&value).Elem(), reflect.ValueOf(&kept).Elem()
	for _, key := range p.plan().keys {
		to.FieldByIndex(key.index).Set(from.FieldByIndex(key.index))
	}
	return kept
}

// WriteJSON writes a value on one line. Characters of HTML stay as they are.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
