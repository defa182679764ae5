package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/client/field"
	"quarry/server/index"
)

// placed counts the places of documents, as an engine does.
func placed(places ...string) (counts []index.ValueCount) {
	n := map[string]int{}
	for _, place := range places {
		for _, above := range field.PlacesTo(place) {
			n[above]++
		}
	}
	for place, count := range n {
		counts = append(counts, index.ValueCount{Value: place, Count: count})
	}
	slices.SortFunc(counts, func(a, b index.ValueCount) int {
		return 1000*(b.Count-a.Count) + strings.Compare(a.Value, b.Value)
	})
	return counts
}

func TestPlaceLevel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		places, within, want string
	}{
		{"", "", ""},
		{"hb hb hb", "", "hb 3"},
		{"hb/eng hb/eng hb/people", "", "hb/eng 2, hb/people 1"},
		{"hb/eng hb/people wiki", "", "hb 2, wiki 1"},
		{"hb/docs/a hb/docs/b", "", "hb/docs/a 1, hb/docs/b 1"},
		{"hb hb/docs/a hb/docs/b", "", "hb/docs 2"},                                               // they part in hb: one lies in it directly
		{"hb " + strings.Repeat("hb/docs/a ", 10) + "hb/docs/b", "", "hb/docs/a 10, hb/docs/b 1"}, // no page beside docs matters
		{"hb/docs/a hb/docs/b wiki/docs/c", "hb/docs", "hb/docs/a 1, hb/docs/b 1"},
		{"hb/docs/a hb/docs/b wiki/docs/c wiki/docs/c", "docs", "wiki/docs/c 2, hb/docs/a 1, hb/docs/b 1"},
		{"hb/a wiki/b", "/hb", "hb/a 1"}, {"hb/eng hb/people", "/", "hb 2"},
		{"hb/a wiki/b", "a", ""}, {"hb/a", "nowhere", ""},
		{"hb/a wiki/hb/a wiki/c", "", "wiki 2, /hb 1"}, // hb alone is also in wiki
		{"hb/a wiki/hb/c", "hb", "hb/a 1, wiki/hb/c 1"},
		{"hb/a wiki/hb/a wiki/hb/b", "/hb", "/hb/a 1"},
	} {
		var got []string
		for _, place := range placeLevel(placed(strings.Fields(test.places)...), test.within) {
			got = append(got, fmt.Sprintf("%s %d", place.Value, place.Count))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%q within %q: %q", test.places, test.within, got)
		}
	}
}

func TestPlacesOf(t *testing.T) {
	t.Parallel()
	known := placed("hb/People/leave", "hb/people", "wiki/people/people", "wiki/a%2Fb")
	for value, want := range map[string]string{
		"people": "hb/people wiki/people", "PEOPLE": "hb/People hb/people wiki/people", "People/leave": "hb/People/leave",
		"/people": "", "/wiki": "wiki", "ople": "", "a%2Fb": "wiki/a%2Fb", "b": "", "wiki/people/people": "wiki/people/people",
		"people/": "hb/people wiki/people", "/wiki/": "wiki", "/": "", "//": "",
	} {
		got := placesOf(known, value)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}
