package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"quarry/client/wire"
)

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
		return head.ID, err == nil && !strings.ContainsRune(text, utf8.RuneError) // half a surrogate would come back as that
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
	var refused *bodyError
	if !errors.As(err, &refused) {
		refused = &bodyError{reason: "the body cannot be read, or is too large"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(refusal(refused.id, jsonrpc.CodeInvalidRequest, refused.reason))
}

// refusal is the answer to a message, which may have no id.
func refusal(id json.RawMessage, code int64, reason string) []byte {
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, // numbers and texts always encode
		"error": jsonrpc.Error{Code: code, Message: reason}})
	return answer
}
