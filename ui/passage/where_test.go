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

func TestFile(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"file:/docs/a b/ä#1.md": "/docs/a b/ä#1.md", "file:/100%.md": "/100%.md", "file:/a%20b.md": "/a%20b.md",
		"file:/a%250Ab.md": "/a%0Ab.md", "file:/a%25250Ab.md": "/a%250Ab.md", "file:/a%": "/a%", "file:/a%2": "/a%2",
		"file:/a%0Ab.md": "", "file:/a%E2%80%AEb.md": "", "file:/lat%FF.md": "", "file:": "", "file:a.md": "", "file:-c": "",
		"https://wiki.acme.com/1": "", "slack:1": "", "": "",
	} {
		got, ok := File(wire.SearchResult{DocumentID: id})
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %t; want %q", id, got, ok, want)
		}
	}
}
