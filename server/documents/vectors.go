package documents

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"quarry/internal/guard"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

// Model is an embedding model whose vectors are stored.
type Model struct {
	ID         int64 // of its row
	Name       string
	Dimensions int // of its vectors
}

// CurrentModel returns the model that was used last, without a name if there never was one.
func CurrentModel(db sqldb.Source) (m Model) {
	db.Get([]any{&m.ID, &m.Name, &m.Dimensions}, "SELECT id, name, dimensions FROM embedding_models WHERE current = 1")
	return m
}

// UseModel makes a model the current one, if there are vectors by it.
func UseModel(tx *sqldb.Tx, name string) {
	const isUsed = "CASE name WHEN ? THEN 1 ELSE 0 END"
	tx.Exec("UPDATE embedding_models SET current = "+isUsed+" WHERE current <> "+isUsed+
		" AND EXISTS (SELECT 1 FROM embedding_models WHERE name = ?)", name, name, name)
}

// EnterModel returns the row of a model, which it makes if there is none. One whose vectors have another length than
// they had is another model: the old ones go, and renewed is set.
func EnterModel(tx *sqldb.Tx, name string, dimensions int) (id int64, renewed bool) {
	renewed = tx.Exec("DELETE FROM embedding_models WHERE name = ? AND dimensions <> ?", name, dimensions) > 0
	tx.Exec("INSERT INTO embedding_models (name, dimensions, current) VALUES (?, ?, 0) ON CONFLICT (name) DO NOTHING",
		name, dimensions)
	tx.Row(sql.ErrNoRows, []any{&id}, "SELECT id FROM embedding_models WHERE name = ?", name)
	return id, renewed
}

// putVectors stores the vectors of texts by a model, which becomes the current one; a nil one is that of a text that
// the model refuses. dimensions is 0 if all are. renewed is that of EnterModel.
func putVectors(tx *sqldb.Tx, model string, texts []string, values [][]float32, dimensions int) (renewed bool) {
	id := int64(0)
	if dimensions > 0 {
		id, renewed = EnterModel(tx, model, dimensions)
		UseModel(tx, model)
	}
	var rows, refused [][]any
	for i, v := range values {
		if key := KeyOf(texts[i]); v == nil {
			refused = append(refused, []any{model, key})
		} else {
			rows = append(rows, []any{id, key, Seal(vector.Pack(v), key[:])})
		}
	}
	tx.Insert("embeddings (model, hash, vector)", rows,
		" ON CONFLICT (model, hash) DO UPDATE SET vector = excluded.vector")
	tx.Insert("refused_texts (model, hash)", refused, " ON CONFLICT DO NOTHING")
	return renewed
}

// Vectors returns the vectors of texts; nil for one without, or whose vector is damaged.
func (m Model) Vectors(db sqldb.Source, texts []string) [][]float32 {
	vectors, places := make([][]float32, len(texts)), make(map[vector.Key][]int, len(texts))
	for i, text := range texts {
		key := KeyOf(text)
		places[key] = append(places[key], i)
	}
	for keys, count := range inBatches(slices.Collect(maps.Keys(places))) {
		args := []any{m.ID}
		for i := range count {
			args = append(args, keys[min(i, len(keys)-1)][:])
		}
		hash, data := sql.RawBytes(nil), sql.RawBytes(nil)
		for range db.Each([]any{&hash, &data},
			"SELECT hash, vector FROM embeddings WHERE model = ? AND hash IN "+sqldb.Places(count), args...) {
			for _, i := range places[vector.Key(hash)] {
				vectors[i] = m.unpack(data, hash)
			}
		}
	}
	return vectors
}

// unpack reads a stored vector. Older versions stored 32-bit floats, the oldest without a seal.
func (m Model) unpack(data, key []byte) []float32 {
	if opened, err := Unseal(data, key); err == nil {
		data = opened
	}
	switch len(data) {
	case 4 * m.Dimensions:
		return Vector(data)
	case vector.PackedBytes(m.Dimensions):
		return vector.Unpack(data)
	}
	return nil
}

// Embeddings implements index.Exporter. The vector of a text that the model refuses is empty.
func (s *Tables) Embeddings(ctx context.Context, model string, texts []string) (vectors [][]float32, err error) {
	defer guard.End(&err)
	m, from := Model{}, s.Newest(ctx)
	if vectors = make([][]float32, len(texts)); from.Get([]any{&m.ID, &m.Dimensions},
		"SELECT id, dimensions FROM embedding_models WHERE name = ?", model) {
		vectors = m.Vectors(from, texts)
	}
	refused := RefusedTexts(from, model)
	for i := range texts {
		if vectors[i] == nil && len(refused) > 0 && refused[KeyOf(texts[i])] {
			vectors[i] = []float32{}
		}
	}
	return vectors, nil
}

// RefusedTexts are the texts that a model has refused.
func RefusedTexts(db sqldb.Source, model string) map[vector.Key]bool {
	refused := make(map[vector.Key]bool)
	for _, hash := range sqldb.ColumnOf[[]byte](db, "SELECT hash FROM refused_texts WHERE model = ?", model) {
		var key vector.Key
		copy(key[:], hash)
		refused[key] = true
	}
	return refused
}
