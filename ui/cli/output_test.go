package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
)

// randomOutcomes makes answers with results of all sizes, with characters of one to four bytes.
func randomOutcomes(random *rand.Rand, queries int) []outcome {
	letters := []rune("ab<&>\"\\\n é本👩")
	text := func(most int) string {
		runes := make([]rune, random.IntN(most+1))
		for i := range runes {
			runes[i] = letters[random.IntN(len(letters))]
		}
		return string(runes)
	}
	var outcomes []outcome
	for q := range queries {
		response := &wire.SearchResponse{Searched: []string{"test"}, Results: []wire.SearchResult{}}
		for i := range random.IntN(6) {
			number := i + 1
			result := wire.SearchResult{CitationID: &number, Title: text(20), Content: text(300), SourceType: "web"}
			if random.IntN(2) == 0 && result.Content != "" {
				result.DocumentID, result.Ref = "d", "d#1"
				result.Highlights = []wire.Span{{0, len(result.Content)}}
			}
			response.Results = append(response.Results, result)
		}
		outcomes = append(outcomes, outcome{query: plannedQuery{text: fmt.Sprintf("q%d", q)}, response: response})
	}
	return outcomes
}

type cutAnswer struct {
	Results  []map[string]any `json:"results"`
	Searches []struct {
		Results []map[string]any `json:"results"`
	} `json:"searches"`
	Truncation *truncation `json:"truncation"`
}

func (c cutAnswer) results() int {
	total := len(c.Results)
	for _, search := range c.Searches {
		total += len(search.Results)
	}
	return total
}

// Whatever the limit, the output parses, keeps to the limit unless nothing but the envelope is left, and counts right.
func TestCutAnswersStayWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		outcomes := randomOutcomes(random, 1+random.IntN(3))
		answer := searchAnswer(outcomes, random.IntN(2) == 0, shape{})
		full := answer.encode(whole())
		path := "/tmp/copy.json"
		shownBefore := 0
		for limit := 0; limit < len(full); limit += 1 + random.IntN(longtest.Rounds(200, 17)) {
			note := truncation{TotalBytes: len(full), FullResponsePath: &path, Hint: "hint"}
			text := cutTo(answer, bound{most: limit}, note)
			var got cutAnswer
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("limit %d: %v\n%s", limit, err, text)
			}
			if !utf8.ValidString(text) {
				t.Fatalf("limit %d cut a character", limit)
			}
			if len(text) > limit && got.results() > 0 {
				t.Fatalf("limit %d: %d bytes with %d results", limit, len(text), got.results())
			}
			told := got.Truncation
			if told == nil || !told.Truncated || told.TotalBytes != len(full) || told.TotalResults != answer.count(answer.most()) ||
				told.ShownResults != got.results() {
				t.Fatalf("limit %d: truncation %+v for %d results", limit, told, got.results())
			}
			if got.results() < shownBefore {
				t.Fatalf("limit %d shows %d results, a smaller one showed %d", limit, got.results(), shownBefore)
			}
			shownBefore = got.results()
		}
	}
}

// Lines stay lines, and the summary stays the last.
func TestCutLinesStayWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		answer := ndjsonAnswer(randomOutcomes(random, 2), false, shape{})
		full := answer.encode(whole())
		for limit := 0; limit < len(full); limit += longtest.Rounds(131, 13) {
			text := cutTo(answer, bound{most: limit}, truncation{TotalBytes: len(full)})
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			for i, line := range lines {
				var got struct{ Type string }
				if err := json.Unmarshal([]byte(line), &got); err != nil || (got.Type == "summary") != (i == len(lines)-1) {
					t.Fatalf("limit %d, line %d: %v\n%s", limit, i, err, text)
				}
			}
		}
	}
}

func TestCutContentEndsAtACharacter(t *testing.T) {
	number := 1
	outcomes := []outcome{{response: &wire.SearchResponse{Results: []wire.SearchResult{{CitationID: &number,
		Content: strings.Repeat("本", 500), DocumentID: "d", Ref: "d#0", Highlights: []wire.Span{{0, 3}, {1200, 1203}},
		BestPassage: wire.Span{0, 1500}, Blurb: strings.Repeat("本", 90)}}}}}
	answer := searchAnswer(outcomes, true, shape{})
	text := cutTo(answer, bound{most: 1500}, truncation{TotalBytes: 4000})
	var got struct {
		Results []struct {
			Content     string
			Highlights  []wire.Span
			BestPassage wire.Span `json:"best_passage"`
		}
		Truncation truncation
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	result := got.Results[0]
	if !utf8.ValidString(result.Content) || result.Content == "" || len(result.Content)%3 != 0 || !got.Truncation.ContentTruncated {
		t.Errorf("content %q, truncation %+v", result.Content, got.Truncation)
	}
	if len(result.Highlights) != 1 || result.BestPassage[1] > len(result.Content) {
		t.Errorf("ranges point beyond the content: %v %v", result.Highlights, result.BestPassage)
	}
}

func TestMaxOutput(t *testing.T) {
	s := newOnyx(t)
	results := []string{}
	for i := range 40 {
		results = append(results, fmt.Sprintf(`{"citation_id":%d,"title":"t","content":%q,"link":null,"source_type":"web","updated_at":null}`,
			i+1, strings.Repeat("word ", 600)))
	}
	s.on("/search", body(http.StatusOK, []byte(`{"results":[`+strings.Join(results, ",")+`]}`)))
	dir := t.TempDir()
	got := run(t, testDoors(s.URL), terminal{dir: dir}, "search", "x").check(t, ExitSuccess)
	var answer cutAnswer
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
		t.Fatal(err)
	}
	if len(got.out) > defaultMaxOutput || answer.Truncation == nil || answer.Truncation.TotalResults != 40 {
		t.Fatalf("%d bytes, truncation %+v", len(got.out), answer.Truncation)
	}
	path := *answer.Truncation.FullResponsePath
	for place, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Lstat(place); err != nil || info.Mode() != mode || filepath.Dir(filepath.Dir(path)) != dir {
			t.Errorf("%s: %v %v", place, info, err)
		}
	}
	copied, err := os.ReadFile(path)
	if err != nil || len(copied) != answer.Truncation.TotalBytes {
		t.Errorf("the copy has %d bytes of %d: %v", len(copied), answer.Truncation.TotalBytes, err)
	}
	if !strings.Contains(got.err, path) {
		t.Errorf("stderr: %s", got.err)
	}
	for _, arguments := range [][]string{{"--max-output", "0"}, {"--raw", "--max-output", "100"}} {
		whole := run(t, testDoors(s.URL), terminal{dir: dir}, append([]string{"search", "x"}, arguments...)...).check(t, ExitSuccess)
		if len(whole.out) < 100_000 {
			t.Errorf("%v was cut to %d bytes", arguments, len(whole.out))
		}
	}
	onScreen := run(t, testDoors(s.URL), terminal{tty: true, dir: dir}, "search", "x", "--json").check(t, ExitSuccess)
	if len(onScreen.out) < 100_000 {
		t.Errorf("a terminal was cut to %d bytes", len(onScreen.out))
	}
	for _, format := range []string{"md", "tsv", "text"} {
		cut := run(t, testDoors(s.URL), terminal{dir: dir}, "search", "x", "--format", format, "--max-output", "100").check(t, ExitSuccess)
		if format == "tsv" && !strings.HasSuffix(cut.out, "\n") {
			t.Errorf("a line was cut: %q", cut.out)
		}
		if len(cut.out) > 100 || cut.out == "" || !utf8.ValidString(cut.out) {
			t.Errorf("%s: %d bytes", format, len(cut.out))
		}
	}
}

func TestPrivateKeepsNoCopy(t *testing.T) {
	s := newOnyx(t)
	doors := testDoors(s.URL)
	doors.private = true
	dir := t.TempDir()
	got := run(t, doors, terminal{dir: dir}, "search", "x", "--max-output", "500").check(t, ExitSuccess)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("copies: %v %v", entries, err)
	}
	if !strings.Contains(got.out, `"full_response_path":null`) {
		t.Errorf("stdout: %s", got.out)
	}
}

func TestCopyThatCannotBeWritten(t *testing.T) {
	s := newOnyx(t)
	got := run(t, testDoors(s.URL), terminal{dir: filepath.Join(t.TempDir(), "missing")}, "search", "x", "--max-output", "500").check(t, ExitSuccess)
	if !json.Valid([]byte(got.out)) || !strings.Contains(got.err, "cannot keep a complete copy") {
		t.Errorf("stdout %s\nstderr %s", got.out, got.err)
	}
}

func TestOldCopiesAreForgotten(t *testing.T) {
	s := newOnyx(t)
	dir := t.TempDir()
	old := today().Add(-25 * time.Hour)
	place := func(dir, name string, at time.Time) {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, nil, 0o600)
		}
		for ; err == nil && path != dir; path = filepath.Dir(path) {
			err = os.Chtimes(path, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	place(dir, "quarry-search-1.response/complete.json", old)
	place(dir, "quarry-read-1.response/complete.md", old)
	place(dir, "quarry-search-2.response/complete.json", today())
	place(dir, "quarry-search-3.response/notes.txt", old)
	place(dir, "quarry-notes.response", old)
	place(dir, "other.response/complete.json", old)
	outside := t.TempDir()
	place(outside, "complete.json", old)
	for name, target := range map[string]string{"quarry-link.response": outside, "quarry-4.response/complete.json": filepath.Join(outside, "complete.json")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, "quarry-4.response"), old, old); err != nil {
		t.Fatal(err)
	}
	run(t, testDoors(s.URL), terminal{dir: dir}, "search", "x").check(t, ExitSuccess)
	var left []string
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			left = append(left, filepath.ToSlash(name))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "quarry-search-1.response")); err == nil {
		t.Error("the folder of a copy is left")
	}
	if _, err := os.Stat(filepath.Join(outside, "complete.json")); err != nil {
		t.Errorf("what a link leads to: %v", err)
	}
	want := "other.response/complete.json quarry-4.response/complete.json quarry-link.response quarry-notes.response " +
		"quarry-search-2.response/complete.json quarry-search-3.response/notes.txt"
	if got := strings.Join(left, " "); got != want {
		t.Errorf("left: %s\nwant: %s", got, want)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("content with <html> & 本", 300)
	f.Add("\x1b[2J", 0)
	f.Fuzz(func(t *testing.T, content string, limit int) {
		number := 1
		answer := searchAnswer([]outcome{{response: &wire.SearchResponse{Results: []wire.SearchResult{
			{CitationID: &number, Content: content}, {CitationID: &number, Content: content}}}}}, false, shape{})
		text := cutTo(answer, bound{most: limit}, truncation{TotalBytes: 4 * len(content)})
		if !json.Valid([]byte(text)) {
			t.Fatal(text)
		}
	})
}

// TestKeysOfSavedSearches: a key in another case is another key.
func TestKeysOfSavedSearches(t *testing.T) {
	const saved = `{"results":[{"citation_id":1,"ref":"d#1","Ref":"e#1"}],"Results":[{"citation_id":2,"ref":"d#2"}]}`
	results, err := decodeSaved(strings.NewReader(saved))
	if err != nil || len(results) != 1 || results[0].Ref != "d#1" {
		t.Errorf("%+v, %v", results, err)
	}
}

func FuzzSavedSearch(f *testing.F) {
	f.Add(`{"results":[{"citation_id":1,"ref":"d#1"}]}`)
	f.Add(`{"searches":[{"query":"x","results":[{"citation_id":1,"ref":"d#1"}]},{"error":"x","results":null}]}`)
	f.Add("{\"type\":\"result\",\"citation_id\":1,\"ref\":\"d#1\"}\n{\"type\":\"summary\"}")
	f.Fuzz(func(t *testing.T, text string) {
		results, err := decodeSaved(strings.NewReader(text))
		if err == nil && len(results) > len(text) {
			t.Fatalf("%d results out of %d bytes", len(results), len(text))
		}
	})
}
