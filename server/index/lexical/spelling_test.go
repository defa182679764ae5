package lexical

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/longtest"
	"quarry/server/index"
)

// TestTypingFindsNoLess: while the last word of a query is typed, what the whole words will match is matched already,
// also by what they are when they are joined, in each of the ways that documents write it.
func TestTypingFindsNoLess(t *testing.T) {
	words := strings.Fields("roll back wall paper call book farm log barn") // with no ending that a stem lacks
	joins := []string{"", "-", " "}
	for seed := range uint64(longtest.Rounds(20, 400)) {
		random := rand.New(rand.NewPCG(seed, 5))
		pick := func() string { return words[random.IntN(len(words))] }
		var documents []index.Document
		var ids []string
		for i := range 30 {
			var text []string
			for range 1 + random.IntN(6) {
				text = append(text, pick()+joins[random.IntN(len(joins))]+pick())
			}
			ids = append(ids, fmt.Sprint("d", i))
			documents = append(documents, index.Document{ID: ids[i], Chunks: []index.Chunk{{Text: strings.Join(text, " and ")}}})
		}
		s := newSearcher(t, []Part{{Segment: open(t, "typed", documents)}})
		matches := func(text string, prefix bool) (found map[string]bool, all bool) {
			result := search(t, s, index.Query{Text: text, Prefix: prefix, Count: true})
			found, err := result.Matched.Has(context.Background(), ids)
			if err != nil {
				t.Fatal(err)
			}
			return found, result.Level == index.LevelAll && len(result.Corrections) == 0
		}
		for range 20 {
			random.Shuffle(len(words), reflect.Swapper(words)) // none stands twice in a query
			before, last := strings.Join(words[1:1+random.IntN(3)], " ")+" ", words[0]
			if random.IntN(4) == 0 {
				last += words[3]
			}
			whole, all := matches(before+last, false)
			if !all {
				continue // what is typed so far may have results with all of its words
			}
			for end := range len(last) {
				typed, _ := matches(before+last[:end+1], true)
				for id, matched := range whole {
					if matched && !typed[id] {
						t.Fatalf("seed %d: %q does not match %s, %q does: %v", seed, before+last[:end+1], id, before+last, documents[slices.Index(ids, id)].Chunks[0].Text)
					}
				}
			}
		}
	}
}
