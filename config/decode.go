package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"

	"quarry/client/wire"
)

// decode sets the values of a file or of the environment, which are texts, in the configuration. An unknown key, or a
// value of the wrong type, is an error; of several the first in the file is returned.
func (l *loader) decode(values map[string]any) error {
	var metadata mapstructure.Metadata
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: l.config, Metadata: &metadata, ZeroFields: true,
		DecodeHook: mapstructure.DecodeHookFuncType(decodeText),
		MatchName:  func(key, field string) bool { return key == field },
	})
	if err != nil {
		return fmt.Errorf("decode the configuration: %w", err)
	}
	var failures []*Error
	err = decoder.Decode(values)
	for _, failure := range decodeErrors(err) {
		failures = append(failures, l.invalid(keyPath(failure.Name()), failure.Unwrap()))
	}
	for _, name := range metadata.Unused {
		failures = append(failures, l.unknownKey(keyPath(name)))
	}
	if len(failures) == 0 {
		return err
	}
	return slices.MinFunc(failures, func(a, b *Error) int { return a.Line - b.Line })
}

func decodeErrors(err error) []*mapstructure.DecodeError {
	var all []*mapstructure.DecodeError
	switch e := err.(type) {
	case *mapstructure.DecodeError:
		return append(all, e)
	case interface{ Unwrap() error }:
		return decodeErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, decodeErrors(one)...)
		}
	}
	return all
}

// keyPath turns the name that mapstructure gives a value, such as profiles[work].token, into its key.
func keyPath(name string) string { return strings.NewReplacer("[", ".", "]", "").Replace(name) }

// decodeText converts a text to the type of its key.
func decodeText(from, to reflect.Type, data any) (any, error) {
	if to.Kind() == reflect.Pointer {
		return data, nil
	}
	text, isText := data.(string)
	isGroup := from.Kind() == reflect.Map
	var value any = text
	var err error
	want := "text"
	switch to {
	case reflect.TypeFor[[]string]():
		if isText {
			return []string{text}, nil
		}
		if isGroup {
			return nil, wrongType(from, "a list of texts")
		}
		return data, nil
	case reflect.TypeFor[bool]():
		want = "on or off"
		value, err = parseBool(text)
	case reflect.TypeFor[int]():
		want = "a whole number"
		value, err = parseNumber(text)
	case reflect.TypeFor[Secret]():
		secret := NewSecret(strings.TrimSpace(text))
		value, err = secret, checkSecret(secret)
	case reflect.TypeFor[Agent]():
		value, err = ParseAgent(text)
	case reflect.TypeFor[Rate]():
		value, err = ParseRate(text)
	case reflect.TypeFor[string]():
	default:
		if !isGroup {
			return nil, wrongType(from, "a group of keys")
		}
		return data, nil
	}
	if !isText {
		return nil, wrongType(from, want)
	}
	return value, err
}

func wrongType(from reflect.Type, want string) error {
	is := "text"
	switch from.Kind() {
	case reflect.Map:
		is = "a group of keys"
	case reflect.Slice:
		is = "a list"
	}
	return fmt.Errorf("is %s, not %s", is, want)
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true", "yes", "1":
		return true, nil
	case "off", "false", "no", "0":
		return false, nil
	}
	return false, errors.New("is not on or off")
}

func parseNumber(text string) (int, error) {
	value, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(text), "_", ""))
	if err != nil {
		return 0, errors.New("is not a whole number")
	}
	return value, nil
}

// key is a key of the file, with <name> for the name of a profile or provider.
type key struct {
	path  string
	value reflect.Type
}

// keysOf lists the keys below path that a type has fields for.
func keysOf(group reflect.Type, path string) []key {
	var keys []key
	for i := range group.NumField() {
		name := group.Field(i).Tag.Get("mapstructure")
		if name == "" || name == "-" {
			continue
		}
		value := group.Field(i).Type
		name = joinKey(path, name)
		keys = append(keys, key{name, value})
		if value.Kind() == reflect.Map {
			value, name = value.Elem(), joinKey(name, "<name>")
		}
		if value.Kind() == reflect.Struct {
			keys = append(keys, keysOf(value, name)...)
		}
	}
	return keys
}

// environmentKeys are the keys that environment variables can set: those with a single value or a list. The active
// profile is not among them: the environment names a server itself.
func environmentKeys() []key {
	all := keysOf(reflect.TypeFor[Config](), "")
	return slices.DeleteFunc(all, func(k key) bool {
		isGroup := slices.ContainsFunc(all, func(other key) bool { return strings.HasPrefix(other.path, k.path+".") })
		return isGroup || k.value.Kind() == reflect.Map || k.path == "active" || strings.Contains(k.path, "<name>")
	})
}

// hasNames reports whether the keys of a group are names that the user chose.
func hasNames(group string) bool {
	return group == "profiles" || group == "keys" || group == "llm.providers"
}

func joinKey(group, name string) string {
	if group == "" {
		return name
	}
	return group + "." + name
}

// unknownKey names the nearest key of the same group, or else of all.
func (l *loader) unknownKey(path string) *Error {
	group, name := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		group, name = path[:dot], path[dot+1:]
	}
	pattern := group
	if dot := strings.LastIndexByte(group, '.'); dot >= 0 && hasNames(group[:dot]) {
		pattern = group[:dot] + ".<name>"
	}
	var all, siblings []string
	for _, k := range keysOf(reflect.TypeFor[Config](), "") {
		all = append(all, k.path)
		sibling, inGroup := strings.CutPrefix(k.path, joinKey(pattern, ""))
		if inGroup && !strings.Contains(sibling, ".") {
			siblings = append(siblings, sibling)
		}
	}
	e := l.invalid(path, errors.New("unknown key"))
	nearest := wire.Nearest(name, siblings)
	if nearest == "" {
		nearest = nearestKey(path, all)
	} else {
		nearest = joinKey(group, nearest)
	}
	if nearest == "" {
		e.Fix = "remove it, or use a newer quarry if that wrote it; known here: " + strings.Join(siblings, ", ")
		return e
	}
	e.Problem += "; the nearest is " + clip(nearest)
	e.Fix = fmt.Sprintf("write %s, or remove the key (a newer quarry may know it)", clip(nearest))
	return e
}

// nearestKey also compares last parts, so that a key written at the wrong level is found.
func nearestKey(path string, known []string) string {
	if best := wire.Nearest(path, known); best != "" {
		return best
	}
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	tails := make([]string, len(known))
	for i, key := range known {
		tails[i] = last(key)
	}
	if best := wire.Nearest(last(path), tails); best != "" {
		return known[slices.Index(tails, best)]
	}
	return ""
}
