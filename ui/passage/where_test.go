package passage

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestWhere(t *testing.T) {
	t.Parallel()
	one := func(key, value string) map[string]wire.Metadata {
		return map[string]wire.Metadata{"kind": wire.One("policy"), key: wire.One(value)}
	}
	for name, test := range map[string]struct {
		source, link string
		metadata     map[string]wire.Metadata
		want         string
	}{
		"channel":                   {"slack", "", one("Channel", "deploys"), "#deploys"},
		"space of the metadata":     {"confluence", "https://w/spaces/PLAT/pages/1", one("Wiki Space Name", "Platform"), "Platform"},
		"space of the link":         {"confluence", "https://w/spaces/PLAT/pages/1", one("team", "infra"), "PLAT"},
		"repository":                {"github", "https://g/a/b", one("repo", "a/b"), "a/b"},
		"team":                      {"linear", "", one("team", "alerts"), "alerts"},
		"file below a root":         {"file", "file:///srv/docs/hr/pay/bonus.md#when", nil, "hr › pay"},
		"file below the inner root": {"file", "file:///srv/docs/eng/on%20call/a.md", nil, "on call"},
		"file of another root":      {"file", "file:///srv/docsX/hr/pay/bonus.md", nil, "hr › pay"},
		"file at a root":            {"file", "file:///srv/docs/a.md", nil, ""},
		"web":                       {"web", "https://www.acme.com/a/b", nil, "acme.com"},
		"nothing":                   {"gmail", "https://mail/1", nil, ""},
		"no link":                   {"file", "::", nil, ""},
	} {
		r := wire.SearchResult{SourceType: test.source, Link: &test.link, Metadata: test.metadata}
		if got := strings.Join(Where(r, []string{"/srv/docs/", "/srv/docs/eng"}), " › "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The words are shown although the server's best passage has none of them.
func TestASnippetHasTheWordsThatStandBeforeTheBestPassage(t *testing.T) {
	t.Parallel()
	content := "# Title\n\nThe laptop costs money.\n\n" + strings.Repeat("Something else. ", 60)
	at := strings.Index(content, "laptop")
	r := wire.SearchResult{Title: "Title", Content: content, BestPassage: wire.Span{at + 200, at + 260}}
	text, spans := Snippet(r, []wire.Span{{at, at + 6}}, 40, 40)
	if len(spans) != 1 || text[spans[0][0]:spans[0][1]] != "laptop" {
		t.Errorf("%q with marks %v", text, spans)
	}
}
