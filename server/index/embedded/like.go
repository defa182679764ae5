package embedded

import (
	"context"
	"fmt"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/lexical"
)

// Like implements index.Snapshot.
func (s *snapshot) Like(ctx context.Context, id string, chunk int, access index.Access) (found index.Likeness, err error) {
	var passage string
	err = s.read(func(shown *view) error {
		document, err := s.admitted(ctx, shown, id, access)
		if err != nil {
			return err
		}
		var chunks []index.Chunk
		if document != nil && !document.Damaged && chunk >= 0 {
			chunks, err = shown.library.readChunks(ctx, document, chunk, chunk)
		}
		if err == nil && (len(chunks) == 0 || chunks[0].Damaged) {
			err = fmt.Errorf("passage %d of %q: %w", chunk, id, fault.ErrNotFound)
		}
		if err != nil {
			return err
		}
		whole := document.Document
		whole.Chunks = chunks
		passage = whole.Title + "\n\n" + chunks[0].Text
		model, ok, err := currentModel(ctx, shown.library)
		if err != nil || !ok {
			return err
		}
		known := newEmbeddings(shown.library, model)
		found.Vector.Model = model.name
		found.Vector.Values, err = known.find(ctx, codec.KeyOf(codec.EmbeddedText(&whole, 0)))
		return err
	})
	if err != nil {
		return index.Likeness{}, err
	}
	found.Words, err = ask(ctx, s, func(searcher *lexical.Searcher) ([]string, error) {
		return searcher.RareWords(ctx, passage, access)
	})
	return found, err
}
