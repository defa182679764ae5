package cli

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"quarry/internal/guard"
)

// encodeJSON writes a value on one line, or indented by two spaces. A missing list or map is an empty one, and
// characters of HTML stay as they are.
func encodeJSON(value any, indent bool) string {
	options := []json.Options{jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
		json.FormatNilSliceAsNull(false), json.FormatNilMapAsNull(false)}
	if indent {
		options = append(options, jsontext.WithIndent("  "))
	}
	encoded, err := json.Marshal(value, options...)
	guard.While("encode the answer", err)
	return string(encoded) + "\n"
}

// object is a JSON object with its keys in order.
type object []member

// member is a key with its value.
type member struct {
	key     string
	value   any
	leftOut bool // it is optional and has no value
}

// objectOf returns the fields of a struct in order, under the names of their json tags.
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
		one := v.FieldByIndex(f.Index)
		isList := one.Kind() == reflect.Slice || one.Kind() == reflect.Map
		leftOut := options != "" && one.IsZero() || options == "omitempty" && isList && one.Len() == 0
		o = append(o, member{name, one.Interface(), leftOut})
	}
	return o
}

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() (written []byte, err error) {
	defer guard.End(&err)
	written = []byte{'{'}
	for _, f := range o {
		if f.leftOut {
			continue
		}
		if len(written) > 1 {
			written = append(written, ',')
		}
		written = append(strconv.AppendQuote(written, f.key), ':')
		written = append(written, strings.TrimSuffix(encodeJSON(f.value, false), "\n")...)
	}
	return append(written, '}'), nil
}
