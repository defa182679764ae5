package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"quarry/client/wire"
)

// sanitizeRaw sanitises every text of a search's answer: order, numbers and unknown fields stay. Marked ranges of
// results are moved along with their text.
func sanitizeRaw(body []byte) (json.RawMessage, error) {
	var answer struct {
		Results []wire.SearchResult `json:"results"`
	}
	if err := wire.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	moved := map[string]any{}
	for i, result := range answer.Results {
		if Sanitize(result.Content) != result.Content {
			sanitizeContent(&result)
			moved[fmt.Sprintf("/results/%d/highlights", i)] = result.Highlights
			moved[fmt.Sprintf("/results/%d/best_passage", i)] = result.BestPassage
		}
	}
	return sanitizeJSON(body, moved)
}

// sanitizeJSON sanitises every text of JSON. The members that replaced names, by their JSON pointers, get other values.
func sanitizeJSON(text []byte, replaced map[string]any) (json.RawMessage, error) {
	var out bytes.Buffer
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	in, to := jsontext.NewDecoder(bytes.NewReader(text), lenient...), jsontext.NewEncoder(&out, lenient...)
	for {
		container, members := in.StackIndex(in.StackDepth())
		isName := container == jsontext.KindBeginObject && members%2 == 0
		token, err := in.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return bytes.TrimSpace(out.Bytes()), nil
		case err != nil:
			return nil, err
		case token.Kind() == jsontext.KindString:
			token = jsontext.String(Sanitize(token.String()))
		}
		if err := to.WriteToken(token); err != nil {
			return nil, err
		}
		if value, found := replaced[string(in.StackPointer())]; isName && found {
			encoded, err := json.Marshal(value)
			if err := errors.Join(err, in.SkipValue(), to.WriteValue(encoded)); err != nil {
				return nil, err
			}
		}
	}
}
