package api

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
)

// TestAgentsScopeSearches: an agent's sets bound what it finds and counts, the caller's sets replace them, an empty list
// does not widen them, attached documents stay, and its start date is a floor.
func TestAgentsScopeSearches(t *testing.T) {
	w := newWorld(t)
	const rollback, travel, notes = "file:/handbook/rollback.md", "file:/handbook/travel.md", "file:/jo/notes.md"
	add := func(agent directory.Agent) int {
		agent.Public, agent.Listed = true, true
		added, err := w.people.In(t.Context(), directory.DefaultTenant).AddAgent(agent)
		w.check(err)
		return added.ID
	}
	attached := add(directory.Agent{Name: "Attached", Documents: []string{notes}})
	both := add(directory.Agent{Name: "Both", Documents: []string{notes},
		DocumentSets: []directory.DocumentSet{{Name: "Handbook"}}})
	recent := add(directory.Agent{Name: "Recent", SearchStart: today.Add(-time.Hour)})
	cases := []struct {
		name, who string
		agent     int
		filter    string
		want      []string
	}{
		{"agent 0 has no scope", "jo", 0, "", []string{rollback, travel, notes}},
		{"its sets", "jo", w.eng.ID, "", []string{rollback}},
		{"an empty list does not widen", "jo", w.eng.ID, `,"document_sets":[]`, []string{rollback}},
		{"attached documents alone", "jo", attached, "", []string{notes}},
		{"attached documents keep their rights", "kim", attached, "", nil},
		{"sets and attached documents", "jo", both, "", []string{rollback, notes}},
		{"the caller's sets, and the attached documents", "owner", both, `,"document_sets":["Board"]`, []string{travel}},
		{"a start date is a floor", "jo", recent, `,"time_cutoff":"2020-01-01"`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.t = t
			answer := post[wire.SearchResponse](&w, c.who, "/search",
				fmt.Sprintf(`{"query":"deploy","persona_id":%d%s}`, c.agent, c.filter))
			found := ids(answer)
			slices.Sort(found)
			want := slices.Clone(c.want)
			slices.Sort(want)
			if !slices.Equal(found, want) {
				t.Errorf("found %v, want %v", found, want)
			}
			if answer.TotalMatches != len(want) {
				t.Errorf("counted %d, want %d", answer.TotalMatches, len(want))
			}
			counted := 0
			for _, s := range answer.Facets.Sources {
				counted += s.Count
			}
			if counted != len(want) {
				t.Errorf("facets count %d, want %d: %+v", counted, len(want), answer.Facets.Sources)
			}
		})
	}
}
