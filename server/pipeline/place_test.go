package pipeline

import (
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
)

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	const chunk = "## Sick days\n\nCall in.\n\n## *Parental* leave\n\nTwenty weeks.\n\n### Part time\n\nAsk.\n\nHolidays\n---\n\nThirty days.\n"
	outline := []index.Heading{{Level: 1, Text: "Leave"}, {Level: 2, Text: "Holidays"}, {Level: 2, Text: "Sick days", Chunk: 1},
		{Level: 2, Text: "Parental leave", Chunk: 1}, {Level: 3, Text: "Part time", Chunk: 1}, {Level: 2, Text: "Holidays", Chunk: 1},
		{Level: 2, Text: "Later", Chunk: 2}}
	tests := []struct{ at, headings, link string }{
		{"Call in", "Sick days", "leave.md#sick-days"},
		{"## Sick", "Sick days", "leave.md#sick-days"},
		{"leave\n\nTwenty", "Parental leave", "leave.md#parental-leave"},
		{"Twenty", "Parental leave", "leave.md#parental-leave"},
		{"Ask", "Parental leave/Part time", "leave.md#part-time"},
		{"Thirty", "Holidays", "leave.md#holidays-1"},
	}
	for _, test := range tests {
		d := index.Stored{Document: index.Document{Title: "Leave", Outline: outline}}
		of := index.Chunk{Text: chunk, Headings: []string{"Sick days"}, Link: "leave.md#sick-days"}
		headings, link := placeOf(d, 1, of, strings.Index(chunk, test.at))
		if got := strings.Join(headings, "/"); got != test.headings || link != test.link {
			t.Errorf("at %q: %s, %s; want %s, %s", test.at, got, link, test.headings, test.link)
		}
	}
}

// TestPlaceOfAMessage: what a message says is its writer's, and cited by its own link, not that of the one before.
func TestPlaceOfAMessage(t *testing.T) {
	t.Parallel()
	const chunk = "**Ana** · 2024-03-01 08:00\n\nHow?\n\n**bold**\n\n**Bo** · 2024-03-01 09:30\n\nWith the lever.\n"
	d := index.Stored{Document: index.Document{Title: "Rollback", Outline: []index.Heading{
		{Level: 1, Text: "Ana · 2024-03-01 08:00", Link: "https://lists/a"}, {Level: 1, Text: "Bo · 2024-03-01 09:30", Link: "mid:b@acme.com"}}}}
	of := index.Chunk{Text: chunk, Headings: []string{"Ana · 2024-03-01 08:00"}, Link: "https://lists/a"}
	for at, want := range map[string]string{"How": "Ana · 2024-03-01 08:00 https://lists/a", "bold": "Ana · 2024-03-01 08:00 https://lists/a",
		"lever": "Bo · 2024-03-01 09:30 mid:b@acme.com"} {
		headings, link := placeOf(d, 0, of, strings.Index(chunk, at))
		cited := new(run).citation(d, link, 0, 0)
		if got := strings.Join(headings, "/") + " " + cited; got != want {
			t.Errorf("at %q: %s, want %s", at, got, want)
		}
	}
}

// TestLanguageAt: words are marked by the rules of the chunk that they are in, as it was analysed.
func TestLanguageAt(t *testing.T) {
	t.Parallel()
	chunks := []index.Chunk{
		{Text: "The time has not come yet, but we will make use of it when it does."},
		{Text: "It cannot be read.", Damaged: true},
		{Text: "Die Zeit ist noch nicht gekommen, aber wir werden sie nutzen.\n"},
		{Text: "Short."},
	}
	content, places := joined(chunks)
	for _, test := range []struct {
		document string
		count    int
		want     string // at time, Zeit and Short
	}{{"en", 4, "en de en"}, {"de", 4, "en de de"}, {"en", 1, "en en en"}, {"", 4, "  "}} {
		spoken := languageAt(index.Stored{Document: index.Document{Language: test.document}, ChunkCount: test.count}, chunks, places)
		var got []string
		for _, word := range []string{"time", "Zeit", "Short"} {
			got = append(got, spoken(strings.Index(content, word)))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("of %d chunks of a document in %q: %q, want %q", test.count, test.document, got, test.want)
		}
	}
}

// TestPlaceOfUnknown holds that a place is no better known than it is.
func TestPlaceOfUnknown(t *testing.T) {
	t.Parallel()
	own := []index.Heading{{Level: 2, Text: "A"}, {Level: 2, Text: "B"}}
	tests := map[string]struct {
		outline        []index.Heading
		text, link     string
		headings, want string
	}{
		"no outline":            {nil, "## A\n\n## B\n\nhere", "x#a", "A", "x#a"},
		"anchors of its own":    {own, "## A\n\nfor\n\n## B\n\nhere", "x#section-1", "B", "x"},
		"no anchors":            {own, "## A\n\nfor\n\n## B\n\nhere", "x", "B", "x"},
		"its words in the text": {own, "## A\n\n- B\n\nhere", "x#a", "A", "x#a"},
		"a heading with an id":  {own, "## A\n\nfor\n\n## B {#b}\n\nhere", "x#a", "B", "x#b"},
	}
	for name, test := range tests {
		d := index.Stored{Document: index.Document{Title: "T", Outline: test.outline}}
		of := index.Chunk{Text: test.text, Headings: []string{"A"}, Link: test.link}
		headings, link := placeOf(d, 0, of, strings.Index(test.text, "here"))
		if got := strings.Join(headings, "/"); got != test.headings || link != test.want {
			t.Errorf("%s: %s, %s; want %s, %s", name, got, link, test.headings, test.want)
		}
	}
}

// marker highlights one word; the best passage is its paragraph, else the first one.
type marker string

func (m marker) Highlight(whole string, _ index.LanguageAt, within [2]int) (marks [][2]int, best [2]int) {
	if at := strings.Index(whole, string(m)); at >= 0 {
		marks = [][2]int{{at, at + len(m)}}
	}
	text := whole[within[0]:within[1]]
	best[1] = len(text)
	if end := strings.Index(text, "\n\n"); end >= 0 {
		best[1] = end
	}
	if at := strings.Index(text, string(m)); at >= 0 {
		best = [2]int{strings.LastIndex(text[:at], "\n") + 1, at + len(m)}
	}
	return marks, [2]int{best[0] + within[0], best[1] + within[0]}
}

// TestPlaceOfMergedChunks holds that headings, link, best passage and ref of several chunks are of one place.
func TestPlaceOfMergedChunks(t *testing.T) {
	t.Parallel()
	outline := []index.Heading{{Level: 2, Text: "Holiday"}, {Level: 2, Text: "Parents", Chunk: 1}, {Level: 2, Text: "Other", Chunk: 1}}
	d := index.Stored{Document: index.Document{ID: "d", Title: "Leave", Link: "https://x.example/d", Outline: outline}, ChunkCount: 2}
	chunks := []index.Chunk{{Text: "## Holiday\n\nThirty days\n\n", Headings: []string{"Holiday"}, Link: "https://x.example/d#holiday"},
		{Text: "## Parents\n\nTwenty weeks\n\n## Other\n\nMoving house\n", Headings: []string{"Parents"}, Link: "https://x.example/d#parents"}}
	vectors := [][]index.Hit{hits("d/1")}
	tests := map[string]struct {
		word string
		near [][]index.Hit
		want string
	}{
		"in the center":           {"Twenty", nil, "d#1 Parents https://x.example/d#parents Twenty"},
		"in a section of it":      {"Moving", nil, "d#1 Other https://x.example/d#other Moving"},
		"elsewhere":               {"Thirty", nil, "d#0 Holiday https://x.example/d#holiday Thirty"},
		"in the title only":       {"Leave", nil, "d#0  https://x.example/d ## Holiday"},
		"found by vector as well": {"Leave", vectors, "d#1 Parents https://x.example/d#parents ## Parents"},
	}
	for name, test := range tests {
		r := &run{queries: []wire.ExecutedQuery{{Query: "q"}}, found: []index.Result{{Hits: hits("d/1"), Highlighter: marker(test.word)}},
			near: test.near}
		s := section{document: "d", start: 0, end: 1, center: fusedChunk{chunkID: chunkID{"d", 1}}}
		got := r.result(s, d, chunks, 1)
		found := strings.Join([]string{got.Ref, strings.Join(got.HeadingPath, "/"), *got.Link, got.Content[got.BestPassage[0]:got.BestPassage[1]]}, " ")
		if found != test.want {
			t.Errorf("%s: %q, want %q", name, found, test.want)
		}
	}
}
