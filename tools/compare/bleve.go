package main

import (
	"context"
	"path/filepath"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"

	"quarry/client/wire"
	"quarry/server/language"
)

// bleveEngine is bleve with BM25 over title and text, the analyzer of the documents' language and stored texts.
type bleveEngine struct {
	index    bleve.Index
	oneField bool // the title is part of the text
	analyzer string
}

func (e *bleveEngine) name() string {
	if e.oneField {
		return "bleve, " + e.analyzer + ", one field"
	}
	return "bleve, " + e.analyzer
}

// analyzerOf returns bleve's analyzer for the language of most documents, the English one if it has none.
func analyzerOf(documents []wire.IngestionDocument) string {
	counts, best := map[string]int{}, en.AnalyzerName
	for _, d := range documents {
		code := language.Detect(d.Sections[0].Text)
		if counts[code]++; counts[code] <= counts[best] {
			continue
		}
		switch code {
		case da.AnalyzerName, de.AnalyzerName, en.AnalyzerName, es.AnalyzerName, fi.AnalyzerName, fr.AnalyzerName,
			hu.AnalyzerName, it.AnalyzerName, nl.AnalyzerName, no.AnalyzerName, pt.AnalyzerName, ro.AnalyzerName,
			ru.AnalyzerName, sv.AnalyzerName, tr.AnalyzerName:
			best = code
		}
	}
	return best
}

func (e *bleveEngine) build(_ context.Context, dir string, documents []wire.IngestionDocument) error {
	mapping := bleve.NewIndexMapping()
	e.analyzer = analyzerOf(documents)
	mapping.DefaultAnalyzer = e.analyzer
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
