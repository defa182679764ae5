package main

import (
	"context"
	"errors"
	"os"

	"quarry/client/wire"
	"quarry/server/llm"
	"quarry/tools/quality"
)

// depth is how many documents are judged.
const depth = 100

// whole is an engine that indexes each document of a set as one passage.
type whole struct{ engine }

func (w whole) Name() string { return w.name() }

func (w whole) Add(ctx context.Context, dir string, set *quality.Set) error {
	var documents []wire.IngestionDocument
	for _, d := range set.Documents {
		documents = append(documents, wire.IngestionDocument{ID: d.ID, SemanticIdentifier: d.Title,
			Sections: []wire.IngestionSection{{Text: d.Text}}})
	}
	return w.build(ctx, dir, documents)
}

func (w whole) Rank(ctx context.Context, query string) ([]string, error) {
	return w.search(ctx, query, depth)
}

func (w whole) Close() error { return w.close() }

func rankSets(ctx context.Context, judge bool, folder, kept string, models *llm.Providers) error {
	ok, err := quality.Run(ctx, folder, []func() quality.Engine{
		func() quality.Engine { return &quality.Quarry{Models: models, Kept: kept} },
		func() quality.Engine { return whole{&bleveEngine{}} },
		func() quality.Engine { return whole{&bleveEngine{oneField: true}} },
		func() quality.Engine { return whole{&ftsEngine{}} },
	}, os.Stdout)
	if err == nil && !ok && judge {
		err = errors.New("below the bar")
	}
	return err
}
