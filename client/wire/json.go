package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// The errors of Unmarshal. They have the texts and the fields of encoding/json's.
type (
	SyntaxError        = jsonv1.SyntaxError
	UnmarshalTypeError = jsonv1.UnmarshalTypeError
)

// Unmarshal decodes JSON as encoding/json does, except that it matches keys exactly: encoding/json also accepts "Title"
// for "title", so that it reads other fields than the program that wrote them, or a check before it, saw.
func Unmarshal(data []byte, into any) error {
	return plain(json.Unmarshal(data, into, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false)))
}

// shapeError is the error of a value of another type than its field. Its text names no types of this program.
type shapeError struct{ of *UnmarshalTypeError }

func plain(err error) error {
	if shape, ok := err.(*UnmarshalTypeError); ok {
		return shapeError{shape}
	}
	return err
}

func (e shapeError) Error() string {
	value := "unexpected " + e.of.Value
	if e.of.Field == "" {
		return value
	}
	return value + " in " + strings.TrimPrefix(e.of.Field, ".")
}

func (e shapeError) Unwrap() error { return e.of }

// Decoder decodes one JSON value after the other as Unmarshal does.
type Decoder struct{ in *jsontext.Decoder }

// NewDecoder returns a decoder of what r reads.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{jsontext.NewDecoder(r, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false))}
}

// Decode decodes the next value. At the end of the input its error is io.EOF.
func (d *Decoder) Decode(into any) error { return plain(json.UnmarshalDecode(d.in, into)) }

// EditJSON copies JSON token by token. edit is called with each token after it was read, writes what takes its place,
// and may read or skip more; isName is set at the place of a member's name, or the end of an object.
func EditJSON(data []byte, edit func(in *jsontext.Decoder, out *jsontext.Encoder, token jsontext.Token,
	isName bool) error,
	options ...jsontext.Options) ([]byte, error) {
	var text bytes.Buffer
	in, out := jsontext.NewDecoder(bytes.NewReader(data), options...), jsontext.NewEncoder(&text, options...)
	for {
		container, members := in.StackIndex(in.StackDepth())
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return text.Bytes(), nil
		}
		if err == nil {
			err = edit(in, out, token, container == jsontext.KindBeginObject && members%2 == 0)
		}
		if err != nil {
			return nil, err
		}
	}
}

// LowerKeys returns JSON without the members of objects whose keys are not in lower case. Libraries of other APIs
// decode by encoding/json; where an API has only lower-case names, they match the keys of what is left exactly. Beyond
// ASCII, only U+017F and U+212A fold to ASCII letters.
func LowerKeys(data []byte) ([]byte, error) {
	return EditJSON(data, func(in *jsontext.Decoder, out *jsontext.Encoder, token jsontext.Token, isName bool) error {
		if isName && token.Kind() == jsontext.KindString && strings.ContainsFunc(token.String(), func(r rune) bool {
			return r >= 'A' && r <= 'Z' || r == '\u017f' || r == '\u212a'
		}) {
			return in.SkipValue()
		}
		return out.WriteToken(token)
	}, jsonv1.DefaultOptionsV1())
}

// FillEmpty puts an empty list or map where the value that into points to has none, so that every field is written as
// the contract says: never null where a list or an object belongs. Fields with omitempty or omitzero stay absent.
func FillEmpty(into any) { fillEmpty(reflect.ValueOf(into).Elem()) }

func fillEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			if v.Type().Elem().Kind() != reflect.Struct {
				return
			}
			fillEmpty(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !strings.Contains(field.Tag.Get("json"), ",omit") {
				fillEmpty(v.Field(i))
			}
		}
	}
}
