package panel

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
)

func answered() Explained {
	one := 1
	return Explained{Text: "roll back", Where: "the library", Took: 184 * time.Millisecond, Response: &wire.SearchResponse{
		Queries:        []wire.ExecutedQuery{{Query: "roll back", Kind: "original", Weight: 1.2}, {Query: "rollback 字", Kind: "keyword", Weight: 1}},
		AppliedFilters: []wire.AppliedFilter{{Field: "source", Value: "slack", SetBy: "user"}, {Field: "since", Value: "2026-01-01", SetBy: "model"}},
		Stages: []wire.Stage{{Name: "understand", MS: 120, Outcome: "ok", Detail: "2 calls"}, {Name: "retrieve", MS: 3, Outcome: "ok"},
			{Name: "select", MS: 0.1, Outcome: "timeout"}},
		Notes:   []wire.Note{{Code: "stage_timeout", Text: "the selection took too long " + strings.Repeat("and longer ", 100)}},
		Results: []wire.SearchResult{{CitationID: &one, Title: "Runbook", SourceType: "slack", Ranks: map[string]int{"roll back": 2, "rollback 字": 1}}},
	}}
}

func TestWhatIsTold(t *testing.T) {
	t.Parallel()
	var p Why
	p.Show(answered())
	if screen := textOf(&p, 100, 60); strings.Contains(screen, "2 calls") {
		t.Errorf("details are shown:\n%s", screen)
	}
	p.ToggleDetails()
	screen := textOf(&p, 100, 60)
	for _, want := range []string{"“roll back” in the library · 184 ms", "1.20  original  roll back", "source slack  set by you",
		"since 2026-01-01  set by the model", "understand ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄    120.0 ms  ok · 2 calls", "timeout",
		"the selection took too long", "[1] Runbook · Slack", "1. for “rollback 字” · 2. for “roll back”"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not told:\n%s", want, screen)
		}
	}
}

// What is wider than the panel goes on below, not beyond its border.
func TestLongQueriesAreWrapped(t *testing.T) {
	t.Parallel()
	var p Why
	why := answered()
	why.Response.Queries[0].Query = "how do we roll back the release of last week"
	why.Response.Results[0].Ranks = map[string]int{why.Response.Queries[0].Query: 1, "rollback": 20}
	p.Show(why)
	screen := strings.Join(strings.Fields(strings.ReplaceAll(textOf(&p, 40, 60), "│", "")), " ")
	for _, want := range []string{"how do we roll back the release of last week", "120.0 ms ok", "0.1 ms timeout",
		"1. for “how do we roll back the release of last week” · 20. for “rollback”"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not whole:\n%s", want, screen)
		}
	}
}

// What a server does not tell is said to be unknown.
func TestWhatIsNotTold(t *testing.T) {
	t.Parallel()
	var p Why
	if screen := textOf(&p, 80, 10); !strings.Contains(screen, "no search yet") {
		t.Error(screen)
	}
	p.Show(Explained{Text: "x", Response: &wire.SearchResponse{Results: make([]wire.SearchResult, 3)}})
	screen := textOf(&p, 80, 30)
	for _, want := range []string{"not reported by this server", "Stages", "not reported"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not said:\n%s", want, screen)
		}
	}
}

func TestWhyFillsItsRectangle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range longtest.Rounds(50, 300) {
		var p Why
		p.Show(answered())
		requireFilled(t, &p, random)
		p.Move(random.IntN(60) - 10)
		p.Page(random.IntN(3) - 1)
		requireFilled(t, &p, random)
	}
}

// Of a server that tells nothing of how it searched it is said what is known, and that the rest is not.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	var p Why
	p.Show(Explained{Text: "and firmware? source:slack", After: "roll back", Where: "acme", Filters: []string{"source:slack"},
		Response: &wire.SearchResponse{}})
	screen := textOf(&p, 90, 40)
	for _, want := range []string{"follow-up to “roll back”", "not reported by this server", "source:slack  set by you",
		"set by an agent or a model are not reported", "Stages", "not reported"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not told:\n%s", want, screen)
		}
	}
	p.Show(Explained{Text: "x", Where: "the library", Response: &wire.SearchResponse{Stages: []wire.Stage{{Name: "retrieve"}}}})
	if screen := textOf(&p, 90, 40); strings.Contains(screen, "not told: whether") || !strings.Contains(screen, "Filters\n") && !strings.Contains(screen, "none") {
		t.Error(screen)
	}
}
