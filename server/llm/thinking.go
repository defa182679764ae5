package llm

import (
	"bytes"
	"strings"
)

// thoughtMarks are the marks around the thinking of models that write it into their reply, and those before the reply,
// unless the server takes them out: of DeepSeek, Qwen and others, Mistral, gpt-oss, Cohere, Kimi, Seed and MedGemma.
var thoughtMarks = [...]struct{ begin, end string }{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
	{"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|channel|>final<|message|>"}, {"<|channel|>commentary", "<|channel|>final<|message|>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, {"◁think▷", "◁/think▷"}, {"<seed:think>", "</seed:think>"},
	{"<unused94>thought", "<unused95>"},
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
