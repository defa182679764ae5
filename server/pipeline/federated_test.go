package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
)

// elsewhere is a scripted federated source.
type elsewhere struct {
	name      string
	sources   []string
	timeoutOf time.Duration
	answers   func(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error)
	asked     []wire.SearchRequest
}

func (e *elsewhere) Name() string                     { return e.name }
func (e *elsewhere) Sources(context.Context) []string { return e.sources }
func (e *elsewhere) Timeout() time.Duration           { return e.timeoutOf }
func (e *elsewhere) Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error) {
	e.asked = append(e.asked, request)
	return e.answers(ctx, request)
}

// sends answers with passages of the documents of these ids, from Slack.
func sends(ids ...string) func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
	return func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
		response := &wire.SearchResponse{}
		for i, id := range ids {
			response.Results = append(response.Results, wire.SearchResult{DocumentID: id, Matches: true, ChunkInd: i, ChunkStart: i, ChunkEnd: i,
				Title: "About " + id, Content: "there: " + id, SourceType: "slack", Ref: fmt.Sprintf("%s#%d", id, i)})
		}
		return response, nil
	}
}

func together(sources ...Federated) Request {
	return Request{Search: wire.SearchRequest{Query: "roll back"}, Now: day(2026, 6, 1), Profile: "local", Federated: sources,
		Trusted: true}
}

// origins tells each result's citation, document and origin.
func origins(response *wire.SearchResponse) string {
	var list []string
	for _, r := range response.Results {
		list = append(list, fmt.Sprintf("%d %s@%s", *r.CitationID, r.DocumentID, r.Origin))
	}
	return strings.Join(list, ", ")
}

func TestFederatedListsAreFused(t *testing.T) {
	acme := &elsewhere{name: "acme", answers: sends("a", "x", "x")}
	wiki := &elsewhere{name: "wiki", answers: sends("a")}
	response := ran(t, library(), together(acme, wiki))
	// 1.3/51 … 1.3/54 of the library, then 0.5/51 twice, 0.5/52, 0.5/53; documents of one id are not one.
	const want = "1 a@local, 2 b@local, 3 c@local, 4 d@local, 5 a@acme, 6 a@wiki, 7 x@acme, 7 x@acme"
	if got := origins(response); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if response.TotalMatches != 4 || response.Next(0) != 4 || fmt.Sprint(response.Searched) != "[local acme wiki]" {
		t.Errorf("%d match, searched %v", response.TotalMatches, response.Searched)
	}
	for _, r := range response.Results {
		if !r.Selected || len(r.Highlights) == 0 || r.Metadata == nil || r.Ranks != nil {
			t.Errorf("%+v", r)
		}
	}
	if response.CitationMapping["5"] != "a" || response.CitationMapping["7"] != "x" {
		t.Errorf("%v", response.CitationMapping)
	}
	if !strings.Contains(response.LLMFacingText, "there: x") {
		t.Errorf("for a model: %s", response.LLMFacingText)
	}
}

// Lists that found nothing weigh nothing.
func TestAFederatedListsShareOfTheWeight(t *testing.T) {
	found := func(weights ...float64) (lists []rankedList) {
		for _, w := range weights {
			lists = append(lists, rankedList{weight: w, hits: make([]index.Hit, 1)})
		}
		return lists
	}
	one, none := remoteList{{}}, remoteList{}
	cases := []struct {
		name   string
		ours   []rankedList
		remote []remoteList
		want   float64
	}{
		{"literal", found(1.3), []remoteList{one}, 0.5 / 1.8},
		{"parity", found(1.3, 1.2, 1.0), []remoteList{one}, 0.5 / 4},
		{"two of them", found(1.2, 1.2), []remoteList{one, one}, 0.5 / 3.4},
		{"one of them empty", found(1.2, 1.2), []remoteList{one, none}, 0.5 / 2.9},
		{"a query that found nothing", append(found(1.2), rankedList{weight: 1.3}), []remoteList{one}, 0.5 / 1.7},
		{"nothing of ours", nil, []remoteList{one}, 1},
		{"nothing at all", nil, []remoteList{none}, 0},
	}
	for _, c := range cases {
		if got := federatedShare(c.ours, c.remote); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFederatedSourcesHaveTheirShare(t *testing.T) {
	many := library()
	many.hits = nil
	for i := range 120 {
		id := fmt.Sprintf("d%03d", i)
		many.documents[id] = index.Stored{Document: index.Document{ID: id, Title: id, Source: "file"}, ChunkCount: 1}
		many.chunks[id] = []index.Chunk{{Text: id}}
		many.hits = append(many.hits, index.Hit{DocumentID: id})
	}
	cases := []struct {
		places int
		lists  []int // passages of each source
		want   string
	}{
		{10, []int{5}, "lllllllrrr"}, {10, []int{1}, "lllllllllr"}, {10, []int{5, 5}, "lllllrrrrr"},
		{10, []int{9, 9, 9, 9}, "lllllrrrrr"}, {4, []int{5}, "llrr"}, {1, []int{5}, "l"}, {2, []int{3}, "lr"}, {10, []int{0}, "llllllllll"},
	}
	for _, c := range cases {
		var sources []Federated
		for i, n := range c.lists {
			ids := make([]string, n)
			for j := range ids {
				ids[j] = fmt.Sprintf("r%d-%d", i, j)
			}
			sources = append(sources, &elsewhere{name: fmt.Sprintf("s%d", i), answers: sends(ids...)})
		}
		request := together(sources...)
		request.Search.NumResults = &c.places
		got := ""
		for _, r := range ran(t, many, request).Results {
			got += map[bool]string{true: "l", false: "r"}[r.Origin == "local"]
		}
		if got != c.want {
			t.Errorf("%d places, %v: got %s, want %s", c.places, c.lists, got, c.want)
		}
	}
}

func TestFederatedScope(t *testing.T) {
	cases := []struct {
		name    string
		request func(*Request)
		sources []string
		asked   bool
		note    string
	}{
		{"all", func(*Request) {}, []string{"jira"}, true, ""},
		{"instant", func(r *Request) { r.Search.Instant = true }, nil, false, ""},
		{"a source that is not there", func(r *Request) { r.Search.Sources = []string{"slack"} }, []string{"jira"}, false, ""},
		{"a source that is there", func(r *Request) { r.Search.Sources = []string{"slack"} }, []string{"jira", "slack"}, true, ""},
		{"not known what is there", func(r *Request) { r.Search.Sources = []string{"slack"} }, nil, true, ""},
		{"an agent", func(r *Request) { r.Agent = &Agent{ID: 1} }, nil, false, "the agent belongs to this library"},
	}
	for _, c := range cases {
		acme := &elsewhere{name: "acme", sources: c.sources, answers: sends("x")}
		request := together(acme)
		c.request(&request)
		response := ran(t, library(), request)
		if (len(acme.asked) == 1) != c.asked || strings.Contains(origins(response), "acme") != c.asked ||
			slices.Contains(response.Searched, "acme") != c.asked || !strings.Contains(notes(response), c.note) {
			t.Errorf("%s: asked %d times, found %s, notes %s", c.name, len(acme.asked), origins(response), notes(response))
		}
	}
}

func TestWhatFederatedSourcesAreAsked(t *testing.T) {
	acme := &elsewhere{name: "acme", answers: func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
		response, _ := sends("x", "y")(nil, wire.SearchRequest{})
		response.Results[1].SourceType = "jira" // which was not asked for
		response.Notes = []wire.Note{{Code: wire.NoteFilterIgnored, Text: "author: this server ignores it"},
			{Code: wire.NoteNoModel, Text: "no model"}}
		return response, nil
	}}
	request := together(acme)
	days, provider, persona := 7, "openai", 0
	request.Search = wire.SearchRequest{Query: `"roll back" -beta`, Phrases: []string{"roll back"}, Exclude: []string{"beta"},
		Filters: wire.Filters{Sources: []string{"slack"}, Authors: []string{"jo"}}, TimeCutoffDays: &days, Provider: &provider, PersonaID: &persona,
		Stream: true, Explain: true}
	response := ran(t, library(), request)
	got := acme.asked[0]
	if got.Query != `"roll back" -beta` || len(got.Phrases)+len(got.Exclude)+len(got.Authors) != 3 || got.Stream || got.Explain ||
		got.Provider != nil || got.PersonaID != nil || got.TimeCutoffDays != nil || !got.TimeCutoff.Equal(day(2026, 5, 25)) {
		t.Errorf("asked %+v", got)
	}
	if strings.Contains(origins(response), "y@acme") || !strings.Contains(origins(response), "x@acme") {
		t.Errorf("found %s", origins(response))
	}
	if got := notes(response); !strings.Contains(got, "acme: author: this server ignores it") || strings.Contains(got, "acme: no model") {
		t.Errorf("notes %s", got)
	}
	for _, r := range response.Results {
		if r.Origin == "acme" && r.Ranks[request.Search.Query] != 1 {
			t.Errorf("ranks %v", r.Ranks)
		}
	}
}

func TestFederatedSourcesThatFail(t *testing.T) {
	cases := []struct {
		name    string
		answers func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error)
		note    string
		took    time.Duration
	}{
		{"late", func(ctx context.Context, _ wire.SearchRequest) (*wire.SearchResponse, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("asking: %w", ctx.Err())
		}, "source_failed: acme did not answer in time", 8 * time.Second},
		{"hanging", func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
			time.Sleep(time.Minute) // whatever the context says
			return nil, nil
		}, "source_failed: acme did not answer in time", 8 * time.Second},
		{"failing", func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
			return nil, errors.New("the server\nis down")
		}, "source_failed: acme could not be searched (the server is down): its results are missing", 0},
		{"panicking", func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
			panic("a fault in it")
		}, "source_failed: acme could not be searched (panic: a fault in it)", 0},
		{"silent", func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) { return nil, nil },
			"source_failed: acme could not be searched", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				response := ran(t, library(), together(&elsewhere{name: "acme", answers: c.answers},
					&elsewhere{name: "wiki", answers: sends("w")}))
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v", took)
				}
				time.Sleep(time.Minute) // until nothing hangs any more
				if !strings.Contains(notes(response), c.note) || !strings.HasSuffix(origins(response), "w@wiki") ||
					len(response.Results) != 5 {
					t.Errorf("notes %s; found %s", notes(response), origins(response))
				}
			})
		})
	}
}

func TestPatienceIsBoundedByTheSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		request := together(&elsewhere{name: "acme", timeoutOf: time.Minute,
			answers: func(ctx context.Context, _ wire.SearchRequest) (*wire.SearchResponse, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		request.Search.Stream = true
		start, early := time.Now(), ""
		response, err := Run(ctx, library(), request, func(event wire.SearchEvent) {
			if event.Type == wire.EventProvisional && early == "" {
				early = fmt.Sprint(time.Since(start), len(event.Response.Results))
			}
		})
		if err != nil || time.Since(start) != 5*time.Second || len(response.Results) != 4 {
			t.Errorf("%v after %v: %+v", err, time.Since(start), response)
		}
		if early != "0s 4" {
			t.Errorf("what is here was not told at once: %q", early)
		}
	})
}

func TestMuchOfAFederatedSourceIsBounded(t *testing.T) {
	// In a bubble the time that a slow machine takes for a hundred megabytes does not count as the source's.
	synctest.Test(t, func(t *testing.T) {
		acme := &elsewhere{name: "acme", answers: func(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
			response := &wire.SearchResponse{}
			for i := range 80 {
				response.Results = append(response.Results, wire.SearchResult{DocumentID: fmt.Sprint(i), ChunkInd: -1 << 62,
					Content: strings.Repeat("ü", 1<<20), Highlights: []wire.Span{{0, 2}, {0, 1 << 20}, {5, 1}}, BestPassage: wire.Span{-1, 3}})
			}
			response.Results[3].Title = strings.Repeat("long ", 10<<20)
			return response, nil
		}}
		most := 100
		request := together(acme)
		request.Search.NumResults = &most
		response := ran(t, library(), request)
		if !strings.Contains(notes(response), "30 passages are missing") {
			t.Errorf("notes %s", notes(response))
		}
		size := 0
		for _, r := range response.Results {
			size += len(r.Content) + len(r.Title)
			for _, s := range append(r.Highlights, r.BestPassage) {
				if r.Origin == "acme" && (s[0] < 0 || s[1] > len(r.Content) || s[0] > s[1]) {
					t.Fatalf("%v in %d bytes", s, len(r.Content))
				}
			}
		}
		if size > maxRemoteBytes+1<<10 || len(response.Results) < 50 {
			t.Errorf("%d results of %d bytes", len(response.Results), size)
		}
	})
}

func TestAModelChoosesAmongFederatedPassages(t *testing.T) {
	answers := good()
	answers[purposeSelect] = says("[4!, 0]")
	model := &chat{answers: answers}
	request := questionVectors(model)
	request.Profile, request.Federated = "local", []Federated{&elsewhere{name: "acme", answers: sends("a", "y")}}
	response := ran(t, library(), request)
	if got := origins(response); got != "1 a@acme, 2 a@local" {
		t.Errorf("found %s", got)
	}
	if !strings.Contains(model.material(purposeSelect), "there: a") {
		t.Errorf("shown %s", model.material(purposeSelect))
	}
	if response.Results[0].Content != "there: a" {
		t.Errorf("expanded to %q", response.Results[0].Content)
	}
}
