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
	"quarry/internal/text"
)

// answer is what is used of the answers of servers and of their events. Servers with the API of OpenAI send other types
// than it has, such as a fraction for a time or a number for an id: what is not used is not looked at, and what has
// another type than is useful counts as missing.
type answer struct {
	Choices loose[[]loose[choice]] `json:"choices"`
	Usage   loose[tokens]          `json:"usage"`
	Error   isSent                 `json:"error"` // an object or a text
}

type choice struct {
	Index        number         `json:"index"`
	Message      loose[message] `json:"message"` // of a whole answer
	Delta        loose[message] `json:"delta"`   // of an event
	Text         content        `json:"text"`    // of older servers
	FinishReason finishReason   `json:"finish_reason"`
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

// isSent reports whether a value that means something was sent, of whichever type.
type isSent bool

func (s *isSent) UnmarshalJSON(data []byte) error {
	*s = isSent(!text.IsAmong(string(data), `null false "" {} 0 []`))
	return nil
}

// finishReason is why a reply ends; empty: it goes on.
type finishReason string

func (f *finishReason) UnmarshalJSON(data []byte) error {
	var sent isSent
	var text string
	if _ = sent.UnmarshalJSON(data); sent { // it returns no error
		*f = "of another type"
		if wire.Unmarshal(data, &text) == nil {
			*f = finishReason(text)
		}
	}
	return nil
}

// cut returns why a reply is not whole, in the words of the servers that say so; empty: it is.
func (f finishReason) cut() string {
	switch strings.ToLower(string(f)) {
	case "length", "max_tokens", "max_output_tokens", "model_length":
		return "the model has reached its limit for one answer"
	case "content_filter", "safety", "recitation", "prohibited_content", "blocklist":
		return "a filter of the model's server has ended it"
	}
	return ""
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
		field, value, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF"))), []byte(":"))
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

// thoughtMarks are the marks around the thinking of models that write it into their reply, and those before the reply,
// unless the server takes them out: of DeepSeek, Qwen and others, Mistral, gpt-oss, Cohere, Kimi, Seed, MedGemma,
// Sky-T1, Apertus and LongCat.
var thoughtMarks = [...]struct{ begin, end string }{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|channel|>final<|message|>"},
	{"<|channel|>commentary", "<|channel|>final<|message|>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, {"◁think▷", "◁/think▷"}, {"<seed:think>", "</seed:think>"},
	{"<unused94>thought", "<unused95>"}, {"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"<|inner_prefix|>", "<|inner_suffix|>"},
	{"<reflection>", "</reflection>"}, {"<longcat_think>", "</longcat_think>"}, {"<|begin_of_solution|>", ""},
	{"<|start|>assistant", ""}, {"<|channel|>final<|message|>", ""}, {"<|START_RESPONSE|>", ""}, // before the reply
}

// longestMark is more than the bytes of any of them.
const longestMark = 32

// thinking removes a model's thinking from its reply, however the reply is split into pieces. The zero value is ready.
type thinking struct {
	held []byte // not known to be part of the reply yet; of thinking, only what may be the beginning of its end
	end  string // the mark that ends the thinking at hand; empty: there is none
	// isBegun is set for a model whose prompt has begun the thinking: all is held until a mark ends it, or the reply
	// does.
	isBegun bool
	// isReply is set when everything that follows is part of the reply.
	isReply bool
}

// pass reads the next piece and returns what is known to belong to the reply.
func (t *thinking) pass(piece string) string {
	if t.isReply {
		return piece
	}
	from := max(0, len(t.held)-longestMark)
	t.held = append(t.held, piece...)
	for {
		text := bytes.TrimLeft(t.held, " \t\r\n")
		if t.end != "" {
			_, after, ended := bytes.Cut(text, []byte(t.end))
			if !ended {
				t.held = bytes.Clone(text[max(0, len(text)-len(t.end)+1):])
				return ""
			}
			t.held, t.end, t.isBegun, from = bytes.TrimLeft(after, " \t\r\n"), "", false, 0
			continue
		}
		begins, mayBegin := false, false
		for _, mark := range thoughtMarks {
			rest, found := bytes.CutPrefix(text, []byte(mark.begin))
			if found && !begins {
				begins, t.held, t.end, from = true, rest, mark.end, 0
			}
			mayBegin = mayBegin || bytes.HasPrefix([]byte(mark.begin), text)
		}
		switch {
		case begins:
		case mayBegin:
			return ""
		case t.isBegun:
			at, width := firstEnd(t.held, from)
			if at < 0 {
				return ""
			}
			t.held, t.isBegun = bytes.TrimLeft(t.held[at+width:], " \t\r\n"), false
		default:
			return t.all()
		}
	}
}

// firstEnd returns the place and the length of the first mark at or after from that ends thinking; at is -1 if there is
// none.
func firstEnd(text []byte, from int) (at, width int) {
	at = -1
	for _, mark := range thoughtMarks {
		if mark.end == "" {
			continue
		}
		if found := bytes.Index(text[from:], []byte(mark.end)); found >= 0 && (at < 0 || from+found < at) {
			at, width = from+found, len(mark.end)
		}
	}
	return at, width
}

// rest returns the pending text at the end. Unfinished thinking is no reply.
func (t *thinking) rest() string {
	if t.end != "" {
		return ""
	}
	return t.all()
}

func (t *thinking) all() string {
	text := string(t.held)
	t.isReply, t.held = true, nil
	return text
}

// withoutThinking removes the thinking from a whole reply. isBegun reports whether it was thinking that ends, but did
// not begin: the model's prompt has begun it, and will do so again.
func withoutThinking(text string) (reply string, isBegun bool) {
	var t thinking
	reply = t.pass(text) + t.rest()
	if len(reply) < len(text) {
		return reply, false
	}
	at, _ := firstEnd([]byte(text), 0)
	for _, mark := range thoughtMarks {
		if at < 0 || strings.Contains(text[:at], mark.begin) { // a reply about such marks
			return reply, false
		}
	}
	t = thinking{isBegun: true}
	return t.pass(text) + t.rest(), true
}
