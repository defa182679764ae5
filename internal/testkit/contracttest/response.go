package contracttest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"quarry/client"
	"quarry/client/wire"
)

// checkResponse holds what every answer of a search promises, whatever the server.
func (s suite) checkResponse(t *testing.T, c *client.Client, response *wire.SearchResponse) {
	t.Helper()
	if !slices.Equal(response.Searched, []string{c.Profile()}) {
		t.Errorf("searched %q, the profile is %q", response.Searched, c.Profile())
	}
	text, err := json.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	if nulls := NullFields(t, text); len(nulls) > 0 {
		t.Errorf("null: %q in %.500s", nulls, text)
	}
	checkCitations(t, response)
	for _, result := range response.Results {
		checkResult(t, c, result)
		if s.want.Additions {
			checkPlace(t, result)
		}
	}
	if s.want.Additions {
		checkAdditions(t, response)
	}
}

// NullFields names the fields of an answer that are null and may not be, wherever they stand. Texts are not looked into:
// a null that somebody wrote about is none.
func NullFields(t *testing.T, answer []byte) []string {
	t.Helper()
	var decoded any
	if err := json.Unmarshal(answer, &decoded); err != nil {
		t.Fatal(err)
	}
	nullable := []string{"link", "updated_at", "citation_id", "newer"}
	var nulls []string
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch value := value.(type) {
		case nil:
			if !slices.Contains(nullable, name) {
				nulls = append(nulls, name)
			}
		case []any:
			for _, item := range value {
				walk(name+"[]", item)
			}
		case map[string]any:
			for key, item := range value {
				walk(key, item)
			}
		}
	}
	walk("", decoded)
	slices.Sort(nulls)
	return nulls
}

// checkCitations holds the numbering: from 1, in order of first appearance, one number per document.
func checkCitations(t *testing.T, response *wire.SearchResponse) {
	t.Helper()
	highest := 0
	documents := map[int]string{}
	for _, result := range response.Results {
		if result.CitationID == nil {
			continue
		}
		number := *result.CitationID
		if number < 1 || number > highest+1 {
			t.Errorf("citation %d follows %d", number, highest)
		}
		highest = max(highest, number)
		if known, ok := documents[number]; ok && known != result.DocumentID {
			t.Errorf("citation %d is both %q and %q", number, known, result.DocumentID)
		}
		documents[number] = result.DocumentID
	}
}

func checkResult(t *testing.T, c *client.Client, result wire.SearchResult) {
	t.Helper()
	if result.Title == "" || result.SourceType == "" || result.Origin == "" {
		t.Errorf("title %q, source %q, origin %q", result.Title, result.SourceType, result.Origin)
	}
	if strings.ContainsAny(result.Title, "\n\t") || !clean(result.Title) || !clean(result.Content) {
		t.Errorf("not clean: %q, %.200q", result.Title, result.Content)
	}
	if result.UpdatedAt != nil {
		if _, err := wire.ParseTime(*result.UpdatedAt); err != nil {
			t.Error(err)
		}
	}
	if result.Link != nil {
		scheme, _, _ := strings.Cut(strings.ToLower(*result.Link), ":")
		allowed := []string{"http", "https", "mailto"}
		if !slices.Contains(allowed, scheme) && !(c.Local() && scheme == "file") {
			t.Errorf("link %q", *result.Link)
		}
	}
	checkSpans(t, result)
}

func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	})
}

func checkSpans(t *testing.T, result wire.SearchResult) {
	t.Helper()
	spans := append([]wire.Span{}, result.Highlights...)
	last := 0
	for _, span := range spans {
		if span[0] < last || span[0] >= span[1] || span[1] > len(result.Content) {
			t.Errorf("highlights %v of %d bytes", spans, len(result.Content))
			return
		}
		last = span[1]
	}
	if best := result.BestPassage; best[0] < 0 || best[0] > best[1] || best[1] > len(result.Content) {
		t.Errorf("best passage %v of %d bytes", best, len(result.Content))
	}
}

// checkPlace holds where a result says that it stands in its document.
func checkPlace(t *testing.T, result wire.SearchResult) {
	t.Helper()
	id, chunk, ok := wire.SplitRef(result.Ref)
	if result.DocumentID == "" || !ok || id != result.DocumentID || chunk != result.ChunkInd {
		t.Errorf("document %q, chunk %d, ref %q", result.DocumentID, result.ChunkInd, result.Ref)
	}
	if result.ChunkStart < 0 || result.ChunkStart > result.ChunkInd || result.ChunkInd > result.ChunkEnd ||
		result.ChunkEnd >= result.ChunkCount {
		t.Errorf("%s: chunk %d of [%d, %d] of %d", result.Ref, result.ChunkInd, result.ChunkStart, result.ChunkEnd,
			result.ChunkCount)
	}
}

// checkAdditions holds what a quarry server adds to the whole answer.
func checkAdditions(t *testing.T, response *wire.SearchResponse) {
	t.Helper()
	documents := map[string]bool{}
	for _, result := range response.Results {
		if result.Matches {
			documents[result.DocumentID] = true
		}
		if result.CitationID != nil {
			if mapped := response.CitationMapping[strconv.Itoa(*result.CitationID)]; mapped != result.DocumentID {
				t.Errorf("citation %d is mapped to %q, not %q", *result.CitationID, mapped, result.DocumentID)
			}
		}
	}
	if response.TotalMatches < len(documents) {
		t.Errorf("%d matches, but %d documents", response.TotalMatches, len(documents))
	}
	outcomes := []string{wire.OutcomeOK, wire.OutcomeSkipped, wire.OutcomeFailed, wire.OutcomeTimeout}
	for _, stage := range response.Stages {
		if stage.Name == "" || stage.MS < 0 || !slices.Contains(outcomes, stage.Outcome) {
			t.Errorf("stage %+v", stage)
		}
	}
	for _, query := range response.Queries {
		if query.Query == "" || !slices.Contains([]string{"original", "semantic", "keyword"}, query.Kind) {
			t.Errorf("query %+v", query)
		}
	}
	for _, note := range response.Notes {
		if note.Code == "" || note.Text == "" {
			t.Errorf("note %+v", note)
		}
	}
	checkFacets(t, response.Facets)
}

func checkFacets(t *testing.T, facets wire.Facets) {
	t.Helper()
	for _, values := range [][]wire.FacetValue{facets.Sources, facets.Authors, facets.Types, facets.DocumentSets} {
		for _, value := range values {
			if value.Value == "" || value.Count < 1 {
				t.Errorf("facet %+v", value)
			}
		}
	}
	for _, tag := range facets.Tags {
		if tag.Key == "" || tag.Count < 1 {
			t.Errorf("facet %+v", tag)
		}
	}
	if !slices.IsSortedFunc(facets.Months, func(a, b wire.FacetMonth) int { return strings.Compare(a.Month, b.Month) }) {
		t.Errorf("months %+v", facets.Months)
	}
}
