package client

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"quarry/client/wire"
)

// sanitizeRaw sanitises every text of a search's answer in place: order, numbers and unknown fields stay. Marked ranges
// of results are moved along with their text.
func sanitizeRaw(body []byte) (json.RawMessage, error) {
	moved, err := rewriteObject(body, func(key string, value json.RawMessage) (json.RawMessage, error) {
		if key != "results" {
			return value, nil
		}
		var results []json.RawMessage
		if err := wire.Unmarshal(value, &results); err != nil {
			return nil, err
		}
		for i, raw := range results {
			moved, err := moveSpans(raw)
			if err != nil {
				return nil, err
			}
			results[i] = moved
		}
		return json.Marshal(results)
	})
	if err != nil {
		return nil, err
	}
	return sanitizeStrings(moved), nil
}

// rewriteObject replaces values of a JSON object and keeps the order of its keys.
func rewriteObject(object []byte, value func(key string, value json.RawMessage) (json.RawMessage, error)) ([]byte,
	error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, err
	}
	out := []byte{'{'}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, err
		}
		if raw, err = value(key, raw); err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, quote(key)...)
		out = append(out, ':')
		out = append(out, raw...)
	}
	return append(out, '}'), nil
}

// moveSpans moves the marked ranges of one result to where its text will be once it is sanitised.
func moveSpans(raw json.RawMessage) (json.RawMessage, error) {
	var result wire.SearchResult
	if err := wire.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	if Sanitize(result.Content) == result.Content || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return raw, nil
	}
	sanitizeContent(&result)
	return rewriteObject(raw, func(key string, value json.RawMessage) (json.RawMessage, error) {
		switch key {
		case "highlights":
			return json.Marshal(result.Highlights)
		case "best_passage":
			return json.Marshal(result.BestPassage)
		}
		return value, nil
	})
}

// sanitizeStrings sanitises every string literal of valid JSON and copies the rest as it is.
func sanitizeStrings(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); {
		if text[at] != '"' {
			out = append(out, text[at])
			at++
			continue
		}
		end := at + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
		literal := text[at:end]
		var s string
		if wire.Unmarshal(literal, &s) == nil {
			if clean, changed := sanitize(s, false, new(wire.SpanMover)); changed || bytes.IndexByte(literal, '\\') >= 0 ||
				!utf8.Valid(literal) {
				literal = quote(clean)
			}
		}
		out = append(out, literal...)
		at = end
	}
	return out
}

// quote writes a JSON string, without the escapes that only web pages need.
func quote(s string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes
	return bytes.TrimRight(b.Bytes(), "\n")
}
