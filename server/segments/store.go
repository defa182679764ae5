package segments

import (
	"slices"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"github.com/RoaringBitmap/roaring/v2"
)

// Store implements documents.Written.
func (w *writer) Store(tx *sqldb.Tx, plan *documents.Plan, before documents.State) {
	w.storeDeletes(tx, before.Manifest, plan)
	if w.segment != nil {
		w.segment.insert(tx)
	}
	bumpManifest(tx)
}

// storeDeletes marks the documents that are replaced or removed in the segments where they are live.
func (w *writer) storeDeletes(tx *sqldb.Tx, manifest int64, plan *documents.Plan) {
	if !slices.ContainsFunc(plan.Items, func(i *documents.Item) bool { return i.Old != nil && !i.Keep }) {
		return
	}
	current := w.x.states.acquire(tx.Source, manifest)
	defer w.x.states.drop(current)
	if current.lost != nil {
		guard.Abort(current.lost)
	}
	type removal struct {
		bitmap *roaring.Bitmap
		delta  segment.Delta
		unread []int // ordinals of documents whose words only the segment knows
	}
	removals := make(map[*part]*removal)
	for n, i := range plan.Items {
		if i.Old == nil || i.Keep {
			continue
		}
		p, ordinal := current.locate(i.ID)
		if p == nil {
			if w.x.source == nil {
				w.x.Log.Warn("a stored document is missing from the index", "document", i.ID)
			}
			continue
		}
		if removals[p] == nil {
			removals[p] = &removal{bitmap: roaring.New()}
		}
		if removals[p].bitmap.AddInt(ordinal); i.Unread {
			removals[p].unread = append(removals[p].unread, ordinal)
		} else {
			removals[p].delta.Add(w.gone[n], 1)
		}
	}
	for p, r := range removals {
		if len(r.unread) > 0 {
			delta, err := p.segment.reader.DeltaOf(r.unread...)
			if err != nil {
				guard.Abort(damaged(p.name, err))
			}
			r.delta.Add(delta, 1)
		}
		addDeletes(tx, p.id, r.bitmap, r.delta)
	}
}
