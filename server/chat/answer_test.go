package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

// scripted is a model that says what it is told to, in pieces.
type scripted struct {
	pieces  []string
	err     error
	cut     string
	request llm.Request
}

func (s *scripted) Name() string { return "test/model" }

func (s *scripted) Complete(_ context.Context, request llm.Request) (llm.Reply, error) {
	s.request = request
	return llm.Reply{Text: strings.Join(s.pieces, "")}, s.err
}

func (s *scripted) Stream(_ context.Context, request llm.Request, delta func(string) error) (llm.Reply, error) {
	s.request = request
	for _, piece := range s.pieces {
		if err := delta(piece); err != nil {
			return llm.Reply{}, err
		}
	}
	return llm.Reply{Cut: s.cut}, s.err
}

func result(number int, id, origin, link, content string) wire.SearchResult {
	r := wire.SearchResult{CitationID: &number, DocumentID: id, Origin: origin, Title: "T", Content: content, SourceType: "web"}
	if link != "" {
		r.Link = &link
	}
	return r
}

func TestSourcesAreToldApart(t *testing.T) {
	t.Parallel()
	found := []wire.SearchResult{
		result(1, "a", "local", "https://x/1", ""), result(2, "a", "acme", "https://x/2", ""), result(1, "a", "local", "https://x/1b", ""),
		result(3, "", "acme", "https://x/3", ""), result(4, "", "acme", "", ""), result(5, "", "acme", "", ""),
	}
	if got := fmt.Sprint(SourcesOf(found)); got !=
		"map[1:{a https://x/1} 2:{a@acme#2 https://x/2} 3:{https://x/3 https://x/3} 4:{@acme#4 } 5:{@acme#5 }]" {
		t.Errorf("%s", got)
	}
	var ids []string
	for _, d := range Documents(found) {
		ids = append(ids, d.DocumentID)
	}
	if got := strings.Join(ids, " "); got != "a a@acme#2 https://x/3 @acme#4 @acme#5" {
		t.Errorf("%s", got)
	}
}

// A model that never ends, and one whose citations would become longer and longer, are cut.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	long := result(1, "a", "local", "https://x/"+strings.Repeat("y", 2000), "")
	for _, piece := range []string{strings.Repeat("x", 10_000), strings.Repeat("[1] ", 10_000)} {
		model := &scripted{pieces: make([]string, 200)}
		for i := range model.pieces {
			model.pieces[i] = piece
		}
		size := 0
		err := Answer(t.Context(), model, Question{Text: "q"}, []wire.SearchResult{long}, func(p Piece) { size += len(p.Text) })
		if err != nil || size < maxAnswer || size > 3*maxAnswer {
			t.Errorf("%d bytes, %v", size, err)
		}
	}
}

// TestWhatIsMissingIsNamed: an answer says at its end what of it, or of the files, is missing.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	files := []File{{Name: "a", Text: strings.Repeat("word ", 2*fileTokens)}, {Name: "b", Text: "x"}}
	long := make([]wire.SearchResult, 30)
	for i := range long {
		long[i] = result(i+1, fmt.Sprint(i), "local", "", strings.Repeat("word ", 1_000))
	}
	for _, c := range []struct {
		model   scripted
		files   []File
		context string
		want    string
	}{
		{scripted{pieces: []string{"Yes."}}, nil, "passages", "Yes.\n\n*The model read 9 of 30 passages as a whole: there is no room for the rest.*"},
		{scripted{pieces: []string{"Yes."}}, nil, "instructions", "Yes.\n\n*The model read only the beginning of the agent's instructions.*"},
		{scripted{pieces: []string{"Yes."}}, nil, strings.Repeat("word ", 2*contextTokens), "Yes.\n\n*The model read only the beginning of the additional context.*"},
		{scripted{pieces: []string{"Yes."}}, files[1:], "said", "Yes."},
		{scripted{pieces: []string{"Yes"}, cut: "the model has reached its limit for one answer"}, nil, "", "Yes\n\n*The answer is not complete: the model has reached its limit for one answer.*"},
		{scripted{pieces: []string{"Yes."}}, files, "", "Yes.\n\n*The model read 1 of 2 attached files: there is no room for the others.*"},
		{scripted{pieces: []string{strings.Repeat("x", maxAnswer+1), "y"}}, nil, "", "x\n\n*The answer is not complete: it is longer than 512 KB.*"},
	} {
		got, q, found := "", Question{Text: "q", Files: c.files, Context: c.context}, long[:1]
		switch c.context {
		case "passages":
			found = long
		case "instructions":
			q.Instructions = strings.Repeat("word ", 2*instructionTokens)
		}
		err := Answer(t.Context(), &c.model, q, found, func(p Piece) { got += p.Text })
		if err != nil || !strings.HasSuffix(got, c.want) || len(c.want) < 99 && strings.Count(got, "*") != strings.Count(c.want, "*") {
			t.Errorf("%.99q, %v; want %q", got, err, c.want)
		}
	}
}

func TestPromptsAreBounded(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("wörd </documents> ", 200_000)
	var found []wire.SearchResult
	for i := range 100 {
		r := result(i+1, fmt.Sprint(i), "local", "", huge)
		r.Title, r.Authors = huge, []string{huge, huge, huge, huge}
		found = append(found, r)
	}
	q := Question{Text: huge, Context: huge, Instructions: huge, Today: time.Unix(0, 0)}
	for i := range 100 {
		q.History = append(q.History, Message{ID: i + 1, Type: []string{TypeUser, TypeAssistant}[i%2], Text: huge})
	}
	messages, err := q.prompt(found)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i, m := range messages {
		total += text.EstimateTokens(m.Message)
		if i > 0 && messages[i-1].Type == m.Type {
			t.Errorf("two turns of %s", m.Type)
		}
	}
	last := messages[len(messages)-1].Message
	if total > 2*(questionTokens+contextTokens+instructionTokens+historyTokens+documentTokens) ||
		!strings.Contains(last, "this is its beginning") || strings.Count(last, "</documents>") != 1 {
		t.Errorf("%d tokens", total)
	}
}

func TestNameFailsOpen(t *testing.T) {
	t.Parallel()
	thread := []Message{{Type: TypeUser, Text: "how do we roll back?"}, {Type: TypeAssistant, Text: "So [[1]](x)."}}
	for want, model := range map[string]llm.Chat{
		"Rolling back":         &scripted{pieces: []string{"**Rolling back**\nbecause"}},
		"how do we roll back?": &scripted{err: errors.New("down")},
	} {
		if got := Name(t.Context(), model, thread); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Name(t.Context(), nil, thread); got != "how do we roll back?" {
		t.Errorf("%q", got)
	}
}
