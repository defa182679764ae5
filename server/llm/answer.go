package llm

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"quarry/client/wire"
)

// answer is what is used of the answers of servers and of their events. Servers with the API of OpenAI send other types
// than it has, such as a fraction for a time or a number for an id: what is not used is not looked at, and what has
// another type than is useful counts as missing.
type answer struct {
	Choices []loose[choice]  `json:"choices"`
	Usage   loose[tokens]    `json:"usage"`
	Error   loose[sentError] `json:"error"`
}

type choice struct {
	Index        number         `json:"index"`
	Message      loose[message] `json:"message"` // of a whole answer
	Delta        loose[message] `json:"delta"`   // of an event
	Text         content        `json:"text"`    // of older servers
	FinishReason loose[string]  `json:"finish_reason"`
}

type message struct {
	Content content `json:"content"`
}

type tokens struct {
	Prompt     number `json:"prompt_tokens"`
	Completion number `json:"completion_tokens"`
}

// text returns the text of a choice, in whichever field it is.
func (c choice) text() string {
	for _, text := range [...]content{c.Delta.value.Content, c.Message.value.Content, c.Text} {
		if text != "" {
			return string(text)
		}
	}
	return ""
}

// loose is a value that is zero where another type was sent.
type loose[T any] struct{ value T }

func (l *loose[T]) UnmarshalJSON(data []byte) error {
	var value T
	if wire.Unmarshal(data, &value) == nil {
		l.value = value
	}
	return nil
}

// number is a count, which some servers send as a fraction or as text.
type number int

func (n *number) UnmarshalJSON(data []byte) error {
	value, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err == nil && math.Abs(value) <= mostTokens {
		*n = number(value)
	}
	return nil
}

// content is a text, or a list with the parts of one.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if wire.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	var parts []loose[struct {
		Type loose[string] `json:"type"`
		Text loose[string] `json:"text"`
	}]
	if wire.Unmarshal(data, &parts) != nil {
		return nil
	}
	for _, part := range parts {
		if kind := part.value.Type.value; kind == "" || kind == "text" || kind == "output_text" { // not its thinking
			*c += content(part.value.Text.value)
		}
	}
	return nil
}

// sentError is an error within an answer: an object or a text.
type sentError bool

func (e *sentError) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null", "false", `""`, "{}", "0":
		return nil
	}
	*e = true
	return nil
}

// vector is an embedding: numbers, a list with them, or the base64 of their bytes.
type vector []float32

func (v *vector) UnmarshalJSON(data []byte) error {
	var list [][]float32
	var text string
	var numbers []float32
	switch {
	case wire.Unmarshal(data, &numbers) == nil:
		*v = numbers
	case wire.Unmarshal(data, &list) == nil && len(list) == 1:
		*v = list[0]
	case wire.Unmarshal(data, &text) == nil:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw)%4 != 0 {
			return nil
		}
		for at := 0; at < len(raw); at += 4 {
			*v = append(*v, math.Float32frombits(binary.LittleEndian.Uint32(raw[at:])))
		}
	}
	return nil
}

// events reads server-sent events.
type events struct {
	in     *bufio.Reader
	isDone bool // the server said that it has sent all
}

var errSent = errors.New("the server sent an error")

// next returns the data of the next event. It returns io.EOF at the end, and errSent for an event of the name error.
func (e *events) next() ([]byte, error) {
	name := ""
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		field, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case string(field) == "event":
			name = string(value)
		case string(field) == "data" && name == "error":
			return nil, errSent
		case string(field) == "data" && string(value) == "[DONE]":
			e.isDone = true
			return nil, io.EOF
		case string(field) == "data" && len(value) > 0:
			return value, nil
		}
		if err != nil {
			return nil, io.EOF
		}
	}
}
