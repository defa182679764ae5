package api

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/longtest"
	"quarry/server/directory"
	"quarry/server/index"
)

// resultWorld is a random library: documents of few words, some with the text of another, some that jo may not see.
type resultWorld struct {
	*world
	random *rand.Rand
	hidden []string // ids
	folded bool     // some copy was
}

func newResultWorld(t *testing.T, seed uint64) *resultWorld {
	w := &resultWorld{newWorld(t), rand.New(rand.NewPCG(seed, 7)), nil, false}
	var batch index.Batch
	texts := []string{}
	many := 12 + w.random.IntN(30)
	if seed == 0 {
		many = 500 // more than the candidates of a ranking
	}
	for i := range many {
		text := w.some(3+w.random.IntN(6)) + ". " + policy(14, w.random.Uint64()) // long enough to be compared
		if len(texts) > 0 && w.random.IntN(4) == 0 {
			text = texts[w.random.IntN(len(texts))]
		}
		texts = append(texts, text)
		sources, access := []string{"slack", "jira", "web"}, "PUBLIC"
		if w.random.IntN(4) == 0 {
			access = "group:Legal"
		}
		d := document(fmt.Sprintf("r%03d", i), "Note "+w.some(1), sources[w.random.IntN(3)], access, text, "team",
			[]string{"red", "blue"}[w.random.IntN(2)], []string{"", "Handbook"}[w.random.IntN(2)])
		d.Chunks = d.Chunks[:1]
		if w.random.IntN(3) == 0 { // a second section
			d.Chunks = append(d.Chunks, index.Chunk{Text: "Nothing."}, index.Chunk{Text: w.some(2)})
		}
		d.UpdatedAt = time.Date(2026, time.Month(1+w.random.IntN(5)), 3, 0, 0, i, 0, time.UTC)
		if w.random.IntN(6) == 0 {
			d.UpdatedAt = time.Time{}
		}
		if access != "PUBLIC" {
			w.hidden = append(w.hidden, d.ID)
		}
		batch.Upsert = append(batch.Upsert, d)
	}
	_, err := w.documents.Write(t.Context(), batch)
	w.check(err)
	if seed%2 == 1 {
		withVectors(w.world, 0)
	}
	return w
}

// some returns n words, which few documents have all of.
func (w *resultWorld) some(n int) string {
	words := strings.Fields("zeppelin walrus tundra quokka mirabel zanzibar")
	var text []string
	for range n {
		text = append(text, words[w.random.IntN(len(words))])
	}
	return strings.Join(text, " ")
}

// search asks as jo, with more of a request's body.
func (w *resultWorld) search(query, more string) wire.SearchResponse {
	w.t.Helper()
	return post[wire.SearchResponse](w.world, "jo", "/search", fmt.Sprintf(`{"query":%q%s}`, query, more))
}

// scroll reads every page of a list, and returns how many documents its rows stand for, with their copies, and which
// are copies of each other.
func (w *resultWorld) scroll(query, more string, size int) (matching int, copies string) {
	w.t.Helper()
	var groups []string
	seen, sections := map[string]bool{}, w.random.IntN(2) == 0 // of the first page: several of a document
	for offset := 0; ; {
		from := fmt.Sprintf(`,"offset":%d`, offset)
		if offset == 0 && sections {
			from = ""
		}
		page := w.search(query, fmt.Sprintf(`%s,"num_results":%d%s,"skip_document_selection":true`, more, size, from))
		next, onPage := page.Next(offset), map[string]bool{}
		for i, r := range page.Results {
			if onPage[r.DocumentID] {
				continue
			}
			onPage[r.DocumentID] = true
			if !r.Matches {
				before := slices.ContainsFunc(page.Results[i:], func(r wire.SearchResult) bool { return r.Matches })
				if before && r.FoundBy == "" {
					w.t.Errorf("%s%s: %s, which lacks %q, stands before a match", query, more, r.DocumentID, r.Missing)
				}
				if !before && next != page.TotalMatches {
					w.t.Errorf("%s%s: %s does not match, and no match of the page follows it", query, more, r.DocumentID)
				}
				if seen[r.DocumentID] {
					w.t.Errorf("%s%s: %s is listed twice", query, more, r.DocumentID)
				}
				seen[r.DocumentID] = true
				continue
			}
			matching++
			w.folded = w.folded || len(r.AlsoIn) > 0
			matching += len(r.AlsoIn)
			group := []string{r.DocumentID}
			for _, c := range r.AlsoIn {
				group = append(group, c.DocumentID)
			}
			slices.Sort(group)
			groups = append(groups, strings.Join(group, "="))
			for _, c := range append(r.AlsoIn, wire.DocumentCopy{DocumentID: r.DocumentID}) {
				if seen[c.DocumentID] {
					w.t.Errorf("%s%s: %s is listed twice", query, more, c.DocumentID)
				}
				seen[c.DocumentID] = true
			}
		}
		if next == offset {
			slices.Sort(groups)
			return matching, strings.Join(groups, " ")
		}
		offset = next
	}
}

// same checks one number of an answer, or what is printed of several.
func (w *resultWorld) same(what string, got, want any) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestOneResultSet holds that every number of an answer is of one set of documents: over random worlds with copies and
// hidden documents, whatever page, order and filter is asked for.
func TestOneResultSet(t *testing.T) {
	t.Parallel()
	folded := false
	for seed := range uint64(longtest.Rounds(2, 100)) {
		w := newResultWorld(t, seed)
		for i := range longtest.Rounds(5, 8) {
			query := w.some(1 + w.random.IntN(5))
			if w.random.IntN(4) == 0 {
				query = `"` + w.some(1) + `" ` + query
			}
			more := []string{"", `,"sources":["slack"]`, `,"document_sets":["Handbook"]`, `,"time_until":"2026-04-01T00:00:00Z"`,
				fmt.Sprintf(`,"persona_id":%d`, w.eng.ID)}[w.random.IntN(5)]
			if i == 0 { // which most documents have
				query, more = w.some(1), ""
			}
			w.holds(query, more)
			if t.Failed() {
				t.Fatalf("seed %d, %s%s", seed, query, more)
			}
		}
		if found := w.search(w.some(1), "").Results; len(found) > 0 {
			w.inOneOrder("", fmt.Sprintf(`,"similar_to":%q`, found[0].Ref))
		}
		w.holds("", `,"browse":true`)
		w.scopes()
		w.hides()
		folded = folded || w.folded
	}
	if !folded {
		t.Error("no copy was folded")
	}
}

// inOneOrder checks that documents stand in one order with one number each, however they are paged.
func (w *resultWorld) inOneOrder(query, more string) {
	w.t.Helper()
	list := func(size int) (rows []string) {
		for offset := 0; ; {
			page := w.search(query, fmt.Sprintf(`%s,"num_results":%d,"offset":%d,"skip_document_selection":true`, more, size, offset))
			for _, r := range page.Results {
				if r.Matches {
					rows = append(rows, fmt.Sprint(*r.CitationID, r.DocumentID))
				}
			}
			next := page.Next(offset)
			if next == offset {
				return rows
			}
			offset = next
		}
	}
	w.same("documents in order", fmt.Sprint(list(1+w.random.IntN(7))), fmt.Sprint(list(100)))
}

// holds checks the numbers of one question.
func (w *resultWorld) holds(query, more string) {
	w.t.Helper()
	whole := w.search(query, more)
	total := whole.TotalMatches
	for _, other := range []string{`,"num_results":1`, `,"num_results":100`, `,"sort":"newest"`, `,"offset":3,"skip_document_selection":true`} {
		answer := w.search(query, more+other)
		w.same("total with "+other, answer.TotalMatches, total)
		w.same("facets with "+other, fmt.Sprint(answer.Facets), fmt.Sprint(whole.Facets))
	}
	_, newest := w.scroll(query, more+`,"sort":"newest"`, 100)
	for _, order := range []string{wire.SortRelevance, wire.SortNewest, wire.SortOldest} {
		if order != wire.SortRelevance || query != "" {
			listed, copies := w.scroll(query, fmt.Sprintf(`%s,"sort":%q`, more, order), 1+w.random.IntN(7)+total/5)
			w.same("documents listed "+order, listed, total)
			w.same("copies "+order, copies, newest)
		}
	}
	w.inOneOrder(query, more)
	months := whole.Facets.Undated
	for _, m := range whole.Facets.Months {
		months += m.Count
	}
	if !strings.Contains(more, "time_until") {
		w.same("months and undated", months, total)
	}
	for _, v := range whole.Facets.Sources {
		others := strings.ReplaceAll(more, `,"sources":["slack"]`, "")
		w.same("chosen "+v.Value, w.search(query, fmt.Sprintf(`%s,"sources":[%q]`, others, v.Value)).TotalMatches, v.Count)
		if others == more {
			rest := w.search(query, fmt.Sprintf(`%s,"exclude_filters":{"sources":[%q]}`, more, v.Value))
			w.same("without "+v.Value, rest.TotalMatches, total-v.Count)
		}
	}
	for _, v := range whole.Facets.Tags {
		answer := w.search(query, fmt.Sprintf(`%s,"tags":[{"tag_key":%q,"tag_value":%q}]`, more, v.Key, v.Value))
		w.same("chosen "+v.Value, answer.TotalMatches, v.Count)
	}
	for _, v := range whole.Facets.DocumentSets {
		others := strings.ReplaceAll(more, `,"document_sets":["Handbook"]`, "")
		w.same("chosen "+v.Value, w.search(query, fmt.Sprintf(`%s,"document_sets":[%q]`, others, v.Value)).TotalMatches, v.Count)
	}
}

// scopes checks the numbers of an agent with attached documents and a start: of a search, of browsing and of the counts
// without a query.
func (w *resultWorld) scopes() {
	w.t.Helper()
	agent, err := w.people.In(w.t.Context(), directory.DefaultTenant).AddAgent(directory.Agent{Name: "Scoped", Public: true, Listed: true,
		Documents: []string{"r001", "r002", "r003", "r004", "r005"}, DocumentSets: []directory.DocumentSet{{Name: "Handbook"}},
		SearchStart: time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)})
	w.check(err)
	as := fmt.Sprintf(`,"persona_id":%d`, agent.ID)
	w.holds(w.some(1), as)
	w.holds("", `,"browse":true`+as)
	browsed := w.search("", `,"browse":true`+as)
	counted := get[wire.FacetCounts](w.world, "jo", fmt.Sprintf("/search/facets?persona_id=%d", agent.ID))
	w.same("counts without a query", fmt.Sprint(counted.TotalMatches, counted.Facets), fmt.Sprint(browsed.TotalMatches, browsed.Facets))
}

// hides checks that what jo may not see moves no number: with and without it the answers are the same.
func (w *resultWorld) hides() {
	w.t.Helper()
	var queries, before []string
	for range 6 {
		queries = append(queries, w.some(1+w.random.IntN(5)))
	}
	numbers := func(query string) string {
		answer := w.search(query, "")
		return fmt.Sprint(answer.TotalMatches, answer.Matched, answer.Facets)
	}
	for _, query := range queries {
		before = append(before, numbers(query))
	}
	_, err := w.documents.Write(w.t.Context(), index.Batch{Delete: w.hidden})
	w.check(err)
	for i, query := range queries {
		w.same("numbers of "+query+" without hidden documents", numbers(query), before[i])
	}
}

// TestWordsOfAFollowUp: the documents that match a question with a conversation are those that its rephrasing matches,
// unless that has no word of them; otherwise those that the question matches by itself.
func TestWordsOfAFollowUp(t *testing.T) {
	w := newWorld(t)
	const question = "and who pays for travel?"
	before := `[{"message":"how to roll back a deploy?","message_type":"user"},{"message":"` + question + `","message_type":"user"}]`
	for _, test := range []struct{ rephrase, history, words string }{
		{"rolling back a deploy", before, "rolling back a deploy"},
		{"zanzibar", before, question},
		{"rolling back a deploy", `[{"message":"` + question + `","message_type":"user"}]`, question},
		{"", before, question},
	} {
		withModel(w, map[string]llmtest.Answer{"rephrase": llmtest.Text(test.rephrase)})
		got := post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(
			`{"query":%q,"message_history":%s,"num_results":30}`, question, test.history))
		want := post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(
			`{"query":%q,"skip_query_expansion":true,"skip_document_selection":true}`, test.words))
		if want.TotalMatches == 0 || got.Matched != want.Matched || !reflect.DeepEqual(got.Facets, want.Facets) {
			t.Errorf("rephrased as %q, matched is %+v, want that of %q: %+v", test.rephrase, got.Matched, test.words, want.Matched)
		}
		matching := map[string]bool{}
		for _, r := range got.Results {
			if r.Matches {
				matching[r.DocumentID] = true
			}
		}
		if len(matching) != got.TotalMatches {
			t.Errorf("rephrased as %q, %d documents of %d", test.rephrase, len(matching), got.TotalMatches)
		}
	}
}

// TestFurtherResultsOfAFollowUp: what the question alone finds lacks words of its rephrasing.
func TestFurtherResultsOfAFollowUp(t *testing.T) {
	w := newWorld(t)
	var batch index.Batch
	for id, text := range map[string]string{"both": "The quokka is fed by the keeper of the tundra.",
		"one": "Who pays the mirabel? The tundra pays.", "none": "Who pays the mirabel?"} {
		batch.Upsert = append(batch.Upsert, index.Document{ID: id, Source: "slack", Title: id, Access: []string{"PUBLIC"},
			Chunks: []index.Chunk{{Text: text}}})
	}
	_, err := w.documents.Write(t.Context(), batch)
	w.check(err)
	for _, test := range []struct{ keywords, want string }{
		{"", `both true [] "", none false [quokka tundra] "", one false [quokka] ""`},
		{"mirabel", `both true [] "", none false [] "model", one false [quokka] "model"`},
	} {
		withModel(w, map[string]llmtest.Answer{"rephrase": llmtest.Text("quokka tundra"),
			"keywords": llmtest.Text(test.keywords)})
		var got []string
		for _, r := range post[wire.SearchResponse](w, "jo", "/search", `{"query":"mirabel","skip_document_selection":true,
			"message_history":[{"message":"a quokka?","message_type":"user"},{"message":"mirabel","message_type":"user"}]}`).Results {
			got = append(got, fmt.Sprintf("%s %t %s %q", r.DocumentID, r.Matches, r.Missing, r.FoundBy))
		}
		if slices.Sort(got); strings.Join(got, ", ") != test.want {
			t.Errorf("with keywords %q: %s, want %s", test.keywords, strings.Join(got, ", "), test.want)
		}
	}
}
