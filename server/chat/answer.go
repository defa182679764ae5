package chat

import (
	"context"
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
		document := wire.SearchDoc{
			DocumentID: sources[*r.CitationID].DocumentID, ChunkInd: r.ChunkInd, Title: r.Title, Link: r.Link, Blurb: r.Blurb,
			SourceType: r.SourceType, Metadata: r.Metadata, Score: &r.Score, UpdatedAt: r.UpdatedAt,
			PrimaryOwners: r.Authors, MatchHighlights: []string{},
		}
		document.FillEmpty()
		documents = append(documents, document)
	}
	return documents
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
	_, err = model.Stream(ctx, llm.Request{Messages: messages, Purpose: purposeAnswer}, func(delta string) error {
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
	return nil
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
	if name := shortName(question); name != "" {
		return name
	}
	return "New chat"
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
