package shared

import (
	"context"
	"database/sql"
	"slices"

	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

// keysAtOnce bounds the parameters of a statement.
const keysAtOnce = 200

// Vectors returns the vectors of texts by a model that are stored, by key; an empty one is that of a text that the
// model refuses.
func (s *Store) Vectors(ctx context.Context, model string, keys []vector.Key) (map[vector.Key][]float32, error) {
	found := make(map[vector.Key][]float32, len(keys))
	for some := range slices.Chunk(keys, keysAtOnce) {
		args := []any{model}
		for _, key := range some {
			args = append(args, key[:])
		}
		err := sqldb.EachWhole(ctx, s.db.Pool(), func(row *sql.Rows) error {
			hash, data := sql.RawBytes(nil), sql.RawBytes(nil)
			if err := row.Scan(&hash, &data); err != nil {
				return err
			}
			found[vector.Key(hash)] = documents.Vector(data)
			return nil
		}, "SELECT hash, vector FROM embeddings WHERE model = ? AND hash IN "+sqldb.Places(len(some)), args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// known returns the vectors of texts that are stored, nil for a text without one, and the places of those that nobody
// has embedded.
func (s *Store) known(ctx context.Context, model string, texts []string) (
	vectors [][]float32, unknown []int, err error) {
	keys := make([]vector.Key, len(texts))
	for i, text := range texts {
		keys[i] = documents.KeyOf(text)
	}
	found, err := s.Vectors(ctx, model, keys)
	vectors = make([][]float32, len(texts))
	for i, key := range keys {
		values, known := found[key]
		if !known {
			unknown = append(unknown, i)
		} else if len(values) > 0 {
			vectors[i] = values
		}
	}
	return vectors, unknown, err
}

// Vectorise returns a Vectorise that asks ask only for texts whose vector is not stored, and stores it: whichever
// process embeds a text first does so for all.
func (s *Store) Vectorise(model string, ask index.Vectorise) index.Vectorise {
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, unknown, err := s.known(ctx, model, texts)
		if err != nil {
			return nil, err
		}
		if err := ask.Fill(ctx, texts, vectors, unknown); err != nil || len(unknown) == 0 {
			return vectors, err
		}
		rows := make([][]any, len(unknown))
		for i, place := range unknown {
			key := documents.KeyOf(texts[place])
			rows[i] = []any{model, key[:], documents.AppendVector([]byte{}, vectors[place])}
		}
		return vectors, s.update(ctx, func(tx *sqldb.Tx) {
			tx.Insert("embeddings (model, hash, vector)", rows, " ON CONFLICT (model, hash) DO NOTHING")
			tx.Exec("UPDATE library SET model = ?", model)
		})
	}
}

// Model returns the embedding model that was used last; empty if there is none.
func (s *Store) Model(ctx context.Context) (string, error) {
	m, err := s.state(ctx, s.db.Pool())
	return m.model, err
}
