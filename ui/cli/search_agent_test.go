package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/target"
)

// A document is described once, also when several queries find it, and a passage is shown once.
func TestAgentFormat(t *testing.T) {
	s := newOnyx(t)
	result := func(number, chunk, last int, extra string) string {
		return fmt.Sprintf(`{"citation_id":%d,"title":"Leave","content":"%s The taxi rule %d.","link":null,"source_type":"file","updated_at":"2026-08-20T09:14:05Z",
"document_id":"file:/hr/%d.md","ref":"file:/hr/%d.md#%d","chunk_ind":%d,"chunk_start":%d,"chunk_end":%d,"chunk_count":9,"heading_path":["Leave","Rules"]%s}`,
			number, strings.Repeat("Plain words. ", 40), chunk, number, number, chunk, chunk, chunk, last, extra)
	}
	s.on("/search", body(http.StatusOK, []byte(`{"results":[`+result(1, 3, 4, `,"lines":[10,24],"bytes":[5,9],"short_ref":"k3v7q2ma#3"`)+","+result(1, 7, 7, "")+","+
		result(2, 0, 0, "")+`],"searched":["test"]}`)))
	for name, arguments := range map[string][]string{"one": {"taxi rule"}, "several": {"taxi rule", "rule of taxis"}} {
		t.Run(name, func(t *testing.T) {
			got := run(t, testDoors(s.URL), terminal{}, append([]string{"search", "--format", "agent"}, arguments...)...).check(t, ExitSuccess)
			golden.RequireEqual(t, got.out)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/search", body(http.StatusOK, fixture(t, "search-empty.json")))
		got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--format", "agent").check(t, ExitSuccess)
		if !strings.Contains(got.out, "No results.") || !strings.Contains(got.out, "quarry sources") {
			t.Errorf("stdout %q", got.out)
		}
	})
}

// Whatever the budget, the output keeps to it unless nothing but the last line is left, and that line says what was cut.
func TestBudget(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	a := &app{}
	for range 4 {
		outcomes := randomOutcomes(random, 1+random.IntN(2))
		for _, answer := range []answer{a.agentAnswer(outcomes, target.Choice{}), markdownAnswer(outcomes), searchAnswer(outcomes, false, shape{})} {
			full := answer.encode(whole())
			for tokens := 1; tokens < text.EstimateTokens(full); tokens += 1 + random.IntN(9) {
				limit := bound{most: tokens, inTokens: true}
				cut := cutTo(answer, limit, truncation{TotalBytes: len(full)})
				isJSON := strings.HasPrefix(full, "{")
				if isJSON && !json.Valid([]byte(cut)) {
					t.Fatalf("%d tokens: %s", tokens, cut)
				}
				lines := strings.Split(strings.TrimSuffix(cut, "\n"), "\n")
				if !isJSON && !strings.Contains(lines[len(lines)-1], "[cut: ") {
					t.Fatalf("%d tokens: the last line of\n%s", tokens, cut)
				}
				if !limit.fits(cut) && (len(lines) > 1 || isJSON) && !strings.Contains(cut, "[cut: 0 of") && !strings.Contains(cut, `"shown_results":0`) {
					t.Fatalf("%d tokens: %d in\n%s", tokens, limit.measure(cut), cut)
				}
			}
		}
	}
}

// A limit that fits no whole result prints the beginning of one.
func TestBudgetTrimsOneResult(t *testing.T) {
	number := 1
	outcomes := []outcome{{response: &wire.SearchResponse{Results: []wire.SearchResult{
		{CitationID: &number, Title: "Leave", Content: strings.Repeat("Leave is paid. ", 400), DocumentID: "d", Ref: "d#0"},
		{CitationID: &number, Title: "More", Content: "More.", DocumentID: "d", Ref: "d#1"}}}}}
	a := &app{}
	for name, answer := range map[string]answer{"agent": a.agentAnswer(outcomes, target.Choice{}), "md": markdownAnswer(outcomes)} {
		cut := cutTo(answer, bound{most: 90, inTokens: true}, truncation{TotalBytes: 6000})
		if !strings.Contains(cut, "Leave is") || !strings.Contains(cut, "1 of 2 results shown, shortened]\n") {
			t.Errorf("%s: %s", name, cut)
		}
	}
}

func TestLimitsExcludeEachOther(t *testing.T) {
	s := newOnyx(t)
	for says, arguments := range map[string][]string{
		"exclude each other": {"--budget", "5", "--max-output", "5"}, "--budget must be greater than 0": {"--budget", "0"},
	} {
		run(t, testDoors(s.URL), terminal{}, append([]string{"search", "x"}, arguments...)...).check(t, ExitUsage).twoLines(t, says)
	}
	got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--format", "agent", "--budget", "120").check(t, ExitSuccess)
	if tokens := text.EstimateTokens(got.out); tokens > 120 || tokens < 60 {
		t.Errorf("%d tokens: %s", tokens, got.out)
	}
}

// Plain text says in its last line that it was cut, however small the limit.
func TestCutTextSaysSo(t *testing.T) {
	plain := strings.Repeat("Zeile für Zeile 本\n", 300)
	path := "/tmp/copy.md"
	for _, limit := range []bound{{most: 1}, {most: 7}, {most: 100}, {most: 3000}, {most: 40, inTokens: true}} {
		got := limit.clip(plain, cutLines(plain, &path)...)
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "[cut") || strings.Contains(last, path) != (limit.most == 3000) {
			t.Errorf("limit %+v ends with %q", limit, last)
		}
		if !limit.fits(got) && got != "[cut]\n" {
			t.Errorf("limit %+v: %d", limit, limit.measure(got))
		}
	}
}
