package pipeline

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"

	"quarry/internal/text"
	"quarry/server/llm"
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
func quote(s string, most int) quoted { return encode(text.ClipTokens(s, most)) }

// encode writes a value whose texts are bounded already.
func encode(value any) quoted {
	data, err := json.Marshal(value)
	if err != nil {
		return `""` // strings and numbers always encode
	}
	return quoted(data)
}

// longDate is the day as prompts tell it.
func longDate(now time.Time) string { return now.UTC().Format("Monday January 02, 2006") }

// maxReply bounds how much of a reply is read, in bytes.
const maxReply = 32 << 10

// spoken is what of a reply is read.
func spoken(reply string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text.Clip(reply, maxReply), ""))
}
