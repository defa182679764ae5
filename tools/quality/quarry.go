package quality

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/index/embedded"
	"quarry/server/ingest"
)

// passagesPerQuery is deep enough for a hundred documents of several chunks each.
const passagesPerQuery = 2000

// Quarry is the embedded engine; the best chunk of a document stands for it.
type Quarry struct {
	index    *embedded.Index
	snapshot index.Snapshot
	prefix   string // what the index puts before the ids of the judgements
}

// Name implements Engine.
func (q *Quarry) Name() string { return "quarry" }

// Add implements Engine: the way a user would, as Markdown files or as ingestion documents.
func (q *Quarry) Add(ctx context.Context, dir string, set *Set) (err error) {
	if q.index, err = embedded.Open(ctx, embedded.Options{Dir: filepath.Join(dir, "library")}); err != nil {
		return err
	}
	path := filepath.Join(dir, "corpus")
	if set.files() {
		q.prefix = "file:" + filepath.ToSlash(path) + "/"
		err = writeFiles(path, set.Documents)
	} else {
		path += ".jsonl"
		err = writeDocuments(path, set.Documents)
	}
	if err != nil {
		return err
	}
	_, err = ingest.Add(ctx, q.index, []string{path}, ingest.Options{}, func(e wire.LibraryEvent) {
		if e.Type == wire.LibrarySkipped {
			log.Printf("skipped %s: %s", e.Path, e.Reason)
		}
	})
	if err != nil {
		return err
	}
	q.snapshot, err = q.index.Snapshot(ctx)
	return err
}

// Rank implements Engine.
func (q *Quarry) Rank(ctx context.Context, query string) ([]string, error) {
	result, err := q.snapshot.Search(ctx, index.Query{
		Text: query, Limit: passagesPerQuery, Filter: index.Filter{Access: index.Access{All: true}},
	})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var ranking []string
	for _, hit := range result.Hits {
		if id := strings.TrimPrefix(hit.DocumentID, q.prefix); !seen[id] {
			seen[id] = true
			ranking = append(ranking, id)
		}
	}
	return ranking, nil
}

// Close implements Engine.
func (q *Quarry) Close() error {
	if q.snapshot != nil {
		q.snapshot.Close()
	}
	if q.index == nil {
		return nil
	}
	return q.index.Close()
}

func writeFiles(target string, documents []Line) error {
	for _, d := range documents {
		path := filepath.Join(target, filepath.FromSlash(d.ID))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(d.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeDocuments(path string, documents []Line) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, d := range documents {
		err := encoder.Encode(wire.IngestionDocument{
			ID: d.ID, Source: "file", SemanticIdentifier: d.Title, Sections: []wire.IngestionSection{{Text: d.Text}},
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
