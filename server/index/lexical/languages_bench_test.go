package lexical

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"quarry/server/index"
	"quarry/server/ingest/worker"
	"quarry/server/language"
)

// BenchmarkLanguages measures English questions in a library of English abstracts, and in one that has texts in four
// other languages, too, of the judged sets below QUARRY_DATA.
func BenchmarkLanguages(b *testing.B) {
	data := os.Getenv("QUARRY_DATA")
	if data == "" {
		b.Skip("QUARRY_DATA is not set: no documents to measure on")
	}
	english := inLanguages(b, filepath.Join(data, "qrels", "scifact", "corpus.jsonl"))
	mixed := english
	for _, code := range []string{"de", "es", "ru", "tr"} {
		mixed = append(mixed, inLanguages(b, filepath.Join(data, "qrels", "xquad-"+code, "corpus.jsonl"))...)
	}
	questions := inLanguages(b, filepath.Join(data, "qrels", "scifact", "queries.jsonl"))
	for _, library := range []struct {
		name      string
		documents []index.Document
	}{{"English", english}, {"mixed", mixed}} {
		b.Run(library.name, func(b *testing.B) {
			s := searcher(b, library.documents, DefaultParams())
			b.ReportAllocs()
			began := worker.ProcessorTime()
			for n := 0; b.Loop(); n++ {
				q := index.Query{Text: questions[n%len(questions)].Chunks[0].Text, Limit: 50, Count: true}
				q.Filter.Access.All = true
				result, err := s.Search(context.Background(), q)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := result.Matched.Count(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((worker.ProcessorTime()-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func inLanguages(b *testing.B, path string) (documents []index.Document) {
	eachLine(b, path, func(line []byte) {
		var in struct{ ID, Title, Text string }
		unmarshal(b, line, &in)
		documents = append(documents, index.Document{ID: fmt.Sprint(path, len(documents)), Title: in.Title,
			Language: language.Detect(in.Text), Chunks: []index.Chunk{{Text: in.Text}}})
	})
	return documents
}
