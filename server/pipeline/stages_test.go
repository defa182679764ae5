package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/llm"
)

// answer is how a scripted model answers a call.
type answer func(ctx context.Context, request llm.Request) (llm.Reply, error)

// chat is a scripted model.
type chat struct {
	llm.Chat
	answers map[string]answer // by purpose

	mutex sync.Mutex
	asked []llm.Request
}

func (c *chat) Name() string { return "test/model" }

func (c *chat) Complete(ctx context.Context, request llm.Request) (llm.Reply, error) {
	c.mutex.Lock()
	c.asked = append(c.asked, request)
	c.mutex.Unlock()
	return c.answers[request.Purpose](ctx, request)
}

// purposes are what the model was asked for, sorted.
func (c *chat) purposes() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var names []string
	for _, r := range c.asked {
		names = append(names, r.Purpose)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// material is what the model was asked last for a purpose.
func (c *chat) material(purpose string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, r := range slices.Backward(c.asked) {
		if r.Purpose == purpose {
			return r.Messages[len(r.Messages)-1].Message
		}
	}
	return ""
}

// The ways in which a model answers.

func says(text string) answer {
	return func(context.Context, llm.Request) (llm.Reply, error) {
		return llm.Reply{Text: text, Usage: llm.Usage{Calls: 1, Prompt: 100, Completion: 10}}, nil
	}
}

func after(wait time.Duration, then answer) answer {
	return func(ctx context.Context, request llm.Request) (llm.Reply, error) {
		select {
		case <-time.After(wait):
			return then(ctx, request)
		case <-ctx.Done():
			return llm.Reply{}, fmt.Errorf("asking: %w", ctx.Err())
		}
	}
}

func hangs(until <-chan struct{}) answer {
	return func(context.Context, llm.Request) (llm.Reply, error) {
		<-until // whatever the context says
		return llm.Reply{}, errors.New("too late")
	}
}

func fails(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{}, &llm.Error{Kind: llm.ErrRefused, Provider: "test", Message: "no such key"}
}

func isDown(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{}, fmt.Errorf("asking: %w", &llm.Error{Kind: llm.ErrUnavailable, Provider: "test"})
}

func hasNoKey(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{}, &llm.Error{Kind: llm.ErrRefused, Provider: "test", Status: 401, Message: "no such key"}
}

func panics(context.Context, llm.Request) (llm.Reply, error) { panic("a fault in the client") }

// good answers every purpose well: sections of c and a, with c in full and a with its neighbours.
func good() map[string]answer {
	return map[string]answer{
		purposeRephrase: says("How do we roll back a release?"), purposeKeywords: says("rollback\nrelease"),
		purposeSources: says("[slack]"), purposeTime: says("updated (2026-01-01, None)"),
		purposeSelect: says("[2!, 0]"), purposeClassify: says("2"),
	}
}

// library is a shelf of four documents of seven chunks each, which finds the middle of each.
func library() *shelf {
	s := &shelf{documents: map[string]index.Stored{}, chunks: map[string][]index.Chunk{}, hits: hits("a/3", "b/3", "c/3", "d/3")}
	for _, id := range []string{"a", "b", "c", "d"} {
		s.documents[id] = index.Stored{Document: index.Document{ID: id, Title: "On " + id, Source: "slack"}, ChunkCount: 7}
		for i := range 7 {
			s.chunks[id] = append(s.chunks[id], index.Chunk{Text: fmt.Sprintf("%s%d", id, i)})
		}
	}
	return s
}

func questionVectors(model llm.Chat) Request {
	return Request{
		Search: wire.SearchRequest{Query: "roll back"}, Now: day(2026, 6, 1), Model: model,
		Sources: []string{"confluence", "slack"},
	}
}

func ran(t *testing.T, s *shelf, r Request) *wire.SearchResponse {
	t.Helper()
	response, err := Run(t.Context(), s, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// found tells the results as document, chunks and whether they are selected.
func found(response *wire.SearchResponse) string {
	var list []string
	for _, r := range response.Results {
		one := fmt.Sprintf("%s %d-%d", r.DocumentID, r.ChunkStart, r.ChunkEnd)
		if !r.Selected {
			one += " more"
		}
		list = append(list, one)
	}
	return strings.Join(list, ", ")
}

func outcomes(response *wire.SearchResponse) string {
	var list []string
	for _, s := range response.Stages {
		list = append(list, s.Name+" "+s.Outcome)
	}
	return strings.Join(list, ", ")
}

func notes(response *wire.SearchResponse) string {
	var list []string
	for _, n := range response.Notes {
		list = append(list, n.Code+": "+n.Text)
	}
	return strings.Join(list, "\n")
}

func TestAModelThatAnswersWell(t *testing.T) {
	s, model := library(), &chat{answers: good()}
	request := questionVectors(model)
	request.Search.Explain = true
	response := ran(t, s, request)
	if got := found(response); got != "c 0-6, a 1-5" {
		t.Errorf("found %s", got)
	}
	if got := model.purposes(); got != "classify keywords rephrase select sources time" {
		t.Errorf("asked for %s", got)
	}
	if want := "understand ok, retrieve ok, fuse ok, select ok, expand ok, cite ok"; outcomes(response) != want {
		t.Errorf("stages %s", outcomes(response))
	}
	for i, want := range []string{
		"rephrased, 2 keyword queries, only slack, since 2026-01-01; test/model: 4 calls, 400 tokens in, 40 out",
		"16 passages from 4 queries", "4 sections, weights parity", "2 of 4; test/model: 1 call, 100 tokens in, 10 out",
		"1 with neighbours, 1 whole; test/model: 1 call, 100 tokens in, 10 out", "2 documents",
	} {
		if got := response.Stages[i].Detail; got != want {
			t.Errorf("%s: %s, want %s", response.Stages[i].Name, got, want)
		}
	}
	if fmt.Sprint(response.Queries) != "[{How do we roll back a release? semantic 1.3} {roll back original 1.2} {rollback keyword 1} {release keyword 1}]" {
		t.Errorf("queries %v", response.Queries)
	}
	if fmt.Sprint(response.QueryExpansion) != "{[How do we roll back a release?] [rollback release]}" {
		t.Errorf("expansion %v", response.QueryExpansion)
	}
	if fmt.Sprint(response.AppliedFilters) != "[{sources slack model false} {time_cutoff 2026-01-01T00:00:00Z model false}]" {
		t.Errorf("filters %v", response.AppliedFilters)
	}
	if len(response.Notes) != 0 || response.CitationMapping["1"] != "c" || response.CitationMapping["2"] != "a" {
		t.Errorf("notes %v, citations %v", response.Notes, response.CitationMapping)
	}
	// The question ran twice: at once, and within what the model limited it to; the other queries only so.
	if len(s.asked) != 5 || len(s.asked[0].Filter.Any[field.Source]) != 0 {
		t.Errorf("asked %+v", s.asked)
	}
	for _, q := range s.asked[1:] {
		if !slices.Equal(q.Filter.Any[field.Source], []string{"slack"}) || !q.Filter.Since.Equal(day(2026, 1, 1)) {
			t.Errorf("%s ran with %+v", q.Text, q.Filter)
		}
	}
}

// TestWhatIsAskedOfTheModel: each wish of the caller skips its own calls and no others.
func TestWhatIsAskedOfTheModel(t *testing.T) {
	const all = "classify classify keywords rephrase select sources time"
	history := said("user: which tool releases?", "assistant: the release tool", "user: roll back")
	for _, c := range []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"everything", func(*Request) {}, all},
		{"with a conversation", func(r *Request) { r.Search.MessageHistory = history }, all},
		{"no expansion of the query", func(r *Request) { r.Search.SkipQueryExpansion = true }, "classify classify select sources time"},
		{"no selection", func(r *Request) { r.Search.SkipDocumentSelection = true }, "keywords rephrase sources time"},
		{"one source", func(r *Request) { r.Search.Sources = []string{"slack"} }, "classify classify keywords rephrase select time"},
		{"one source that can be seen", func(r *Request) { r.Sources = []string{"slack"} }, "classify classify keywords rephrase select time"},
		{"a quoted query", func(r *Request) { r.Search.Query = `"roll back"` }, "classify classify keywords select sources time"},
		{"instant", func(r *Request) { r.Search.Instant = true }, ""},
		{"nothing", func(r *Request) {
			r.Search.SkipQueryExpansion, r.Search.SkipDocumentSelection = true, true
		}, ""},
		{"only what is left out", func(r *Request) { r.Search.Query, r.Search.Exclude = "-draft", []string{"draft"} },
			"classify classify select sources time"},
		{"signs", func(r *Request) { r.Search.Query = "🦊 ?!" }, "classify classify select"},
		{"signs in a conversation", func(r *Request) { r.Search.Query, r.Search.MessageHistory = "👍", history }, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := &chat{answers: good()}
			model.answers[purposeSelect] = says("[2, 0]")
			request := questionVectors(model)
			c.change(&request)
			response := ran(t, library(), request)
			if got := model.purposes(); got != c.want {
				t.Errorf("asked for %s, want %s", got, c.want)
			}
			if len(response.Results) == 0 || len(response.Notes) != 0 {
				t.Errorf("results %s, notes %s", found(response), notes(response))
			}
			if c.want == "" && len(response.Queries) != 1 {
				t.Errorf("queries %v", response.Queries)
			}
		})
	}
}

func TestTheConversationIsToldInTurns(t *testing.T) {
	model := &chat{answers: good()}
	request := questionVectors(model)
	request.Search.MessageHistory = said("user: which tool?", "assistant: the release tool", "user: roll back")
	ran(t, library(), request)
	for _, asked := range model.asked {
		var roles []string
		for _, m := range asked.Messages {
			roles = append(roles, m.Type)
		}
		want := "system user"
		if asked.Purpose == purposeRephrase || asked.Purpose == purposeKeywords {
			want = "system user assistant user"
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("%s was asked in turns %s", asked.Purpose, got)
		}
	}
	if got := model.material(purposeTime); !strings.Contains(got, `["which tool?","roll back"]`) {
		t.Errorf("the time is decided by %s", got)
	}
}

// TestPhrasesHoldForEveryQuery: what must be found and what must not holds for the model's queries, too.
func TestPhrasesHoldForEveryQuery(t *testing.T) {
	s, model := library(), &chat{answers: good()}
	request := questionVectors(model)
	request.Search.Query = `roll back "error budget" -draft`
	request.Search.Phrases, request.Search.Exclude = []string{"error budget"}, []string{"draft"}
	ran(t, s, request)
	if len(s.asked) != 4 {
		t.Errorf("asked %+v", s.asked)
	}
	for _, q := range s.asked {
		if !slices.Equal(q.Phrases, request.Search.Phrases) || !slices.Equal(q.Exclude, request.Search.Exclude) {
			t.Errorf("%s ran with %v and without %v", q.Text, q.Phrases, q.Exclude)
		}
	}
	if got := model.material(purposeKeywords); !strings.Contains(got, `error budget`) || strings.Contains(got, "draft") {
		t.Errorf("the model was asked about %s", got)
	}
}

// TestARephrasingThatChangesNothing leaves one query with both weights, and one search.
func TestARephrasingThatChangesNothing(t *testing.T) {
	s, model := library(), &chat{answers: good()}
	model.answers[purposeRephrase] = says("Roll back")
	model.answers[purposeKeywords] = says("rollback")
	model.answers[purposeSources], model.answers[purposeTime] = says("[]"), says("updated (None, None)")
	response := ran(t, s, questionVectors(model))
	if fmt.Sprint(response.Queries) != "[{roll back original 2.5} {rollback keyword 1}]" || len(s.asked) != 2 {
		t.Errorf("queries %v, %d searches", response.Queries, len(s.asked))
	}
	if len(response.AppliedFilters) != 0 {
		t.Errorf("filters %v", response.AppliedFilters)
	}
}

func TestSectionsBesideTheQuestion(t *testing.T) {
	four := 4
	classes := map[string]string{"a3": "0", "b3": "1", "c3": "0", "d3": "3"}
	classify := func(_ context.Context, request llm.Request) (llm.Reply, error) {
		for passage, reply := range classes {
			if strings.Contains(request.Messages[1].Message, `<passage>"`+passage) {
				return llm.Reply{Text: reply}, nil
			}
		}
		return llm.Reply{}, errors.New("no passage")
	}
	model := &chat{answers: good()}
	model.answers[purposeSelect], model.answers[purposeClassify] = says("[3, 2, 1, 0]"), classify
	request := questionVectors(model)
	if got := found(ran(t, library(), request)); got != "d 0-6, b 3-3" {
		t.Errorf("found %s", got)
	}
	request.Search.NumResults = &four
	if got := found(ran(t, library(), request)); got != "d 0-6, b 3-3, a 3-3 more, c 3-3 more" {
		t.Errorf("of four that were asked for: %s", got)
	}
	if got := model.material(purposeClassify); !strings.Contains(got, `1\n`) || !strings.Contains(got, "<after>\"") {
		t.Errorf("the model sees no neighbours: %s", got)
	}
	for passage := range classes {
		classes[passage] = "0"
	}
	request.Search.NumResults = nil
	if got := found(ran(t, library(), request)); got != "d 3-3, c 3-3, b 3-3, a 3-3" {
		t.Errorf("with nothing else left: %s", got)
	}
}

// TestSectionsWithoutRoom: the stage says how many sections the model could not choose from.
func TestSectionsWithoutRoom(t *testing.T) {
	s := library()
	s.hits = nil
	for _, id := range strings.Split("abcdefghijkl", "") {
		s.documents[id] = index.Stored{Document: index.Document{ID: id, Title: "On " + id, Source: "slack"}, ChunkCount: 7}
		s.chunks[id] = nil
		for i := range 7 {
			s.chunks[id] = append(s.chunks[id], index.Chunk{Text: fmt.Sprint(id, i) + strings.Repeat(" word", 1_300)})
		}
		s.hits = append(s.hits, hits(id+"/3")...)
	}
	detail := ""
	for _, stage := range ran(t, s, questionVectors(&chat{answers: good()})).Stages {
		if stage.Name == "select" {
			detail = stage.Detail
		}
	}
	if !strings.Contains(detail, "; the prompt has no room for ") {
		t.Error(detail)
	}
}

// literally is what the library finds without a model.
const literally = "a 3-3, b 3-3, c 3-3, d 3-3"

// TestAFaultyModel: whatever a model does at a stage, the search answers with the best that it has, in time, and says
// what it went without.
func TestAFaultyModel(t *testing.T) {
	understanding := []string{purposeRephrase, purposeKeywords, purposeSources, purposeTime}
	garbage := says("\x00\xff{{{" + strings.Repeat("]", 50_000) + "I am a teapot")
	for _, c := range []struct {
		name     string
		purposes []string
		fault    answer // nil: hangs
		found    string
		outcomes string // of understand, select and expand
		note     string
		most     time.Duration
	}{
		{"understand hangs", understanding, nil, literally, "timeout skipped skipped", "stage_timeout: ", 8 * time.Second},
		{"understand is late", understanding, after(time.Minute, says("x")), literally, "timeout skipped skipped", "stage_timeout: ", 8 * time.Second},
		{"understand fails", understanding, fails, "c 0-6, a 1-5", "failed ok ok", "stage_failed: ", 0},
		{"understand panics", understanding, panics, "c 0-6, a 1-5", "failed ok ok", "stage_failed: ", 0},
		{"the server is down", understanding, isDown, literally, "failed skipped skipped", "stage_failed: ", 0},
		{"the key is wrong", understanding, hasNoKey, literally, "failed skipped skipped", "stage_failed: ", 0},
		{"the server goes down", []string{purposeSelect}, isDown, literally, "ok failed skipped", "stage_failed: ", 0},
		{"scopes in no form", understanding[2:], garbage, "c 0-6, a 1-5", "ok ok ok", "stage_failed: ", 0},
		{"rephrase is empty", understanding[:1], says(" \n"), "c 0-6, a 1-5", "ok ok ok", "stage_failed: ", 0},
		{"keywords hang", understanding[1:2], nil, "c 0-6, a 1-5", "ok ok ok", "stage_timeout: ", 8 * time.Second},
		{"select hangs", []string{purposeSelect}, nil, literally, "ok timeout skipped", "stage_timeout: ", 8 * time.Second},
		{"select fails", []string{purposeSelect}, fails, "a 1-5, b 1-5, c 1-5, d 1-5", "ok failed ok", "stage_failed: ", 0},
		{"select panics", []string{purposeSelect}, panics, "a 1-5, b 1-5, c 1-5, d 1-5", "ok failed ok", "stage_failed: ", 0},
		{"select in no form", []string{purposeSelect}, garbage, "a 1-5, b 1-5, c 1-5, d 1-5", "ok failed ok", "stage_failed: ", 0},
		{"select names nothing that is there", []string{purposeSelect}, says("[77, 99]"), "a 1-5, b 1-5, c 1-5, d 1-5", "ok failed ok", "stage_failed: ", 0},
		{"expand hangs", []string{purposeClassify}, nil, "c 0-6, a 3-3", "ok ok timeout", "stage_timeout: ", 8 * time.Second},
		{"expand fails", []string{purposeClassify}, fails, "c 0-6, a 3-3", "ok ok failed", "stage_failed: ", 0},
		{"expand panics", []string{purposeClassify}, panics, "c 0-6, a 3-3", "ok ok failed", "stage_failed: ", 0},
		{"expand in no form", []string{purposeClassify}, garbage, "c 0-6, a 3-3", "ok ok failed", "stage_failed: ", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				defer close(end)
				model := &chat{answers: good()}
				for _, purpose := range c.purposes {
					if model.answers[purpose] = c.fault; c.fault == nil {
						model.answers[purpose] = hangs(end)
					}
				}
				start := time.Now()
				response := ran(t, library(), questionVectors(model))
				if took := time.Since(start); took > c.most {
					t.Errorf("it took %v", took)
				}
				stages := response.Stages
				if got := stages[0].Outcome + " " + stages[3].Outcome + " " + stages[4].Outcome; got != c.outcomes {
					t.Errorf("outcomes %s, want %s: %+v", got, c.outcomes, stages)
				}
				if got := found(response); got != c.found {
					t.Errorf("found %s, want %s", got, c.found)
				}
				if got := notes(response); !strings.HasPrefix(got, c.note) || len(response.Notes) != 1 ||
					!strings.Contains(got, c.purposes[0]) || strings.Contains(got, "no such key") {
					t.Errorf("notes %s", got)
				}
			})
		})
	}
}

// TestADeadlineOfTheSearch leaves the model half of what is left each time.
func TestADeadlineOfTheSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		model := &chat{answers: good()}
		model.answers[purposeKeywords], model.answers[purposeSelect] = hangs(end), hangs(end)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		start := time.Now()
		response, err := Run(ctx, library(), questionVectors(model), nil)
		if err != nil || len(response.Results) != 4 || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v: %+v", err, time.Since(start), response)
		}
	})
}

func TestACallerWhoLeavesEndsTheSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		model := &chat{answers: good()}
		model.answers[purposeRephrase] = hangs(end)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := Run(ctx, library(), questionVectors(model), nil); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestOnlyATrustedCallerIsToldWhy(t *testing.T) {
	model := &chat{answers: good()}
	model.answers[purposeSelect] = fails
	request := questionVectors(model)
	request.Trusted = true
	if got := notes(ran(t, library(), request)); !strings.Contains(got, "no such key") {
		t.Errorf("notes %s", got)
	}
}

// TestCallsOfAStageRunBesideEachOther: each call waits until all of its stage have come, and those of the first stage
// until the question has been searched for.
func TestCallsOfAStageRunBesideEachOther(t *testing.T) {
	meet := func(parties int) func() {
		var here sync.WaitGroup
		here.Add(parties)
		return func() { here.Done(); here.Wait() }
	}
	first, last := meet(5), meet(4)
	s, model := library(), &chat{answers: good()}
	model.answers[purposeSelect] = says("[0, 1, 2, 3]")
	for purpose, arrive := range map[string]func(){
		purposeRephrase: first, purposeKeywords: first, purposeSources: first, purposeTime: first, purposeClassify: last,
	} {
		then := model.answers[purpose]
		model.answers[purpose] = func(ctx context.Context, request llm.Request) (llm.Reply, error) {
			arrive()
			return then(ctx, request)
		}
	}
	request := questionVectors(model)
	request.Search.Stream = true
	early := 0
	response, err := Run(t.Context(), s, request, func(e wire.SearchEvent) {
		if e.Type == wire.EventProvisional {
			if early++; early == 1 {
				if len(e.Response.Results) != 4 || e.Response.TotalMatches != 4 || len(e.Response.Queries) != 1 {
					t.Errorf("the question alone found %+v", e.Response)
				}
				first()
			}
		}
	})
	if err != nil || early != 2 || found(response) != "a 1-5, b 1-5, c 1-5, d 1-5" {
		t.Errorf("%v, %d early answers, then %s", err, early, found(response))
	}
}

// TestTheCriticalPath is the longest call of each stage, and nothing else that waits.
func TestTheCriticalPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &chat{answers: good()}
		model.answers[purposeSelect] = says("[0, 1, 2, 3]")
		for purpose, then := range model.answers {
			model.answers[purpose] = after(200*time.Millisecond, then)
		}
		start := time.Now()
		ran(t, library(), questionVectors(model))
		if took := time.Since(start); took != 600*time.Millisecond {
			t.Errorf("three stages of 200 ms took %v", took)
		}
	})
}
