package passage

import (
	"testing"

	"quarry/client/wire"
)

func TestCite(t *testing.T) {
	t.Parallel()
	number, link, moment := 2, "https://wiki.acme.com/a (b)", "2026-09-21T09:14:05+00:00"
	for name, test := range map[string]struct {
		result wire.SearchResult
		want   string
	}{
		"everything": {
			wire.SearchResult{CitationID: &number, Title: "Runbook:\nrolling back", Link: &link, SourceType: "confluence", UpdatedAt: &moment,
				Authors: []string{"Jo Ortiz", "Sam"}, Ref: "confluence:1#0"},
			"[2] [Runbook: rolling back](https://wiki.acme.com/a%20%28b%29) (Confluence, 2026-09-21)",
		},
		"a file": {
			wire.SearchResult{Title: "Parental leave", HeadingPath: []string{"Parental leave", "Who is *entitled*"}, UpdatedAt: &moment,
				Citation: "handbook/people/leave.md:112", Ref: "file:/home/jo/wiki/people/leave.md#5", Link: new("file:///home/jo/wiki/people/leave.md")},
			"Parental leave › Who is \\*entitled\\* (handbook/people/leave.md:112, 2026-09-21)",
		},
		"a file in a pushed clone": {
			wire.SearchResult{Title: "Leave", Citation: "https://github.com/acme/wiki/blob/1f/leave.md#L1-L3", SourceType: "github",
				Link: new("file:///home/jo/wiki/people/leave.md")},
			"[Leave](https://github.com/acme/wiki/blob/1f/leave.md#L1-L3) (GitHub)",
		},
		"a file that an earlier version saved": {wire.SearchResult{Title: "Leave", Ref: "file:/home/jo/leave.md#3"}, "Leave (leave.md#3)"},
		"an address that runs": {wire.SearchResult{Title: "x", Citation: "javascript://a.example/%0aalert(1)", SourceType: "web"},
			"x (javascript://a.example/%0aalert(1))"},
		"no link": {
			wire.SearchResult{CitationID: &number, Title: "ERR_MIGRATION_GUARD [draft] *x*", SourceType: "slack", Ref: "slack:C1#2"},
			"[2] ERR_MIGRATION_GUARD \\[draft\\] \\*x\\* (slack:C1#2)",
		},
		"nothing": {wire.SearchResult{}, "(untitled)"},
	} {
		if got := Cite(test.result); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	number, link := 1, "https://acme.com"
	result := wire.SearchResult{CitationID: &number, Title: "Deploys", Link: &link, SourceType: "web", Content: "\n# Steps\n\n```\nmake\n```\n"}
	want := "> # Steps\n> \n> ```\n> make\n> ```\n\n— [1] [Deploys](https://acme.com) (Web)\n"
	if got := Quote(result); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	result.Content = " \n"
	if got, want := Quote(result), "[1] [Deploys](https://acme.com) (Web)\n"; got != want {
		t.Errorf("without content: got %q, want %q", got, want)
	}
}

func TestRelated(t *testing.T) {
	t.Parallel()
	moment := "2026-03-01T09:14:05+00:00"
	copies := []wire.DocumentCopy{{DocumentID: "a", Title: "Travel"}, {DocumentID: "file:/b.md", Title: "Expenses"}, {DocumentID: "c"},
		{DocumentID: "d", Title: "Four"}, {DocumentID: "e", Title: "Five"}}
	for want, result := range map[string]wire.SearchResult{
		"": {Title: "Expenses"},
		"newer version: Expenses v2 (2026-03-01)": {Newer: &wire.NewerDocument{DocumentID: "n", Title: "Expenses v2", UpdatedAt: &moment}},
		"also in Travel":                              {AlsoIn: copies[:1]},
		"without “error”":                             {Matches: true, Missing: []string{"error"}, Partial: true},
		"also in Travel, file:/b.md, c and 2 more":    {Title: "Expenses", AlsoIn: copies},
		"newer version: n · also in Travel, Expenses": {Title: "X", Newer: &wire.NewerDocument{DocumentID: "n", Title: "X"}, AlsoIn: copies[:2]},
	} {
		if got := Related(result); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
