package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/index"
)

// shelf is a snapshot of a few documents that answers every search with the same hits.
type shelf struct {
	index.Snapshot
	documents map[string]index.Stored
	chunks    map[string][]index.Chunk
	hits      []index.Hit
	fixed     []index.Correction
	missing   []string
	behind    bool
	damage    []index.Damage
	byText    map[string][]index.Hit // where they are others
	err       error
	mutex     sync.Mutex // guards asked
	asked     []index.Query
	twins     [][]string
	version   string
	whole     int // how often whole texts were read
}

func (s *shelf) Search(_ context.Context, q index.Query) (index.Result, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asked = append(s.asked, q)
	found, ok := s.byText[q.Text]
	if !ok {
		found = s.hits
	}
	return index.Result{Hits: found, Corrections: s.fixed, Missing: s.missing, Behind: s.behind, Matched: s, Highlighter: s}, s.err
}

func (s *shelf) Count(context.Context) (index.Counts, error) {
	matching := map[string]bool{}
	for _, hit := range s.hits {
		matching[hit.DocumentID] = true
	}
	n := len(matching)
	return index.Counts{Documents: n, Values: [field.N][]index.ValueCount{{{Value: "slack", Count: n}}}}, nil
}

func (s *shelf) Has(_ context.Context, ids []string) (map[string]bool, error) {
	has := map[string]bool{}
	for _, id := range ids {
		if slices.ContainsFunc(s.hits, func(hit index.Hit) bool { return hit.DocumentID == id }) {
			has[id] = true
		}
	}
	return has, nil
}

func (s *shelf) Facets(context.Context, index.Filter) (index.Counts, error) {
	return index.Counts{Values: [field.N][]index.ValueCount{{{Value: "slack", Count: 1}}}}, nil
}

func (s *shelf) Twins(context.Context) ([][]string, error) { return s.twins, nil }

func (s *shelf) Version() string { return s.version }

func (s *shelf) Highlight(_ string, _ index.LanguageAt, within [2]int) ([][2]int, [2]int) {
	return [][2]int{{0, 4}}, within
}

func (s *shelf) Documents(_ context.Context, ids []string, _ index.Access) (found []index.Stored, err error) {
	for _, id := range ids {
		if d, ok := s.documents[id]; ok {
			found = append(found, d)
		}
	}
	return found, nil
}

func (s *shelf) Texts(_ context.Context, ranges []index.Range, _ index.Access) ([][]index.Chunk, error) {
	texts := make([][]index.Chunk, len(ranges))
	for i, r := range ranges {
		if _, ok := s.documents[r.DocumentID]; !ok {
			continue
		}
		chunks := s.chunks[r.DocumentID]
		if r.From < len(chunks) && r.To >= len(chunks) {
			s.whole++
		}
		texts[i] = chunks[min(max(r.From, 0), len(chunks)):max(min(r.To+1, len(chunks)), 0)]
	}
	return texts, nil
}

func (s *shelf) Damage() []index.Damage { return s.damage }

func newShelf() *shelf {
	updated := time.Date(2026, 3, 12, 9, 14, 5, 0, time.UTC)
	return &shelf{
		documents: map[string]index.Stored{
			"a": {Document: index.Document{ID: "a", Title: "Rolling back", Source: "slack", Link: "https://x.example/a",
				UpdatedAt: updated, Type: "thread", Authors: []index.Person{{Name: "Jo"}, {Email: "sam@x.example"}},
				Metadata: []index.Field{{Key: "team", Values: []string{"infra"}}}}, ChunkCount: 3},
			"b": {Document: index.Document{ID: "b", Title: "Policy", Source: "confluence"}, ChunkCount: 1},
		},
		chunks: map[string][]index.Chunk{
			"a": {{Text: "roll <0>"}, {Text: "roll 1", Headings: []string{"Steps"}, Link: "https://x.example/a#steps"}, {Text: "roll 2"}},
			"b": {{Text: "policy"}},
		},
		hits: hits("a/1", "b/0", "a/2", "gone/0"),
	}
}

func search(t *testing.T, s *shelf, request wire.SearchRequest) *wire.SearchResponse {
	t.Helper()
	response, err := Run(context.Background(), s, Request{Search: request, Profile: "local", Now: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestDamageIsLeftOutAndNoted(t *testing.T) {
	tests := map[string]struct {
		damage  func(s *shelf)
		results []string // ref and content
		note    string
	}{
		"a passage": {func(s *shelf) {
			s.chunks["b"][0] = index.Chunk{Damaged: true}
			s.damage = []index.Damage{{Kind: index.DamagedText, ID: "b", Chunks: []int{0}}}
		}, []string{"a#1 roll 1\nroll 2"}, "1 passage cannot be read"},
		"the best passage of a section": {func(s *shelf) {
			s.chunks["a"][1] = index.Chunk{Damaged: true}
			s.damage = []index.Damage{{Kind: index.DamagedText, ID: "a", Chunks: []int{1}}}
		}, []string{"a#2 roll 2", "b#0 policy"}, "1 passage cannot be read"},
		"a document": {func(s *shelf) {
			s.documents["a"] = index.Stored{Document: index.Document{ID: "a"}, Damaged: true}
			s.damage = []index.Damage{{Kind: index.DamagedDocument, ID: "a"}, {Kind: index.DamagedSegment}}
		}, []string{"b#0 policy"}, "1 document and a part of the index cannot be read"},
	}
	for name, test := range tests {
		s := newShelf()
		test.damage(s)
		response := search(t, s, wire.SearchRequest{Query: "roll back"})
		var results []string
		for _, r := range response.Results {
			results = append(results, r.Ref+" "+r.Content)
		}
		last := response.Notes[len(response.Notes)-1]
		if !slices.Equal(results, test.results) || last.Code != wire.NoteDamaged || !strings.Contains(last.Text, test.note) {
			t.Errorf("%s: %q, note %+v", name, results, last)
		}
	}
}

func TestRunCitesPerDocument(t *testing.T) {
	response := search(t, newShelf(), wire.SearchRequest{Query: "roll back"})
	if len(response.Results) != 2 {
		t.Fatalf("want the merged section of a and b, and nothing of the vanished document: %+v", response.Results)
	}
	first := response.Results[0]
	if *first.CitationID != 1 || first.Ref != "a#1" || first.ChunkStart != 1 || first.ChunkEnd != 2 ||
		first.Content != "roll 1\nroll 2" || *first.Link != "https://x.example/a#steps" ||
		*first.UpdatedAt != "2026-03-12T09:14:05+00:00" || !first.Selected || first.Origin != "local" {
		t.Errorf("first result: %+v", first)
	}
	if !reflect.DeepEqual(first.Authors, []string{"Jo", "sam@x.example"}) || first.HeadingPath[0] != "Steps" {
		t.Errorf("authors or headings: %+v", first)
	}
	if !reflect.DeepEqual(response.CitationMapping, map[string]string{"1": "a", "2": "b"}) {
		t.Errorf("citations: %v", response.CitationMapping)
	}
	if response.Results[1].UpdatedAt != nil || response.Results[1].Link != nil {
		t.Errorf("unknown date and link must be null: %+v", response.Results[1])
	}
	if response.Results[0].Ranks != nil {
		t.Error("ranks without explain")
	}
}

func TestRunReportsStagesNotesAndCounts(t *testing.T) {
	s := newShelf()
	s.fixed, s.missing, s.behind = []index.Correction{{From: "rol", To: "roll"}}, []string{"vacation", "word25"}, true
	var events []string
	response, err := Run(context.Background(), s, Request{Search: wire.SearchRequest{Query: "rol"}, Now: time.Now()},
		func(e wire.SearchEvent) { events = append(events, e.Name+" "+e.State) })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, st := range response.Stages {
		names = append(names, st.Name+" "+st.Outcome)
	}
	want := []string{"understand skipped", "retrieve ok", "fuse ok", "select skipped", "expand skipped", "cite ok"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("stages %v", names)
	}
	if len(events) != 12 || events[0] != "understand start" || events[11] != "cite end" {
		t.Errorf("events %v", events)
	}
	if len(response.Notes) != 4 || response.Notes[0].Code != wire.NoteNoModel || response.Notes[1].Code != wire.NoteBehind ||
		response.Notes[2].Code != wire.NoteTypoCorrected || response.Notes[3] != (wire.Note{Code: wire.NoteWordMissing, Text: "no document has “vacation” or “word25”"}) {
		t.Errorf("notes %+v", response.Notes)
	}
	if response.TotalMatches != 3 || response.Facets.Sources[0].Count != 3 {
		t.Errorf("counts %d %+v", response.TotalMatches, response.Facets)
	}
}

// TestStreamSendsTheRankingBeforeTheAnswer: it has texts, citations and counts of its own.
func TestStreamSendsTheRankingBeforeTheAnswer(t *testing.T) {
	var types []string
	var early *wire.SearchResponse
	response, err := Run(context.Background(), newShelf(), Request{
		Search: wire.SearchRequest{Query: "roll back", Stream: true}, Now: time.Now(),
	}, func(e wire.SearchEvent) {
		if e.Type == wire.EventStage && e.State == "end" && e.MS == 0 {
			t.Errorf("%s ended without a time", e.Name)
		}
		if e.Type == wire.EventProvisional {
			early = e.Response
		}
		types = append(types, e.Type+" "+e.Name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(types, wire.EventProvisional+" "); at < 0 || types[at+1] != "stage fuse" {
		t.Fatalf("no provisional answer at the end of fuse: %v", types)
	}
	if len(early.Results) != 2 || early.Results[0].Content != "roll 1\nroll 2" || early.TotalMatches == 0 ||
		early.CitationMapping["2"] != "b" {
		t.Errorf("provisional answer %+v", early)
	}
	if len(response.Results) != 2 || len(response.CitationMapping) != 2 {
		t.Errorf("final answer %+v", response)
	}
}

func TestRunInstantIsQuietAndPrefixed(t *testing.T) {
	s := newShelf()
	response := search(t, s, wire.SearchRequest{Query: `roll "error budget" -draft ba`, Instant: true,
		Phrases: []string{"error budget"}, Exclude: []string{"draft"}})
	if len(response.Notes) != 0 {
		t.Errorf("an instant search needs no excuse for a missing model: %+v", response.Notes)
	}
	q := s.asked[0]
	if !q.Prefix || q.PrefixIfUnknown || strings.Join(strings.Fields(q.Text), " ") != "roll ba" || len(q.Phrases) != 1 || len(q.Exclude) != 1 {
		t.Errorf("query %+v", q)
	}
}

// An instant search with prefix counts what the whole search with prefix does.
func TestRunInstantWithPrefixKeepsWords(t *testing.T) {
	s := newShelf()
	search(t, s, wire.SearchRequest{Query: "roll ba", Instant: true, Prefix: true})
	if q := s.asked[0]; q.Prefix || !q.PrefixIfUnknown {
		t.Errorf("query %+v", q)
	}
}

func TestRunExplain(t *testing.T) {
	response := search(t, newShelf(), wire.SearchRequest{Query: "roll", Explain: true})
	if response.Results[1].Ranks["roll"] != 2 {
		t.Errorf("ranks %v", response.Results[1].Ranks)
	}
	if text, err := json.Marshal(wire.SearchResult{Ranks: map[string]int{}}); err != nil || !strings.Contains(string(text), `"ranks":{}`) {
		t.Errorf("without a rank: %s %v", text, err)
	}
}

func TestRunNamesEmptySources(t *testing.T) {
	s := newShelf()
	s.hits = nil
	response := search(t, s, wire.SearchRequest{Query: "x", SkipQueryExpansion: true, Filters: wire.Filters{Sources: []string{"slack", "jira"}}})
	if len(response.Notes) != 1 || response.Notes[0].Code != wire.NoteSourceEmpty || !strings.Contains(response.Notes[0].Text, "jira") {
		t.Errorf("notes %+v", response.Notes)
	}
	if response.Results == nil || response.LLMFacingText != `{"results":[]}` {
		t.Errorf("an empty answer is still whole: %+v", response)
	}
}

func TestRunWrapsFailure(t *testing.T) {
	s := newShelf()
	s.err = errors.New("disk on fire")
	_, err := Run(context.Background(), s, Request{Search: wire.SearchRequest{Query: "x"}}, nil)
	if err == nil || err.Error() != "retrieve: disk on fire" {
		t.Errorf("got %v", err)
	}
}

func TestLLMFacingTextIsJSON(t *testing.T) {
	response := search(t, newShelf(), wire.SearchRequest{Query: "roll"})
	var shown struct{ Results []map[string]any }
	if err := json.Unmarshal([]byte(response.LLMFacingText), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Results) != 2 || shown.Results[0]["document"] != 1.0 || shown.Results[0]["metadata"] == nil {
		t.Errorf("%+v", shown)
	}
	if _, present := shown.Results[1]["authors"]; present {
		t.Error("authors of a document without any")
	}
}

func TestOnlyUnknownsAreNull(t *testing.T) {
	data, err := json.Marshal(search(t, newShelf(), wire.SearchRequest{Query: "roll"}))
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	var nulls []string
	collectNulls("", answer, &nulls)
	slices.Sort(nulls)
	if want := []string{"/results/link", "/results/newer", "/results/updated_at"}; !slices.Equal(slices.Compact(nulls), want) {
		t.Errorf("nulls at %v, want %v", nulls, want)
	}
}

func collectNulls(path string, value any, nulls *[]string) {
	switch v := value.(type) {
	case nil:
		*nulls = append(*nulls, path)
	case map[string]any:
		for key, item := range v {
			collectNulls(path+"/"+key, item, nulls)
		}
	case []any:
		for _, item := range v {
			collectNulls(path, item, nulls)
		}
	}
}
