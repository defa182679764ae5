package passage

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"quarry/client/wire"
)

func TestPortable(t *testing.T) {
	t.Parallel()
	const page = "https://wiki.acme.com/eng/runbooks/deploy.md"
	for name, test := range map[string]struct{ markdown, base, want string }{
		"absolute":          {"See [the wiki](https://wiki.acme.com/1 \"W\").", "", "See [the wiki](https://wiki.acme.com/1 \"W\")."},
		"relative":          {"See [rollback](../ops/rollback.md#now).", page, "See [rollback](https://wiki.acme.com/eng/ops/rollback.md#now)."},
		"anchor":            {"See [below](#steps).", page, "See [below](" + page + "#steps)."},
		"relative, no base": {"See [rollback](../ops/rollback.md) and [below](#steps).", "file:///home/jo/a.md", "See rollback and below."},
		"file":              {"See [notes](file:///home/jo/notes.md).", page, "See notes."},
		"other schemes":     {"[run](javascript:alert(1)) [app](slack://x)", page, "run app"},
		"mail":              {"[Jo](mailto:jo@acme.com)", "", "[Jo](mailto:jo@acme.com)"},
		"image":             {"![Chart](img/chart.png) ![](x.png)", "", "Chart "},
		"image in a link":   {"[![Build](https://ci.acme.com/b.svg)](../ci)", "", "![Build](https://ci.acme.com/b.svg)"},
		"reference":         {"See [the plan][p] and [p].\n\n[p]: ../plan.md\n", page, "See [the plan](https://wiki.acme.com/eng/plan.md) and [p](https://wiki.acme.com/eng/plan.md).\n\n"},
		"brackets":          {"Use a[0] and [x] and arr[i](n).", "", "Use a[0] and [x] and arri."},
		"code":              {"Run `[a](b)` and\n```\n[a](b)\n```\n[a](b)", "", "Run `[a](b)` and\n```\n[a](b)\n```\na"},
		"address":           {"<https://acme.com> <file:///home/jo/notes.md>", "", "<https://acme.com> notes.md"},
		"escaped":           {`\[a](b)`, "", `\[a](b)`},
		"cut off":           {"see [a](b", "", "see a"},
	} {
		if got := Portable(test.markdown, test.base); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	const content = "one\n\ntwo\ntwo\n\nthree"
	for _, test := range []struct {
		from, to int
		want     string
	}{{6, 8, "two\ntwo"}, {0, 2, "one"}, {2, 7, "one\n\ntwo\ntwo"}, {15, 17, "three"}, {0, 0, content}, {-4, 99, content}} {
		if got := Around(content, test.from, test.to); got != test.want {
			t.Errorf("%d to %d: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	number, web, file := 1, "https://wiki.acme.com/1", "file:///home/jo/a.md"
	got := Answer("Use **kwctl** [[1]](https://wiki.acme.com/1), see [[x]] and [[2]]().",
		[]wire.SearchResult{{CitationID: &number, Title: "Runbook", Link: &web, SourceType: "confluence"}, {Title: "A", Link: &file, SourceType: "file"}})
	want := "Use **kwctl** [1], see [[x]] and [2].\n\n[1] [Runbook](https://wiki.acme.com/1) (Confluence)\nA\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// FuzzPortable: whatever a document holds, a link that is left can be opened elsewhere.
func FuzzPortable(f *testing.F) {
	for _, seed := range []string{"[a](b)", "![a](b)\n[c]: d/e\n[c]", "[[1]](x) `[a](b)`", "```\n[a](b)", "<file:///a>", "[a [b](c)](d)", "[a](<b c>)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		for _, base := range []string{"", "https://acme.com/a/"} {
			got := Portable(markdown, base)
			// Markdown's rules for code and blocks are not ours, and brackets around a dropped link may make another.
			if strings.ContainsAny(markdown, "`~\\\r\n&<\t") || strings.Count(markdown, "](") > 1 || strings.Contains(markdown, "[[") {
				continue
			}
			source := []byte(got)
			_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
				if link, ok := node.(*ast.Link); ok && entering {
					if _, ok := Resolve("", string(link.Destination)); !ok {
						t.Errorf("%q: %q has the link %q", markdown, got, link.Destination)
					}
				}
				return ast.WalkContinue, nil
			})
		}
	})
}
