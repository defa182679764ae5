package passage

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestBest(t *testing.T) {
	t.Parallel()
	const content = "# Leave\n\nWe have rules.\nTake these:\n\n- sixteen weeks\n- *paid*\n\nAsk HR."
	span := func(part string) wire.Span {
		at := strings.Index(content, part)
		return wire.Span{at, at + len(part)}
	}
	whole := wire.SearchResult{Content: content, Highlights: []wire.Span{span("rules"), span("weeks"), span("paid")}, Lines: []int{10, 18}}
	for name, test := range map[string]struct {
		best  wire.Span
		want  string // content, marked words, lines
		lines string
	}{
		"a list":          {span("Take these:\n\n- sixteen weeks\n- *paid*"), "weeks paid", "[13 16]"},
		"one line":        {span("Ask HR."), "", "[18 18]"},
		"none":            {wire.Span{}, "rules weeks paid", "[10 18]"},
		"beyond the text": {wire.Span{-4, 900}, "rules weeks paid", "[10 18]"},
	} {
		r := whole
		r.BestPassage = test.best
		best := Best(r)
		var marked []string
		for _, mark := range best.Highlights {
			marked = append(marked, best.Content[mark[0]:mark[1]])
		}
		want := content
		if test.best[1] > 0 && test.best[1] <= len(content) {
			want = content[test.best[0]:test.best[1]]
		}
		if best.Content != want || strings.Join(marked, " ") != test.want || fmt.Sprint(best.Lines) != test.lines {
			t.Errorf("%s: %q with %q in lines %v", name, best.Content, marked, best.Lines)
		}
	}
}

// TestOneSpan holds that every form of a result shows its best passage and nothing else of its content.
func TestOneSpan(t *testing.T) {
	t.Parallel()
	const best = "Roll back when the budget is spent:\n\n1. pause the canary\n2. tell everybody"
	content := strings.Repeat("Nothing of note is said. ", 40) + "\n\n" + best + "\n\n" + strings.Repeat("More follows here. ", 40)
	at := strings.Index(content, best)
	r := wire.SearchResult{Title: "Runbook", Content: content, BestPassage: wire.Span{at, at + len(best)}}
	words := []string{"canary"}
	var text []string
	for _, line := range Excerpt(r, words, 6, 80) {
		text = append(text, line.Text)
	}
	row, _ := Snippet(r, Highlights(r, words), 100, 200)
	flat := "Roll back when the budget is spent: pause the canary tell everybody"
	for form, shown := range map[string]string{"excerpt": strings.Join(text, " "), "row": row, "short": Short(r, words, BlockExcerpt),
		"mark": Best(r).Content} {
		shown = strings.NewReplacer(" · ", " ", "\n\n1.", "", "\n2.", "", "1. ", "", "2. ", "").Replace(shown)
		if shown != flat {
			t.Errorf("%s: %q, want %q", form, shown, flat)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of note is said in this sentence. ", 20)
	content := "# Referrals\n\nTeammates refer candidates in Slack. " + filler + "\n\nWe do not offer referral bonuses at this time. " + filler
	for name, test := range map[string]struct {
		content string
		words   []string
		want    string
	}{
		"one part":           {content, []string{"bonuses"}, "We do not offer referral bonuses at this time."},
		"no match":           {content, []string{"absent"}, "Teammates refer"},
		"wide characters":    {strings.Repeat("無関係な文章。", 100) + "休暇は十六週間です。" + strings.Repeat("無関係な文章。", 100), []string{"休暇"}, "休暇は十六週間です"},
		"nothing":            {"", []string{"x"}, ""},
		"one endless word":   {strings.Repeat("x", 5000) + " needle", []string{"needle"}, "needle"},
		"marks of one word":  {strings.Repeat("taxi ", 900), []string{"taxi"}, "taxi taxi"},
		"invalid characters": {"a\xff\xfe b " + filler, []string{"note"}, "note"},
	} {
		got := Short(wire.SearchResult{Title: "T", Content: test.content}, test.words, 200)
		if length := utf8.RuneCountInString(got); length > 200 || strings.ContainsAny(got, "\n\t") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %d characters: %q", name, length, got)
		}
	}
}

func FuzzShort(f *testing.F) {
	f.Add("# Leave\n\nSixteen weeks | a | b |\n```\ncode", "weeks code", 40, 3, 9)
	f.Add("本本本 needle \xff", "needle", 7, 0, 0)
	f.Fuzz(func(t *testing.T, content, query string, limit, from, to int) {
		limit = 4 + min(max(limit, 0), 500)
		r := wire.SearchResult{Content: content, BestPassage: wire.Span{from, to}}
		if got := Short(r, strings.Fields(query), limit); utf8.RuneCountInString(got) > limit {
			t.Fatalf("%d characters of %d: %q", utf8.RuneCountInString(got), limit, got)
		}
		if best := Best(r); !strings.Contains(content, best.Content) {
			t.Fatalf("%q is not in %q", best.Content, content)
		}
	})
}
