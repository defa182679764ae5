package main

import (
	"context"
	"path/filepath"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"

	"quarry/client/wire"
)

// bleveEngine is bleve with BM25 over title and text, the English analyzer and stored texts.
type bleveEngine struct {
	index    bleve.Index
	oneField bool // the title is part of the text
}

func (e *bleveEngine) name() string {
	if e.oneField {
		return "bleve, one field"
	}
	return "bleve"
}

func (e *bleveEngine) build(_ context.Context, dir string, documents []wire.IngestionDocument) error {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	mapping.ScoringModel = "bm25"
	index, err := bleve.New(filepath.Join(dir, "bleve"), mapping)
	if err != nil {
		return err
	}
	e.index = index
	batch := index.NewBatch()
	for i, d := range documents {
		fields := map[string]string{"title": d.SemanticIdentifier, "body": d.Sections[0].Text}
		if e.oneField {
			fields = map[string]string{"body": d.SemanticIdentifier + "\n\n" + d.Sections[0].Text}
		}
		if err := batch.Index(d.ID, fields); err != nil {
			return err
		}
		if batch.Size() == 1000 || i == len(documents)-1 {
			if err := index.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	return nil
}

func (e *bleveEngine) search(ctx context.Context, query string, limit int) (ids []string, err error) {
	title, body := bleve.NewMatchQuery(query), bleve.NewMatchQuery(query)
	title.SetField("title")
	title.SetBoost(3)
	body.SetField("body")
	request := bleve.NewSearchRequestOptions(bleve.NewDisjunctionQuery(title, body), limit, 0, false)
	request.Fields = []string{"title", "body"}
	result, err := e.index.SearchInContext(ctx, request)
	if err != nil {
		return nil, err
	}
	for _, hit := range result.Hits {
		ids = append(ids, hit.ID)
	}
	return ids, nil
}

func (e *bleveEngine) close() error { return e.index.Close() }
