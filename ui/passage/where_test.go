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
		"channel":               {"slack", "", one("Channel", "deploys"), "#deploys"},
		"space of the metadata": {"confluence", "https://w/spaces/PLAT/pages/1", one("Wiki Space Name", "Platform"), "Platform"},
		"space of the link":     {"confluence", "https://w/spaces/PLAT/pages/1", one("team", "infra"), "PLAT"},
		"repository":            {"github", "https://g/a/b", one("repo", "a/b"), "a › b"},
		"team":                  {"linear", "", one("team", "alerts"), "alerts"},
		"place of a file":       {"file", "hr/pay", nil, "hr › pay"},
		"place in a source":     {"slack", "slack/a%2Fb", nil, "a/b"},
		"file without a place":  {"file", "file:///srv/docs/a.md", nil, ""},
		"web":                   {"web", "https://www.acme.com/a/b", nil, "acme.com › a"},
		"nothing":               {"gmail", "https://mail/1", nil, ""},
		"no link":               {"file", "::", nil, ""},
	} {
		r := wire.SearchResult{SourceType: test.source, Link: &test.link, Metadata: test.metadata}
		if strings.HasPrefix(name, "place") {
			r.Place = test.link
		}
		if got := strings.Join(Where(r), " › "); got != test.want {
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

// Documents of one title show the innermost name that differs, those of one folder their files.
func TestApart(t *testing.T) {
	t.Parallel()
	one := func(title, place, file string) wire.SearchResult {
		return wire.SearchResult{Title: title, Place: place, Citation: place + "/" + file + ":3"}
	}
	for name, test := range map[string]struct {
		results []wire.SearchResult
		want    string
	}{
		"none":                   {nil, ""},
		"other titles":           {[]wire.SearchResult{one("A", "hb", "a.md"), one("B", "hb", "b.md")}, " "},
		"two passages":           {[]wire.SearchResult{one("A", "hb", "a.md"), one("A", "hb", "a.md")}, " "},
		"innermost":              {[]wire.SearchResult{one("A", "hb/x", "a.md"), one("a", "hb/y", "a.md")}, "x y"},
		"further out":            {[]wire.SearchResult{one("A", "hb/x/in", "a.md"), one("A", "hb/y/in", "a.md")}, "x y"},
		"handbooks":              {[]wire.SearchResult{one("A", "one/in", "a.md"), one("A", "two/in", "a.md")}, "one two"},
		"one in the other":       {[]wire.SearchResult{one("A", "in", "a.md"), one("A", "hb/in", "a.md")}, "in hb"},
		"files of one folder":    {[]wire.SearchResult{one("A", "hb", "a.md"), one("A", "hb", "b.md")}, "a.md b.md"},
		"one of several":         {[]wire.SearchResult{one("A", "x", "a.md"), one("A", "y", "a.md"), one("A", "y", "b.md")}, "x a.md b.md"},
		"a name with a slash":    {[]wire.SearchResult{one("A", "hb/x%2Fy", "a.md"), one("A", "hb/z", "a.md")}, "x/y z"},
		"places that are unkown": {[]wire.SearchResult{{Title: "A"}, {Title: "A"}}, " "},
	} {
		if got := strings.Join(Apart(test.results), " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
