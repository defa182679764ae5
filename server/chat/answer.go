package chat

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

// Purposes of calls, for accounting.
const (
	purposeAnswer = "answer"
	purposeName   = "name"
)

const (
	maxAnswer    = 512 << 10 // bytes, including links
	atOnce       = 1 << 10   // bytes of a reply between two checks of maxAnswer
	nameDeadline = 8 * time.Second
	maxName      = 60 // characters
)

var errTooLong = errors.New("the answer is too long")

// Documents returns the documents of results, each once and by citation number. Their ids differ even if they come from
// several servers, or from one without ids.
func Documents(found []wire.SearchResult) []wire.SearchDoc {
	documents := []wire.SearchDoc{}
	sources := SourcesOf(found)
	seen := map[int]bool{}
	for _, r := range found {
		if r.CitationID == nil || seen[*r.CitationID] {
			continue
		}
		seen[*r.CitationID] = true
		owners := max(0, len(r.Authors)-r.Secondary)
		document := wire.SearchDoc{
			DocumentID: sources[*r.CitationID].DocumentID, ChunkInd: r.ChunkInd, Title: r.Title, Link: r.Link,
			Blurb:      r.Blurb,
			SourceType: r.SourceType, Metadata: r.Metadata, Score: &r.Score, UpdatedAt: inUTC(r.UpdatedAt),
			PrimaryOwners: r.Authors[:owners], MatchHighlights: []string{}, Citation: r.Citation,
			HeadingPath: r.HeadingPath,
		}
		if r.Secondary > 0 {
			document.SecondaryOwners = r.Authors[owners:]
		}
		if document.Metadata == nil {
			document.Metadata = map[string]wire.Metadata{}
		}
		documents = append(documents, document)
	}
	return documents
}

// inUTC writes a time of a search result as pydantic writes those of documents.
func inUTC(moment *string) *string {
	if moment == nil {
		return nil
	}
	if local, ok := strings.CutSuffix(*moment, "+00:00"); ok {
		return new(local + "Z")
	}
	return moment
}

// SourcesOf returns the documents that an answer may cite, by number.
func SourcesOf(found []wire.SearchResult) map[int]Source {
	sources := map[int]Source{}
	used := map[string]bool{}
	for _, r := range found {
		if r.CitationID == nil {
			continue
		}
		number := *r.CitationID
		if _, known := sources[number]; known {
			continue
		}
		source := Source{DocumentID: r.DocumentID}
		if r.Link != nil {
			source.Link = *r.Link
		}
		if source.DocumentID == "" {
			source.DocumentID = source.Link
		}
		if source.DocumentID == "" || used[source.DocumentID] {
			source.DocumentID = fmt.Sprintf("%s@%s#%d", source.DocumentID, r.Origin, number)
		}
		used[source.DocumentID] = true
		sources[number] = source
	}
	return sources
}

// Answer asks a model to answer a question from results, and calls emit with each piece. Pieces emitted before an error
// are part of the answer.
func Answer(ctx context.Context, model llm.Chat, q Question, found []wire.SearchResult, emit func(Piece)) error {
	messages, err := q.prompt(found)
	if err != nil {
		return err
	}
	citer := NewCiter(SourcesOf(found), q.WithoutCitations)
	length := 0
	give := func(pieces []Piece) {
		for _, piece := range pieces {
			length += len(piece.Text)
			emit(piece)
		}
	}
	reply, err := model.Stream(ctx, llm.Request{Messages: messages, Purpose: purposeAnswer}, func(delta string) error {
		for delta = strings.ToValidUTF8(delta, ""); delta != ""; {
			if length > maxAnswer {
				return errTooLong
			}
			part := text.Clip(delta, atOnce)
			delta = delta[len(part):]
			give(citer.Write(part))
		}
		return ctx.Err()
	})
	give(citer.Close())
	if err != nil && !errors.Is(err, errTooLong) {
		return fmt.Errorf("answer: %w", err)
	}
	notes := q.unread(found)
	if err != nil {
		reply.Cut = fmt.Sprintf("it is longer than %d KB", maxAnswer>>10)
	}
	if reply.Cut != "" {
		notes = append([]string{"The answer is not complete: " + reply.Cut + "."}, notes...)
	}
	if len(notes) > 0 {
		emit(Piece{Text: "\n\n*" + strings.Join(notes, " ") + "*"})
	}
	return nil
}

// unread returns sentences about what the prompt has no room for. A cut question the model itself names, and of long
// conversations people know that only the newest messages count.
func (q Question) unread(found []wire.SearchResult) (notes []string) {
	if _, whole := shown(found); whole < len(found) {
		notes = append(notes, fmt.Sprintf("The model read %d of %d passages as a whole: there is no room for the rest.",
			whole, len(found)))
	}
	if read := len(q.shownFiles()); read < len(q.Files) {
		notes = append(notes, fmt.Sprintf("The model read %d of %d attached files: there is no room for the others.",
			read, len(q.Files)))
	}
	for _, part := range []struct {
		name, text string
		room       int
	}{
		{"the additional context", q.Context, contextTokens},
		{"the agent's instructions", q.Instructions, instructionTokens},
	} {
		if len(text.ClipTokens(part.text, part.room)) < len(strings.ToValidUTF8(part.text, "")) {
			notes = append(notes, "The model read only the beginning of "+part.name+".")
		}
	}
	return notes
}

// Name returns a name for a conversation: the model's, or the first words of the question.
func Name(ctx context.Context, model llm.Chat, thread []Message) string {
	question, answer := "", ""
	for _, m := range thread {
		switch {
		case m.Type == TypeUser && question == "":
			question = m.Text
		case m.Type == TypeAssistant && answer == "":
			answer = Uncited(m.Text)
		}
	}
	if model != nil && strings.TrimSpace(question) != "" {
		messages, err := llm.Prompt(promptFiles, "name", struct{ Question, Answer llm.Quoted }{
			llm.QuoteText(question, nameTokens), llm.QuoteText(answer, nameTokens),
		})
		ctx, cancel := context.WithTimeout(ctx, nameDeadline)
		defer cancel()
		if err == nil {
			reply, err := model.Complete(ctx, llm.Request{Messages: messages, MaxTokens: maxName, Purpose: purposeName})
			if name := shortName(reply.Text); err == nil && name != "" {
				return name
			}
		}
	}
	return FirstWords(question)
}

// FirstWords returns the beginning of a question as a name.
func FirstWords(question string) string {
	return cmp.Or(shortName(question), "New chat")
}

// shortName returns the first line of a text as a name.
func shortName(s string) string {
	const looked = 4 << 10 // bytes
	s = text.Clip(strings.TrimSpace(text.Clip(s, 64*looked)), looked)
	s, _, _ = strings.Cut(strings.TrimSpace(strings.ToValidUTF8(s, "")), "\n")
	s = strings.Trim(text.CleanLine(s), "\"'“”«»`*#. ")
	if utf8.RuneCountInString(s) <= maxName {
		return s
	}
	short := text.Shorten(s, maxName-1)
	if space := strings.LastIndexByte(short, ' '); space > maxName/2 {
		return short[:space] + "…"
	}
	return short
}

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
	Today        time.Time // zero: the model is not told
	// WithoutCitations removes citations from the answer.
	WithoutCitations bool
}

// prompt returns the prompt for an answer from results.
func (q Question) prompt(found []wire.SearchResult) ([]wire.Message, error) {
	question := text.ClipTokens(q.Text, questionTokens)
	context := llm.Quoted("")
	if q.Context != "" {
		context = llm.QuoteText(q.Context, contextTokens)
	}
	documents, _ := shown(found)
	return llm.Prompt(promptFiles, "answer", struct {
		Today, Instructions string
		Context, Question   llm.Quoted
		Cut                 bool
		Documents, Files    []llm.Quoted
	}{
		Today:        today(q.Today),
		Instructions: text.ClipTokens(q.Instructions, instructionTokens),
		Context:      context, Question: llm.Quote(question), Cut: len(question) < len(strings.ToValidUTF8(q.Text, "")),
		Documents: documents, Files: q.shownFiles(),
	}, turns(q.History)...)
}

func today(moment time.Time) string {
	if moment.IsZero() {
		return ""
	}
	return llm.LongDate(moment)
}

// shown returns the passages for the prompt, as many as fit, and how many of them are whole: the last one may be cut.
func shown(found []wire.SearchResult) (documents []llm.Quoted, whole int) {
	const cited, title = 75, 64 // tokens: of other fields; of the title
	room := documentTokens
	for _, r := range found {
		if room -= cited; room <= cited || r.CitationID == nil {
			break
		}
		content := text.ClipTokens(r.Content, room)
		if len(content) == len(r.Content) {
			whole++
		}
		r.Title, r.Authors, r.Content = text.ClipTokens(r.Title, title), firstAuthors(r.Authors), content
		room -= text.EstimateTokens(content)
		documents = append(documents, llm.Quote(wire.EvidenceResult.Of(&r)))
	}
	return documents, whole
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
		files = append(files, llm.Quote(shownFile{File: text.ClipTokens(f.Name, name), Content: content,
			Cut: len(content) < len(f.Text)}))
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

// turns returns the newest messages that fit.
func turns(history []Message) []wire.Message {
	turns := llm.Turns(said(history), historyTokens, turnTokens)
	if n := len(turns); n > 0 && turns[n-1].Type == llm.RoleUser { // a question without an answer
		turns = append(turns, wire.Message{Type: llm.RoleAssistant, Message: "(no answer)"})
	}
	return turns
}

// said returns what messages say. Citations are removed from answers: their numbers mean other documents now.
func said(history []Message) (messages []wire.Message) {
	for _, m := range history {
		text := m.Text
		if m.Type == TypeAssistant {
			text = Uncited(text)
		}
		if strings.TrimSpace(text) != "" {
			messages = append(messages, wire.Message{Type: m.Type, Message: text})
		}
	}
	return messages
}

// Conversation returns the earlier messages and the question for a search; nil without earlier messages.
func Conversation(history []Message, question string) []wire.Message {
	earlier := said(history)
	if earlier == nil {
		return nil
	}
	return append(earlier, wire.Message{Type: TypeUser, Message: question})
}

// Packet is one line of a streamed answer.
type Packet struct {
	Placement placement `json:"placement"`
	Object    any       `json:"obj"`
}

type placement struct {
	TurnIndex    int  `json:"turn_index"`
	TabIndex     int  `json:"tab_index"`
	SubTurnIndex *int `json:"sub_turn_index"`
	ModelIndex   *int `json:"model_index"`
}

// The turns of an answer.
const (
	TurnSearch = 0
	TurnAnswer = 1
)

// At returns the packet of an object in a turn.
func At(turn int, object any) Packet { return Packet{placement{TurnIndex: turn}, object} }

// object is the object of a packet: its type and the fields of that type. Fields that are any may be null, false or
// empty.
type object struct {
	Type            string           `json:"type"`
	IsInternet      any              `json:"is_internet_search,omitzero"`
	Queries         []string         `json:"queries,omitzero"`
	Sources         []string         `json:"sources,omitzero"`
	TimeFilterStart any              `json:"time_filter_start,omitzero"`
	TimeFilterEnd   any              `json:"time_filter_end,omitzero"`
	Documents       []wire.SearchDoc `json:"documents,omitzero"`
	FinalDocuments  []wire.SearchDoc `json:"final_documents,omitzero"`
	Seconds         any              `json:"pre_answer_processing_seconds,omitzero"`
	Content         any              `json:"content,omitzero"`
	CitationNumber  int              `json:"citation_number,omitzero"`
	DocumentID      any              `json:"document_id,omitzero"`
	StopReason      any              `json:"stop_reason,omitzero"`
}

// SearchStart is sent when a search begins.
func SearchStart() any { return object{Type: wire.ChatSearchStart, IsInternet: false} }

// SearchQueries lists the queries, those with the highest weight first.
func SearchQueries(queries []string) any {
	return object{Type: wire.ChatSearchQueries, Queries: queries}
}

// SearchFilters lists the limits of the search.
func SearchFilters(sources []string, start, end *string) any {
	return object{Type: wire.ChatSearchFilters, Sources: sources, TimeFilterStart: start, TimeFilterEnd: end}
}

// SearchDocuments lists the documents that the model reads.
func SearchDocuments(documents []wire.SearchDoc) any {
	return object{Type: wire.ChatSearchDocuments, Documents: documents}
}

// SectionEnd ends a turn.
func SectionEnd() any { return object{Type: wire.ChatSectionEnd} }

// Heartbeat is sent while there is nothing else to send.
func Heartbeat() any { return object{Type: wire.ChatHeartbeat} }

// MessageStart begins the answer; seconds is the time since the question.
func MessageStart(documents []wire.SearchDoc, seconds float64) any {
	return object{Type: wire.ChatMessageStart, FinalDocuments: documents, Seconds: seconds}
}

// MessageDelta is the next part of the answer.
func MessageDelta(text string) any { return object{Type: wire.ChatMessageDelta, Content: text} }

// Citation names the document of a citation number.
func Citation(number int, documentID string) any {
	return object{Type: wire.ChatCitation, CitationNumber: number, DocumentID: documentID}
}

// Stop ends the stream. cancelled is set if the user stopped the answer.
func Stop(cancelled bool) any {
	var reason *string
	if cancelled {
		reason = new(wire.StopCancelled)
	}
	return object{Type: wire.ChatStop, StopReason: reason}
}
