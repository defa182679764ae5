package explorer

import (
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
)

func TestFiltersAreCompleted(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("sou")
	screen.WaitText("tab completes source:")
	screen.Press("tab")
	screen.WaitText("Slack 12")
	screen.Type("con")
	screen.WaitText("tab completes Confluence 10")
	screen.Press("tab")
	screen.WaitText("source:confluence ✕")
	screen.Type("rollback")
	screen.WaitText("Runbook")
	screen.Press("ctrl+_")
	screen.Wait("the typed text", func(text string) bool { return !strings.Contains(text, "│ rollback") })
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"s": "", "so": "source:", "wi": "within:", "within:": "7d ", "within:3": "30d ", "source:zzz": "", "deploy ty": "type:",
		"deploy ": "", "author:": "", "set:": "",
	} {
		m := New(t.Context(), Options{Target: Target{Kind: Sample}, Now: today, Width: 120, Height: 40})
		m.box.SetQuery("", today())
		m.box.Insert(typed)
		m.Update(nil)
		got := ""
		if found := m.completions(); len(found) > 0 {
			got = found[0].text
		}
		if got != want {
			t.Errorf("%q goes on as %q, want %q", typed, got, want)
		}
	}
}

func TestValuesAreCompletedInQuotes(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"set:leg": `"Legal texts" `, `set:"Legal te`: `"Legal texts" `, `set:"5`: `"5"" disk, new" `, `set:"5"" disk, n`: `"5"" disk, new" `,
		`set:"Legal texts",5`: `"5"" disk, new" `, `tag:team="site re`: `"team=site reliability" `,
	} {
		m := New(t.Context(), Options{Target: Target{Kind: Sample}, Now: today, Width: 120, Height: 40})
		m.conn.welcome.facets = wire.Facets{DocumentSets: []wire.FacetValue{{Value: "Legal texts"}, {Value: `5" disk, new`}},
			Tags: []wire.FacetTag{{Key: "team", Value: "site reliability"}}}
		m.box.Insert(typed)
		m.Update(nil)
		found := m.completions()
		if len(found) == 0 || found[0].text != want {
			t.Fatalf("%s goes on as %v, want %s", typed, found, want)
		}
		m.complete()
		q := client.ParseQuery(m.box.Query(), today())
		if len(q.Chips) != 1 || q.Text != "" {
			t.Errorf("%s became %s", typed, m.box.Query())
		}
	}
}
