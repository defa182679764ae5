package segments

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"github.com/RoaringBitmap/roaring/v2"
)

// merged is a segment that replaces others.
type merged struct {
	parts []*part
	made  *part // nil: nothing was left
	lost  bool  // vectors of the inputs could not be read
	// remap[input][old] is the new ordinal of a document, -1 where it was deleted. It is empty where nothing was left.
	remap [][]int32
}

// mergeOnce makes one segment of those that pick returns. more says that there were any. documents.ErrOvertaken means
// that another process did it first.
func (x *Index) mergeOnce(ctx context.Context, pick func([]*part) []*part) (more bool, err error) {
	defer guard.End(&err)
	current := x.currentState(ctx)
	defer x.states.drop(current)
	parts := pick(current.parts)
	if parts == nil {
		return false, nil
	}
	result := x.merge(ctx, parts)
	x.orDiscard(result.made, func() { guard.Check(x.Change(ctx, result.swap)) })
	x.discard(parts...)
	if result.lost {
		x.restoreVectors(ctx, result.made.name)
	}
	return true, nil
}

// merge makes the segment that replaces others. One that an older analyser wrote is made from the stored texts. The
// lock is not held.
func (x *Index) merge(ctx context.Context, parts []*part) *merged {
	live := 0
	inputs := make([]segment.Input, len(parts))
	for i, p := range parts {
		live += p.live()
		inputs[i] = segment.Input{Reader: p.segment.reader, Deleted: p.deleted}
	}
	result := &merged{parts: parts}
	if live == 0 {
		return result
	}
	var data []byte
	blaming(parts, func() {
		if len(parts) == 1 && stale(parts[0]) {
			data, result.remap = x.analyseAgain(ctx, parts[0])
			return
		}
		var err error
		data, result.remap, err = segment.Merge(ctx, inputs)
		guard.Check(err)
	})
	result.made = x.createSegment(data, live)
	x.orDiscard(result.made, func() { x.mergeVectors(ctx, result, data) })
	return result
}

// createSegment stores a segment; no manifest names it yet.
func (x *Index) createSegment(data []byte, documents int) *part {
	return &part{name: guard.Must(x.files.Create(data)), documents: documents, bytes: int64(len(data))}
}

// buildSegment stores the segment of a builder, and the vectors of its documents that are known; nil when it is empty.
func (x *Index) buildSegment(tx sqldb.Source, builder *segment.Builder, list []*index.Document) *part {
	if len(list) == 0 {
		return nil
	}
	data := guard.Must(builder.Build())
	made := x.createSegment(data, len(list))
	x.worker.added.Add(made.bytes)
	x.orDiscard(made, func() { x.buildVectors(tx, made, data, list) })
	return made
}

// orDiscard calls do, and discards a segment if it is aborted.
func (x *Index) orDiscard(made *part, do func()) {
	if err := guard.Ended(do); err != nil {
		x.discard(made)
		guard.Abort(err)
	}
}

// discard removes the files of segments that no manifest names; nil is none.
func (x *Index) discard(parts ...*part) {
	for _, p := range parts {
		if p != nil {
			x.remove(p.name)
			x.remove(p.vectors.fileName())
		}
	}
}

func (x *Index) remove(name string) {
	if name == "" || !validSegmentName(name) {
		return
	}
	if err := x.files.Remove(name); err != nil {
		x.Log.Warn("cannot remove an unused file of the index yet", "file", name, "error", err)
	}
}

// analyseAgain builds a segment of the same documents from their texts. Ordinals ascend with ids in both, so the order
// of the live documents stays. A builder needs several times the memory of a segment, so that a large one is merged
// from pieces.
func (x *Index) analyseAgain(ctx context.Context, p *part) ([]byte, [][]int32) {
	seen := x.openView(ctx)
	defer seen.close()
	if now := seen.state.named(p.name); now == nil || now.deletes != p.deletes {
		guard.Abort(documents.ErrOvertaken) // the texts may no longer be those of the documents that are live in p
	}
	var pieces []segment.Input
	builder, ordinals, live := segment.NewBuilder(), make([]int32, p.documents), int32(0)
	finish := func() {
		piece := guard.Must(segment.Open(p.name, guard.Must(builder.Build())))
		pieces, builder = append(pieces, segment.Input{Reader: piece}), segment.NewBuilder()
	}
	for old := range ordinals {
		ordinals[old] = -1
	}
	for old, d := range seen.each(p, p.liveOrdinals()) {
		ordinals[old] = live
		live++
		guard.Check(builder.Add(*d))
		if builder.Bytes() > x.worker.policy.builder && live < int32(p.live()) {
			finish()
		}
	}
	if len(pieces) == 0 {
		return guard.Must(builder.Build()), [][]int32{ordinals}
	}
	finish()
	data, _, err := segment.Merge(ctx, pieces)
	guard.Check(err)
	return data, [][]int32{ordinals}
}

// swap names the merged segment in the place of its inputs, with the deletes that were added since they were read.
func (m *merged) swap(tx *sqldb.Tx) {
	bitmap, delta := roaring.New(), segment.Delta{}
	for input, p := range m.parts {
		m.replay(tx.Source, input, p, bitmap, &delta)
	}
	var made []*part
	if m.made != nil {
		made = append(made, m.made)
	}
	if replaceParts(tx, m.parts, made); !bitmap.IsEmpty() {
		addDeletes(tx, m.made.id, bitmap, delta)
	}
}

// replay collects what was deleted from an input since it was read, by its ordinals in the merged segment.
func (m *merged) replay(tx sqldb.Source, input int, p *part, bitmap *roaring.Bitmap, delta *segment.Delta) {
	now := &part{id: p.id, name: p.name, documents: p.documents, deletes: p.stillNamed(tx)}
	if now.deletes == p.deletes {
		return
	}
	if err := guard.Ended(func() { readDeletes(tx, now) }); err != nil {
		guard.Abort(damaged(p.name, err))
	}
	later := &part{id: p.id, name: p.name}
	for _, record := range now.records {
		if record.number <= p.deletes {
			continue
		}
		if record.since < p.deletes {
			guard.Abort(documents.ErrOvertaken) // folded with earlier deletes, from which it cannot be separated
		}
		later.records = append(later.records, record)
		for ordinals := record.bitmap.Iterator(); ordinals.HasNext(); {
			if old := ordinals.Next(); m.made != nil && m.remap[input][old] >= 0 {
				bitmap.AddInt(int(m.remap[input][old]))
			}
		}
	}
	if statistics := later.statistics(); statistics != nil {
		delta.Add(*statistics, 1)
	}
}

// mergePolicy decides which segments become one. Segments of similar size are merged when there are enough of them, so
// that each document is written again only as often as the library grows tenfold, and a search looks at few segments.
type mergePolicy struct {
	fanOut      int     // segments of one tier that are merged
	floor       int64   // bytes; below it sizes do not differ
	largest     int64   // bytes of the inputs of a merge, which also bounds its memory
	deletedPart float64 // of a segment's documents, above which it is written again without them
	builder     int     // bytes of a builder's memory, above which what is built from texts is merged from pieces
	rest        int64   // bytes that are merged when a process ends, up to eight times as many if it added much
}

func defaultMergePolicy() mergePolicy {
	return mergePolicy{fanOut: 8, floor: 512 << 10, largest: 128 << 20, deletedPart: 0.3, builder: rebuildBytes,
		rest: 4 << 20}
}

// pick returns the segments whose merge is the most useful; nil when all is well.
func (m mergePolicy) pick(parts []*part) []*part {
	empty := func(p *part) bool { return p.live() == 0 }
	sparse := func(p *part) bool { return float64(p.documents-p.live()) > m.deletedPart*float64(p.documents) }
	if i := slices.IndexFunc(parts, empty); i >= 0 {
		return parts[i : i+1]
	}
	if group := m.fullTier(parts); group != nil {
		return group
	}
	for _, fits := range []func(*part) bool{sparse, stale, outdated} {
		if i := slices.IndexFunc(parts, fits); i >= 0 {
			return parts[i : i+1]
		}
	}
	return nil
}

// pickRest returns the smallest segments of a library to which this process added bytes, as words stand in every
// segment: what it added is written once more at most. None is more than three times as large as the others together,
// so that little does not make much be written again.
func (m mergePolicy) pickRest(parts []*part, added int64) (rest []*part) {
	parts = slices.DeleteFunc(slices.Clone(parts), stale)
	slices.SortStableFunc(parts, func(a, b *part) int { return cmp.Compare(a.bytes, b.bytes) })
	sum, limit := int64(0), min(max(m.rest, added/4), added, 8*m.rest)
	for i, p := range parts {
		if i > 0 && p.bytes <= 3*sum && sum+p.bytes <= limit {
			rest = parts[:i+1]
		}
		sum += p.bytes
	}
	return rest
}

func stale(p *part) bool { return p.segment.reader.AnalyserVersion() != analysis.Version }

// outdated reports whether a segment has an older format, which a merge of it alone renews.
func outdated(p *part) bool { return p.segment.reader.Format() != segment.FormatVersion }

// fullTier finds enough segments of similar size, the smallest tier first. Those of older analysers are made anew one
// by one.
func (m mergePolicy) fullTier(parts []*part) []*part {
	tiers := make(map[int][]*part)
	for _, p := range parts {
		if size := m.liveBytes(p); size*2 <= m.largest && !stale(p) {
			level := m.level(size)
			tiers[level] = append(tiers[level], p)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(tiers)) {
		if len(tiers[level]) >= m.fanOut {
			return m.fitting(tiers[level])
		}
	}
	return nil
}

// fitting takes the smallest segments of a tier whose sum is within the limit; all of them, as a backlog is merged at
// the price of one merge.
func (m mergePolicy) fitting(group []*part) []*part {
	slices.SortStableFunc(group, func(a, b *part) int { return cmp.Compare(m.liveBytes(a), m.liveBytes(b)) })
	sum := int64(0)
	for i, p := range group {
		if sum += m.liveBytes(p); sum > m.largest {
			return group[:i]
		}
	}
	return group
}

func (m mergePolicy) level(size int64) int {
	level := 0
	for limit := max(m.floor, 1); size > limit; limit *= int64(max(m.fanOut, 2)) {
		level++
	}
	return level
}

// liveBytes estimates the size of a segment without what was deleted from it.
func (m mergePolicy) liveBytes(p *part) int64 {
	if p.documents == 0 {
		return 0
	}
	bytes := p.bytes
	if p.vectors != nil {
		bytes += p.vectors.bytes / 2 // they are copied, not computed again
	}
	return bytes * int64(p.live()) / int64(p.documents)
}

// closeGrace is how long Close waits for a merge to end by itself.
const closeGrace = 3 * time.Second

// maxSetbacks bounds how often in a row a merge is tried again because another writer was faster.
const maxSetbacks = 8

// worker merges and sweeps in one goroutine, which runs while there may be something to do.
type worker struct {
	index  *Index
	policy mergePolicy
	ctx    context.Context // it outlives calls
	cancel context.CancelFunc
	wrote  atomic.Bool
	added  atomic.Int64 // bytes of new segments
	loop   guard.Loop
}

func newWorker(x *Index, policy mergePolicy) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	return &worker{index: x, policy: policy, ctx: ctx, cancel: cancel}
}

// begin starts the goroutine before the first write; files left by a crash are removed then.
func (w *worker) begin() {
	if !w.wrote.Swap(true) {
		w.kick()
	}
}

// kick makes the worker look for something to do. A panic costs one round: the next write tries again.
func (w *worker) kick() {
	w.loop.Kick(func() { w.tidy(w.policy.pick) }, guard.Log(w.index.Log, "tidy segments"))
}

// stop ends the goroutine: at once when this process wrote nothing, else it may finish what it does, and what is small
// is merged.
func (w *worker) stop() {
	w.loop.Stop()
	defer w.cancel()
	if w.wrote.Load() {
		defer time.AfterFunc(closeGrace, guard.Func(w.cancel, guard.Log(w.index.Log, "end a merge"))).Stop()
	} else {
		w.cancel()
	}
	w.loop.Wait()
	if added := w.added.Load(); added > 0 && w.policy.rest > 0 && !w.index.db.InMemory() {
		rest := func(parts []*part) []*part { return w.policy.pickRest(parts, added) }
		guard.Func(func() { w.tidy(rest) }, guard.Log(w.index.Log, "merge small segments"))()
	}
}

// tidy merges for as long as pick finds something to merge, then sweeps. Its failures cost speed and space, not
// correctness, and so are logged only; the next write tries again.
func (w *worker) tidy(pick func([]*part) []*part) {
	for setbacks := 0; w.ctx.Err() == nil && setbacks < maxSetbacks; {
		more, err := w.index.mergeOnce(w.ctx, pick)
		if suspects := damageOf(err); suspects != nil {
			if err = w.index.repair(w.ctx, suspects); err == nil {
				err = documents.ErrOvertaken
			}
		}
		switch {
		case errors.Is(err, documents.ErrOvertaken):
			setbacks++
			continue
		case err != nil && w.ctx.Err() == nil:
			w.index.Log.Warn("cannot merge segments; searching the old ones", "error", err)
		}
		if err != nil || !more {
			break
		}
	}
	if w.ctx.Err() != nil {
		return
	}
	if err := w.index.sweep(w.ctx); err != nil && w.ctx.Err() == nil {
		w.index.Log.Warn("cannot remove unused segments", "error", err)
	}
}
