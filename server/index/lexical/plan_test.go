package lexical

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// TestFrequent compares what short prefixes stand for with a walk over all words that begin with them.
func TestFrequent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	w := indextest.NewWorld(1)
	var live []index.Document
	for i := range 1500 {
		d := w.Document(i)
		var words []string
		for range 12 {
			words = append(words, fmt.Sprintf("s%cx%d", 'a'+random.IntN(2), int(random.ExpFloat64()*random.ExpFloat64()*300)))
		}
		d.Chunks = append(d.Chunks, index.Chunk{Text: strings.Join(words, " ")})
		live = append(live, d)
	}
	s := newSearcher(t, spread(t, w, random, live, 3))
	enough := 0
	for _, prefix := range []string{"s", "sa", "sb", "a", "q", "zz", "sax"} {
		for _, access := range []index.Access{{All: true}, w.Access(), {}} {
			_, err := answer(context.Background(), s, "test", func(r *run) bool {
				r.reach(access)
				wanted := func(surface string) bool { return r.shows(surface) }
				best := bestSurfaces{limit: maxExpansions}
				r.surfaces(prefix, func(at *segment.Cursor, documents int64) {
					if wanted(string(at.Key())) && best.accepts(documents) {
						s := at.Surface()
						best.add(Surface{s.Surface, s.Term, documents})
					}
				})
				items, ok := r.frequent(prefix, wanted)
				if ok && !reflect.DeepEqual(items, best.items) {
					t.Errorf("%q stands for %v, want %v", prefix, items, best.items)
				}
				if known, _ := s.frequents.Load(prefix); ok && len(known.([]Surface)) == maxFrequent {
					enough++
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if enough == 0 {
		t.Error("the most frequent words never sufficed")
	}
}
