package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
)

// TestRewritesAreWorthWhatTheyFind: the marker of a rewrite is the word of it that the question may have.
func TestRewritesAreWorthWhatTheyFind(t *testing.T) {
	t.Parallel()
	asked := hits("a/0", "b/0", "c/0", "d/0")
	other := hits("u/0", "v/0", "w/0", "x/0")
	history := said("user: parental leave", "assistant: 16 weeks", "user: and for contractors?")
	for name, c := range map[string]struct {
		history  []wire.Message
		question []index.Hit
		word     string
		rewrite  []index.Hit
		want     float64
	}{
		"the same documents":                {nil, asked, "deploy", hits("b/0", "a/1", "c/0", "d/0"), 1},
		"half of them":                      {nil, asked, "deploy", hits("a/0", "a/1", "b/0", "x/0", "y/0"), 0.390625},
		"a quarter of them":                 {nil, asked, "deploy", hits("a/0", "x/0", "y/0", "z/0"), 0.09765625},
		"one of them alone":                 {nil, asked, "deploy", hits("d/0"), 0.09765625},
		"other documents":                   {nil, asked, "deploy", other, 0},
		"nothing":                           {nil, asked, "deploy", nil, 0},
		"no word of the question":           {nil, asked, "OK", asked, 0},
		"the question finds nothing":        {nil, nil, "OK", other, 1},
		"words of the conversation":         {history, asked, "parental", other, 1},
		"words of the question in it":       {history, asked, "contractors", other, 1},
		"no word of the conversation":       {history, asked, "OK", other, 0},
		"a conversation that finds nothing": {history, nil, "OK", other, 1},
	} {
		r := &run{queries: []wire.ExecutedQuery{{Kind: kindOriginal, Weight: 1.2}, {Kind: kindSemantic, Weight: 1.3}},
			found: []index.Result{{Hits: c.question}, {Hits: c.rewrite, Highlighter: marker(c.word)}}}
		r.Search.Query, r.Search.MessageHistory = "how do we deploy", c.history
		r.weighRewrites()
		if !slices.Equal(r.worth, []float64{1, c.want}) {
			t.Errorf("%s: worth %v, want that of the rewrite to be %v", name, r.worth, c.want)
		}
		if lists := r.rankings(); lists[0].weight != 1.2 || lists[1].weight != max(1.3*c.want, trailingWeight) {
			t.Errorf("%s: weights %v and %v", name, lists[0].weight, lists[1].weight)
		}
	}
}

// TestARewriteInUnknownWordsIsWorthLess: one word of the question beside words that no document has finds the same.
func TestARewriteInUnknownWordsIsWorthLess(t *testing.T) {
	t.Parallel()
	asked := hits("a/0", "b/0", "c/0", "d/0")
	for _, missing := range [][]string{{"quantum"}, {"zebra", "quantum", "lasagna"}} {
		r := &run{queries: []wire.ExecutedQuery{{Kind: kindOriginal}, {Kind: kindSemantic, Query: "deploy zebra quantum lasagna"}},
			found: []index.Result{{Hits: asked}, {Hits: asked, Highlighter: marker("deploy"), Missing: missing}}}
		r.Search.Query = "how do we deploy"
		r.weighRewrites()
		if want := map[int]float64{1: 0.75, 3: 0}[len(missing)]; r.worth[1] != want {
			t.Errorf("without %v worth %v, want %v", missing, r.worth[1], want)
		}
	}
}

// TestARewriteThatRepeatsAPartIsWorthLess: a word of the question alone says less than the question.
func TestARewriteThatRepeatsAPartIsWorthLess(t *testing.T) {
	t.Parallel()
	asked := hits("a/0", "b/0", "c/0", "d/0")
	for query, want := range map[string]float64{"roll": 0.5, "roll back": 1, "roll forward": 1} {
		r := &run{queries: []wire.ExecutedQuery{{Kind: kindOriginal}, {Kind: kindKeyword, Query: query}}, found: []index.Result{
			{Hits: asked, Highlighter: markers{"roll", "back"}}, {Hits: asked, Highlighter: markers(strings.Fields(query))}}}
		r.Search.Query = "how do we roll back"
		r.weighRewrites()
		if r.worth[1] != want {
			t.Errorf("%q: worth %v, want %v", query, r.worth[1], want)
		}
	}
}

// markers marks words.
type markers []string

func (m markers) Highlight(text string, _ index.LanguageAt, _ [2]int) (marks [][2]int, best [2]int) {
	for _, word := range m {
		if at := strings.Index(text, word); at >= 0 {
			marks = append(marks, [2]int{at, at + len(word)})
		}
	}
	return marks, best
}

// TestAWorthlessRewriteTrails: whatever it ranks, the order of what the question finds stays, and the rest follows.
func TestAWorthlessRewriteTrails(t *testing.T) {
	t.Parallel()
	var asked, trailing []index.Hit
	for i := range 2 * hitsPerQuery { // by words and by vector
		asked = append(asked, index.Hit{DocumentID: fmt.Sprint(i)})
	}
	trailing = append(slices.Clone(asked), index.Hit{DocumentID: "new"})
	slices.Reverse(trailing)
	r := &run{queries: []wire.ExecutedQuery{{Kind: kindOriginal, Weight: literal().question}, {Kind: kindKeyword}},
		found: []index.Result{{Hits: asked}, {Hits: trailing}}, worth: []float64{1, 0}}
	ranked := fuse(r.rankings())
	for i := range asked {
		if ranked[i].document != asked[i].DocumentID {
			t.Fatalf("place %d has %s", i, ranked[i].document)
		}
	}
	if ranked[len(asked)].document != "new" {
		t.Errorf("behind them is %s", ranked[len(asked)].document)
	}
}
