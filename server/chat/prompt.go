package chat

import (
	"embed"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Tokens that each piece of foreign text may take in a prompt.
const (
	questionTokens    = 24_000 // including piped text
	contextTokens     = 4096
	instructionTokens = 4096
	historyTokens     = 4096
	turnTokens        = 1024
	documentTokens    = 12_800 // all passages together
	fileTokens        = 24_000 // all attached files together
	nameTokens        = 512
)

// Question is what the model is asked.
type Question struct {
	Text         string
	Context      string    // given beside the question; not searched for
	History      []Message // earlier messages, oldest first
	Files        []File    // attached to the question or to earlier messages
	Instructions string    // of the agent
	Today        time.Time
	// WithoutCitations removes citations from the answer.
	WithoutCitations bool
}

// shownDocument is a document in the prompt.
type shownDocument struct {
	Document  int      `json:"document"`
	Title     string   `json:"title"`
	Source    string   `json:"source"`
	UpdatedAt *string  `json:"updated_at,omitempty"`
	Authors   []string `json:"authors,omitempty"`
	Content   string   `json:"content"`
}

// prompt returns the prompt for an answer from results.
func (q Question) prompt(found []wire.SearchResult) ([]llm.Message, error) {
	question := text.ClipTokens(q.Text, questionTokens)
	context := llm.Quoted("")
	if q.Context != "" {
		context = llm.QuoteText(q.Context, contextTokens)
	}
	return llm.Prompt(promptFiles, "answer", struct {
		Today, Instructions string
		Context, Question   llm.Quoted
		Cut                 bool
		Documents, Files    []llm.Quoted
	}{
		Today:        llm.LongDate(q.Today),
		Instructions: text.ClipTokens(q.Instructions, instructionTokens),
		Context:      context, Question: llm.Quote(question), Cut: len(question) < len(strings.ToValidUTF8(q.Text, "")),
		Documents: shown(found), Files: q.shownFiles(),
	}, turns(q.History)...)
}

// shown returns the passages for the prompt, as many as fit. The last one may be cut.
func shown(found []wire.SearchResult) []llm.Quoted {
	const cited, title = 75, 64 // tokens: of other fields; of the title
	var documents []llm.Quoted
	room := documentTokens
	for _, r := range found {
		if room -= cited; room <= cited || r.CitationID == nil {
			break
		}
		content := text.ClipTokens(r.Content, room)
		room -= text.EstimateTokens(content)
		documents = append(documents, llm.Quote(shownDocument{
			Document: *r.CitationID, Title: text.ClipTokens(r.Title, title), Source: r.SourceType, UpdatedAt: r.UpdatedAt,
			Authors: firstAuthors(r.Authors), Content: content,
		}))
	}
	return documents
}

// shownFile is an attached file in the prompt.
type shownFile struct {
	File    string `json:"file"`
	Content string `json:"content"`
	Cut     bool   `json:"cut,omitempty"`
}

// shownFiles returns the attached files for the prompt, as many as fit. The last one may be cut.
func (q Question) shownFiles() []llm.Quoted {
	const name = 64 // tokens
	var files []llm.Quoted
	room := fileTokens
	for _, f := range q.Files {
		if room -= name; room <= 0 {
			break
		}
		content := text.ClipTokens(f.Text, room)
		room -= text.EstimateTokens(content)
		files = append(files, llm.Quote(shownFile{File: text.ClipTokens(f.Name, name), Content: content, Cut: len(content) < len(f.Text)}))
	}
	return files
}

func firstAuthors(authors []string) []string {
	const most, longest = 3, 16
	var few []string
	for _, author := range authors[:min(len(authors), most)] {
		few = append(few, text.ClipTokens(author, longest))
	}
	return few
}

// turns returns the newest messages that fit. Citations are removed from answers: their numbers mean other documents
// now.
func turns(history []Message) []llm.Message {
	var said []llm.Message
	for _, m := range history {
		role, content := llm.RoleUser, m.Text
		if m.Type == TypeAssistant {
			role, content = llm.RoleAssistant, Uncited(content)
		}
		said = append(said, llm.Message{Role: role, Content: content})
	}
	said = llm.Turns(said, historyTokens, turnTokens)
	if n := len(said); n > 0 && said[n-1].Role == llm.RoleUser { // a question without an answer
		said = append(said, llm.Message{Role: llm.RoleAssistant, Content: "(no answer)"})
	}
	return said
}

// Conversation returns the earlier messages and the question for a search; nil without earlier messages.
func Conversation(history []Message, question string) []wire.Message {
	var said []wire.Message
	for _, m := range history {
		text := m.Text
		if m.Type == TypeAssistant {
			text = Uncited(text)
		}
		if strings.TrimSpace(text) != "" {
			said = append(said, wire.Message{Type: m.Type, Message: text})
		}
	}
	if said == nil {
		return nil
	}
	return append(said, wire.Message{Type: TypeUser, Message: question})
}
