package lexical

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// benchDocuments reads the documents of the JSONL file that QUARRY_CHUNKS names, in the form of ingestion documents.
func benchDocuments(b *testing.B) []index.Document {
	b.Helper()
	path := os.Getenv("QUARRY_CHUNKS")
	if path == "" {
		b.Skip("QUARRY_CHUNKS is not set: no documents to measure on")
	}
	var documents []index.Document
	eachLine(b, path, func(line []byte) {
		var in struct {
			Document struct {
				ID       string            `json:"id"`
				Title    string            `json:"title"`
				Source   string            `json:"source"`
				Updated  time.Time         `json:"doc_updated_at"`
				Metadata map[string]string `json:"metadata"`
				Owners   []struct {
					Name  string `json:"display_name"`
					Email string `json:"email"`
				} `json:"primary_owners"`
				Sections []struct {
					Text string `json:"text"`
				} `json:"sections"`
			} `json:"document"`
		}
		unmarshal(b, line, &in)
		d := index.Document{
			ID: in.Document.ID, Title: in.Document.Title, Source: in.Document.Source, UpdatedAt: in.Document.Updated,
			Type: "md", Access: []string{"PUBLIC"},
		}
		if len(documents)%20 == 0 {
			d.Access = append(d.Access, "group:Few")
		}
		for key, value := range in.Document.Metadata {
			d.Metadata = append(d.Metadata, index.Field{Key: key, Values: []string{value}})
		}
		for _, owner := range in.Document.Owners {
			d.Authors = append(d.Authors, index.Person{Name: owner.Name, Email: owner.Email})
		}
		for _, section := range in.Document.Sections {
			d.Chunks = append(d.Chunks, index.Chunk{Text: section.Text})
		}
		documents = append(documents, d)
	})
	return documents
}

func size(documents []index.Document) (n int64) {
	for i := range documents {
		for _, c := range documents[i].Chunks {
			n += int64(len(c.Text))
		}
	}
	return n
}

// BenchmarkBuild measures the builder; bytes are those of the chunks' text.
func BenchmarkBuild(b *testing.B) {
	documents := benchDocuments(b)
	b.SetBytes(size(documents))
	for b.Loop() {
		builder := segment.NewBuilder()
		for i := range documents {
			if err := builder.Add(documents[i]); err != nil {
				b.Fatal(err)
			}
		}
		data, err := builder.Build()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data))/1e6, "MB")
	}
}

// BenchmarkSearch measures queries over all documents in one segment, with counting and facets.
func BenchmarkSearch(b *testing.B) {
	s := benchSearcher(b)
	public, few := index.Access{Terms: []string{"PUBLIC"}}, index.Access{Terms: []string{"group:Few"}}
	for _, bench := range []struct {
		name  string
		query index.Query
	}{
		{"word", index.Query{Text: "kubernetes"}},
		{"two words", index.Query{Text: "compensation change"}},
		{"three words", index.Query{Text: "incident response process"}},
		{"question", index.Query{Text: "how do we decide when a new version of the service is deployed to production?"}},
		{"claim", index.Query{Text: "Young Tg2576 mice have normal memory and lack neuropathology in the hippocampus"}},
		{"question filtered", index.Query{
			Text:   "how do we decide when a new version of the service is deployed to production?",
			Filter: index.Filter{Any: field.Keys{field.Source: {"google_drive", "slack"}}, Since: time.Unix(1770000000, 0)},
		}},
		{"phrase", index.Query{Phrases: []string{"new version of your service"}}},
		{"prefix", index.Query{Text: "incident resp", Prefix: true}},
		{"one letter", index.Query{Text: "s", Prefix: true}},
		{"typo", index.Query{Text: "compensatoin"}},
		{"browse", index.Query{List: &index.List{Documents: 50, Order: index.Newest, Browse: true}}},
		{"browse, page 200", index.Query{List: &index.List{Offset: 9_950, Documents: 50, Order: index.Oldest, Browse: true}}},
		{"question sorted", index.Query{
			Text: "how do we decide when a new version of the service is deployed to production?",
			List: &index.List{Documents: 50, Order: index.Newest},
		}},
		{"question, page 20", index.Query{
			Text: "how do we decide when a new version of the service is deployed to production?",
			List: &index.List{Offset: 950, Documents: 50},
		}},
		{"question by who sees a twentieth", index.Query{
			Text:   "how do we decide when a new version of the service is deployed to production?",
			Filter: index.Filter{Access: few},
		}},
		{"prefix by who sees a twentieth", index.Query{Text: "incident resp", Prefix: true, Filter: index.Filter{Access: few}}},
		{"one letter by who sees a twentieth", index.Query{Text: "s", Prefix: true, Filter: index.Filter{Access: few}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			q := bench.query
			if q.Limit, q.Count = 50, true; q.Filter.Access.Terms == nil {
				q.Filter.Access = public
			}
			b.ReportAllocs()
			var took []time.Duration
			hits := 0
			for b.Loop() {
				start := time.Now()
				result, err := s.Search(context.Background(), q)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := result.Matched.Count(context.Background()); err != nil {
					b.Fatal(err)
				}
				took, hits = append(took, time.Since(start)), len(result.Hits)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*19/20].Microseconds()), "p95-µs")
			b.ReportMetric(float64(hits), "hits")
		})
	}
	b.Run("facets", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Facets(context.Background(), index.Filter{Access: public}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, prefix := range []string{"s", "inci", "compensation ch"} {
		b.Run("suggest "+prefix, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Suggest(context.Background(), prefix, public, 10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("new searcher", func(b *testing.B) {
		for b.Loop() {
			fresh := NewSearcher(s.parts, DefaultParams())
			q := index.Query{Text: "kubernetes", Limit: 10, Filter: index.Filter{Access: public}}
			if _, err := fresh.Search(context.Background(), q); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchSearcher(b *testing.B) *Searcher {
	b.Helper()
	return searcher(b, benchDocuments(b), DefaultParams())
}

// BenchmarkMerge merges eight segments.
func BenchmarkMerge(b *testing.B) {
	documents := benchDocuments(b)
	b.SetBytes(size(documents))
	var inputs []segment.Input
	for i := range 8 {
		from, to := i*len(documents)/8, (i+1)*len(documents)/8
		inputs = append(inputs, segment.Input{Reader: searcher(b, documents[from:to], DefaultParams()).parts[0].Segment})
	}
	for b.Loop() {
		if _, _, err := segment.Merge(context.Background(), inputs); err != nil {
			b.Fatal(err)
		}
	}
}
