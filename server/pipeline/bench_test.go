package pipeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/segments"
)

// words to make documents of.
func vocabulary() []string {
	var words []string
	for _, a := range []string{"deploy", "roll", "budget", "travel", "legal", "invoice", "cluster", "secret", "review", "plan"} {
		for _, b := range []string{"", "ing", "er", "ment", "less", "ful", "able", "ist", "ward", "ship"} {
			words = append(words, a+b)
		}
	}
	return words
}

// stocked is an engine with documents of five chunks each, from several sources.
func stocked(b *testing.B, documents int) index.Index {
	b.Helper()
	library, err := segments.Open(b.Context(), segments.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := library.Close(); err != nil {
			b.Error(err)
		}
	})
	random, words := rand.New(rand.NewPCG(1, 2)), vocabulary()
	var batch index.Batch
	for i := range documents {
		d := index.Document{ID: fmt.Sprint(i), Title: words[random.IntN(len(words))], Access: []string{"PUBLIC"},
			Source: []string{"slack", "confluence", "file"}[i%3], UpdatedAt: time.Unix(int64(1_700_000_000+i*1000), 0)}
		for range 5 {
			var text strings.Builder
			for range 150 {
				text.WriteString(words[random.IntN(len(words))] + " ")
			}
			d.Chunks = append(d.Chunks, index.Chunk{Text: text.String()})
		}
		batch.Upsert = append(batch.Upsert, d)
		if len(batch.Upsert) == 1000 || i == documents-1 {
			if _, err := library.Write(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			batch = index.Batch{}
		}
	}
	return library
}

// BenchmarkCriticalPath searches with a model whose every call takes 200 ms. Three stages ask it, so that 600 ms is the
// least; over/% is how much more a search takes than that.
func BenchmarkCriticalPath(b *testing.B) {
	const call = 200 * time.Millisecond
	library := stocked(b, 20_000)
	model := &chat{answers: good()}
	model.answers[purposeSelect] = says("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]")
	for purpose, then := range model.answers {
		model.answers[purpose] = after(call, then)
	}
	request := Request{
		Search: wire.SearchRequest{Query: "deployment budget of the cluster", Stream: true}, Now: time.Unix(1_720_000_000, 0),
		Access: index.Access{Terms: []string{"PUBLIC"}}, Model: model,
		Sources: []string{"confluence", "file", "slack"},
	}
	var whole, early time.Duration
	for b.Loop() {
		snapshot, err := library.Snapshot(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		start, first := time.Now(), time.Duration(0)
		_, err = Run(b.Context(), snapshot, request, func(e wire.SearchEvent) {
			if e.Type == wire.EventProvisional && first == 0 {
				first = time.Since(start)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		whole, early = whole+time.Since(start), early+first
		snapshot.Close()
	}
	n := time.Duration(b.N)
	b.ReportMetric(100*(float64(whole/n)/float64(3*call)-1), "over/%")
	b.ReportMetric(float64((early/n).Microseconds())/1000, "first-answer/ms")
}

// BenchmarkFolding searches without a model in a library without copies and in one where a twentieth of the documents has a
// newer version of nearly the same text. fuse/% is the share of fusing, folding copies and comparing versions in the search.
func BenchmarkFolding(b *testing.B) {
	for _, copied := range []int{0, 1_000} {
		b.Run(fmt.Sprintf("%d copies", copied), func(b *testing.B) {
			library := stocked(b, 20_000)
			snapshot, err := library.Snapshot(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			access := index.Access{Terms: []string{"PUBLIC"}}
			var batch index.Batch
			for i := range copied {
				found, err := snapshot.Documents(b.Context(), []string{fmt.Sprint(i * 20)}, access)
				if err != nil {
					b.Fatal(err)
				}
				d := found[0].Document
				texts, err := snapshot.Texts(b.Context(), []index.Range{{DocumentID: d.ID, To: 4}}, access)
				if err != nil {
					b.Fatal(err)
				}
				d.Chunks = texts[0]
				d.ID, d.UpdatedAt, d.Chunks[0].Text = "copy "+d.ID, d.UpdatedAt.AddDate(1, 0, 0), "Changed. "+d.Chunks[0].Text
				batch.Upsert = append(batch.Upsert, d)
			}
			snapshot.Close()
			if _, err := library.Write(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			if snapshot, err = library.Snapshot(b.Context()); err != nil {
				b.Fatal(err)
			}
			defer snapshot.Close()
			words, n := vocabulary(), 0
			var fuse, whole float64
			for b.Loop() {
				query := words[n%100] + " " + words[(n*7+3)%100] + " of the " + words[(n*13+5)%100]
				response, err := Run(b.Context(), snapshot, Request{Search: wire.SearchRequest{Query: query}, Now: time.Unix(1_720_000_000, 0), Access: access}, nil)
				if err != nil {
					b.Fatal(err)
				}
				for _, stage := range response.Stages {
					if whole += stage.MS; stage.Name == "fuse" {
						fuse += stage.MS
					}
				}
				n++
			}
			b.ReportMetric(100*fuse/whole, "fuse/%")
			b.ReportMetric(1000*fuse/float64(n), "fuse/µs")
		})
	}
}
