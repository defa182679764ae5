package explorer

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// linkedServer finds one document with three links that can be opened, and one that cannot.
func linkedServer() *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Links",
			"See [the board](https://grafana.acme.com/d/1), [run](javascript:alert(1)), [rollback](../ops/rollback.md) and write to <jo@acme.com>.")}})
	}}
}

func TestALinkIsOpenedByItsNumber(t *testing.T) {
	t.Parallel()
	m := &machine{}
	screen := start(t, 140, 40, Options{Target: linkedServer().remote(t), Query: "rollback", Caps: m.capabilities()})
	screen.WaitText("the board¹, run, rollback² and")
	screen.Press("L")
	screen.WaitText("╭ Links")
	screen.Type("2")
	screen.WaitText("opened https://wiki.acme.com/ops/rollback.md")
	screen.Press("L")
	screen.WaitText("grafana.acme.com/d/1")
	screen.Type("write")
	screen.WaitText("no link matches “write”")
	screen.Press("ctrl+u")
	screen.WaitText("grafana.acme.com/d/1")
	screen.Press("down", "down", "enter")
	screen.WaitText("opened mailto:jo@acme.com")
	if _, opened := m.did(); !slices.Equal(opened, []string{"https://wiki.acme.com/ops/rollback.md", "mailto:jo@acme.com"}) {
		t.Errorf("opened %q", opened)
	}
}

// Over SSH nothing is opened: the link goes to the terminal, as text to click on and into its clipboard.
func TestALinkOverSSH(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: linkedServer().remote(t), Query: "rollback",
		Caps: Capabilities{OpenReason: "links cannot be opened over SSH"}})
	screen.WaitText("the board¹, run, rollback² and")
	screen.Press("L")
	screen.WaitText("╭ Links")
	screen.Type("1")
	screen.WaitText("links cannot be opened over SSH; link sent to your terminal's clipboard")
	screen.Wait("the link", func(string) bool { return slices.Equal(screen.Clipboard(), []string{"https://grafana.acme.com/d/1"}) })
}

// A link within the document leads to its heading; one to a part that nobody finds is opened.
func TestALinkWithinTheDocument(t *testing.T) {
	t.Parallel()
	content := "See [the end](#the-end) and [elsewhere](#gone).\n\n" + strings.Repeat("Between the two.\n\n", 60) + "## The end\n\nIts text.\n\n" +
		strings.Repeat("And more.\n\n", 60)
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Long", content)}})
	}}
	m := &machine{}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "anything", Caps: m.capabilities()})
	screen.WaitText("the end¹")
	screen.Press("L")
	screen.WaitText("the end · #the-end")
	screen.Type("1")
	screen.WaitText("Its text.")
	screen.Press("L")
	screen.WaitText("elsewhere · #gone")
	screen.Type("2")
	screen.WaitText("opened https://wiki.acme.com/1#gone")
	if _, opened := m.did(); len(opened) != 1 {
		t.Errorf("opened %q", opened)
	}
}

// Of ten links the first waits for another digit, or for enter.
func TestNumbersOfTwoDigits(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	for _, letter := range "abcdefghijkl" {
		content.WriteString("[link " + string(letter) + "](https://x.example/" + string(letter) + ") ")
	}
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Links", content.String())}})
	}}
	m := &machine{}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "link", Caps: m.capabilities()})
	screen.WaitText("link l¹²")
	screen.Press("L")
	screen.WaitText("x.example/l")
	screen.Type("1")
	screen.WaitGone("x.example/b")
	screen.Press("enter")
	screen.WaitText("opened https://x.example/a")
	screen.Press("L")
	screen.WaitText("x.example/l")
	screen.Type("12")
	screen.WaitText("opened https://x.example/l")
}

// Openers take an anchor for a part of a file's name.
func TestAFileIsOpenedWithoutItsAnchor(t *testing.T) {
	t.Parallel()
	did := &machine{}
	m := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today, Caps: did.capabilities()})
	for _, link := range []string{"file:///srv/a.md#steps", "https://wiki.acme.com/1#steps"} {
		drive(t, m, m.openLink(link))
	}
	if _, opened := did.did(); !slices.Equal(opened, []string{"file:///srv/a.md", "https://wiki.acme.com/1#steps"}) {
		t.Errorf("opened %q", opened)
	}
}

func TestWhereThereAreNoLinks(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("Part 20 says")
	screen.Press("L")
	screen.WaitText("no links in the text shown")
	screen.Press("v")
	screen.WaitText("raw")
	screen.Press("L")
	screen.WaitText("links have no numbers in raw text; v renders it")
}

func TestAParagraphIsCopied(t *testing.T) {
	t.Parallel()
	content := "First of all.\n\nThe budget is in [the policy](../policy.md).\n\nLast of all."
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Equipment", content)}})
	}}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "anything"})
	screen.WaitText("First of all.")
	screen.Press("enter", "V")
	screen.WaitText("y copy")
	screen.Press("j", "y")
	screen.WaitText("paragraph of [1] sent to your terminal's clipboard")
	want := "> The budget is in [the policy](https://wiki.acme.com/policy.md).\n\n— [1] [Equipment](https://wiki.acme.com/1) (Confluence, 2026-03-12)\n"
	screen.Wait("the clipboard", func(string) bool { return len(screen.Clipboard()) == 1 })
	if got := screen.Clipboard()[0]; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	screen.Press("V")
	screen.WaitText("esc done")
	screen.Press("esc")
	screen.WaitText("h results") // the keys of the reader
}

func TestAWideTableIsReadSideways(t *testing.T) {
	t.Parallel()
	table := "| Name | Owner of it | Where it lives | When it changed | Who is told about it | Why it is there |\n|---|---|---|---|---|---|\n"
	for range 3 {
		table += "| a name of it | an owner of it | a place for it | a time of it | the people about it | the reason for it |\n"
	}
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Table", table)}})
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "anything"})
	screen.WaitText("─›")
	screen.Press("enter")
	screen.WaitText("shift+→ table")
	for range 5 {
		screen.Press("shift+right")
	}
	screen.WaitText("Why it is there")
	screen.WaitText("‹")
	screen.Press("shift+right", ",", ",", ",", ",", ",")
	screen.WaitText(" Name ")
	screen.WaitGone("‹")
	screen.Press("/")
	screen.WaitGone("shift+→ table")
}

// o opens what was configured to come first of a file and its permalink, as far as it can be opened here.
func TestSourceOf(t *testing.T) {
	t.Parallel()
	const permalink, file, page = "https://github.com/a/b/blob/1f/x.md#L3-L9", "file:///srv/b/x.md", "https://wiki/1"
	for name, test := range map[string]struct {
		kind           Kind
		permalinks     bool
		link, citation string
		want           string
	}{
		"the file":                   {Library, false, file, permalink, file},
		"the permalink":              {Library, true, file, permalink, permalink},
		"a file without one":         {Library, true, file, "hb/x.md:3", file},
		"a file elsewhere":           {Remote, false, file, permalink, permalink},
		"no link":                    {Remote, false, "", permalink, permalink},
		"a page":                     {Library, true, page, page, page},
		"a file that cannot be open": {Remote, true, file, "hb/x.md:3", file},
		"nothing":                    {Library, true, "", "hb/x.md:3", ""},
	} {
		m := New(t.Context(), Options{Target: Target{Kind: test.kind}, Permalinks: test.permalinks, Now: today})
		if got := m.sourceOf(wire.SearchResult{Link: &test.link, Citation: test.citation}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
