package passage

import (
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestBest(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of note is said in this sentence. ", 20)
	content := "# Referrals\n\nTeammates refer candidates in Slack. " + filler + "\n\nWe do not offer referral bonuses at this time. " + filler
	for name, test := range map[string]struct {
		content string
		words   []string
		want    []string
	}{
		"one part":           {content, []string{"bonuses"}, []string{"We do not offer referral bonuses at this time."}},
		"two parts":          {content, []string{"teammates", "bonuses"}, []string{"Teammates refer", "… We do not offer referral bonuses"}},
		"no match":           {content, []string{"absent"}, []string{"Teammates refer"}},
		"overlapping parts":  {"Budget of laptops " + strings.Repeat("x ", 10) + "approval", []string{"budget", "approval"}, []string{"Budget of laptops x x"}},
		"wide characters":    {strings.Repeat("無関係な文章。", 100) + "休暇は十六週間です。" + strings.Repeat("無関係な文章。", 100), []string{"休暇"}, []string{"休暇は十六週間です"}},
		"nothing":            {"", []string{"x"}, []string{""}},
		"one endless word":   {strings.Repeat("x", 5000) + " needle", []string{"needle"}, []string{"needle"}},
		"marks of one word":  {strings.Repeat("taxi ", 900), []string{"taxi"}, []string{"taxi taxi"}},
		"invalid characters": {"a\xff\xfe b " + filler, []string{"note"}, []string{"note"}},
	} {
		got := Best(wire.SearchResult{Title: "T", Content: test.content}, test.words, 200)
		if length := utf8.RuneCountInString(got); length > 200 || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%s: %d characters: %q", name, length, got)
		}
		for _, part := range test.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", name, got, part)
			}
		}
	}
}

func FuzzBest(f *testing.F) {
	f.Add("# Leave\n\nSixteen weeks | a | b |\n```\ncode", "weeks code", 40)
	f.Add("本本本 needle \xff", "needle", 7)
	f.Fuzz(func(t *testing.T, content, query string, limit int) {
		limit = 4 + min(max(limit, 0), 500)
		if got := Best(wire.SearchResult{Content: content}, strings.Fields(query), limit); utf8.RuneCountInString(got) > limit {
			t.Fatalf("%d characters of %d: %q", utf8.RuneCountInString(got), limit, got)
		}
	})
}
