package lexical

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// judged is a collection with queries and judgements.
type judged struct {
	documents []index.Document
	queries   []struct {
		ID   string `json:"_id"`
		Text string `json:"text"`
	}
	grades map[string]map[string]float64
}

// data is the folder of collections; the test is skipped without it.
func data(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("QUARRY_DATA")
	if folder == "" {
		t.Skip("QUARRY_DATA is not set: no collections to measure on")
	}
	return folder
}

func load(t testing.TB, name string) *judged {
	t.Helper()
	folder := filepath.Join(data(t), "qrels", name)
	c := &judged{grades: make(map[string]map[string]float64)}
	eachLine(t, filepath.Join(folder, "corpus.jsonl"), func(line []byte) {
		var d struct {
			ID    string `json:"_id"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		unmarshal(t, line, &d)
		path := strings.Split(strings.TrimSuffix(d.ID, ".md"), "/")
		if len(path) == 1 {
			path = nil
		}
		c.documents = append(c.documents, index.Document{
			ID: d.ID, Title: d.Title, Path: path, Access: []string{"PUBLIC"}, Chunks: split(d.Text),
		})
	})
	eachLine(t, filepath.Join(folder, "queries.jsonl"), func(line []byte) {
		c.queries = append(c.queries, struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}{})
		unmarshal(t, line, &c.queries[len(c.queries)-1])
	})
	eachLine(t, filepath.Join(folder, "qrels.tsv"), func(line []byte) {
		fields := strings.Fields(string(line))
		grade, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return
		}
		if c.grades[fields[0]] == nil {
			c.grades[fields[0]] = make(map[string]float64)
		}
		c.grades[fields[0]][strings.Join(fields[1:len(fields)-1], " ")] = grade
	})
	return c
}

func eachLine(t testing.TB, path string, yield func(line []byte)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReader(file)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			yield(line)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unmarshal(t testing.TB, line []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(line, v); err != nil {
		t.Fatal(err)
	}
}

// split cuts a text into chunks of at most 512 tokens at paragraphs, each below the last heading.
func split(body string) []index.Chunk {
	var chunks []index.Chunk
	var current []string
	var headings []string
	size := 0
	flush := func() {
		if len(current) > 0 {
			chunks = append(chunks, index.Chunk{Text: strings.Join(current, "\n\n"), Headings: headings})
		}
		current, size = nil, 0
	}
	for paragraph := range strings.SplitSeq(body, "\n\n") {
		if level := len(paragraph) - len(strings.TrimLeft(paragraph, "#")); level > 0 && level < 7 {
			flush()
			headings = append(slices.Clip(headings[:min(len(headings), level-1)]),
				strings.TrimSpace(strings.SplitN(paragraph[level:], "\n", 2)[0]))
		}
		n := text.EstimateTokens(paragraph)
		if size+n > 512 {
			flush()
		}
		current = append(current, paragraph)
		size += n
	}
	flush()
	if chunks == nil {
		chunks = []index.Chunk{{Text: body}}
	}
	return chunks
}

func searcher(t testing.TB, documents []index.Document, params Params) *Searcher {
	t.Helper()
	b := segment.NewBuilder()
	for _, d := range documents {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	bytes, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	r, err := segment.Open("test", bytes)
	if err != nil {
		t.Fatal(err)
	}
	return NewSearcher([]Part{{Segment: r}}, params)
}

// measure returns nDCG@10 and recall@100 over whole documents, and how many queries found nothing.
func (c *judged) measure(t testing.TB, s *Searcher) (ndcg, recall float64, empty int) {
	t.Helper()
	n := 0
	for _, q := range c.queries {
		grades := c.grades[q.ID]
		if len(grades) == 0 {
			continue
		}
		result, err := s.Search(context.Background(), index.Query{
			Text: q.Text, Limit: 400, Filter: index.Filter{Access: index.Access{All: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Hits) == 0 {
			empty++
		}
		ranking := distinct(result.Hits, 100)
		gain, found := 0.0, 0.0
		for i, id := range ranking {
			if grade := grades[id]; grade > 0 {
				found++
				if i < 10 {
					gain += grade / math.Log2(float64(i+2))
				}
			}
		}
		ndcg += gain / ideal(grades)
		recall += found / float64(len(grades))
		n++
	}
	return ndcg / float64(n), recall / float64(n), empty
}

func distinct(hits []index.Hit, limit int) (ids []string) {
	seen := make(map[string]bool)
	for _, hit := range hits {
		if !seen[hit.DocumentID] && len(ids) < limit {
			seen[hit.DocumentID] = true
			ids = append(ids, hit.DocumentID)
		}
	}
	return ids
}

func ideal(grades map[string]float64) (sum float64) {
	var all []float64
	for _, grade := range grades {
		all = append(all, grade)
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, grade := range all[:min(10, len(all))] {
		sum += grade / math.Log2(float64(i+2))
	}
	return sum
}

func TestQuality(t *testing.T) {
	for _, bar := range []struct {
		name string
		ndcg float64
	}{{"scifact", .69}, {"cacm", .48}, {"handbook-sourcegraph", .72}} {
		t.Run(bar.name, func(t *testing.T) {
			c := load(t, bar.name)
			ndcg, recall, empty := c.measure(t, searcher(t, c.documents, DefaultParams()))
			t.Logf("nDCG@10 %.4f, recall@100 %.4f, %d queries without results", ndcg, recall, empty)
			if ndcg < bar.ndcg || empty > 0 {
				t.Errorf("nDCG@10 %.4f, want %.2f; %d queries without results", ndcg, bar.ndcg, empty)
			}
		})
	}
}

// TestTune prints what other constants would give; QUARRY_TUNE names them: "Title=0.3,0.5 Near=0.1,0.2".
func TestTune(t *testing.T) {
	spec := os.Getenv("QUARRY_TUNE")
	if spec == "" {
		t.Skip("QUARRY_TUNE is not set")
	}
	all := []Params{DefaultParams()}
	for _, field := range strings.Fields(spec) {
		name, list, _ := strings.Cut(field, "=")
		var next []Params
		for _, p := range all {
			for value := range strings.SplitSeq(list, ",") {
				number := json.RawMessage(fmt.Sprintf(`{%q:%s}`, name, value))
				changed := p
				unmarshal(t, number, &changed)
				next = append(next, changed)
			}
		}
		all = next
	}
	var collections []*judged
	for _, name := range []string{"scifact", "cacm", "handbook-sourcegraph"} {
		collections = append(collections, load(t, name))
	}
	var built []*Searcher
	for _, c := range collections {
		built = append(built, searcher(t, c.documents, DefaultParams()))
	}
	for _, p := range all {
		line := ""
		for i, c := range collections {
			ndcg, recall, _ := c.measure(t, NewSearcher(built[i].parts, p))
			line += fmt.Sprintf("  %.4f/%.3f", ndcg, recall)
		}
		t.Logf("%s  %+v", line, p)
	}
}
