package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/pipeline"
	"quarry/server/segments"
)

// quarryEngine is the embedded engine behind the whole pipeline: besides ranking, each search counts facets exactly,
// marks highlights and cites, which the others are not asked to do.
type quarryEngine struct{ index index.Index }

func (e *quarryEngine) name() string { return "quarry" }

func (e *quarryEngine) build(ctx context.Context, dir string, documents []wire.IngestionDocument) error {
	idx, err := segments.Open(ctx, segments.Options{Dir: filepath.Join(dir, "library")})
	if err != nil {
		return err
	}
	e.index = idx
	const batchSize = 1000
	var batch index.Batch
	for i, d := range documents {
		document, err := ingest.FromIngestion(d, time.Now())
		if err != nil {
			return fmt.Errorf("document %s: %w", d.ID, err)
		}
		batch.Upsert = append(batch.Upsert, document)
		if len(batch.Upsert) == batchSize || i == len(documents)-1 {
			if _, err := idx.Write(ctx, batch); err != nil {
				return err
			}
			batch = index.Batch{}
		}
	}
	return nil
}

func (e *quarryEngine) search(ctx context.Context, query string, limit int) (ids []string, err error) {
	snapshot, err := e.index.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	response, err := pipeline.Run(ctx, snapshot, pipeline.Request{
		Search: wire.SearchRequest{Query: query, NumResults: &limit},
		Access: index.Everything(),
		Now:    time.Now(),
	}, nil)
	if err != nil {
		return nil, err
	}
	for i := range response.Results {
		ids = append(ids, response.Results[i].DocumentID)
	}
	return ids, nil
}

func (e *quarryEngine) close() error { return e.index.Close() }
