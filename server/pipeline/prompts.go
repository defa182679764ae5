package pipeline

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"quarry/server/llm"
	"quarry/server/tokens"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// prompt is what a model is told: who it is and what it is asked, with places for the material.
type prompt struct{ *template.Template }

// loadPrompt reads one of the embedded prompts.
func loadPrompt(name string) (prompt, error) {
	parsed, err := template.New(name).Option("missingkey=error").ParseFS(promptFiles, "prompts/"+name+".md")
	return prompt{parsed}, err
}

// messages fills a prompt in; between, the turns of a conversation, stand before what is asked.
func (p prompt) messages(material any, between ...llm.Message) ([]llm.Message, error) {
	system, err := p.part("system", material)
	if err != nil {
		return nil, err
	}
	user, err := p.part("user", material)
	if err != nil {
		return nil, err
	}
	messages := append([]llm.Message{{Role: llm.RoleSystem, Content: system}}, between...)
	return append(messages, llm.Message{Role: llm.RoleUser, Content: user}), nil
}

func (p prompt) part(name string, material any) (string, error) {
	var text bytes.Buffer
	if err := p.ExecuteTemplate(&text, name, material); err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	return text.String(), nil
}

// The tokens that each piece of foreign text may take in a prompt.
const (
	questionTokens = 1024
	turnTokens     = 512
	historyTokens  = 4096
	titleTokens    = 64
	passageTokens  = 3 * 512
	aroundTokens   = 2 * 512
)

// quoted is foreign text in the only form in which it may enter a prompt: a JSON string on one line, in which quotation
// marks, line ends, < and > are escaped, so that it can neither end its own fence nor look like another part.
type quoted string

// quote bounds a text and quotes it.
func quote(text string, most int) quoted { return encode(clip(text, most)) }

// encode writes a value whose texts are bounded already.
func encode(value any) quoted {
	data, err := json.Marshal(value)
	if err != nil {
		return `""` // strings and numbers always encode
	}
	return quoted(data)
}

// clip keeps the beginning of a text, of at most so many tokens, without what is not UTF-8.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) > 8*most || tokens.Estimate(text) > most {
		text = cutAt(text, 4*most)
		for count := tokens.Estimate(text); count > most; count = tokens.Estimate(text) {
			text = cutAt(text, min(len(text)*most/count, len(text)-1))
		}
	}
	return text
}

// cutAt keeps at most so many bytes of a text, and whole characters.
func cutAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// longDate is the day as prompts tell it.
func longDate(now time.Time) string { return now.UTC().Format("Monday January 02, 2006") }

// maxReply bounds how much of a reply is read, in bytes.
const maxReply = 32 << 10

// spoken is what of a reply is read.
func spoken(reply string) string {
	return strings.TrimSpace(strings.ToValidUTF8(cutAt(reply, maxReply), ""))
}
