package api

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/segments"
)

// BenchmarkListings lists what a handbook's library has, without agents and with three hundred that have a document set
// and two hundred attached documents each. It reports the first request after a change too, and by how much thirty
// requests at once make the heap grow.
func BenchmarkListings(b *testing.B) {
	folder := os.Getenv("QUARRY_DATA")
	if folder == "" {
		b.Skip("QUARRY_DATA does not name a folder with real data")
	}
	w := newWorld(b)
	handler := w.server.Gate(PublicOptions{}).Listener(true)
	library, err := segments.Open(b.Context(), segments.Options{Dir: b.TempDir()})
	w.check(err)
	w.check(w.documents.Close())
	w.documents = library
	_, err = ingest.Add(b.Context(), library, []string{filepath.Join(folder, "corpora", "sourcegraph-handbook")},
		ingest.Options{Set: "Handbook"}, nil)
	w.check(err)
	ids := w.someDocuments()
	ask := func(target string) {
		if answer := w.call(handler, "jo", http.MethodGet, target, ""); answer.Code != http.StatusOK {
			b.Errorf("HTTP %d %s", answer.Code, answer.Body)
		}
	}
	for _, n := range []int{0, 300} {
		for i := range n {
			_, err := w.people.In(b.Context(), directory.DefaultTenant).AddAgent(directory.Agent{
				Name: fmt.Sprint("Agent ", i), Public: true, Listed: true, Documents: ids[i%10*50:][:200],
				DocumentSets: []directory.DocumentSet{{Name: "Handbook"}}, SystemPrompt: "Answer in one sentence.",
			})
			w.check(err)
		}
		for _, target := range []string{"/persona", "/agents?page_size=1000", "/manage/document-set", "/query/valid-tags"} {
			b.Run(fmt.Sprintf("agents=%d%s", n, target), func(b *testing.B) {
				begun := time.Now()
				ask(target)
				first := time.Since(begun)
				for b.Loop() {
					ask(target)
				}
				b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
				b.ReportMetric(thirtyAtOnce(func() { ask(target) }), "MB/30")
			})
		}
	}
}

// thirtyAtOnce returns by how many megabytes the heap grows at most while thirty calls run.
func thirtyAtOnce(ask func()) float64 {
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, most, done := heap(), uint64(0), make(chan struct{})
	go func() {
		defer close(done)
		var group sync.WaitGroup
		for range 30 {
			group.Go(ask)
		}
		group.Wait()
	}()
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case <-tick.C:
			most = max(most, heap())
		case <-done:
			tick.Stop()
			return float64(max(most, heap(), before)-before) / megabyte
		}
	}
}

// someDocuments lists the ids of the library.
func (w *world) someDocuments() (ids []string) {
	snapshot, err := w.documents.Snapshot(w.t.Context())
	w.check(err)
	defer snapshot.Close()
	ids, err = snapshot.DocumentIDs(w.t.Context(), index.Selector{Set: "Handbook"})
	w.check(err)
	return ids
}
