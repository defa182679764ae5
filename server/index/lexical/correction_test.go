package lexical

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/internal/testkit/longtest"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// TestNear compares the words near others, found by skipping through the dictionaries, with a walk over all words.
func TestNear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string { // of few letters, so that many words are near each other
		var w strings.Builder
		for range 3 + random.IntN(8) {
			w.WriteString([]string{"a", "b", "c", "z", "ж", "7"}[min(random.IntN(31)/6, 5)])
		}
		return w.String()
	}
	w := indextest.NewWorld(1)
	var live []index.Document
	for i := range longtest.Rounds(400, 900) {
		d := w.Document(i)
		d.Chunks = append(d.Chunks, index.Chunk{Text: strings.Join([]string{word(), word(), word(), word(), word(), word(), word(), word()}, " ")})
		live = append(live, d)
	}
	s := newSearcher(t, spread(t, w, random, live, 3))
	for range longtest.Rounds(80, 500) {
		typed, limit := word(), 1+random.IntN(2)
		for _, access := range []index.Access{{All: true}, w.Access()} {
			_, err := answer(context.Background(), s, "test", func(r *run) bool {
				r.reach(access)
				near := r.near(typed, limit)
				got := map[string]string{}
				for _, n := range near {
					got[n.of.Surface] = fmt.Sprint(n.of.Term, n.typos, n.of.Documents)
				}
				want, nearest := r.nearAll(typed, limit)
				if !maps.Equal(got, want) || len(got) != len(near) {
					t.Errorf("near %q within %d: %v, want %v", typed, limit, got, want)
				}
				w := analysis.QueryWord{Token: analysis.Token{Surface: typed, Term: analysis.Stem(typed)}}
				if best := r.nearest(w); limit == maxTypos && best != nearest {
					t.Errorf("nearest to %q: %q, want %q", typed, best, nearest)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// nearAll compares all surfaces with a word, and also returns the likeliest that the rights show.
func (r *run) nearAll(typed string, limit int) (found map[string]string, nearest string) {
	found = map[string]string{}
	w, most := analysis.QueryWord{Token: analysis.Token{Surface: typed, Term: analysis.Stem(typed)}}, 0.0
	r.surfaces("", func(at *segment.Cursor, documents int64) {
		word, seen := at.Surface(), 0
		typos := text.EditDistance(typed, word.Surface)
		if typos > limit || typos > 1 && word.Surface[0] != typed[0] || !correctable(word.Surface) {
			return
		}
		for part := range r.s.parts {
			if s, ok := r.reader(part).Surface(word.Surface); ok {
				seen += s.CountIn(r.rights()[part])
			}
		}
		found[word.Surface] = fmt.Sprint(word.Term, typos, documents)
		if likelihood := float64(seen) * typing(w, neighbour{Surface{word.Surface, word.Term, 0}, typos}); likelihood > most {
			nearest, most = word.Surface, likelihood
		}
	})
	return found, nearest
}

// A word of a document's title stands for one that it lacks, but not where it replaces a short one, which may be right.
func TestCorrectedTitle(t *testing.T) {
	doc := func(id, title, text string) index.Document {
		return index.Document{ID: id, Title: title, Chunks: []index.Chunk{{Text: text}}}
	}
	s := newSearcher(t, []Part{{Segment: open(t, "documents", []index.Document{
		doc("deploy", "Engineering wiki: deploying", "how to deploy"), doc("both", "Secrets", "a password of the wiki"),
		doc("one", "Passwords", "never shared"),
	})}})
	for query, want := range map[string]string{"wiki password": "3", "wifi password": "2", "enginering password": "3"} {
		result, err := s.Search(context.Background(), index.Query{Text: query, Filter: index.Filter{Access: index.Access{All: true}}, Limit: 9})
		if got := fmt.Sprint(result.Documents); err != nil || got != want {
			t.Errorf("%q matches %s documents, want %s (%+v, %v)", query, got, want, result, err)
		}
	}
}
