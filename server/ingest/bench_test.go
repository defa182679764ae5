package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/server/index"
)

// dataFolder is the folder with real data, whose tests are skipped without it.
func dataFolder(t testing.TB) string {
	folder := os.Getenv("QUARRY_DATA")
	if folder == "" {
		t.Skip("QUARRY_DATA does not name a folder with real data")
	}
	return folder
}

func BenchmarkHandbook(b *testing.B) {
	folder := filepath.Join(dataFolder(b), "corpora", "sourcegraph-handbook")
	ctx := context.Background()
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			if _, err := Add(ctx, newMemoryIndex(b), []string{folder}, Options{}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sync without changes", func(b *testing.B) {
		idx := newMemoryIndex(b)
		if _, err := Add(ctx, idx, []string{folder}, Options{}, nil); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := Sync(ctx, idx, nil, Local{}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPDF reads real PDF files one after another, each in the one child process that a processor has.
func BenchmarkPDF(b *testing.B) {
	folder := filepath.Join(dataFolder(b), "corpora", "mixed-formats")
	if _, err := os.Stat(folder); err != nil {
		b.Skip("the corpus is missing: ", err)
	}
	var files []string
	must(b, filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".pdf") {
			files = append(files, path)
		}
		return err
	}))
	reader := newFileReader(b.Context(), newTestReaders(b))
	_, err := documentBy(b, reader, "start.pdf", filetest.PDF("x", "y")) // compiles the engine
	must(b, err)
	pages := 0
	for b.Loop() {
		for _, file := range files {
			data, err := os.ReadFile(file)
			must(b, err)
			doc, err := documentBy(b, reader, filepath.Base(file), data)
			if err == nil { // others are encrypted or only pictures
				pages += pagesOf(doc)
			}
		}
	}
	b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
}

func pagesOf(doc index.Document) (last int) {
	for _, chunk := range doc.Chunks {
		var page int
		if _, err := fmt.Sscanf(chunk.Headings[len(chunk.Headings)-1], "Page %d", &page); err == nil {
			last = max(last, page)
		}
	}
	return last
}

func TestHandbook(t *testing.T) {
	folder := filepath.Join(dataFolder(t), "corpora", "sourcegraph-handbook")
	idx := newMemoryIndex(t)
	var seen events
	began := time.Now()
	done, err := Add(context.Background(), idx, []string{folder}, Options{}, seen.report)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %+v", time.Since(began), done)
	chunks := 0
	for _, doc := range idx.documents {
		chunks += len(doc.Chunks)
	}
	if done.Added < 883 || chunks < 2*done.Added {
		t.Errorf("%d documents, %d chunks", done.Added, chunks)
	}
	for path, reason := range seen.skipped() {
		t.Logf("skipped %s: %s", filepath.Base(path), reason)
	}
	again, err := Sync(context.Background(), idx, nil, Local{}, nil)
	if err != nil || again.Unchanged != done.Added || again.Added+again.Updated+again.Removed != 0 {
		t.Errorf("second run: %+v, %v", again, err)
	}
}
