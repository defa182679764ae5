package lexical

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"quarry/server/index"
)

// library has a definition that only people see, and documents with the acronym or the long form that everybody sees.
func library() []index.Document {
	document := func(id, access, text string) index.Document {
		return index.Document{ID: id, Access: []string{access}, Chunks: []index.Chunk{{Text: text}}}
	}
	documents := []index.Document{
		document("defines", "people", "Everybody has Paid Time Off (PTO), and more."),
		document("short", "PUBLIC", "PTO is unlimited."),
		document("long", "PUBLIC", "Guidelines: paid time off is unlimited in our offices."),
		document("apart", "PUBLIC", "Time is paid, and off we go."),
		document("ratio", "PUBLIC", "Odds ratios (OR) say more than a ratio."), document("or", "PUBLIC", "This or that."),
	}
	for i := range 9 {
		documents = append(documents, document(fmt.Sprint("other", i), "PUBLIC", "The holidays of this year, in all offices."))
	}
	return documents
}

// matching returns the ids of the documents that match a query, by their score.
func matching(t *testing.T, s *Searcher, query string, access index.Access) (ids []string) {
	t.Helper()
	result, err := s.Search(context.Background(), index.Query{Text: query, Limit: 20, Filter: index.Filter{Access: access}})
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range result.Hits {
		if !hit.Below {
			ids = append(ids, hit.DocumentID)
		}
	}
	return ids
}

// TestAcronymsAndLongFormsFindEachOther: for whoever sees the document that defines them, and for nobody else.
func TestAcronymsAndLongFormsFindEachOther(t *testing.T) {
	people, public := index.Access{Terms: []string{"people", "PUBLIC"}}, index.Access{Terms: []string{"PUBLIC"}}
	half := len(library()) / 2
	for name, s := range map[string]*Searcher{
		"one part":  newSearcher(t, []Part{{Segment: open(t, "one", library())}}),
		"two parts": newSearcher(t, []Part{{Segment: open(t, "a", library()[half:])}, {Segment: open(t, "b", library()[:half])}}),
	} {
		for _, test := range []struct {
			query  string
			access index.Access
			want   string
		}{
			{"pto", people, "defines short long"}, {"PTOs", people, "defines long"},
			{"paid time off", people, "defines long apart short"}, {"unlimited pto", people, "short long"},
			{"unlimited paid time off", people, "long short defines apart"}, {"pto unlimited offices", people, "long"},
			{"odds ratio", people, "ratio"}, {"pto", public, "short"}, {"unlimited pto", public, "short"}, {"paid time off", public, "long apart"},
		} {
			got, want := matching(t, s, test.query, test.access), strings.Fields(test.want)
			first := len(got) > 0 && slices.Contains(want[:min(2, len(want))], got[0])
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || !first {
				t.Errorf("%s, %q, %v: %v, want %v", name, test.query, test.access.Terms, got, test.want)
			}
		}
	}
}

// TestForgottenDefinition: a definition ends with its document.
func TestForgottenDefinition(t *testing.T) {
	reader := open(t, "gone", library())
	ordinal, ok, err := reader.Find("defines")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	delta, err := reader.DeltaOf(ordinal)
	if err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Segment: reader, Deleted: roaring.BitmapOf(uint32(ordinal)), Delta: &delta}}
	for name, s := range map[string]*Searcher{"deleted": newSearcher(t, parts), "merged": merged(t, parts)} {
		if got := matching(t, s, "pto", index.Access{All: true}); !slices.Equal(got, []string{"short"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLongFormsAreMarked(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "marks", library())}})
	text := "Time off is not paid. Paid time-off is: all paid time off, and PTO."
	h := search(t, s, index.Query{Text: "pto is"}).Highlighter
	marks, _ := h.Highlight(text, index.InLanguage(""), [2]int{0, len(text)})
	var marked []string
	for _, m := range marks {
		marked = append(marked, text[m[0]:m[1]])
	}
	if got := strings.Join(marked, "|"); got != "Paid time-off|paid time off|PTO" {
		t.Error(got)
	}
}
