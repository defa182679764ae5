package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client/wire"
	"quarry/internal/text"
)

// fromForms are arguments that clients add to calls of tools that have none.
var fromForms = []string{"random_string", "dummy", "placeholder", "_placeholder", "noop", "kwargs", "args", "__arg1"}

// isUnset reports whether a value stands for an argument that is not given, in the words of several languages.
func isUnset(value json.RawMessage) bool {
	text := string(value)
	if value[0] == '"' && wire.Unmarshal(value, &text) != nil {
		return false
	}
	return slices.Contains([]string{"", "null", "None", "undefined", "[]", "{}"}, strings.TrimSpace(text))
}

// prepare brings the arguments of a call into the form that its schema describes: clients that fill in a form send
// null, "" and the like for what is not set, and models ask for more results than there can be. It returns an error for
// the first argument that is wrong, in words that repeat no value.
func prepare(request *sdk.CallToolRequest) error {
	schema := schemaOf(request.Params.Name)
	if schema == nil {
		return nil // the library refuses unknown tools
	}
	given := map[string]json.RawMessage{}
	if raw := bytes.TrimSpace(request.Params.Arguments); len(raw) > 0 && !isUnset(raw) { // PHP writes [] for {}
		if wire.Unmarshal(raw, &given) != nil {
			return &problem{what: "the arguments are not a JSON object", hint: "send an object of the tool's arguments"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		field, value := schema.Properties[name], bytes.TrimSpace(given[name])
		isRequired := slices.Contains(schema.Required, name) && string(value) != "null"
		switch {
		case isUnset(value) && !isRequired, field == nil && slices.Contains(fromForms, name):
			delete(given, name)
		case field == nil:
			return unknownArgument(name, schema)
		default:
			fitting, ok := fit(field, given[name])
			if !ok {
				return &problem{what: name + " must be " + kindOf(field), hint: "give " + kindOf(field) + ", or omit it if it is not required"}
			}
			given[name] = fitting
		}
	}
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			return &problem{what: "missing argument " + name, hint: "give it: " + kindOf(schema.Properties[name])}
		}
	}
	var err error
	request.Params.Arguments, err = json.Marshal(given)
	return err
}

func schemaOf(tool string) *jsonschema.Schema {
	for _, t := range []*sdk.Tool{searchTool(), readTool(), sourcesTool()} {
		if t.Name == tool {
			schema, _ := t.InputSchema.(*jsonschema.Schema)
			return schema
		}
	}
	return nil
}

func unknownArgument(name string, schema *jsonschema.Schema) error {
	known := slices.Sorted(maps.Keys(schema.Properties))
	hint := "the tool takes no arguments"
	if near := wire.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(known) > 0 {
		hint = "the arguments are " + strings.Join(known, ", ")
	}
	return &problem{what: fmt.Sprintf("unknown argument %q", text.Shorten(text.OneLine(name), 64)), hint: hint}
}

// fit returns a value that a field takes: numbers above the maximum become it, and lists lose what is unset in them.
func fit(field *jsonschema.Schema, value json.RawMessage) (json.RawMessage, bool) {
	var number float64
	if field.Type == "integer" && field.Maximum != nil && wire.Unmarshal(value, &number) == nil && number > *field.Maximum {
		return json.RawMessage(fmt.Sprint(*field.Maximum)), true
	}
	var list []json.RawMessage
	if field.Type == "array" && wire.Unmarshal(value, &list) == nil {
		value, _ = json.Marshal(slices.DeleteFunc(list, isUnset)) // what was decoded can be encoded
	}
	resolved, err := field.Resolve(nil)
	var plain any
	if err != nil || wire.Unmarshal(value, &plain) != nil {
		return nil, false
	}
	return value, resolved.Validate(plain) == nil
}

// kindOf describes what a field takes.
func kindOf(field *jsonschema.Schema) string {
	switch field.Type {
	case "integer":
		return fmt.Sprintf("a whole number from %v to %v", *field.Minimum, *field.Maximum)
	case "boolean":
		return "true or false"
	case "array":
		return fmt.Sprintf("a list of at most %d texts", *field.MaxItems)
	}
	return fmt.Sprintf("a text of 1 to %d characters", *field.MaxLength)
}
