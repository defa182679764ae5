package quality

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/server"
	"quarry/server/directory"
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
	server   *server.Server
	client   *client.Client
	prefix   string // what the index puts before the ids of the judgements
}

// Name implements Engine.
func (q *Quarry) Name() string { return "quarry" }

// Add implements Engine: the way a user would, as Markdown files or as ingestion documents.
func (q *Quarry) Add(ctx context.Context, dir string, set *Set) (err error) {
	home := filepath.Join(dir, "home")
	if q.server, err = server.Open(ctx, server.Options{Home: home}); err != nil {
		return err
	}
	q.client, err = client.New(client.Options{BaseURL: client.InProcessURL, Local: true,
		Transport: client.InProcess(q.server.InProcess(directory.Owner(directory.DefaultTenant)))})
	if err != nil {
		return err
	}
	library := embedded.Options{Dir: filepath.Join(home, "tenants", directory.DefaultTenant)}
	if q.index, err = embedded.Open(ctx, library); err != nil {
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
	var r ranking
	for _, hit := range result.Hits {
		r.add(strings.TrimPrefix(hit.DocumentID, q.prefix))
	}
	return r.ids, nil
}

// Answer implements Answerer: page after page of what a person or a program gets.
func (q *Quarry) Answer(ctx context.Context, query string, documents int) ([]string, error) {
	var r ranking
	passages := documents
	for offset := 0; len(r.ids) < documents; {
		request := wire.SearchRequest{Query: query, NumResults: &passages}
		if offset > 0 {
			request.Offset = &offset
		}
		page, err := q.client.Search(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, result := range page.Results {
			r.add(strings.TrimPrefix(result.DocumentID, q.prefix))
			for _, c := range result.AlsoIn {
				r.add(strings.TrimPrefix(c.DocumentID, q.prefix))
			}
		}
		next := page.Next(offset)
		if next == offset { // nothing behind it matches
			break
		}
		offset = next
	}
	return r.ids, nil
}

// ranking collects documents, each once.
type ranking struct {
	ids  []string
	seen map[string]bool
}

func (r *ranking) add(id string) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[id] {
		r.seen[id] = true
		r.ids = append(r.ids, id)
	}
}

// Close implements Engine.
func (q *Quarry) Close() error {
	if q.snapshot != nil {
		q.snapshot.Close()
	}
	var err error
	if q.index != nil {
		err = q.index.Close()
	}
	if q.server != nil {
		err = errors.Join(err, q.server.Close())
	}
	return err
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
