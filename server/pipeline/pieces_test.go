package pipeline

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/index"
)

func hits(ids ...string) []index.Hit {
	var list []index.Hit
	for i, id := range ids {
		name, chunk, _ := strings.Cut(id, "/")
		list = append(list, index.Hit{DocumentID: name, Chunk: int(chunk[0] - '0'), Score: float64(100 - i)})
	}
	return list
}

func TestFuse(t *testing.T) {
	cases := []struct {
		name  string
		lists []rankedList
		want  []chunkID
	}{
		{"one list keeps its order", []rankedList{{1.3, hits("a/0", "b/0", "a/1")}},
			[]chunkID{{"a", 0}, {"b", 0}, {"a", 1}}},
		{"agreement beats one first place", []rankedList{
			{1, hits("a/0", "c/0")}, {1, hits("b/0", "c/0")}},
			[]chunkID{{"c", 0}, {"a", 0}, {"b", 0}}}, // 2/52 > 1/51; a and b tie: the earlier list first
		{"weights decide between first places", []rankedList{{0.5, hits("a/0")}, {1.3, hits("b/0")}},
			[]chunkID{{"b", 0}, {"a", 0}}},
		{"of a tie, who stood better where it came first", []rankedList{
			{1, hits("z/0", "b/0", "a/0")}, {1, hits("y/0", "a/0", "b/0")}},
			[]chunkID{{"b", 0}, {"a", 0}, {"z", 0}, {"y", 0}}},
		{"no lists", nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []chunkID
			for _, f := range fuse(c.lists) {
				got = append(got, f.chunkID)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestFuseScores(t *testing.T) {
	lists := []rankedList{{1.3, hits("a/0", "b/0")}, {1, hits("b/0")}, {0.5, hits("a/0", "b/0")}}
	b := fuse(lists[:2])[0]
	if b.document != "b" {
		t.Fatalf("b should lead, got %+v", b)
	}
	if want := 1.3/52 + 1.0/51; b.fused != want {
		t.Errorf("fused score %v, want %v", b.fused, want)
	}
	if b.score != 99 {
		t.Errorf("score %v should be that of the heaviest list, 99", b.score)
	}
}

func TestRanksOfAChunk(t *testing.T) {
	r := &run{
		queries: []wire.ExecutedQuery{{Query: "q"}, {Query: "k"}, {Query: "k"}},
		found:   []index.Result{{Hits: hits("a/0", "b/0")}, {Hits: hits("b/0")}, {Hits: hits("a/0", "b/0")}},
		near:    [][]index.Hit{hits("c/0", "b/0")},
	}
	for document, want := range map[string]map[string]int{
		"a": {"q": 1, "k": 1}, "b": {"q": 2, "q (vectors)": 2, "k": 1}, "c": {"q (vectors)": 1}, "d": {},
	} {
		if ranks := r.ranksOf(chunkID{document, 0}); !reflect.DeepEqual(ranks, want) {
			t.Errorf("%s: %v, want %v", document, ranks, want)
		}
	}
}

func TestMergeAdjacent(t *testing.T) {
	ranked := fuse([]rankedList{{1, hits("a/4", "b/0", "a/3", "a/1", "a/5", "b/2")}})
	var got [][4]any
	for _, s := range mergeAdjacent(ranked, 50) {
		got = append(got, [4]any{s.document, s.start, s.end, s.center.chunk})
	}
	want := [][4]any{{"a", 3, 5, 4}, {"b", 0, 0, 0}, {"a", 1, 1, 1}, {"b", 2, 2, 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := len(mergeAdjacent(ranked, 2)); n != 2 {
		t.Errorf("limit 2 gave %d sections", n)
	}
}

func TestBoundContext(t *testing.T) {
	span := func(start, end, center int) section {
		return section{start: start, end: end, center: fusedChunk{chunkID: chunkID{"d", center}}, selected: true}
	}
	got := boundContext([]section{span(0, 4, 2), span(10, 13, 10)}, 6)
	if got[0].start != 0 || got[0].end != 4 || got[1].start != 10 || got[1].end != 10 {
		t.Errorf("the lower-ranked section gives way first: %+v", got)
	}
	got = boundContext([]section{span(0, 4, 2), span(10, 13, 10)}, 1)
	if got[0].chunks() != 1 || got[0].start != 2 || !got[0].selected || got[1].selected {
		t.Errorf("one chunk is left, the best center: %+v", got)
	}
}

func TestBoundContextProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		sections := make([]section, random.IntN(12))
		for i := range sections {
			start := random.IntN(20)
			end := start + random.IntN(8)
			center := start + random.IntN(end-start+1)
			sections[i] = section{start: start, end: end, selected: random.IntN(4) > 0,
				center: fusedChunk{chunkID: chunkID{"d", center}}}
		}
		limit := 1 + random.IntN(30)
		total, wasSelected := 0, 0
		for i, s := range boundContext(sections, limit) {
			if s.center.chunk < s.start || s.center.chunk > s.end {
				t.Fatalf("section %+v lost its center", s)
			}
			if s.start < sections[i].start || s.end > sections[i].end {
				t.Fatalf("section %+v grew from %+v", s, sections[i])
			}
			if s.selected {
				total += s.chunks()
			}
			if sections[i].selected {
				wasSelected++
			}
		}
		if total > limit || (wasSelected > 0 && total == 0) {
			t.Fatalf("%d chunks selected under a limit of %d", total, limit)
		}
	}
}

func TestWords(t *testing.T) {
	cases := []struct {
		query   string
		phrases []string
		exclude []string
		want    string
	}{
		{query: "plain words", want: "plain words"},
		{query: `deploy "error budget" now`, phrases: []string{"error budget"}, want: "deploy now"},
		{query: `deploy -draft`, exclude: []string{"draft"}, want: "deploy"},
		{query: `-draft -drafts x`, exclude: []string{"draft", "drafts"}, want: "x"},
		{query: `anti-draft -draft`, exclude: []string{"draft"}, want: "anti-draft"},
		{query: `x -"old plan" y`, exclude: []string{"old plan"}, want: "x y"},
		{query: `“smart quotes” z`, phrases: []string{"smart quotes"}, want: "z"},
		{query: `say "unlisted phrase"`, want: `say "unlisted phrase"`},
		{query: `"a" "a"`, phrases: []string{"a", "a"}, want: ""},
	}
	for _, c := range cases {
		got := Words(wire.SearchRequest{Query: c.query, Phrases: c.phrases, Exclude: c.exclude})
		if strings.Join(strings.Fields(got), " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.query, got, c.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`a "b c" -d`, "b c", "d")
	f.Add("-", "", "")
	f.Add("a -\xa5 \xa5", "\xff", "\xa5")
	f.Fuzz(func(t *testing.T, query, phrase, exclude string) {
		got := Words(wire.SearchRequest{Query: query, Phrases: []string{phrase}, Exclude: []string{exclude}})
		if len(got) > len(query) {
			t.Fatalf("%q grew to %q", query, got)
		}
	})
}

func TestEndsInWord(t *testing.T) {
	for query, want := range map[string]bool{"roll": true, "roll ": false, "": false, `"roll back"`: false} {
		if got := endsInWord(wire.SearchRequest{Query: query}); got != want {
			t.Errorf("%q: got %v", query, got)
		}
	}
	// The end of an exclusion or a phrase says nothing of the word before it.
	for query, request := range map[string]wire.SearchRequest{
		"roll -draft": {Exclude: []string{"draft"}}, "roll “error budget”": {Phrases: []string{"error budget"}},
	} {
		request.Query = query
		if endsInWord(request) {
			t.Errorf("%q asks for a prefix", query)
		}
	}
}

func TestFilterScopeAndTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(daysAgo int) *wire.Time { return &wire.Time{Time: now.AddDate(0, 0, -daysAgo)} }
	days := 30
	agent := &Agent{DocumentSets: []string{"Eng"}, Documents: []string{"doc"}, Since: now.AddDate(0, 0, -10)}
	cases := []struct {
		name        string
		request     Request
		sets        []string
		documents   []string
		since       time.Time
		keepUndated bool
	}{
		{"nothing", Request{}, nil, nil, time.Time{}, true},
		{"recent bound drops undated", Request{Search: wire.SearchRequest{TimeCutoff: at(5)}}, nil, nil, at(5).Time, false},
		{"old open bound keeps undated", Request{Search: wire.SearchRequest{TimeCutoff: at(365)}}, nil, nil, at(365).Time, true},
		{"an upper bound drops undated", Request{Search: wire.SearchRequest{TimeCutoff: at(365), TimeUntil: at(1)}},
			nil, nil, at(365).Time, false},
		{"days", Request{Search: wire.SearchRequest{TimeCutoffDays: &days}}, nil, nil, at(30).Time, false},
		{"agent's scope and floor", Request{Agent: agent, Search: wire.SearchRequest{TimeCutoff: at(365)}},
			[]string{"Eng"}, []string{"doc"}, at(10).Time, false},
		{"caller's sets replace the agent's", Request{Agent: agent, Search: wire.SearchRequest{Filters: wire.Filters{DocumentSets: []string{"HR"}}}},
			[]string{"HR"}, []string{"doc"}, at(10).Time, false},
		{"an empty list does not widen", Request{Agent: agent, Search: wire.SearchRequest{Filters: wire.Filters{DocumentSets: []string{}}}},
			[]string{"Eng"}, []string{"doc"}, at(10).Time, false},
		{"caller's later bound wins", Request{Agent: agent, Search: wire.SearchRequest{TimeCutoff: at(2)}},
			[]string{"Eng"}, []string{"doc"}, at(2).Time, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.request.Now = now
			f := Filter(c.request)
			if !slices.Equal(f.Any[field.Set], c.sets) || !slices.Equal(f.Documents, c.documents) {
				t.Errorf("scope %v %v, want %v %v", f.Any[field.Set], f.Documents, c.sets, c.documents)
			}
			if !f.Since.Equal(c.since) || f.KeepUndated != c.keepUndated {
				t.Errorf("since %v keep %v, want %v %v", f.Since, f.KeepUndated, c.since, c.keepUndated)
			}
		})
	}
}

func TestDocumentTypes(t *testing.T) {
	asked := wire.Filters{DocumentTypes: []string{"PDF", ".md", "application/pdf", "thread"}}
	got := Filter(Request{Search: wire.SearchRequest{Filters: asked}}).Any[field.Type]
	if want := []string{"pdf", "md", "pdf", "thread"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBlurb(t *testing.T) {
	long := strings.Repeat("ein wort ", 200)
	if got := blurb(long); len([]rune(got)) > blurbRunes+1 || !strings.HasSuffix(got, "…") {
		t.Errorf("not cut: %d runes", len([]rune(got)))
	}
	if got := blurb(" a\n\tb "); got != "a b" {
		t.Errorf("got %q", got)
	}
	plainly := func(text string) string { // all of it at once
		if len(text) > 16*blurbRunes {
			text = strings.ToValidUTF8(text[:16*blurbRunes], "")
		}
		runes := []rune(strings.Join(strings.Fields(text), " "))
		if len(runes) <= blurbRunes {
			return string(runes)
		}
		cut := string(runes[:blurbRunes])
		if space := strings.LastIndexByte(cut, ' '); space > blurbRunes/2 {
			cut = cut[:space]
		}
		return cut + "…"
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		letters, text := []rune{' ', '\n', 'a', 'é', '語'}[random.IntN(2):], strings.Builder{}
		for range random.IntN(1200) {
			text.WriteString(strings.Repeat(string(letters[random.IntN(len(letters))]), 1+random.IntN(6)*random.IntN(2)))
		}
		if got, want := blurb(text.String()), plainly(text.String()); got != want {
			t.Fatalf("%q:\n%q, not\n%q", text.String(), got, want)
		}
	}
}

func TestJoined(t *testing.T) {
	chunks := []index.Chunk{{Text: "# A\n\n"}, {Text: "b"}, {Text: "c\n"}}
	text, places := joined(chunks)
	for i, want := range []string{"# A\n\n", "b", "c"} {
		if at := places[i]; text != "# A\n\nb\nc" || text[at[0]:at[1]] != want {
			t.Errorf("chunk %d: %q with %q, want %q", i, text, text[at[0]:at[1]], want)
		}
	}
}

func TestSectionsReachWhatIsWanted(t *testing.T) {
	var all []index.Hit
	for document := range 30 {
		for chunk := range 5 {
			all = append(all, index.Hit{DocumentID: string(rune('A' + document)), Chunk: chunk})
		}
	}
	ranked := fuse([]rankedList{{1, all}})
	if n := len(sectionsOf(ranked, 10)); n != 10 {
		t.Errorf("50 hits make 10 sections, got %d", n)
	}
	if n := len(sectionsOf(ranked, 20)); n != 20 {
		t.Errorf("20 wanted, got %d", n)
	}
	if n := len(sectionsOf(ranked, 100)); n != 30 {
		t.Errorf("30 there are, got %d", n)
	}
}

// TestWhatIsFarDownLengthensNothing: a passage behind the first fifty and the last document of a page is no part of a
// section, and no document of the page is lost.
func TestWhatIsFarDownLengthensNothing(t *testing.T) {
	all := []index.Hit{{DocumentID: "first", Chunk: 5}}
	for i := range 69 {
		all = append(all, index.Hit{DocumentID: string(rune(0x100 + i))})
	}
	all = append(all, index.Hit{DocumentID: "first", Chunk: 4})
	ranked := fuse([]rankedList{{1, all}})
	for _, documents := range []int{10, 50, 70} {
		page := listedSections(all[:documents])
		sections := sectionsOf(onPage(ranked, page), documents)
		if len(sections) != documents || sections[0].start != 5 || sections[0].end != 5 {
			t.Errorf("%d documents: %d sections, the first is %d to %d", documents, len(sections), sections[0].start, sections[0].end)
		}
	}
}
