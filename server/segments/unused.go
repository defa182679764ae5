package segments

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

const (
	// spareVectors, and a quarter of those in use, are kept of texts that are gone: they may come back.
	spareVectors = 1000
	// dropAtOnce bounds how long a transaction that removes vectors takes.
	dropAtOnce = 2000
)

// dropUnusedVectors removes the vectors of other models, and those of texts that are no longer there once they are
// many. Every segment has its vectors by the model when it is called.
func (x *Index) dropUnusedVectors(ctx context.Context, model string) {
	from := x.vectorStore.Newest(ctx)
	current := documents.CurrentModel(from)
	if current.Name != model {
		return
	}
	used := x.usedKeys(ctx, model)
	var others, unused []int64
	stored, number, of, hash := 0, int64(0), int64(0), sql.RawBytes(nil)
	for range from.Each([]any{&number, &of, &hash}, "SELECT row, model, hash FROM embeddings") {
		if of != current.ID {
			others = append(others, number)
		} else if stored++; len(hash) != vector.KeyBytes || !used[vector.Key(hash)] {
			unused = append(unused, number)
		}
	}
	if used != nil && stored > len(used)+len(used)/4+spareVectors {
		others = append(others, unused...)
	}
	for some := range slices.Chunk(others, dropAtOnce) {
		guard.Check(x.vectorStore.Change(ctx, func(tx *sqldb.Tx) {
			sqldb.ExecList(tx,
				"DELETE FROM embeddings WHERE row IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", some)
		}))
	}
	users := "embeddings"
	if x.source == nil {
		users = "vector_files" // which would go, too
	}
	guard.Check(x.vectorStore.Change(ctx, func(tx *sqldb.Tx) {
		tx.Exec("DELETE FROM embedding_models WHERE id NOT IN (SELECT model FROM "+users+") AND id <> ?", current.ID)
	}))
}

// usedKeys are the texts of live chunks that have a vector; nil when some of the files cannot be read.
func (x *Index) usedKeys(ctx context.Context, model string) map[vector.Key]bool {
	seen := x.openView(ctx)
	defer seen.close()
	used := make(map[vector.Key]bool)
	for _, p := range seen.state.parts {
		if p.vectors == nil || p.vectors.model != model || p.vectors.file == nil {
			if p.live() == 0 {
				continue
			}
			return nil
		}
		if damageIn(func() {
			p.eachVector(func(_, i int, _ uint32) { used[p.vectors.file.reader.Key(i)] = true })
		}) != nil {
			return nil
		}
	}
	return used
}

// forgetRefused removes, at the end of a pass, what other models refused, and texts that no chunk has any more.
func (e *embedding) forgetRefused() {
	from := e.x.vectorStore.Newest(e.ctx)
	known, others := documents.RefusedTexts(from, e.Model), 0
	from.Get([]any{&others}, "SELECT count(*) FROM refused_texts WHERE model <> ?", e.Model)
	maps.DeleteFunc(known, func(key vector.Key, _ bool) bool { return e.seen[key] })
	if others == 0 && len(known) == 0 {
		return
	}
	guard.Check(e.x.vectorStore.Change(e.ctx, func(tx *sqldb.Tx) {
		tx.Exec("DELETE FROM refused_texts WHERE model <> ?", e.Model)
		for key := range known {
			tx.Exec("DELETE FROM refused_texts WHERE model = ? AND hash = ?", e.Model, key)
		}
	}))
}
