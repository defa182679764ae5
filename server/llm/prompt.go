package llm

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/template"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Quoted is foreign text in the only form in which it may enter a prompt: JSON on one line, with quotation marks, line
// ends, < and > escaped. It can neither end its own fence nor look like another part of the prompt.
type Quoted string

// Quote returns value as JSON. The caller bounds its texts.
func Quote(value any) Quoted {
	data, err := json.Marshal(value)
	if err != nil {
		return `""` // strings and numbers always encode
	}
	return Quoted(data)
}

// QuoteText returns the first limit tokens of a text as a JSON string.
func QuoteText(s string, limit int) Quoted { return Quote(text.ClipTokens(s, limit)) }

// Prompt renders the templates "system" and "user" of prompts/NAME.md with data. The turns of the conversation come
// between the two messages.
func Prompt(files fs.FS, name string, data any, turns ...wire.Message) ([]wire.Message, error) {
	prompt, err := template.New(name).Option("missingkey=error").ParseFS(files, "prompts/"+name+".md")
	if err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	var messages []wire.Message
	for _, role := range []string{RoleSystem, RoleUser} {
		var content strings.Builder
		if err := prompt.ExecuteTemplate(&content, role, data); err != nil {
			return nil, fmt.Errorf("prompt: %w", err)
		}
		messages = append(messages, wire.Message{Type: role, Message: content.String()})
	}
	return slices.Insert(messages, 1, turns...), nil
}

// Turns returns the newest messages of a conversation that fit into limit tokens, each cut to perTurn tokens. Models
// require that the first message is the user's and that roles alternate: messages of one role in a row are joined.
func Turns(conversation []wire.Message, limit, perTurn int) (turns []wire.Message) {
	for _, m := range slices.Backward(conversation) {
		if m.Message = text.ClipTokens(strings.TrimSpace(m.Message), perTurn); m.Message == "" {
			continue
		}
		if limit -= text.EstimateTokens(m.Message); limit < 0 {
			break
		}
		if n := len(turns) - 1; n >= 0 && turns[n].Type == m.Type {
			turns[n].Message = m.Message + "\n\n" + turns[n].Message
			continue
		}
		turns = append(turns, m)
	}
	if n := len(turns); n > 0 && turns[n-1].Type == RoleAssistant {
		turns = turns[:n-1]
	}
	slices.Reverse(turns)
	return turns
}

// LongDate formats the day of t, in UTC, for prompts.
func LongDate(t time.Time) string { return t.UTC().Format("Monday January 02, 2006") }
