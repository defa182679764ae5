package reader

import (
	"fmt"
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestHeadingsOfText(t *testing.T) {
	t.Parallel()
	text := "# The **title** [here](https://x.example)\n\ntext\n#hashtag\n```\n# comment\n```\n    # code\n\nUnder\n=====\n\nBelow\n---\n\n" +
		"- item\n---\n\n### 日本 ###\n####### seven\n#\n## &nbsp; Q&amp;A _now_\n"
	var got []string
	for _, h := range headingsOf(text) {
		got = append(got, fmt.Sprintf("%d %s @%s", h.Level, h.Text, text[h.from:h.from+3]))
	}
	want := "1 The title here @The; 1 Under @Und; 2 Below @Bel; 3 日本 @日; 2 Q&A now @nbs"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
}

// FuzzHeadings holds headings to their text, in order.
func FuzzHeadings(f *testing.F) {
	for _, seed := range []string{"# a\n\nb\n=\n", "```\n# a\n```\n## b", "a\n---\n\n-\n#\n", "# [a](b) **c**"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := -1
		for _, h := range headingsOf(text) {
			if h.from <= last || h.from >= len(text) || h.Level < 1 || h.Level > 6 || strings.Contains(h.Text, "\n") {
				t.Fatalf("%q: heading %+v after %d", text, h, last)
			}
			last = h.from
		}
	})
}

func outlineOf(count int) []wire.OutlineHeading {
	var outline []wire.OutlineHeading
	for i := range count {
		outline = append(outline, wire.OutlineHeading{Level: 2, Text: fmt.Sprintf("Part %d", i), ChunkInd: i})
	}
	return outline
}

// A heading of the outline is found in the text, at the right one of several with the same words, and said to be missing
// elsewhere.
func TestHeadingsAreLocated(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "## Part 2\n\ntext\n\n### Example\n\none\n\n## Part 3\n\n" + strings.Repeat("more\n\n", 40) + "### Example\n\ntwo\n\n" + strings.Repeat("last\n\n", 40)
	d.ChunkStart, d.ChunkEnd = 2, 3
	outline := []wire.OutlineHeading{{Level: 2, Text: "Part 1", ChunkInd: 1}, {Level: 2, Text: "Part 2", ChunkInd: 2}, {Level: 3, Text: "Example", ChunkInd: 2},
		{Level: 2, Text: "Part 3", ChunkInd: 3}, {Level: 3, Text: "Example", ChunkInd: 3}, {Level: 2, Text: "Part 8", ChunkInd: 8}}
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	headings, current := r.Headings(outline)
	if len(headings) != len(outline) || current != 1 {
		t.Fatalf("%d headings, number %d is read", len(headings), current)
	}
	r.GoTo(headings[4])
	if view := plainView(&r, 60, 20); !strings.Contains(strings.Join(view, "\n"), "Example\n\ntwo") {
		t.Errorf("the second example is not shown:\n%s", strings.Join(view, "\n"))
	}
	if _, current := r.Headings(outline); current != 4 {
		t.Errorf("at the end, heading %d is read", current)
	}
	for _, test := range []struct{ heading, from, to int }{{0, 1, 1}, {5, 4, 10}} {
		if from, to, ok := r.Reach(headings[test.heading]); !ok || from != test.from || to != test.to {
			t.Errorf("for heading %d the passages %d to %d are missing, %t", test.heading, from, to, ok)
		}
	}
	if _, _, ok := r.Reach(headings[4]); ok {
		t.Error("nothing is missing for a heading that is shown")
	}
	if own, _ := r.Headings(nil); len(own) != 4 || own[3].Text != "Example" {
		t.Errorf("without an outline: %+v", own)
	}
}

func TestAHeadingInPassagesThatCameIn(t *testing.T) {
	t.Parallel()
	for _, wanted := range []int{0, 9} {
		var r Reader
		r.Show(runbook())
		r.View(60, 12, darkTheme())
		outline := outlineOf(11)
		headings, _ := r.Headings(outline)
		from, to, ok := r.Reach(headings[wanted])
		if !ok {
			t.Fatalf("heading %d is shown already", wanted)
		}
		r.Add(from, to, chunks(from, min(to, 10)))
		headings, _ = r.Headings(outline)
		r.GoTo(headings[wanted])
		render(&r)
		if top, want := plainView(&r, 60, 12)[len(r.header(12))], fmt.Sprintf("Part %d", wanted); top != want {
			t.Errorf("at the top is %q, want %q", top, want)
		}
		above, below := r.missingChunks()
		if wanted == 0 && (above != 0 || below != 8) || wanted == 9 && (above != 2 || below != 0) {
			t.Errorf("heading %d: %d passages are missing above, %d below", wanted, above, below)
		}
	}
}

// A heading that is chosen before the reader was drawn is shown by the first drawing.
func TestAHeadingBeforeTheFirstView(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "## One\n\n" + strings.Repeat("text\n\n", 40) + "## Two\n\n" + strings.Repeat("text\n\n", 40)
	var r Reader
	r.Show(d)
	headings, _ := r.Headings(nil)
	r.GoTo(headings[1])
	if view := plainView(&r, 60, 12); !strings.Contains(strings.Join(view, "\n"), "Two") {
		t.Errorf("%q", view)
	}
}
