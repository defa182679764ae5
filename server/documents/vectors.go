package documents

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"quarry/server/index"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

// keysAtOnce bounds the parameters of a statement.
const keysAtOnce = 200

// Embeddings implements index.Exporter. The vector of a text that the model refuses is empty.
func (s *Store) Embeddings(ctx context.Context, model string, texts []string) ([][]float32, error) {
	vectors, places := make([][]float32, len(texts)), make(map[vector.Key][]int, len(texts))
	for i, text := range texts {
		key := KeyOf(text)
		places[key] = append(places[key], i)
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(places)), keysAtOnce) {
		args := []any{model}
		for i := range some {
			args = append(args, some[i][:])
		}
		err := sqldb.EachWhole(ctx, s.DB.Pool(), func(row *sql.Rows) error {
			hash, data := sql.RawBytes(nil), sql.RawBytes(nil)
			err := row.Scan(&hash, &data)
			if err == nil {
				for _, i := range places[vector.Key(hash)] {
					vectors[i] = Vector(data)
				}
			}
			return err
		}, "SELECT hash, vector FROM embeddings WHERE model = ? AND hash IN "+sqldb.Places(len(some)), args...)
		if err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// Vectorise returns a Vectorise that asks ask only for texts whose vector is not stored, and stores it: whichever
// process embeds a text first does so for all.
func (s *Store) Vectorise(model string, ask index.Vectorise) index.Vectorise {
	put := func(ctx context.Context, keys []vector.Key, values [][]float32, _ int) error {
		rows := make([][]any, len(keys))
		for i, key := range keys {
			rows[i] = []any{model, key[:], AppendVector([]byte{}, values[i])}
		}
		return s.Change(ctx, func(tx *sqldb.Tx) {
			tx.Insert("embeddings (model, hash, vector)", rows, " ON CONFLICT (model, hash) DO NOTHING")
			tx.Exec("UPDATE library SET model = ?", model)
		})
	}
	storing := &Embedder{Ask: ask, Put: put}
	return index.Vectorise(storing.Vectorise).Unless(func(ctx context.Context, texts []string) ([][]float32, error) {
		return s.Embeddings(ctx, model, texts)
	})
}

// Model returns the embedding model that was used last; empty if there is none.
func (s *Store) Model(ctx context.Context) (string, error) {
	m, err := s.state(ctx, s.DB.Pool())
	return m.model, err
}
