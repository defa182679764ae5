package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client/wire"
	"quarry/internal/text"
)

// fromForms are arguments that clients add to calls of tools that have none.
const fromForms = "random_string dummy placeholder _placeholder noop kwargs args __arg1"

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
func prepare(request *sdk.CallToolRequest, tools []*sdk.Tool) error {
	schema := schemaOf(request.Params.Name, tools)
	if schema == nil {
		return nil // the library refuses unknown tools
	}
	given := map[string]json.RawMessage{}
	if raw := bytes.TrimSpace(request.Params.Arguments); len(raw) > 0 && !isUnset(raw) { // PHP writes [] for {}
		if wire.Unmarshal(raw, &given) != nil {
			return mistake("send an object of the tool's arguments", "the arguments are not a JSON object")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		field, value := schema.Properties[name], bytes.TrimSpace(given[name])
		isRequired := slices.Contains(schema.Required, name) && string(value) != "null"
		switch {
		case isUnset(value) && !isRequired, field == nil && text.IsAmong(name, fromForms):
			delete(given, name)
		case field == nil:
			return unknownArgument(name, schema)
		default:
			fitting, ok := fit(field, given[name])
			if !ok {
				return mistake("give "+kindOf(field)+", or omit it if it is not required", "%s must be %s", name,
					kindOf(field))
			}
			given[name] = fitting
		}
	}
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			return mistake("give it: "+kindOf(schema.Properties[name]), "missing argument %s", name)
		}
	}
	var err error
	request.Params.Arguments, err = json.Marshal(given)
	return err
}

func schemaOf(tool string, tools []*sdk.Tool) *jsonschema.Schema {
	for _, t := range tools {
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
	return mistake(hint, "unknown argument %q", text.Shorten(text.OneLine(name), 64))
}

// fit returns a value that a field takes: numbers above the maximum become it, and lists lose what is unset in them.
func fit(field *jsonschema.Schema, value json.RawMessage) (json.RawMessage, bool) {
	var number float64
	if field.Type == "integer" && field.Maximum != nil && wire.Unmarshal(value, &number) == nil &&
		number > *field.Maximum {
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

const badID = "the id of a request must be a string, or a whole number of at most 15 digits"

// checkID reports whether the id of a message comes back as it was sent, and returns it: the library turns numbers into
// floating point, and takes a request with null for a notification, whose sender would wait for ever.
func checkID(message []byte) (id json.RawMessage, ok bool) {
	const exact = 1e15 // whole numbers below it are exact in every implementation
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	if wire.Unmarshal(message, &head) != nil || len(head.ID) == 0 {
		return head.ID, true // what is no message is refused later
	}
	if text := ""; head.ID[0] == '"' {
		err := wire.Unmarshal(head.ID, &text)
		// Half a surrogate would come back as that.
		return head.ID, err == nil && !strings.ContainsRune(text, utf8.RuneError)
	}
	if head.ID[0] != '-' && (head.ID[0] < '0' || head.ID[0] > '9') {
		return nil, false // an answer can have none of these either
	}
	n, err := strconv.ParseInt(string(head.ID), 10, 64)
	return head.ID, err == nil && n > -exact && n < exact
}

// bodyError is why a body is refused, with the id of the message.
type bodyError struct {
	id     json.RawMessage
	reason string
}

func (e *bodyError) Error() string { return e.reason }

// checkBody bounds the messages in a body, and checks their ids. What is no JSON is left to the library.
func checkBody(body []byte) error {
	var messages []json.RawMessage // empty: what is decoded into a slice of body would overwrite it
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		messages = append(messages, body)
	} else if wire.Unmarshal(body, &messages) != nil {
		return nil
	}
	if len(messages) > maxBatch {
		return &bodyError{reason: fmt.Sprintf("a batch must not have more than %d messages", maxBatch)}
	}
	for _, message := range messages {
		if id, ok := checkID(message); !ok {
			return &bodyError{id, badID}
		}
	}
	return nil
}

func refuseBody(w http.ResponseWriter, err error) {
	refused, ok := errors.AsType[*bodyError](err)
	if !ok {
		refused = &bodyError{reason: "the body cannot be read, or is too large"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(refusal(refused.id, jsonrpc.CodeInvalidRequest, refused.reason))
}

// refusing answers a message that is refused in plain text, as one of an unknown method is, with an error of JSON-RPC.
type refusing struct {
	http.ResponseWriter
	id    json.RawMessage
	plain bool
}

func (w *refusing) WriteHeader(status int) {
	header := w.Header()
	w.plain = status == http.StatusBadRequest && strings.HasPrefix(header.Get("Content-Type"), "text/plain")
	if w.plain {
		header.Set("Content-Type", "application/json")
		header.Del("Content-Length")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *refusing) Write(data []byte) (int, error) {
	if !w.plain {
		return w.ResponseWriter.Write(data)
	}
	code, reason := int64(jsonrpc.CodeInvalidRequest), strings.TrimSpace(string(data))
	if method, unsupported := strings.CutSuffix(reason, " unsupported"); unsupported {
		code, reason = jsonrpc.CodeMethodNotFound,
			"unknown method "+strings.TrimPrefix(method, "JSON RPC not handled: ")
	}
	_, err := w.ResponseWriter.Write(refusal(w.id, code, reason))
	return len(data), err
}

// Unwrap lets streams be flushed.
func (w *refusing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refusal is the answer to a message, which may have no id.
func refusal(id json.RawMessage, code int64, reason string) []byte {
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, // numbers and texts always encode
		"error": jsonrpc.Error{Code: code, Message: reason}})
	return answer
}
