package pipeline

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/llm"
)

func TestParseSelection(t *testing.T) {
	for reply, want := range map[string][]pick{
		"[3, 0, 7]":                              {{3, false}, {0, false}, {7, false}},
		"[3!, 0]":                                {{3, true}, {0, false}},
		"[3 !, \"0\", \"7\"!, ]":                 {{3, true}, {0, false}, {7, true}},
		"[3, 3, 0, 3!]":                          {{3, false}, {0, false}},
		"[12, 3, 999999999999999, 0]":            {{3, false}, {0, false}},
		"See [note]: [3, 0] not [7]":             {{3, false}, {0, false}},
		"The best are 3, 0 and 7":                {{3, false}, {0, false}},
		"Section 3 and then section 0":           {{3, false}, {0, false}},
		"3!\n0":                                  {{3, true}, {0, false}},
		`[{"section_id": 3}, {"section_id": 0}]`: {{3, false}, {0, false}},
		"[-1, 2]":                                {{2, false}},
		"1.5 or v2 or 3rd":                       nil,
		"[0,1,2,3,4,5,6,7,8,9,10,11]": {{0, false}, {1, false}, {2, false}, {3, false}, {4, false}, {5, false}, {6, false},
			{7, false}, {8, false}, {9, false}},
		"[]":           nil,
		"none of them": nil,
		"":             nil,
		"选择：3，0！":      {{3, false}, {0, false}},
	} {
		if got := parseSelection(reply, 12); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", reply, got, want)
		}
	}
}

func FuzzParseSelection(f *testing.F) {
	f.Add("[3!, 0, 7]", 12)
	f.Add("1, 2 and 99999999999999999999", 3)
	f.Fuzz(func(t *testing.T, reply string, sections int) {
		seen := map[int]bool{}
		picks := parseSelection(cleanReply(reply), sections)
		for _, p := range picks {
			if p.section < 0 || p.section >= sections || seen[p.section] {
				t.Fatalf("%v of %d sections", picks, sections)
			}
			seen[p.section] = true
		}
		if len(picks) > maxSelected {
			t.Fatalf("%d picks", len(picks))
		}
	})
}

func TestChoose(t *testing.T) {
	sections := make([]section, 30)
	for i := range sections {
		sections[i].rank = i
	}
	ranks := func(list []section) (ranks []int) {
		for _, s := range list {
			ranks = append(ranks, s.rank)
		}
		return ranks
	}
	two := 2
	for _, c := range []struct {
		name         string
		picks        []pick
		wanted       *int
		chosen, rest []int
	}{
		{"in the order of the picks", []pick{{3, false}, {0, true}}, nil, []int{3, 0}, []int{1, 2, 4}},
		{"as many as are wanted", []pick{{3, false}, {0, true}, {1, false}}, &two, []int{3, 0}, []int{1, 2, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, rest := choose(sections[:5], c.picks, c.wanted)
			if !slices.Equal(ranks(chosen), c.chosen) || !slices.Equal(ranks(rest), c.rest) {
				t.Errorf("got %v and %v", ranks(chosen), ranks(rest))
			}
			if !chosen[0].selected || chosen[0].whole || !chosen[1].whole || rest[0].selected {
				t.Errorf("got %+v and %+v", chosen, rest)
			}
		})
	}
	if chosen, rest := firstSections(sections, nil); len(chosen) != maxSelected || chosen[9].rank != 9 || rest[0].rank != 10 {
		t.Errorf("the first ten are %v", ranks(chosen))
	}
	if sections[0].selected {
		t.Error("the given sections were changed")
	}
}

func TestAroundCenter(t *testing.T) {
	for _, c := range []struct{ start, end, center, from, to int }{
		{0, 0, 0, 0, 0}, {2, 6, 4, 3, 5}, {2, 6, 2, 2, 4}, {2, 6, 6, 4, 6}, {2, 3, 3, 2, 3}, {2, 4, 2, 2, 4},
	} {
		s := section{start: c.start, end: c.end, center: fusedChunk{chunkID: chunkID{"d", c.center}}}
		if from, to := s.aroundCenter(); from != c.from || to != c.to {
			t.Errorf("%+v: got %d to %d", c, from, to)
		}
	}
}

// TestShownSectionsFitTheBudget: sections are shown in order until the next one would not fit.
func TestShownSectionsFitTheBudget(t *testing.T) {
	s := newShelf()
	words := strings.Repeat("word ", 500)
	s.documents, s.chunks, s.hits = map[string]index.Stored{}, map[string][]index.Chunk{}, nil
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		s.documents[id] = index.Stored{Document: index.Document{ID: id, Title: strings.Repeat(id+" ", 500), Source: "file",
			Metadata: []index.Field{{Key: "k", Values: []string{"v"}}, {Key: "long", Values: []string{words}}}}, ChunkCount: 5}
		for range 5 {
			s.chunks[id] = append(s.chunks[id], index.Chunk{Text: words})
		}
	}
	r := &run{ctx: t.Context(), snapshot: s, described: map[string]*index.Stored{}}
	for i, id := range []string{"a", "b", "c", "d", "gone", "e", "f", "g", "h", "i", "j", "k"} {
		r.sections = append(r.sections, section{document: id, start: 0, end: 4, rank: i,
			center: fusedChunk{chunkID: chunkID{id, 2}}})
	}
	shown := r.shownSections()
	// 3 chunks of 625 tokens are cut to 1,536; with 75 for the rest seven of them fit 12,800, and the one that is gone.
	if len(shown) != 8 || !strings.Contains(string(shown[4]), `"section_id":4`) {
		t.Errorf("%d sections are shown: %.200s", len(shown), shown)
	}
	if strings.Contains(string(shown[0]), `"long"`) || !strings.Contains(string(shown[0]), `"metadata":{"k":"v"}`) {
		t.Errorf("metadata in %.400s", shown[0])
	}
	if len(shown[0]) > 4*(passageTokens+sectionTokens+titleTokens) {
		t.Errorf("%d bytes of one section", len(shown[0]))
	}
}

func TestDescribeIsBounded(t *testing.T) {
	d := index.Stored{Document: index.Document{Title: strings.Repeat("t", 9000), Source: "file"}}
	for range 50 {
		d.Authors = append(d.Authors, index.Person{Name: strings.Repeat("n", 900)})
		d.Metadata = append(d.Metadata, index.Field{Key: "key", Values: []string{"some value"}})
	}
	described := describe(d)
	if size := len(llm.Quote(wire.CandidateResult.Of(&described))); size > 1024 {
		t.Errorf("%d bytes", size)
	}
}
