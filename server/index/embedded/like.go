package embedded

import (
	"context"
	"fmt"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/lexical"
)

// resolve replaces AddedSince, which segments do not know, by the documents that were added then.
func (s *snapshot) resolve(ctx context.Context, f index.Filter) (index.Filter, error) {
	if f.AddedSince.IsZero() {
		return f, nil
	}
	err := s.read(func(shown *view) error {
		ids, err := column[string](ctx, shown.library, `SELECT id FROM documents
			WHERE row >= (SELECT min(document) FROM additions WHERE at > ?)`, f.AddedSince.UnixMicro())
		f.Among = append([]string{}, ids...)
		return err
	})
	return f, err
}

// Like implements index.Snapshot.
func (s *snapshot) Like(ctx context.Context, id string, chunk int, access index.Access) (found index.Likeness, err error) {
	var passage string
	err = s.read(func(shown *view) error {
		document, err := s.admitted(ctx, shown, id, access)
		if err != nil {
			return err
		}
		var chunks []index.Chunk
		if document != nil && document.damaged == nil && chunk >= 0 {
			chunks, err = shown.library.readChunks(ctx, document, chunk, chunk)
		}
		if err == nil && (len(chunks) == 0 || chunks[0].Damaged) {
			err = fmt.Errorf("passage %d of %q: %w", chunk, id, fault.ErrNotFound)
		}
		if err != nil {
			return err
		}
		whole := document.document
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
