package pipeline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestParseClass(t *testing.T) {
	for reply, want := range map[string]struct {
		class class
		ok    bool
	}{
		"0": {0, true}, "3": {3, true}, "2\n": {2, true}, "Class 2.": {2, true},
		"It could be 1, but I choose 3": {3, true},
		"2 (of 10)":                     {2, true},
		"the section: 1":                {1, true},
		"score 3.0":                     {sectionOnly, false},
		"10":                            {sectionOnly, false},
		"-1":                            {sectionOnly, false},
		"7":                             {sectionOnly, false},
		"v2":                            {sectionOnly, false},
		"":                              {sectionOnly, false},
		"relevant":                      {sectionOnly, false},
	} {
		if got, ok := parseClass(reply); got != want.class || ok != want.ok {
			t.Errorf("%s: got %d %v, want %v", reply, got, ok, want)
		}
	}
}

func FuzzParseClass(f *testing.F) {
	f.Add("I say 2.")
	f.Fuzz(func(t *testing.T, reply string) {
		if got, ok := parseClass(cleanReply(reply)); got < notRelevant || got > muchMore || !ok && got != sectionOnly {
			t.Fatalf("class %d", got)
		}
	})
}

func part(document string, start, end, center int) section {
	return section{document: document, start: start, end: end, center: fusedChunk{chunkID: chunkID{document, center}},
		selected: true}
}

type span struct {
	document           string
	start, end, center int
	selected           bool
}

func spans(sections []section) (list []span) {
	for _, s := range sections {
		list = append(list, span{s.document, s.start, s.end, s.center.chunk, s.selected})
	}
	return list
}

func TestWiden(t *testing.T) {
	count := func(document string) int { return map[string]int{"a": 30, "b": 4}[document] }
	whole := part("a", 10, 11, 10)
	whole.whole = true
	for _, c := range []struct {
		name          string
		sections      []section
		classes       []class
		kept, dropped []span
	}{
		{"each class", []section{part("a", 10, 11, 10), part("a", 20, 20, 20), part("b", 1, 1, 1)}, []class{2, 3, 1},
			[]span{{"a", 8, 13, 10, true}, {"a", 15, 25, 20, true}, {"b", 1, 1, 1, true}}, nil},
		{"within the document", []section{part("b", 1, 1, 1), part("b", 3, 3, 3)}, []class{3, 2},
			[]span{{"b", 0, 3, 1, true}, {"b", 1, 3, 3, true}}, nil},
		{"beside the question", []section{part("a", 1, 1, 1), part("b", 1, 1, 1)}, []class{0, 1},
			[]span{{"b", 1, 1, 1, true}}, []span{{"a", 1, 1, 1, false}}},
		{"unless nothing else is left", []section{part("a", 1, 1, 1), part("b", 1, 1, 1)}, []class{0, 0},
			[]span{{"a", 1, 1, 1, true}, {"b", 1, 1, 1, true}}, nil},
		{"the whole document", []section{whole, part("b", 1, 1, 1)}, []class{1, 0},
			[]span{{"a", 0, 29, 10, true}}, []span{{"b", 1, 1, 1, false}}},
		{"a document that is gone", []section{part("gone", 3, 4, 3)}, []class{2}, []span{{"gone", 1, 4, 3, true}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, dropped := widen(c.sections, c.classes, count)
			if !slices.Equal(spans(kept), c.kept) || !slices.Equal(spans(dropped), c.dropped) {
				t.Errorf("got %v and %v", spans(kept), spans(dropped))
			}
		})
	}
}

func TestMergeOverlapping(t *testing.T) {
	for _, c := range []struct {
		name     string
		sections []section
		want     []span
	}{
		{"overlap", []section{part("a", 5, 9, 7), part("b", 0, 0, 0), part("a", 8, 12, 10)},
			[]span{{"a", 5, 12, 7, true}, {"b", 0, 0, 0, true}}},
		{"touch", []section{part("a", 5, 5, 5), part("a", 3, 4, 3)}, []span{{"a", 3, 5, 5, true}}},
		{"apart", []section{part("a", 5, 5, 5), part("a", 3, 3, 3)}, []span{{"a", 5, 5, 5, true}, {"a", 3, 3, 3, true}}},
		{"a bridge", []section{part("a", 0, 1, 0), part("b", 0, 0, 0), part("a", 6, 7, 6), part("a", 2, 5, 3)},
			[]span{{"a", 0, 7, 0, true}, {"b", 0, 0, 0, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := spans(mergeOverlapping(c.sections)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestMergeOverlappingProperties: the same chunks of the same documents, in sections that do not meet, each where its
// first chunk-holder stood.
func TestMergeOverlappingProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var sections []section
		before := map[chunkID]bool{}
		for range random.IntN(10) {
			start := random.IntN(30)
			s := part([]string{"a", "b"}[random.IntN(2)], start, start+random.IntN(6), start)
			sections = append(sections, s)
			for i := s.start; i <= s.end; i++ {
				before[chunkID{s.document, i}] = true
			}
		}
		merged := mergeOverlapping(sections)
		count, last := 0, -1
		for i, s := range merged {
			count += s.chunks()
			for j := s.start; j <= s.end; j++ {
				if !before[chunkID{s.document, j}] {
					t.Fatalf("chunk %d of %s came from nowhere", j, s.document)
				}
			}
			for _, o := range merged[:i] {
				if o.touches(s) {
					t.Fatalf("%v meets %v", spans([]section{o}), spans([]section{s}))
				}
			}
			first := slices.IndexFunc(sections, func(o section) bool {
				return o.document == s.document && o.start >= s.start && o.end <= s.end
			})
			if sections[first].center.chunk != s.center.chunk || first <= last {
				t.Fatalf("%v does not stand where the first of it stood", spans([]section{s}))
			}
			last = first
		}
		if count != len(before) {
			t.Fatalf("%d chunks became %d", len(before), count)
		}
	}
}

func TestArrange(t *testing.T) {
	three, five := 3, 5
	chosen := []section{part("a", 8, 13, 10), part("b", 0, 2, 0)}
	rest := []section{part("a", 12, 12, 12), part("a", 14, 16, 15), part("c", 0, 1, 0), part("d", 0, 0, 0)}
	for i := range rest {
		rest[i].selected = false
	}
	for _, c := range []struct {
		name    string
		request wire.SearchRequest
		want    []span
	}{
		{"only what was chosen", wire.SearchRequest{}, []span{{"a", 8, 13, 10, true}, {"b", 0, 2, 0, true}}},
		{"others follow, but nothing that is shown already", wire.SearchRequest{NumResults: &five}, []span{
			{"a", 8, 13, 10, true}, {"b", 0, 2, 0, true}, {"a", 14, 16, 15, false}, {"c", 0, 1, 0, false}, {"d", 0, 0, 0, false}}},
		{"neighbours of the lowest go first", wire.SearchRequest{MaxContextChunks: &five}, []span{
			{"a", 8, 11, 10, true}, {"b", 0, 0, 0, true}}},
		{"what the bound takes from one may be shown by another", wire.SearchRequest{MaxContextChunks: &three, NumResults: &three},
			[]span{{"a", 9, 10, 10, true}, {"b", 0, 0, 0, true}, {"a", 12, 12, 12, false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := spans(arrange(chosen, rest, c.request)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestClassesTold(t *testing.T) {
	whole := part("a", 0, 0, 0)
	whole.whole = true
	got := classesDetail([]section{whole, part("b", 0, 0, 0), part("c", 0, 0, 0), part("d", 0, 0, 0)}, []class{1, 0, 2, 2})
	if want := "1 beside the question, 2 with neighbours, 1 whole"; got != want {
		t.Errorf("got %s", got)
	}
	if strings.Contains(got, "with more") {
		t.Error("a class that nothing has is named")
	}
}
