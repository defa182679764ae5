package reader

import (
	"slices"
	"strings"
	"testing"
)

func TestParagraphs(t *testing.T) {
	t.Parallel()
	text := "\n\none\nline\n \n## two\n\n```\ncode\n\nmore\n```\n\n- a\n- b\n\n\nlast"
	var got []string
	for _, p := range paragraphs(text) {
		got = append(got, text[p.Start:p.End])
	}
	want := []string{"one\nline\n", "## two\n", "```\ncode\n\nmore\n```\n", "- a\n- b\n", "last"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// tinted are the lines of the body with the background of a selection.
func tinted(r *Reader, width, height int) []string {
	th := darkTheme()
	begin, _, _ := strings.Cut(th.Selected.Under("x"), "x")
	plain := plainView(r, width, height)
	var found []string
	for i, line := range r.View(width, height, th) {
		if strings.HasPrefix(line, begin) {
			found = append(found, plain[i])
		}
	}
	return found
}

func TestAParagraphIsSelected(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "First **words**.\n\n<!-- hidden -->\n\nSecond words,\nwhich end here.\n\n" + strings.Repeat("More words to scroll.\n\n", 40) + "The last one."
	d.Highlights, d.Words = nil, nil
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	if r.MoveSelection(1); r.Selected() == "" {
		t.Error("moving selects nothing")
	}
	r.Select(false)
	for _, raw := range []bool{false, true} {
		r.SetRaw(raw)
		render(&r)
		r.Top()
		r.Select(true)
		if got := r.Selected(); got != "First **words**." {
			t.Fatalf("raw %t: selected %q", raw, got)
		}
		r.MoveSelection(1)
		if raw {
			r.MoveSelection(1)
		}
		if got := r.Selected(); got != "Second words,\nwhich end here." {
			t.Errorf("raw %t: then %q", raw, got)
		}
		if got := tinted(&r, 60, 20); !slices.Equal(got, []string{"Second words,", "which end here."}) {
			t.Errorf("raw %t: tinted %q", raw, got)
		}
		for range 60 {
			r.MoveSelection(1)
			if got := tinted(&r, 60, 20); len(got) == 0 {
				t.Fatalf("raw %t: the selection left the view", raw)
			}
		}
		if got := r.Selected(); got != "The last one." {
			t.Errorf("raw %t: at the end %q", raw, got)
		}
		r.MoveSelection(-1)
		if got := r.Selected(); got != "More words to scroll." {
			t.Errorf("raw %t: back to %q", raw, got)
		}
		r.Select(false)
		if r.Selecting() || r.Selected() != "" || len(tinted(&r, 60, 20)) > 0 {
			t.Errorf("raw %t: the selection does not end", raw)
		}
	}
}

// The paragraph of the match that somebody went to is the one to copy.
func TestTheCurrentMatchIsSelected(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "First words.\n\nHere it is: roll back.\n\nLast words."
	d.Highlights = nil
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	r.StepMatch(1)
	r.Select(true)
	if got := r.Selected(); got != "Here it is: roll back." {
		t.Errorf("selected %q", got)
	}
}
