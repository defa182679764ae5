package explorer

import (
	"strings"
	"testing"
)

func TestFiltersAreCompleted(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("sou")
	screen.WaitText("tab takes source:")
	screen.Press("tab")
	screen.WaitText("Slack 12")
	screen.Type("con")
	screen.WaitText("tab takes Confluence 10")
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
