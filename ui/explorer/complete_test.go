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
	screen.WaitText("│ source:  tab │")
	screen.Press("tab")
	menu := func(text string) bool { // below the cursor
		x, y, _ := screen.Cursor()
		before, _, found := strings.Cut(screen.Line(y+1), text)
		return found && len([]rune(before)) <= x+4
	}
	screen.Wait("the sources with their counts", func(string) bool { return menu("│ Slack") })
	screen.WaitText(" 12 ")
	screen.Type("con")
	screen.Wait("one source with its count", func(string) bool { return menu("│ Confluence 10  tab │") })
	screen.Press("tab")
	screen.WaitText("source: confluence ✕")
	screen.Type("rollback")
	screen.WaitText("Runbook")
	screen.Press("ctrl+_")
	screen.Wait("the typed text", func(text string) bool { return !strings.Contains(text, "› rollback") })
}

// TestEscClosesTheCompletionsFirst: what is typed stays, until the next one.
func TestEscClosesTheCompletionsFirst(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("rollback so")
	for _, more := range []string{"", "u"} { // typed on, there are others
		screen.Type(more)
		screen.WaitText("│ source:  tab │")
		screen.Press("esc")
		screen.Wait("the query alone", func(text string) bool {
			return strings.Contains(text, "rollback so"+more) && !strings.Contains(text, "│ source:  tab │")
		})
	}
	screen.Press("esc")
	screen.WaitGone("rollback sou")
}

// A value that does not exist is said to be unknown as it is typed, with the nearest, and as long as it is set.
func TestAnUnknownValueIsNamedWhileItIsTyped(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("laptop source:sla")
	screen.WaitText("│ Slack")
	screen.WaitGone("no source")
	screen.Type("k")
	screen.WaitText("no source “slak”; did you mean slack?")
	screen.WaitGone("│ Slack")
	screen.Type(" ")
	screen.WaitText("source: slak ✕")
	screen.WaitText("no source “slak”; did you mean slack?")
	screen.Press("ctrl+u")
	screen.WaitGone("source: slak")
	screen.WaitGone("no source")
	screen.Press("ctrl+_")
	screen.WaitText("source: slak ✕")
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"s": "", "so": "source:", "wi": "within:", "within:": "7d ", "within:3": "30d ", "source:zzz": "", "deploy ty": "type:",
		"deploy ": "", "author:": "", "set:": "",
	} {
		m := New(t.Context(), Options{Target: Target{Kind: Sample}, Now: today, Width: 120, Height: 40})
		m.box.SetQuery("")
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

// What no language was found in is called unknown, and is searched for by its code alone.
func TestAnUnknownLanguage(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Sample}, Now: today, Width: 120, Height: 40})
	m.conn.welcome.exact = true
	m.conn.welcome.facets.Languages = []wire.FacetValue{{Value: "und", Count: 2}, {Value: "de", Count: 1}}
	if entry := m.countEntries("lang", m.conn.welcome.facets.Languages, 1)[0]; entry.text != "unknown" {
		t.Errorf("the home calls it %q", entry.text)
	}
	m.box.Insert("lang:unk")
	m.Update(nil)
	if found := m.completions(); len(found) != 1 || found[0].label != "unknown" || found[0].text != "und " {
		t.Errorf("lang:unk is completed by %v", found)
	}
	for query, want := range map[string]string{"lang:und ": "", "lang:unknown ": "no language “unknown”"} {
		m.box.SetQuery(query)
		if said := m.findUnknown(); said != want {
			t.Errorf("%s: %q, want %q", query, said, want)
		}
	}
}
