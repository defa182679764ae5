package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of arguments. Lengths are in characters.
const (
	maxQuery    = 2048
	maxName     = 256
	maxNames    = 20
	maxRef      = 4096
	maxLimit    = 25
	maxAround   = 20
	minTokens   = 200
	maxTokens   = 20_000
	searchSize  = 1200 // tokens of the text of search and read, unless the caller asks for another size
	readingSize = 3000
)

// arguments is the schema of a tool's input: an object of these fields and no others.
func arguments(required []string, fields map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: fields, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}

// outputSchema returns the schema of a type. Of some types it is known already.
func outputSchema(t reflect.Type, known map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		panic(err) // a type that JSON cannot have: a mistake in the program
	}
	return s
}

func textField(description string, longest int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, MinLength: new(1), MaxLength: &longest}
}

func namesField(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: description, MaxItems: new(maxNames),
		Items: &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(maxName)}}
}

func numberField(description string, low, high int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: description, Minimum: new(float64(low)), Maximum: new(float64(high))}
}

func sizeField(usual int) *jsonschema.Schema {
	field := numberField("Most tokens of the answer, estimated. What is left out is counted in its last line.", minTokens, maxTokens)
	field.Default, _ = json.Marshal(usual) // a number is always JSON
	return field
}

func flagField(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Description: description}
}

// readOnly annotates a tool that changes nothing. Its results depend on documents outside of this program.
func readOnly(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(true)}
}

// checkText refuses control characters, which no query, name or ref has.
func checkText(name string, values ...string) error {
	for _, value := range values {
		if strings.ContainsFunc(value, isControl) {
			return &problem{what: name + " has control characters", hint: "send plain text"}
		}
		if strings.TrimSpace(value) == "" {
			return &problem{what: name + " is empty", hint: "give a value, or omit the argument"}
		}
	}
	return nil
}

func isControl(r rune) bool {
	return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar
}
