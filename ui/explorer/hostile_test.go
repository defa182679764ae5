package explorer

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
)

// attacks are texts that would do something to a terminal if they reached it as they are.
func attacks() []string {
	return []string{
		"\x1b]0;owned\x07", "\x1b[2J\x1b[H", "\x1b[?1049l", "\x1bP+q544e\x1b\\", "\x1b]52;c;cHduZWQ=\x07", "\r overwritten",
		"\u202egnp.exe", "\u2066isolate", "\x9b31m", "\x00\x07\x08", "\xff\xfe", strings.Repeat("A", longtest.Rounds(1<<16, 1<<20)), "a\u2028b\u2029c",
		"\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07", "[x](javascript:alert(1))", "![i](file:///etc/passwd)",
		"<script>alert(1)</script>", strings.Repeat(">", 5000) + " deep", "\u200b\u200c\ufeff\u2063hidden\u2064", "e" + strings.Repeat("\u0301", 500),
	}
}

var (
	ourEscapes = regexp.MustCompile(`\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b\x07]*(\x1b\\|\x07)`)
	anyScheme  = regexp.MustCompile(`(?i)\x1b\]8;[^;]*;([a-z0-9+.-]+):`)
)

// Nothing of a document reaches the terminal but as text: whatever a server sends, the frame holds only styles and links
// of our own.
func TestHostileContentStaysText(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		var results []any
		for i, attack := range attacks() {
			result := sixFields(i+1, attack, attack+" rollback\n\n"+attack)
			result["link"], result["source_type"], result["updated_at"] = attack, attack, attack
			result["authors"], result["heading_path"], result["document_id"] = []string{attack}, []string{attack}, attack
			result["ref"] = attack + "#1"
			results = append(results, result)
		}
		answer200(w, map[string]any{"results": results, "facets": map[string]any{"sources": []any{
			map[string]any{"value": attacks()[0], "count": 3}}},
			"notes": []any{map[string]any{"code": "source_failed", "text": attacks()[1]}}})
	}, routes: map[string]http.HandlerFunc{"GET /manage/indexed-sources": func(w http.ResponseWriter, _ *http.Request) {
		answer200(w, map[string]any{"sources": attacks()[:3]})
	}}}
	m := New(t.Context(), Options{Target: server.remote(t), Now: today, Profile: 4, Width: 120, Height: 40, Query: attacks()[0] + "rollback"})
	drive(t, m, m.Init())
	if len(m.search.shown.response.Results) != len(attacks()) {
		t.Fatalf("%d results", len(m.search.shown.response.Results))
	}
	for range attacks() {
		requireClean(t, m)
		for _, key := range []string{"v", "v", "f", "tab", "esc", "?", "esc", "y", "down"} {
			_, cmd := m.Update(press(key))
			drive(t, m, cmd)
			requireClean(t, m)
		}
	}
}

func requireClean(t *testing.T, m *Model) {
	t.Helper()
	finishRendering(m)
	requireGeometry(t, m, "hostile")
	view := m.View()
	rest := ourEscapes.ReplaceAllString(view.Content, "")
	for _, r := range rest + view.WindowTitle {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Fatalf("%U is on the screen: %.300q", r, ansi.Strip(rest))
		}
	}
	for _, link := range anyScheme.FindAllStringSubmatch(view.Content, -1) {
		if scheme := strings.ToLower(link[1]); scheme != "http" && scheme != "https" && scheme != "mailto" {
			t.Fatalf("a link to %s: is on the screen", scheme)
		}
	}
}

func TestAWindowTitleIsText(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Remote}, Now: today, Width: 80, Height: 24})
	m.box.SetQuery("a\x1b]0;owned\x07b")
	m.show(shown{response: &wire.SearchResponse{}})
	if title := m.View().WindowTitle; strings.ContainsAny(title, "\x1b\x07") {
		t.Errorf("the title is %q", title)
	}
}
