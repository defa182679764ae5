package ui

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/ui/explorer/picker"
)

// Each row of the table works from the text of a query to the answer: as a filter, an exclusion, a count, a tab, a flag with
// its completion, and in JSON.
func TestEveryFieldNarrowsASearch(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.run(0, "add", p.write("notes.jsonl", `{"document":{"id":"a","semantic_identifier":"A","source":"notion","sections":[{"text":`+
		`"Die Rückabwicklung beginnt, wenn das Budget des Tages aufgebraucht ist und niemand mehr weiß, warum.","link":"https://a.example/a"}],`+
		`"metadata":{"team":"infra"},"primary_owners":[{"display_name":"Ada Ro"}]}}`+"\n"), "--set", "Handbook")
	p.run(0, "add", filepath.Dir(p.write("other/b.md", "# B\n\nWe roll back when the budget of the day is spent and nobody knows why.\n")))
	values := [field.N]string{field.Source: "notion", field.Set: "Handbook", field.Tag: "team=infra", field.Author: "Ada Ro",
		field.Type: "md", field.Lang: "de", field.Place: "other"}
	for _, row := range field.All() {
		t.Run(row.Name, func(t *testing.T) {
			value := values[row.ID]
			if value == "" {
				t.Fatal("no document of this test has the field")
			}
			filter := row.Name + `:"` + value + `"`
			found, left := searched(t, p, "search", "--explain", filter), searched(t, p, "search", "--explain", "--", "-"+filter)
			if len(found.Results) != 1 || len(left.Results) != 1 || found.Results[0].DocumentID == left.Results[0].DocumentID {
				t.Fatalf("%s finds %+v, and without it %+v", filter, found.Results, left.Results)
			}
			if row.Result != nil && row.Passes(&left.Results[0], []string{value}) {
				t.Errorf("the result says %q, which was excluded", row.Result(&left.Results[0]))
			}
			for _, answer := range []foundByField{found, left} {
				applied := wire.AppliedFilter{Field: row.Key, Value: value, SetBy: "user", Negated: len(answer.Applied) > 0 && answer.Applied[0].Negated}
				if !slices.Equal(answer.Applied, []wire.AppliedFilter{applied}) {
					t.Errorf("applied %+v", answer.Applied)
				}
			}
			counted := wire.FacetValue{Value: value, Count: 1}
			if counts := row.Counts(&found.Facets).Values(); !slices.Contains(counts, counted) {
				t.Errorf("counted %+v", counts)
			}
			if tab, ok := picker.FieldOf(row.Name); !ok || tab.Title == "" || tab.Filter(false, []string{value}) == "" {
				t.Errorf("tab %+v", tab)
			}
			if row.Flag == nil {
				return
			}
			if flagged := searched(t, p, "search", "--explain", "--"+row.Flag.Name, value); len(flagged.Results) != 1 ||
				flagged.Results[0].DocumentID != found.Results[0].DocumentID {
				t.Errorf("the flag finds %+v", flagged.Results)
			}
			if offered, _ := p.run(0, "__completeNoDesc", "search", "--"+row.Flag.Name, ""); !slices.Contains(strings.Split(offered, "\n"), value) {
				t.Errorf("offered %q", offered)
			}
		})
	}
}

// foundByField is what a search with one filter prints.
type foundByField struct {
	Results []wire.SearchResult
	Applied []wire.AppliedFilter `json:"applied_filters"`
	Facets  wire.Facets
}

func searched(t *testing.T, p person, arguments ...string) (found foundByField) {
	t.Helper()
	out, _ := p.run(0, arguments...)
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, out)
	}
	return found
}
