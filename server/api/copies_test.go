package api

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
)

// policy is a text of about 130 words, the first of which are receipts for taxis and laundry; seed is that of the others.
func policy(days int, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("hotel train flight ask manager before meal visa insurance luggage parking tip keep until back team who " +
		"abroad early late never always budget card agency office guest week room bill pay claim form sign night city")
	text := fmt.Sprintf("Receipts for taxis and laundry after %d days. Whoever travels asks a manager first.", days)
	for range 110 {
		text += " " + words[random.IntN(len(words))]
	}
	return text
}

// addPolicies stores documents with access terms, titles, ages in months and texts.
func (w *world) addPolicies(rows ...[5]any) {
	w.t.Helper()
	var batch index.Batch
	for _, row := range rows {
		d := document(row[0].(string), row[2].(string), "file", row[1].(string), row[4].(string), "team", "people", "")
		d.UpdatedAt = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC).AddDate(0, -row[3].(int), 0)
		d.Chunks = d.Chunks[:1]
		batch.Upsert = append(batch.Upsert, d)
	}
	_, err := w.documents.Write(w.t.Context(), batch)
	w.check(err)
}

// related writes results as "id +copy +copy <newer".
func related(answer wire.SearchResponse) (results []string) {
	for _, r := range answer.Results {
		line := r.DocumentID
		copies := []string{}
		for _, c := range r.AlsoIn {
			copies = append(copies, " +"+c.DocumentID)
		}
		slices.Sort(copies)
		if line += strings.Join(copies, ""); r.Newer != nil {
			line += " <" + r.Newer.DocumentID
		}
		results = append(results, line)
	}
	return results
}

const travels = `{"query":"receipts for taxis and laundry"%s}`

// TestCopiesAreFolded: documents with the same text are one result, which names those that the caller may see and
// the filters admit. Which one is shown depends on them too, and the counts include all.
func TestCopiesAreFolded(t *testing.T) {
	w := newWorld(t)
	w.addPolicies(
		[5]any{"a", "PUBLIC", "Taxis and laundry", 1, policy(14, 1)},
		[5]any{"b", "user_email:jo@acme.example", "Journeys", 2, policy(14, 1)},
		[5]any{"c", "group:Legal", "Contractors", 3, policy(14, 1)},
		[5]any{"other-days", "PUBLIC", "Executives", 3, policy(21, 1)}, // another number, so it says something else
	)
	ask := func(who, more string) wire.SearchResponse {
		return post[wire.SearchResponse](w, who, "/search", fmt.Sprintf(travels, more))
	}
	w.expect("jo", related(ask("jo", "")), []string{"a +b", "other-days"})
	w.expect("kim", related(ask("kim", "")), []string{"a +c", "other-days"})
	w.expect("jo, updated until 15 April", related(ask("jo", `,"time_until":"2026-04-15T00:00:00Z"`)), []string{"b", "other-days"})
	if answer := ask("jo", ""); answer.TotalMatches != 3 || answer.Facets.Sources[0].Count != 3 {
		t.Errorf("counts %d and %+v, want 3 matches", answer.TotalMatches, answer.Facets.Sources)
	}
	w.expect("a list", related(ask("jo", `,"sort":"newest"`)), []string{"a +b", "other-days"})
	w.expect("the oldest first", related(ask("jo", `,"sort":"oldest"`)), []string{"other-days", "b +a"})
	w.expect("behind it", related(ask("jo", `,"sort":"oldest","offset":1`)), []string{"b +a"})
	copies := ask("jo", "").Results[0].AlsoIn
	if c := copies[0]; c.Title != "Journeys" || c.SourceType != "file" || c.Link == nil || *c.Link != "https://acme.example/Jour" {
		t.Errorf("the copy is %+v", c)
	}
	_, err := w.documents.Write(t.Context(), index.Batch{Delete: []string{"a"}})
	w.check(err)
	w.expect("jo, without a", related(ask("jo", "")), []string{"b", "other-days"})
}

// TestMoreCopiesThanAreCompared of one text are rows of their own; those of other texts fold.
func TestMoreCopiesThanAreCompared(t *testing.T) {
	w := newWorld(t)
	rows := [][5]any{{"pair1", "PUBLIC", "Taxis and laundry", 0, policy(21, 1)}, {"pair2", "PUBLIC", "Journeys", 1, policy(21, 1)}}
	for i := range 501 {
		rows = append(rows, [5]any{fmt.Sprintf("a%03d", i), "PUBLIC", "Executives", 2, policy(14, 1)})
	}
	w.addPolicies(rows...)
	answer := post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(travels, `,"sort":"newest","num_results":2,"offset":0`))
	w.expect("the first two", related(answer), []string{"pair1 +pair2", "a000"})
	answer = post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(travels, `,"sort":"newest","num_results":2,"offset":502`))
	w.expect("the last", related(answer), []string{"a500"})
	if answer.TotalMatches != 503 {
		t.Errorf("%d documents", answer.TotalMatches)
	}
}

// TestTheNewerVersionComesFirst: of two versions the newer one is first, and the older one names it in every order, to
// those who may see it.
func TestTheNewerVersionComesFirst(t *testing.T) {
	first, last, _ := strings.Cut(policy(14, 1), ".")
	changed := first + ". " + policy(14, 2)[200:620] + last
	tests := map[string]struct {
		rows [][5]any
		want []string
	}{
		"a newer one": {[][5]any{{"old", "PUBLIC", "Travel policy (draft)", 9, policy(14, 1)}, {"new", "PUBLIC", "Travel policy v2", 1, changed}},
			[]string{"new", "old <new"}},
		"that is hidden from the caller": {[][5]any{{"old", "PUBLIC", "Travel policy", 9, policy(14, 1)}, {"new", "group:Legal", "Travel policy v2", 1, changed}},
			[]string{"old"}},
		"the latest of three": {[][5]any{{"v1", "PUBLIC", "Travel policy 1", 9, policy(14, 1)}, {"v2", "PUBLIC", "Travel policy 2", 5, changed},
			{"v3", "PUBLIC", "Travel policy 3", 1, changed + policy(14, 3)[200:600]}},
			[]string{"v3", "v1 <v3", "v2 <v3"}},
		"another title": {[][5]any{{"old", "PUBLIC", "Travel policy", 9, policy(14, 1)}, {"new", "PUBLIC", "Travel in Japan", 1, changed}},
			[]string{"old", "new"}},
		"another text": {[][5]any{{"old", "PUBLIC", "Travel policy", 9, policy(14, 1)}, {"new", "PUBLIC", "Travel policy v2", 1,
			policy(14, 2)}},
			[]string{"old", "new"}},
		"checked out together": {[][5]any{{"one", "PUBLIC", "Travel policy", 1, policy(14, 1)}, {"two", "PUBLIC", "Travel policy", 1, changed}},
			[]string{"one", "two"}},
		"the same text": {[][5]any{{"old", "PUBLIC", "Travel policy", 9, policy(14, 1)}, {"new", "PUBLIC", "Travel policy v2", 1, policy(14, 1)}},
			[]string{"new +old"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addPolicies(test.rows...)
			answer := post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(travels, ""))
			w.expect("found", related(answer), test.want)
			answer = post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(travels, `,"sort":"newest"`))
			w.expect("by date", slices.Sorted(slices.Values(related(answer))), slices.Sorted(slices.Values(test.want)))
		})
	}
}
