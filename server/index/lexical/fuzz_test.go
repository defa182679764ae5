package lexical

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/index"
)

// FuzzSearch searches for any text in documents in one segment and in several: the answers must be the same.
func FuzzSearch(f *testing.F) {
	w := indextest.NewWorld(7)
	random := rand.New(rand.NewPCG(7, 7))
	var live []index.Document
	for i := range 60 {
		live = append(live, w.Document(i))
	}
	parts := spread(f, w, random, live, 3)
	one, many := merged(f, parts), newSearcher(f, parts)
	access := w.Access()
	f.Add("rollback plan", "", "", false)
	f.Add("deploymnet of PROJ-123", "roll back", "plan", true)
	f.Add("日本語の 検索 café ЖЖ \xff\x00 a", "\x80", "-", true)
	f.Fuzz(func(t *testing.T, text, phrase, exclude string, prefix bool) {
		q := index.Query{Text: text, Prefix: prefix, Limit: 20, Count: true, Filter: index.Filter{Access: access}}
		if phrase != "" {
			q.Phrases = []string{phrase}
		}
		if exclude != "" {
			q.Exclude = []string{exclude}
		}
		a, errA := one.Search(context.Background(), q)
		b, errB := many.Search(context.Background(), q)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !reflect.DeepEqual(a.Hits, b.Hits) || !reflect.DeepEqual(a.Corrections, b.Corrections) || !reflect.DeepEqual(a.Missing, b.Missing) {
			t.Errorf("%q: %v, %v in one segment; %v, %v in several", text, a.Hits, a.Corrections, b.Hits, b.Corrections)
		}
		countA, errA := a.Matched.Count(context.Background())
		countB, errB := b.Matched.Count(context.Background())
		if errA != nil || errB != nil || !reflect.DeepEqual(countA, countB) {
			t.Errorf("%q: counted %+v in one segment, %+v in several (%v, %v)", text, countA, countB, errA, errB)
		}
		if _, err := many.Suggest(context.Background(), text, access, 5); err != nil {
			t.Fatal(err)
		}
	})
}
