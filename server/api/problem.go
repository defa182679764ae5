package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Bounds of lists and of the texts in them, beyond those that the API itself names.
const (
	maxListItems = 1000
	maxItemRunes = 2048
	maxInputText = 100 // runes of a refused value that are echoed
)

// The texts of Onyx's validation that several routes need.
const (
	notAnInteger   = "Input should be a valid integer"
	notADictionary = "Input should be a valid dictionary"
	notAnObject    = "Input should be a valid dictionary or object to extract fields from"
)

// problem is one thing that is wrong with a request.
type problem struct {
	kind  string
	where []any // names and positions
	text  string
	input string // the refused value, as it is shown; empty: left out
}

// String is the problem as Onyx's validation writes it.
func (p problem) String() string {
	places := make([]string, len(p.where))
	for i, place := range p.where {
		if name, ok := place.(string); ok {
			places[i] = quoted(name)
		} else {
			places[i] = fmt.Sprint(place)
		}
	}
	where := strings.Join(places, ", ")
	if len(places) == 1 {
		where += ","
	}
	shown := fmt.Sprintf("{'type': %s, 'loc': (%s), 'msg': %s", quoted(p.kind), where, quoted(p.text))
	if p.input != "" {
		shown += ", 'input': " + p.input
	}
	return shown + "}"
}

// quoted writes a text as Python does: in single quotes, unless it has one and no double quote.
func quoted(text string) string {
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// echo shows a refused value, cut to a length that cannot flood a terminal.
func echo(raw json.RawMessage) string {
	if isNull(bytes.TrimSpace(raw)) {
		return "None"
	}
	var text string
	if wire.Unmarshal(raw, &text) == nil {
		return quoted(clip(text))
	}
	return clip(string(raw))
}

// clip shortens a foreign text and replaces its control characters.
func clip(foreign string) string {
	return text.Shorten(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, foreign), maxInputText)
}
