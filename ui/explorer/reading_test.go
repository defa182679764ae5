package explorer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/client/wire"
)

// longLibrary is a library with one document of forty chunks, of which the search finds the twentieth and the thirtieth.
func longLibrary() *script {
	chunk := func(i int) string { return fmt.Sprintf("Part %d says what stands in part %d about rollback.", i, i) }
	passage := func(i int, selected bool) map[string]any {
		return map[string]any{"citation_id": 1, "title": "The long runbook", "content": chunk(i), "link": "file:///srv/runbook.md",
			"source_type": "file", "updated_at": "2026-03-12T09:00:00+00:00", "document_id": "file:/srv/runbook.md",
			"ref": fmt.Sprintf("file:/srv/runbook.md#%d", i), "chunk_ind": i, "chunk_start": i, "chunk_end": i, "chunk_count": 40,
			"highlights": [][2]int{{len(chunk(i)) - 9, len(chunk(i)) - 1}}, "selected": selected}
	}
	return &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{passage(20, true), passage(30, true)}, "total_matches": 1})
	}, routes: map[string]http.HandlerFunc{
		"GET /version": func(w http.ResponseWriter, _ *http.Request) {
			answer200(w, map[string]any{"backend_version": "x", "quarry": map[string]any{"version": "1", "api": 1,
				"features": []string{"chunks", "stream", "facets", "instant", "num_results"}}})
		},
		"GET /document/chunks": func(w http.ResponseWriter, r *http.Request) {
			var from, to int
			fmt.Sscan(r.URL.Query().Get("from"), &from)
			fmt.Sscan(r.URL.Query().Get("to"), &to)
			var chunks []wire.Chunk
			for i := from; i <= min(to, 39); i++ {
				chunks = append(chunks, wire.Chunk{ChunkInd: i, Content: chunk(i)})
			}
			answer200(w, wire.DocumentChunks{Document: wire.DocumentInfo{ID: "file:/srv/runbook.md", ChunkCount: 40}, Chunks: chunks})
		},
	}}
}

func TestReadingOn(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("Part 20 says")
	screen.WaitText("part 21 of 40")
	screen.Press("e")
	screen.WaitText("Part 18 says")
	screen.WaitText("Part 22 says")
	screen.Press("E")
	screen.WaitGone("above")
	screen.WaitText("Part 20 says") // what was looked at stays in place
	screen.Press("enter", "g")
	screen.WaitText("Part 0 says")
	screen.Press("G")
	screen.WaitText("Part 39 says")
	screen.Press("esc", "]")
	screen.WaitText("Part 30 says")
	screen.Press("[")
	screen.WaitText("Part 20 says")
}

func TestMatchesAreWalkedThrough(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "migration guard"})
	screen.WaitText("Runbook: rolling back a release")
	screen.Wait("matches", func(text string) bool { return strings.Contains(text, " matches ") })
	screen.Press("n")
	screen.WaitText("match 1 of 7")
	screen.Press("n")
	screen.WaitText("match 2 of 7")
	screen.Press("N")
	screen.WaitText("match 1 of 7")
}

// A server with Onyx's own answers names no documents: reading on is refused with the reason, never by an error.
func TestReadingOnWhereNoDocumentIsNamed(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	screen.Press("e")
	screen.WaitText("this server cannot show surrounding")
}

func TestTheReaderOnItsOwnInANarrowTerminal(t *testing.T) {
	t.Parallel()
	screen := start(t, 60, 20, Options{Target: sampleTarget(t), Query: "migration guard"})
	screen.WaitText("· 1 ms") // the search has ended, so that esc leaves the reader
	screen.Press("enter")
	screen.WaitText("Confluence")
	screen.WaitGone("[1]")
	screen.Press("esc")
	screen.WaitText(" 1  ")
}

// Without a border, the place of the passage in its document is beside lines that are not cut for it.
func TestTheGutterWithoutABorder(t *testing.T) {
	t.Parallel()
	screen := start(t, 80, 24, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("1 document")
	screen.Press("enter")
	screen.WaitText(" ▕\n")
	screen.WaitGone("…▕")
}

// machine records what an explorer does to it.
type machine struct {
	mu     sync.Mutex
	copied []string
	opened []string
	fail   error
}

func (m *machine) capabilities() Capabilities {
	return Capabilities{Suspend: true,
		Copy: func(text string) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.copied = append(m.copied, text)
			return m.fail
		},
		Open: func(link string) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.opened = append(m.opened, link)
			return m.fail
		}}
}

func (m *machine) did() (copied, opened []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.copied), slices.Clone(m.opened)
}

func TestTakingAway(t *testing.T) {
	t.Parallel()
	m := &machine{}
	screen := start(t, 140, 40, Options{Target: sampleTarget(t), Query: "migration guard rolling back", Caps: m.capabilities()})
	screen.WaitText("Runbook: rolling back a release")
	screen.Press("y")
	screen.WaitText("citation [1] copied to the clipboard")
	screen.Press("Y")
	screen.WaitText("passage [1] copied to the clipboard")
	screen.Press("o")
	screen.WaitText("opened https://wiki.kelderway.example")
	copied, opened := m.did()
	if len(copied) != 2 || !strings.Contains(copied[0], "[1]") || !strings.Contains(copied[0], "https://wiki.kelderway.example") ||
		!strings.Contains(copied[1], "> ") {
		t.Errorf("copied %q", copied)
	}
	if len(opened) != 1 {
		t.Errorf("opened %q", opened)
	}
	if sent := screen.Clipboard(); !slices.Equal(sent, copied) {
		t.Errorf("the terminal was sent %q", sent)
	}
	m.mu.Lock()
	m.fail = errors.New("xclip is not installed")
	m.mu.Unlock()
	screen.Press("y")
	screen.WaitText("citation [1] sent to your terminal's clipboard\n")
	screen.Press("o")
	screen.WaitText("could not open the link: xclip is not installed; link sent to your terminal's clipboard")
}

// A session that may touch nothing says so, and hands over what it can through the terminal.
func TestASessionWithoutCapabilities(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t), Query: "migration guard rolling back",
		Caps: Capabilities{OpenReason: "links cannot be opened over SSH"}})
	screen.WaitText("Runbook: rolling back a release")
	screen.Press("y")
	sent := func(n int) func(string) bool { return func(string) bool { return len(screen.Clipboard()) == n } }
	screen.WaitText("citation [1] sent to your terminal's clipboard")
	screen.WaitGone("copied")
	screen.Wait("the citation", sent(1)) // what is sent is told before it is
	screen.Press("o")
	screen.WaitText("links cannot be opened over SSH; link sent to your terminal's clipboard")
	screen.Wait("the link", sent(2))
	if sent := screen.Clipboard(); len(sent) != 2 || !strings.HasPrefix(sent[1], "https://") {
		t.Errorf("the terminal was sent %q", sent)
	}
	screen.Press("ctrl+z")
	screen.WaitText("no shell to return to")
}

func TestLinksThatAreNotOpened(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"https://wiki.acme.com/1": true, "http://wiki": true, "mailto:jo@acme.com": true, "file:///etc/passwd": false,
		"javascript:alert(1)": false, "ssh://host": false, "https:": false, "": false, "--help": false, "/bin/sh": false,
		"data:text/html,x": false, "HTTPS://wiki.acme.com": true,
	} {
		m := New(t.Context(), Options{Target: Target{Kind: Remote}, Now: today})
		if got := m.openable(link); got != want {
			t.Errorf("%q: %v, want %v", link, got, want)
		}
	}
	local := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today})
	if !local.openable("file:///srv/runbook.md") || local.openable("file://elsewhere/srv/runbook.md") {
		t.Error("files of a library of this machine are opened, those of other machines are not")
	}
}

// What was fetched whole stays when another passage of the same document is read.
func TestTheWholeDocumentStaysForItsOtherPassages(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("more above")
	screen.Press("E")
	screen.WaitGone("above")
	screen.Press("]")
	screen.WaitText("Part 31 says")
	if strings.Contains(screen.Text(), "above") {
		t.Errorf("the document was folded again:\n%s", screen.Frame())
	}
}

// A passage is read from where it matches.
func TestTheFirstMatchIsInSight(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("A paragraph of something else.\n\n", 80) + "Here stands rollback at last.\n\n" +
		strings.Repeat("More of something else.\n\n", 80)
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Long", content)}})
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("│ Here stands rollback at last.")
}

func TestEscEndsZoom(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 30, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("1 document")
	screen.Press("z")
	screen.WaitGone("part 21 of 40")
	screen.Press("esc")
	screen.WaitText("part 21 of 40")
}

// What is copied is what is read, with links that work for somebody else.
func TestThePassageInSightIsCopied(t *testing.T) {
	t.Parallel()
	best := "The laptop budget is in [the policy](../policy.md)."
	content := "First of all, [see](file:///home/jo/x.md).\n\n" + best + "\n\n" + strings.Repeat("Between the two.\n\n", 80) + "Last of all."
	for link, policy := range map[string]string{
		"https://wiki.acme.com/eng/a.md": "[the policy](https://wiki.acme.com/policy.md)", "file:///home/jo/eng/a.md": "the policy",
	} {
		server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
			result := sixFields(1, "Equipment", content)
			from := strings.Index(content, best)
			result["link"], result["best_passage"], result["document_id"], result["ref"] = link, []int{from, from + len(best)}, "a", "a#0"
			answer200(w, map[string]any{"results": []any{result}})
		}}
		screen := start(t, 140, 40, Options{Target: server.library(t), Query: "laptop"})
		copied := func(n int) string {
			screen.Wait("the clipboard", func(string) bool { return len(screen.Clipboard()) == n })
			return screen.Clipboard()[n-1]
		}
		screen.WaitText("The laptop budget")
		screen.Press("enter")
		screen.WaitText("results") // the keys of the reader
		screen.Press("esc", "Y")
		if got := copied(1); !strings.HasPrefix(got, "> The laptop budget is in "+policy+".\n\n— [1] ") || strings.Contains(got, "file:") {
			t.Errorf("from the list:\n%s", got)
		}
		screen.Press("enter", "G", "Y")
		if got := copied(2); !strings.Contains(got, "> Last of all.\n\n— [1] ") || strings.Contains(got, "laptop") || strings.Contains(got, "file:") {
			t.Errorf("from the end of the reader:\n%s", got)
		}
		screen.Press("g", "Y")
		if got := copied(3); !strings.HasPrefix(got, "> First of all, see.\n> \n> The laptop budget is in "+policy) || strings.Contains(got, "Last") {
			t.Errorf("from the beginning of the reader:\n%s", got)
		}
	}
}

// While somebody types, the passage read stays until the next one is rendered; moved to the list, it is shown at once.
func TestThePassageStaysUntilTheNextIsRendered(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today, Theme: "dark", Width: 140, Height: 30})
	show := func(name string) string {
		result := wire.SearchResult{Title: "Title " + name, Content: "Content of " + name, Ref: name, Matches: true}
		m.show(shown{search: search{text: name, query: client.ParseQuery(name, today())},
			response: &wire.SearchResponse{TotalMatches: 1, Results: []wire.SearchResult{result}}})
		m.arrangeScreen()
		m.followSelection()
		return m.View().Content
	}
	show("alpha")
	finishRendering(m)
	m.View()
	view := ansi.Strip(show("beta"))
	if !strings.Contains(view, "  Title beta") || !strings.Contains(view, "╭ Title alpha") ||
		!strings.Contains(view, "│ Content of alpha") {
		t.Errorf("before it is rendered:\n%s", view)
	}
	finishRendering(m)
	view = ansi.Strip(m.View().Content)
	if !strings.Contains(view, "╭ Title beta") || !strings.Contains(view, "│ Content of beta") {
		t.Errorf("rendered:\n%s", view)
	}
	m.show(shown{response: &wire.SearchResponse{}})
	m.followSelection()
	if view := ansi.Strip(m.View().Content); strings.Contains(view, "beta") {
		t.Errorf("without results:\n%s", view)
	}
	m.focus = InList
	view = ansi.Strip(show("gamma"))
	if !strings.Contains(view, "╭ Title gamma") || !strings.Contains(view, "│ Content of gamma") {
		t.Errorf("in the list:\n%s", view)
	}
}
