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
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/llm"
	"quarry/server/segments"
)

// passagesPerQuery is deep enough for a hundred documents of several chunks each.
const passagesPerQuery = 2000

// Quarry is the embedded engine; the best chunk of a document stands for it.
type Quarry struct {
	// Models ranks a second time with an embedding model, if it has one; nil: there is none.
	Models *llm.Providers
	// Kept is a folder for the libraries of the sets, whose vectors the next run uses again; empty: they are not kept.
	Kept string

	index    *segments.Index
	snapshot index.Snapshot
	servers  [2]*server.Server // without models and with them
	clients  [2]*client.Client
	prefix   string // what the index puts before the ids of the judgements
}

// Name implements Engine.
func (q *Quarry) Name() string { return "quarry" }

// Add implements Engine: the way a user would, as Markdown files or as ingestion documents.
func (q *Quarry) Add(ctx context.Context, dir string, set *Set) (err error) {
	if q.Kept != "" {
		dir = filepath.Join(q.Kept, set.Name)
	}
	home := filepath.Join(dir, "home")
	for i, models := range []*llm.Providers{nil, q.Models} {
		if q.servers[i], err = server.Open(ctx, server.Options{Home: home, Settings: api.Settings{Models: models}}); err != nil {
			return err
		}
		q.clients[i], err = client.New(client.Options{BaseURL: client.InProcessURL, Local: true,
			Transport: client.InProcess(q.servers[i].InProcess(directory.Owner(directory.DefaultTenant)))})
		if err != nil {
			return err
		}
	}
	library := segments.Options{Dir: filepath.Join(home, "tenants", directory.DefaultTenant)}
	if q.index, err = segments.Open(ctx, library); err != nil {
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
	if model, ok := q.Models.Embedder(); ok && err == nil {
		err = q.index.Embed(ctx, index.Embedding{Model: model.Name(), Vectors: func(ctx context.Context, texts []string) ([][]float32, error) {
			vectors, _, err := model.Embed(ctx, llm.ForDocuments, texts)
			return vectors, err
		}})
	}
	if err != nil {
		return err
	}
	q.snapshot, err = q.index.Snapshot(ctx)
	return err
}

// Rank implements Engine.
func (q *Quarry) Rank(ctx context.Context, query string) ([]string, error) {
	result, err := q.snapshot.Search(ctx, index.Query{
		Text: query, Limit: passagesPerQuery, Filter: index.Filter{Access: index.Everything()},
	})
	if err != nil {
		return nil, err
	}
	return q.documents(result.Hits), nil
}

// Near implements Answerer.
func (q *Quarry) Near(ctx context.Context, query string) ([]string, error) {
	model, ok := q.Models.Embedder()
	if !ok {
		return nil, nil
	}
	vectors, _, err := model.Embed(ctx, llm.ForQueries, []string{query})
	if err != nil || vectors[0] == nil {
		return nil, err
	}
	hits, err := q.snapshot.Nearest(ctx, index.Vector{Model: model.Name(), Values: vectors[0]}, index.Query{
		Limit: passagesPerQuery, Filter: index.Filter{Access: index.Everything()}})
	return q.documents(hits), err
}

// documents returns the ids of the judgements.
func (q *Quarry) documents(hits []index.Hit) []string {
	var r ranking
	for _, hit := range hits {
		r.add(strings.TrimPrefix(hit.DocumentID, q.prefix))
	}
	return r.ids
}

// Answer implements Answerer: page after page of what a person or a program gets.
func (q *Quarry) Answer(ctx context.Context, query string, documents int, meaning bool) ([]string, error) {
	var r ranking
	asked := q.clients[0]
	if meaning {
		asked = q.clients[1]
	}
	passages := documents
	for offset := 0; len(r.ids) < documents; {
		request := wire.SearchRequest{Query: query, NumResults: &passages, SkipDocumentSelection: true}
		if offset > 0 {
			request.Offset = &offset
		}
		page, err := asked.Search(ctx, request)
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
	for _, s := range q.servers {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
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
