package results

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"go.mau.fi/util/exmaps"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
)

func now() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func dark() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
}

// sample is an answer of a server that tells everything, from the sample library.
func sample(t testing.TB) []wire.SearchResult {
	t.Helper()
	text, err := os.ReadFile("testdata/results.json")
	if err != nil {
		t.Fatal(err)
	}
	var items []wire.SearchResult
	if err := json.Unmarshal(text, &items); err != nil {
		t.Fatal(err)
	}
	return items
}

func of[T any](value T) *T { return &value }

// item is a passage of a document.
func item(citation int, ref, title, content string) wire.SearchResult {
	document, _, _ := strings.Cut(ref, "#")
	updated := "2026-11-18T12:00:00Z"
	if citation == 1 { // another date of the same age: one that all have is not shown
		updated = "2026-11-17T18:00:00Z"
	}
	return wire.SearchResult{CitationID: &citation, DocumentID: document, Ref: ref, Title: title, Content: content,
		SourceType: "slack", UpdatedAt: &updated, Selected: true}
}

// bare is what a server sends that tells six fields.
func bare(citation int, title, content string) wire.SearchResult {
	return wire.SearchResult{CitationID: &citation, Title: title, Content: content, Link: of("https://acme.com/" + title),
		SourceType: "confluence"}
}

func unselected(r wire.SearchResult) wire.SearchResult {
	r.Selected = false
	return r
}

// shown is a View without its styles and the spaces at the ends of its lines.
func shown(l *List, width, height int) string {
	var text strings.Builder
	l.Density = densityOf(width, height)
	for _, line := range l.View(width, height, dark(), true) {
		text.WriteString(strings.TrimRight(ansi.Strip(line), " ") + "\n")
	}
	return text.String()
}

// densityOf is that of a list of this size which fills the screen.
func densityOf(width, height int) Density {
	switch {
	case width < 50 || height < 10:
		return TitlesOnly
	case height < 20:
		return OneLine
	case height < 36:
		return TwoLines
	}
	return TwoLines
}

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if whole := strings.Join(want, "\n") + "\n"; got != whole {
		t.Errorf("got:\n%s\nwant:\n%s", got, whole)
	}
}

// glyphless takes the glyphs of sources out, which the theme chooses.
func glyphless(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, dark().SourceGlyph("slack")+" ", ""), dark().SourceGlyph("confluence")+" ", "")
}

func TestRowsStandUnderTheirDocuments(t *testing.T) {
	t.Parallel()
	var l List
	l.SetNow(now())
	second := item(1, "a#4", "Runbook", "## Steps\n\nThen **roll** the `kwctl_run` back")
	second.HeadingPath = []string{"Runbook", "Steps"}
	l.Set([]wire.SearchResult{
		item(1, "a#0", "Runbook", "# Runbook\n\nFirst roll it back"),
		item(2, "b#0", "Policy", "nothing of it"),
		second,
		unselected(item(3, "c#0", "Old page", "rolled back once")),
		unselected(item(2, "b#1", "Policy", "more of nothing")),
	}, []string{"roll", "back"}, false)
	expect(t, glyphless(shown(&l, 60, 13)),
		"▌ 1  Runbook                                       ↳ 1  3 d",
		"▌    First roll it back",
		"  ↳  Steps › Then roll the kwctl_run back",
		"  2  Policy                                        ↳ 1  3 d",
		"     nothing of it",
		" ── not selected ──────────────────────────────────────────",
		"  3  Old page                                           3 d",
		"     rolled back once",
		"", "", "", "", "")
	if documents, place, further := l.Found(); documents != 3 || place != 1 || further != 0 {
		t.Errorf("document %d, %d of %d", place, further, documents)
	}
	for y, want := range []int{0, 0, 2, 1, 1, -1, 3, 3, -1, -1, -1, -1, -1} {
		if got, ok := l.RowAt(y); got != want || ok != (want >= 0) {
			t.Errorf("line %d shows %d, want %d", y, got, want)
		}
	}
}

// What lacks a word says so where it stands; what does not match comes behind a divider after the last match, and is in no count.
func TestFurtherResults(t *testing.T) {
	t.Parallel()
	copied, lacking, last, near, also := item(1, "a#0", "Budgets", "the error budget"), item(2, "b#0", "Travel", "a budget"),
		item(3, "c#0", "SLOs", "error budgets"), item(4, "d#0", "Outages", "downtime"), item(5, "e#0", "Elsewhere", "error budget")
	copied.Matches, copied.AlsoInCount, last.Matches = true, 2, true
	lacking.Missing, near.FoundBy, also.Origin = []string{"error"}, wire.FoundByMeaning, "acme"
	last.Missing, last.Partial = []string{"budget"}, true
	var l List
	l.SetNow(now())
	l.Plain = true
	l.Set([]wire.SearchResult{copied, lacking, also, last, near}, nil, false)
	expect(t, glyphless(shown(&l, 60, 11)),
		"▌ 1  Budgets                                 +2 copies  3 d",
		"▌    the error budget",
		"  2  Travel                                             3 d",
		"     without “error”  a budget",
		"  5  Elsewhere                                          3 d",
		"     acme  error budget",
		"  3  SLOs                                               3 d",
		"     without “budget”  error budgets",
		" ── further results ───────────────────────────────────────",
		"  4  Outages                                            3 d",
		"     by meaning  downtime")
	if documents, place, further := l.Found(); documents != 4 || place != 1 || further != 0 {
		t.Errorf("document %d, %d of %d", place, further, documents)
	}
	l.Last()
	if _, place, further := l.Found(); place != 0 || further != 2 {
		t.Errorf("a further result is match %d, further result %d", place, further)
	}
}

// Where a row is its title alone, what it lacks of the query comes before how many other passages its document has.
func TestTitlesSayWhatTheyLack(t *testing.T) {
	t.Parallel()
	first, second, near := item(2, "b#0", "Travel with the company", "a budget"), item(2, "b#1", "Travel with the company", "budgets"),
		item(3, "c#0", "Outages", "downtime")
	first.Missing, second.Missing, near.FoundBy = []string{"error"}, []string{"error"}, "model"
	var l List
	l.SetNow(now())
	l.Plain = true
	l.Set([]wire.SearchResult{near, first, second}, nil, false)
	expect(t, shown(&l, 40, 4),
		" ── further results ───────────────────",
		"▌ 3  Outages          by a rewritten q…",
		"  2  Travel with the …  without “error”",
		"")
}

// A date that all documents have is not said in each row, unless it is a warning.
func TestOneDateIsNotRepeated(t *testing.T) {
	t.Parallel()
	var l List
	l.SetNow(now())
	old := item(3, "b#0", "Policy (archived)", "a budget")
	l.Set([]wire.SearchResult{item(2, "a#0", "Budgets", "the error budget"), old}, nil, false)
	expect(t, glyphless(shown(&l, 60, 10)),
		"▌ 2  Budgets",
		"▌    the error budget",
		"  3  Policy (archived)                                ⚠ 3 d",
		"     a budget", "", "", "", "", "", "")
	l.Set([]wire.SearchResult{item(2, "a#0", "Budgets", "the error budget")}, nil, false)
	if text := shown(&l, 60, 4); !strings.Contains(text, "3 d") {
		t.Errorf("a single document has no age:\n%s", text)
	}
}

// Of a document with many passages the first ones are listed, fewer where the list is low; the rest is counted, and
// reached all the same.
func TestManyPassagesOfADocument(t *testing.T) {
	t.Parallel()
	var l List
	l.WholeKey = "E"
	l.SetNow(now())
	var items []wire.SearchResult
	for i := range 60 {
		items = append(items, item(1, fmt.Sprintf("a#%d", i), "Runbook", fmt.Sprintf("passage %d", i)))
	}
	set := func(passages int) {
		l.Set(append(slices.Clip(items[:passages]), item(2, "b#0", "Policy", "another")), nil, false)
	}
	lines := func(height int) string { return strings.TrimRight(glyphless(shown(&l, 60, height)), "\n") + "\n" }
	set(60)
	expect(t, lines(8),
		"▌ 1  Runbook                                      ↳ 59  3 d",
		"  ↳  passage 1",
		"     58 more · E all",
		"  2  Policy                                             3 d")
	for height, listed := range map[int]int{8: 1, 9: 2, 10: 3, 11: 4, 200: 5} {
		for passages, want := range map[int]int{1 + listed: listed, 2 + listed: listed + 1, 3 + listed: listed} {
			set(passages) // one more would take the line that counts it
			if got := strings.Count(lines(height), "↳  passage"); got != want {
				t.Errorf("%d lines, %d passages: %d further ones are listed, want %d", height, passages, got, want)
			}
		}
	}
	set(60)
	expect(t, lines(25),
		"▌ 1  Runbook                                      ↳ 59  3 d",
		"▌    passage 0",
		"  ↳  passage 1", "  ↳  passage 2", "  ↳  passage 3", "  ↳  passage 4", "  ↳  passage 5",
		"     54 more · E all",
		"  2  Policy                                             3 d",
		"     another")
	l.Move(5)
	for range 4 {
		l.NextOfDocument(1)
	}
	expect(t, lines(25),
		"  1  Runbook                                      ↳ 59  3 d",
		"     passage 0",
		"  ↳  passage 1", "  ↳  passage 2", "  ↳  passage 3", "  ↳  passage 4", "  ↳  passage 5",
		"▌ ↳  passage 9",
		"     53 more · E all",
		"  2  Policy                                             3 d",
		"     another")
	l.Move(1)
	if r, _ := l.Selected(); r.Title != "Policy" {
		t.Errorf("below the passages is %s", r.Title)
	}
	others := slices.Clip(items[:20])
	for i := range 12 {
		others = append(others, item(2+i, fmt.Sprintf("c%d#0", i), "Policy", strings.Repeat("another ", 20)))
	}
	l.Set(others, nil, false)
	l.Density = TwoLines
	if seen := lines(29); strings.Count(seen, "Policy") < 8 || strings.Count(seen, "↳  passage") != 1 {
		t.Errorf("nine documents have room:\n%s", seen)
	}
}

// The heading of a group counts what matches, as the strip does, not what stands before it by meaning.
func TestGroupsCountMatches(t *testing.T) {
	t.Parallel()
	var l List
	l.SetNow(now())
	meant, alone := item(2, "b#0", "B", "text"), item(3, "c#0", "C", "text")
	meant.Matches, meant.FoundBy = false, wire.FoundByMeaning
	alone.Matches, alone.FoundBy, alone.SourceType = false, wire.FoundByMeaning, "jira"
	l.Set([]wire.SearchResult{meant, alone, item(1, "a#0", "A", "text")}, nil, false)
	l.SetGrouping(BySource)
	var got []string
	for _, r := range l.rows {
		if r.heading != "" {
			got = append(got, r.heading)
		}
	}
	if want := []string{"Slack · 1 document", "Jira"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Groups and parts have headings with the number of their documents, and rows of a document stay together.
func TestGroups(t *testing.T) {
	t.Parallel()
	dated := func(r wire.SearchResult, source, date string) wire.SearchResult {
		r.SourceType, r.UpdatedAt = source, of(date)
		if date == "" {
			r.UpdatedAt = nil
		}
		return r
	}
	items := []wire.SearchResult{
		dated(item(1, "a#0", "A", "text"), "slack", "2026-03-01T00:00:00Z"), dated(item(2, "b#0", "B", "text"), "jira", "2026-11-18T12:00:00Z"),
		dated(item(1, "a#3", "A", "text"), "slack", "2026-03-01T00:00:00Z"), dated(unselected(item(3, "c#0", "C", "text")), "slack", ""),
		dated(item(4, "d#0", "D", "text"), "jira", "2026-03-31T23:00:00Z"), dated(unselected(item(5, "e#0", "E", "text")), "jira", "2026-11-01T00:00:00Z"),
		dated(unselected(item(6, "f#0", "F", "text")), "slack", "2026-11-02T00:00:00Z"),
	}
	for _, test := range []struct {
		grouping string
		want     []string // headings, and the refs of the rows
	}{
		{ByDocument, []string{"a#0", "a#3", "b#0", "d#0", "not selected", "c#0", "more, by words", "e#0", "f#0"}},
		{BySource, []string{"Slack · 1 document", "a#0", "a#3", "Slack · not selected · 1 document", "c#0", "Slack · more, by words · 1 document", "f#0",
			"Jira · 2 documents", "b#0", "d#0", "Jira · more, by words · 1 document", "e#0"}},
		{ByMonth, []string{"November 2026 · 1 document", "b#0", "November 2026 · more, by words · 2 documents", "e#0", "f#0",
			"March 2026 · 2 documents", "a#0", "a#3", "d#0", "undated · not selected · 1 document", "c#0"}},
	} {
		var l List
		l.SetNow(now())
		l.More = 5
		l.Density = TwoLines
		l.Set(items, nil, false)
		l.Jump(4)
		l.View(60, 12, dark(), true)
		l.SetGrouping(test.grouping)
		if r, _ := l.Selected(); r.Ref != "d#0" {
			t.Errorf("by %s: the selection moved to %s", test.grouping, r.Ref)
		}
		var got []string
		for _, r := range l.rows {
			if r.heading != "" {
				got = append(got, r.heading)
			}
			got = append(got, l.items[r.item].Ref)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("by %s:\n%q, want\n%q", test.grouping, got, test.want)
		}
		if text := shown(&l, 60, 60); strings.Count(text, "──") < strings.Count(strings.Join(got, ""), "document") {
			t.Errorf("by %s:\n%s", test.grouping, text)
		}
		if l.IsPart = true; test.grouping == BySource {
			l.Set(items, nil, true)
			if text := shown(&l, 60, 60); strings.Count(text, " loaded ") != strings.Count(text, "document") {
				t.Errorf("a part of the documents:\n%s", text)
			}
		}
		if l.First(); !l.Jump(5) || l.items[l.SelectedIndex()].Ref != "e#0" {
			t.Errorf("by %s: 5 leads to %d", test.grouping, l.SelectedIndex())
		}
		checkView(t, &l, 60, 12, dark(), true)
	}
}

// Months follow the order of the documents; those without a date are last in either.
func TestMonthsAreInTheOrderOfTheDocuments(t *testing.T) {
	t.Parallel()
	var items []wire.SearchResult
	for i, date := range []string{"2026-08-24", "2026-09-02", "2026-09-12", "2026-11-18", ""} {
		r := item(i+1, string(rune('a'+i))+"#0", "Incident", "text")
		if r.UpdatedAt = nil; date != "" {
			r.UpdatedAt = of(date + "T00:00:00Z")
		}
		items = append(items, r)
	}
	for _, oldest := range []bool{true, false} {
		var l List
		l.SetGrouping(ByMonth)
		want := []string{"August 2026", "September 2026", "November 2026", "undated"}
		if l.OldestFirst = oldest; !oldest {
			slices.Reverse(items[:4])
			slices.Reverse(want[:3])
		}
		l.Set(items, nil, false)
		var got []string
		for _, r := range l.rows {
			if month, _, _ := strings.Cut(r.heading, " · "); month != "" {
				got = append(got, month)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("oldest first %v: %q, want %q", oldest, got, want)
		}
		if _, place, _ := l.Found(); l.SelectedIndex() != 0 || place != 1 {
			t.Errorf("oldest first %v: result %d is document %d of the list", oldest, l.SelectedIndex(), place)
		}
	}
}

// A passage that is new says so in words, also below the head of its document.
func TestNewPassages(t *testing.T) {
	t.Parallel()
	var l List
	l.SetNow(now())
	below := item(1, "a#4", "Runbook", "rolled back again")
	under := item(1, "a#5", "Runbook", "Then roll it back")
	under.HeadingPath = []string{"Runbook", "Steps"}
	l.Set([]wire.SearchResult{item(1, "a#0", "Runbook", "roll"), below, under, item(2, "b#0", "Policy", "rolls")}, nil, false)
	l.SetNew(exmaps.NewSetWithItems([]string{"a#4", "a#5", "b#0"}))
	expect(t, glyphless(shown(&l, 60, 11)),
		"▌ 1  Runbook                                       ↳ 2  3 d",
		"▌    roll",
		"  ↳  ✦ new › rolled back again",
		"  ↳  ✦ new › Steps › Then roll it back",
		"  2  Policy                                      ✦ new  3 d",
		"     rolls", "", "", "", "", "")
	l.SetNew(nil)
	if text := shown(&l, 60, 11); strings.Contains(text, "new") {
		t.Errorf("still new:\n%s", text)
	}
}

func TestServerThatTellsSixFields(t *testing.T) {
	t.Parallel()
	var l List
	l.Set([]wire.SearchResult{
		bare(1, "Runbook", strings.Repeat("filler text ", 200)+"and then roll it back"),
		bare(2, "Policy", "nothing"),
		bare(1, "Runbook", "more of the runbook"),
	}, []string{"roll"}, false)
	got := glyphless(shown(&l, 50, 11))
	for _, want := range []string{"▌ 1  Runbook", "↳ 1\n", "…text filler text and then roll it back\n", "  ↳  more of the runbook\n", " 2  Policy"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "not selected") {
		t.Errorf("a server that tells no selection selected all:\n%s", got)
	}
	if !l.NextOfDocument(1) || l.SelectedIndex() != 2 || l.NextOfDocument(1) || !l.NextOfDocument(-1) || l.SelectedIndex() != 0 {
		t.Errorf("passages of a document: at %d", l.SelectedIndex())
	}
}

// What is shown of a row at each density: the whole of it is selected, ages are aligned.
func TestDensities(t *testing.T) {
	t.Parallel()
	var l List
	l.SetNow(now())
	l.OldAge = 2 * 365 * 24 * time.Hour
	first, second := item(1, "a#0", "Runbook", "how to roll it back, if you must"), item(12, "b#0", "Policy", "none")
	second.SourceType, second.Content = "file", strings.Repeat("none of them ", 9)
	first.Metadata, first.Authors = map[string]wire.Metadata{"channel": wire.One("deploys")}, []string{"Jo Ortiz", "Bao Tran"}
	second.UpdatedAt = of("2023-11-18T12:00:00Z")
	l.Set([]wire.SearchResult{first, second}, []string{"roll"}, false)
	expect(t, shown(&l, 40, 3), "▌ 1  Runbook                        3 d", " 12  Policy                       ⚠ 3 y", "")
	expect(t, shown(&l, 9, 2), "▌ 1", " 12")
	l.Density = TwoLines
	var got []string
	for _, line := range l.View(60, 7, dark(), true) {
		got = append(got, strings.TrimRight(ansi.Strip(line), " "))
	}
	expect(t, glyphless(strings.Join(got, "\n")+"\n"),
		"▌ 1  Runbook                                            3 d",
		"▌    #deploys  how to roll it back, if you must",
		" 12  Policy                                           ⚠ 3 y",
		"     ▬ File  none of them none of them none of them none of",
		"     them none of them none of them none of them none of …",
		"", "")
}

// A warning is beside documents with a newer version and those that say that they are outdated, of whatever age.
func TestOutdatedDocumentsHaveAWarning(t *testing.T) {
	t.Parallel()
	var l List
	l.SetNow(now())
	fresh, former, said := item(1, "a#0", "Runbook", "text"), item(2, "b#0", "Policy", "text"), item(3, "c#0", "Guide (archived)", "text")
	fresh.UpdatedAt = of("2003-11-18T12:00:00Z")
	former.Newer, said.UpdatedAt = &wire.NewerDocument{DocumentID: "z"}, nil
	l.Set([]wire.SearchResult{fresh, former, said}, nil, false)
	expect(t, shown(&l, 44, 3), "▌ 1  Runbook                           23 y",
		"  2  Policy            older version  ⚠ 3 d", "  3  Guide (archived)                     ⚠")
}

// A match in the title alone is marked there, also in another form of the word.
func TestTitlesAndBreadcrumbsAreMarked(t *testing.T) {
	t.Parallel()
	th := dark()
	var l List
	r := item(1, "a#0", "Expense policy", "nothing of it")
	r.Metadata = map[string]wire.Metadata{"folder": wire.One("expenses")}
	l.Set([]wire.SearchResult{r}, []string{"expenses"}, false)
	l.Density = TwoLines
	lines := l.View(60, 20, th, false)
	for at, word := range []string{"Expense", "expenses"} {
		if !strings.Contains(lines[at], th.Match.Render(word)) {
			t.Errorf("%q is not marked in %q", word, lines[at])
		}
	}
	other := item(2, "b#0", "Leave", "Its policy.")
	other.Highlights = []wire.Span{{4, 10}}
	l.Set([]wire.SearchResult{r, other}, []string{"policies"}, false)
	if line := l.View(60, 20, th, false)[0]; !strings.Contains(line, th.Match.Render("policy")) {
		t.Errorf("a form that the server marked in another result is not marked in %q", line)
	}
}

func TestHighlightShowsInTheFirstLine(t *testing.T) {
	t.Parallel()
	th := dark()
	match := th.Match.Render("needle")
	prose := strings.Repeat("straw and more of it, as far as one can see ", 40)
	for name, content := range map[string]string{
		"at the start": "needle " + prose, "in a long line": prose + "needle " + prose, "at the end": prose + "needle",
		"after lines": strings.ReplaceAll(prose, ", ", "\n") + "the needle", "behind a heading": "# T\n\n" + prose + "\n## needle\n" + prose,
		"in code": prose + "\n```\nfind needle\n```\n", "in a link": prose + "[the needle](https://a.b/" + strings.Repeat("x", 300) + ")",
		"no spaces": strings.Repeat("本番への", 300) + " needle " + strings.Repeat("本番への", 300),
	} {
		for _, size := range [][2]int{{59, 34}, {80, 15}, {120, 40}, {45, 12}} {
			best := max(0, strings.Index(content, "needle")-200)
			for _, passage := range []wire.Span{{}, {best, len(content)}} {
				var l List
				r := item(1, "a#0", "T", content)
				r.BestPassage = passage
				l.Set([]wire.SearchResult{item(2, "b#0", "Z", "z"), r}, []string{"needle"}, false)
				l.Last()
				l.First()
				l.Density = OneLine
				lines := l.View(size[0], size[1], th, true)
				at := 1 + slices.IndexFunc(lines, func(line string) bool { return strings.Contains(ansi.Strip(line), " 1  T") })
				if !strings.Contains(lines[at], match) {
					t.Errorf("%s, %v, best passage %v: %q", name, size, passage, ansi.Strip(lines[at]))
				}
			}
		}
	}
}

func TestSelectionIsToldWithoutColour(t *testing.T) {
	t.Parallel()
	mono := theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})
	var l List
	l.Set([]wire.SearchResult{item(1, "a#0", "One", "x"), item(2, "b#0", "Two", "y")}, nil, false)
	l.Density = OneLine
	focused := ansi.Strip(strings.Join(l.View(60, 20, mono, true), "\n"))
	blurred := ansi.Strip(strings.Join(l.View(60, 20, mono, false), "\n"))
	if strings.Count(focused, "▌") != 2 || strings.Count(blurred, "▏") != 2 || strings.Contains(blurred, "▌") {
		t.Errorf("focused:\n%s\nand not:\n%s", focused, blurred)
	}
}

func TestStaleRowsStay(t *testing.T) {
	t.Parallel()
	th := dark()
	var l List
	l.Set([]wire.SearchResult{item(1, "a#0", "One", "roll")}, []string{"roll"}, false)
	fresh := strings.Join(l.View(60, 20, th, true), "\n")
	l.Stale = true
	stale := strings.Join(l.View(60, 20, th, true), "\n")
	if ansi.Strip(fresh) != ansi.Strip(stale) || fresh == stale || strings.Contains(stale, th.Match.Render("roll")) {
		t.Errorf("fresh:\n%s\nstale:\n%s", fresh, stale)
	}
	l.Set([]wire.SearchResult{item(1, "a#0", "One", "roll")}, []string{"roll"}, true)
	if again := strings.Join(l.View(60, 20, th, true), "\n"); again != fresh {
		t.Errorf("new results are drawn as old ones:\n%s", again)
	}
}

func TestSelectionMoves(t *testing.T) {
	t.Parallel()
	var l List
	if _, ok := l.Selected(); ok || l.SelectedIndex() != -1 || l.Move(1) || l.Jump(1) || l.NextOfDocument(1) {
		t.Error("an empty list has a selection")
	}
	l.First()
	l.Last()
	l.HalfPage(1)
	var items []wire.SearchResult
	for i := range 30 {
		items = append(items, item(i/2+1, fmt.Sprintf("d%d#%d", i/2, i%2), fmt.Sprint("Document ", i/2), "text"))
	}
	l.Set(items, nil, false)
	at := func(want int, what string) {
		t.Helper()
		if got := l.SelectedIndex(); got != want {
			t.Errorf("%s: at %d, want %d", what, got, want)
		}
	}
	at(0, "set")
	if !l.Move(3) || !l.Move(-1) || l.Move(0) {
		t.Error("moving says that it did not")
	}
	at(2, "moved")
	l.Move(1 << 30)
	at(28, "moved far, to where the last document is folded")
	if !l.Move(1) || l.Move(1) {
		t.Error("moved beyond the end")
	}
	l.First()
	at(0, "first")
	l.Density = OneLine
	l.View(60, 12, dark(), true) // title, passage, further passage; five times title and passage: 7 rows
	l.HalfPage(1)
	at(4, "half a page")
	l.HalfPage(-1)
	at(0, "half a page back")
	if !l.Jump(7) || l.Jump(99) {
		t.Error("jump")
	}
	at(12, "jumped")
	l.SelectIndex(5)
	l.SelectIndex(500)
	at(5, "selected")
	if !l.NextOfDocument(-1) || l.NextOfDocument(-1) {
		t.Error("the passage before")
	}
	at(4, "passage before")
}

// TestUnfolding: of each document but the selected one only the first passage is seen, and what is marked or new. Going
// down meets every passage; going up what was in sight.
func TestUnfolding(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(34, 0))
	for range 20 {
		var l List
		var items []wire.SearchResult
		marked := exmaps.Set[string]{}
		for document := range 20 {
			for passage := range 1 + random.IntN(4) {
				ref := fmt.Sprintf("d%d#%d", document, passage)
				items = append(items, item(document+1, ref, fmt.Sprint("Document ", document), "text"))
				if random.IntN(10) == 0 {
					marked.Add(ref)
				}
			}
		}
		l.SetMarked(marked)
		l.Set(items, nil, false)
		seen := func() (shown []int) {
			l.View(60, 100, dark(), true)
			for y := range 100 {
				if at, ok := l.RowAt(y); ok && (len(shown) == 0 || shown[len(shown)-1] != at) {
					shown = append(shown, at)
				}
			}
			return shown
		}
		for at := range items {
			if got := l.SelectedIndex(); got != at {
				t.Fatalf("%d steps down lead to %d", at, got)
			}
			var want []int
			for i, r := range items {
				if strings.HasSuffix(r.Ref, "#0") || marked.Has(r.Ref) || r.DocumentID == items[at].DocumentID {
					want = append(want, i)
				}
			}
			if got := seen(); !slices.Equal(got, want) {
				t.Fatalf("at %s: %v is seen, want %v", items[at].Ref, got, want)
			}
			l.Move(1)
		}
		for shown := seen(); ; shown = seen() {
			above := slices.Index(shown, l.SelectedIndex()) - 1
			if l.Move(-1) != (above >= 0) || above >= 0 && l.SelectedIndex() != shown[above] {
				t.Fatalf("up from %v leads to %d", shown[:above+2], l.SelectedIndex())
			}
			if above < 0 {
				break
			}
		}
	}
}

func TestSelectionStaysOverTheSameQuestion(t *testing.T) {
	t.Parallel()
	var l List
	items := []wire.SearchResult{item(1, "a#0", "A", "x"), item(2, "b#0", "B", "x"), item(2, "b#3", "B", "y"), item(3, "c#0", "C", "x")}
	l.Set(items, nil, false)
	l.SelectIndex(2)
	moved := []wire.SearchResult{item(1, "b#0", "B", "x"), item(2, "a#0", "A", "x"), item(1, "b#3", "B", "y")}
	l.Set(moved, nil, true)
	if l.SelectedIndex() != 2 {
		t.Errorf("the passage moved: at %d", l.SelectedIndex())
	}
	l.Set(moved[:2], nil, true)
	if l.SelectedIndex() != 0 {
		t.Errorf("another passage of the document is left: at %d", l.SelectedIndex())
	}
	l.Set([]wire.SearchResult{items[3], items[0]}, nil, true)
	if l.SelectedIndex() != 0 {
		t.Errorf("nothing is left of the document: at %d", l.SelectedIndex())
	}
	l.Set(items, nil, true)
	l.Set(items, nil, false)
	if l.SelectedIndex() != 0 {
		t.Errorf("another question: at %d", l.SelectedIndex())
	}
	l.Set([]wire.SearchResult{bare(1, "A", "x"), bare(2, "B", "y"), bare(2, "B", "z")}, nil, false)
	l.Last()
	l.Set([]wire.SearchResult{bare(1, "B", "y"), bare(1, "B", "z")}, nil, true)
	if l.SelectedIndex() != 1 {
		t.Errorf("without refs: at %d", l.SelectedIndex())
	}
}

func TestResizeKeepsTheTopRow(t *testing.T) {
	t.Parallel()
	var l List
	var items []wire.SearchResult
	for i := range 60 {
		items = append(items, item(i+1, fmt.Sprintf("d%d#0", i), fmt.Sprint("Document ", i), strings.Repeat("text ", 40)))
	}
	l.Set(items, nil, false)
	l.Move(40)
	l.View(100, 30, dark(), true)
	l.Move(-5)
	l.View(100, 30, dark(), true)
	top, _ := l.RowAt(0)
	for _, size := range [][2]int{{120, 30}, {60, 30}, {80, 36}, {100, 30}} {
		l.View(size[0], size[1], dark(), true)
		if got, _ := l.RowAt(0); got != top {
			t.Errorf("at %v the top row is %d, was %d", size, got, top)
		}
	}
	for _, height := range []int{20, 12, 6, 3, 1} {
		l.View(60, height, dark(), true)
	}
	l.View(100, 30, dark(), true)
	if got, _ := l.RowAt(0); got != top {
		t.Errorf("back from small screens the top row is %d, was %d", got, top)
	}
}

// scraps are pieces of text that are hard to draw.
func scraps() []string {
	return []string{"", "plain words ", "本番へのロールバック", "👩‍🚀❤️🇩🇪👍🏽", "التراجع عن الإصدار ", "é\u0301\u0302", "\t", "\n\n", "# ", "**", "`", "| a | b |\n",
		"> ", "- [x] ", "[x](https://a.b/c) ", "한글", "ไทย", "कि", "\u200b\u200d", "a_b_c ", "roll ", strings.Repeat("x", 300), "```\n"}
}

func someText(random *rand.Rand, most int) string {
	var text strings.Builder
	all := scraps()
	for range random.IntN(most + 1) {
		text.WriteString(all[random.IntN(len(all))])
	}
	return text.String()
}

func someItems(random *rand.Rand) []wire.SearchResult {
	items := make([]wire.SearchResult, random.IntN(40))
	for i := range items {
		r := wire.SearchResult{Title: someText(random, 5), Content: someText(random, 60), SourceType: someText(random, 1)}
		if random.IntN(3) > 0 {
			r.CitationID = of(random.IntN(1200) % (random.IntN(1200) + 1))
		}
		if random.IntN(2) == 0 {
			r.Ref, r.Selected, r.UpdatedAt = fmt.Sprint("d#", i), random.IntN(3) > 0, of("2026-01-01T00:00:00Z")
			r.Authors, r.HeadingPath = []string{someText(random, 2), "b"}, []string{someText(random, 2)}
			r.BestPassage = wire.Span{random.IntN(300) - 20, random.IntN(900)}
			for range random.IntN(4) {
				r.Highlights = append(r.Highlights, wire.Span{random.IntN(400) - 20, random.IntN(500)})
			}
		}
		items[i] = r
	}
	return items
}

// operate does one of the things that can be done to a list.
func operate(random *rand.Rand, l *List) {
	switch random.IntN(14) {
	case 11:
		l.SetGrouping(Groupings()[random.IntN(3)])
	case 12:
		l.More = random.IntN(30)
		at := random.IntN(20)
		fresh := exmaps.Set[string]{}
		for _, r := range l.items {
			if r.CitationID != nil && *r.CitationID > at {
				fresh.Add(r.Ref)
			}
		}
		l.SetNew(fresh)
	case 0:
		l.Set(someItems(random), []string{"roll", "本番"}, random.IntN(2) == 0)
	case 1:
		l.Move(random.IntN(100) - 50)
	case 2:
		l.First()
	case 3:
		l.Last()
	case 4:
		l.HalfPage(random.IntN(5) - 2)
	case 5:
		l.Jump(random.IntN(20))
	case 6:
		l.SelectIndex(random.IntN(40))
	case 7:
		l.NextOfDocument(random.IntN(2)*2 - 1)
	case 8:
		l.Stale = random.IntN(2) == 0
	case 9:
		l.SetNow(now().Add(time.Duration(random.IntN(1000)) * time.Hour))
	case 10:
		l.Clear()
	default:
		l.Move(1)
	}
}

// Whatever is done and however large the screen: the lines fill it exactly, the selection is on it, and drawing anew
// gives the same.
func TestViewFillsTheScreen(t *testing.T) {
	t.Parallel()
	themes := []theme.Theme{dark(), theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})}
	for seed := range uint64(longtest.Rounds(15, 120)) {
		random := rand.New(rand.NewPCG(seed, 1))
		var l List
		l.Set(someItems(random), []string{"roll"}, false)
		for range 40 {
			operate(random, &l)
			width, height := random.IntN(241), random.IntN(81)
			if random.IntN(4) == 0 {
				width, height = random.IntN(8), random.IntN(5)
			}
			checkView(t, &l, width, height, themes[random.IntN(2)], random.IntN(2) == 0)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func checkView(t *testing.T, l *List, width, height int, th theme.Theme, focused bool) {
	t.Helper()
	lines := l.View(width, height, th, focused)
	if len(lines) != height {
		t.Fatalf("%d lines at %d×%d", len(lines), width, height)
	}
	for y, line := range lines {
		if got := paint.Width(line); got != width {
			t.Fatalf("line %d is %d columns wide at %d×%d: %q", y, got, width, height, line)
		}
	}
	fresh := *l
	fresh.drawn = canvas{}
	if again := fresh.View(width, height, th, focused); !slices.Equal(lines, again) {
		t.Fatalf("drawn anew at %d×%d:\n%s\nbefore:\n%s", width, height, strings.Join(again, "\n"), strings.Join(lines, "\n"))
	}
	if width == 0 || height < 4 || l.Len() == 0 {
		return
	}
	whole := len(l.rowLines(l.selected))
	on := 0
	for y := range lines {
		if index, ok := l.RowAt(y); ok && index == l.SelectedIndex() {
			on++
		}
	}
	if l.rows[l.selected].heading != "" {
		on++ // the line above it
	}
	if on != whole {
		t.Fatalf("%d of %d lines of the selected row are shown at %d×%d", on, whole, width, height)
	}
}

func TestHugeContentIsShownFast(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("本番への **roll** `back` ", 1<<15)
	var l List
	items := []wire.SearchResult{item(1, "a#0", huge, huge), item(2, "b#0", "B", strings.Repeat("x", 1<<20)),
		item(3, "c#0", "C", strings.Repeat("*a _b [c](d ", 1<<16)), item(4, "d#0", "D", strings.Repeat("\n", 1<<20)),
		item(5, "e#0", "E", "e"+strings.Repeat("\u0301", 1<<18))}
	items[0].Authors, items[0].HeadingPath, items[0].BestPassage = []string{huge}, []string{huge}, wire.Span{1 << 19, 1<<19 + 10}
	l.Set(items, []string{"roll"}, false)
	checkView(t, &l, 80, 24, dark(), true)
	checkView(t, &l, 40, 8, dark(), true)
}

func BenchmarkViewMoving(b *testing.B) {
	l, th := fifty(b), dark()
	b.ReportAllocs()
	for b.Loop() {
		if !l.Move(1) {
			l.First()
		}
		l.View(59, 34, th, true)
	}
}

func BenchmarkViewUnchanged(b *testing.B) {
	l, th := fifty(b), dark()
	b.ReportAllocs()
	for b.Loop() {
		l.View(59, 34, th, true)
	}
}

// BenchmarkViewNew draws a screen of new results.
func BenchmarkViewNew(b *testing.B) {
	l, th := fifty(b), dark()
	items := l.items
	b.ReportAllocs()
	for b.Loop() {
		l.Set(items, nil, false)
		l.View(59, 34, th, true)
	}
}

func fifty(b *testing.B) *List {
	b.Helper()
	var items []wire.SearchResult
	for i := range 50 {
		for _, r := range sample(b)[i%10 : i%10+1] {
			r.CitationID, r.Ref, r.DocumentID = of(i+1), fmt.Sprint("d#", i), fmt.Sprint("d", i)
			items = append(items, r)
		}
	}
	l := &List{}
	l.SetNow(now())
	l.Set(items, nil, false)
	return l
}

func TestRowsNameCopiesAndVersions(t *testing.T) {
	copied, older := item(1, "a#0", "Travel", "Book early."), item(2, "b#0", "Travel 2025", "Book late.")
	copied.AlsoIn = []wire.DocumentCopy{{DocumentID: "c", Title: "C"}, {DocumentID: "d", Title: "D"}}
	older.Newer = &wire.NewerDocument{DocumentID: "a", Title: "Travel"}
	older.DocumentID, older.SourceType = "file:/handbook/departments/people-and-talent/travel-and-expenses/policies/older/travel.md", "file"
	var l List
	l.Set([]wire.SearchResult{copied, older}, nil, false)
	view := shown(&l, 80, 20)
	for _, want := range []string{"+2 copies", "older version"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is missing:\n%s", want, view)
		}
	}
}

// Where places divide the documents a row begins with the innermost place, in the colour of the outer one, which is
// named where few results are in it; documents of one title show what differs.
func TestRowsBeginWithPlaces(t *testing.T) {
	t.Parallel()
	in := func(citation int, title, place string) wire.SearchResult {
		r := item(citation, place+title+"#0", title, "the text")
		r.SourceType, r.Place, r.Citation = "file", place, place+"/"+strings.ToLower(title)+".md:1"
		return r
	}
	var l List
	l.SetNow(now())
	l.Set([]wire.SearchResult{in(1, "Leave", "acme/people"), in(2, "Team", "acme/teams/one/about"),
		in(3, "Team", "acme/teams/two/about"), in(4, "Leave", "other-handbook/people"), in(5, "Alone", "other-handbook")}, nil, false)
	if text := shown(&l, 60, 10); strings.Contains(text, "File") || !strings.Contains(text, "acme › people  the text") {
		t.Errorf("by source:\n%s", text)
	}
	l.SetDimension(dimension.ByPlace([]wire.FacetValue{{Value: "acme"}, {Value: "other-handbook"}}))
	expect(t, shown(&l, 60, 10),
		"▌ 1  Leave                                              3 d",
		"▌    acme › people  the text",
		"  2  Team                                               3 d",
		"     one › about  the text",
		"  3  Team                                               3 d",
		"     two › about  the text",
		"  4  Leave                                              3 d",
		"     other-handbook  the text",
		"  5  Alone                                              3 d",
		"     other-handbook  the text")
	lines := strings.Join(l.View(60, 10, dark(), true), "\n")
	for at, name := range []string{"one › about", "other-handbook"} {
		if pen := dark().PlaceStyle(at); !strings.Contains(lines, pen.Render(name)) {
			t.Errorf("%s has another colour", name)
		}
	}
	l.SetGrouping(BySource)
	if text := shown(&l, 60, 14); !strings.Contains(text, "── acme · 3 documents ") ||
		!strings.Contains(text, "── other-handbook · 2 documents ") {
		t.Errorf("by place:\n%s", text)
	}
}
