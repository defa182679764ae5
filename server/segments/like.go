package segments

import (
	"context"

	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/lexical"
)

// Like implements index.Snapshot.
func (s *snapshot) Like(ctx context.Context, id string, chunk int, access index.Access) (found index.Likeness, err error) {
	passage, err := s.Passage(ctx, id, chunk, access)
	if err != nil {
		return index.Likeness{}, err
	}
	err = s.read(func(shown *view) error {
		from := s.index.vectorReader(shown.tx)
		model, err := documents.CurrentModel(ctx, from)
		if err != nil || model.Name == "" {
			return err
		}
		values, err := model.Vectors(ctx, from, []string{documents.EmbeddedText(&passage, 0)})
		if err == nil {
			found.Vector = index.Vector{Model: model.Name, Values: values[0]}
		}
		return err
	})
	if err != nil {
		return index.Likeness{}, err
	}
	found.Words, err = ask(ctx, s, func(searcher *lexical.Searcher) ([]string, error) {
		return searcher.RareWords(ctx, passage.Title+"\n\n"+passage.Chunks[0].Text, access)
	})
	return found, err
}
