package embedded

import (
	"context"
	"database/sql"
	"errors"

	"quarry/server/index/segment"

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

// mergeOnce does the most useful job that the policy finds. more says that there was one. errOvertaken means that
// another process did it first.
func (x *Index) mergeOnce(ctx context.Context, policy mergePolicy) (more bool, err error) {
	current, err := x.currentState(ctx)
	if err != nil {
		return false, err
	}
	defer x.states.drop(current)
	work, ok := policy.pick(current.parts)
	if !ok {
		return false, nil
	}
	result, err := x.merge(ctx, work)
	if err != nil {
		return false, err
	}
	err = x.db.Update(ctx, func(tx *sql.Tx) error { return result.swap(ctx, tx) })
	if err != nil {
		x.discard(result.made)
		return false, err
	}
	x.discard(work.parts...)
	if result.lost {
		x.restoreVectors(ctx, result.made.name)
	}
	return true, nil
}

// merge makes the segment that replaces those of the job. The lock is not held.
func (x *Index) merge(ctx context.Context, work job) (*merged, error) {
	live := 0
	for _, p := range work.parts {
		live += p.live()
	}
	result := &merged{parts: work.parts}
	if live == 0 {
		return result, nil
	}
	var data []byte
	var err error
	if work.analyse {
		data, result.remap, err = x.analyseAgain(ctx, work.parts[0])
	} else {
		data, result.remap, err = mergeSegments(ctx, work.parts)
	}
	if err != nil {
		return nil, blame(work.parts, err)
	}
	if result.made, err = x.createSegment(data, live); err != nil {
		return nil, err
	}
	if err := x.mergeVectors(ctx, result, data); err != nil {
		x.discard(result.made)
		return nil, err
	}
	return result, nil
}

// createSegment stores a segment; no manifest names it yet.
func (x *Index) createSegment(data []byte, documents int) (*part, error) {
	name, err := x.files.Create(data)
	if err != nil {
		return nil, err
	}
	return &part{name: name, documents: documents, bytes: int64(len(data))}, nil
}

// buildSegment stores the segment of a builder; nil when it is empty.
func (x *Index) buildSegment(builder *segment.Builder) (*part, []byte, error) {
	count := builder.Len()
	if count == 0 {
		return nil, nil, nil
	}
	data, err := builder.Build()
	if err != nil {
		return nil, nil, err
	}
	made, err := x.createSegment(data, count)
	return made, data, err
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
		x.log.Warn("cannot remove an unused file of the index yet", "file", name, "error", err)
	}
}

func mergeSegments(ctx context.Context, parts []*part) ([]byte, [][]int32, error) {
	inputs := make([]segment.Input, len(parts))
	for i, p := range parts {
		inputs[i] = segment.Input{Reader: p.segment.reader, Deleted: p.deleted}
	}
	return segment.Merge(ctx, inputs)
}

// analyseAgain builds a segment of the same documents from their texts. Ordinals ascend with ids in both, so the order
// of the live documents stays.
func (x *Index) analyseAgain(ctx context.Context, p *part) ([]byte, [][]int32, error) {
	seen, err := x.openView(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer seen.close()
	if now := seen.state.named(p.name); now == nil || now.deletes != p.deletes {
		return nil, nil, errOvertaken // the texts may no longer be those of the documents that are live in p
	}
	builder := segment.NewBuilder()
	ordinals := make([]int32, p.documents)
	for old := range ordinals {
		if ordinals[old] = -1; p.isDeleted(old) {
			continue
		}
		ordinals[old] = int32(builder.Len())
		whole, err := storedDocument(ctx, seen.library, p, old)
		if err == nil {
			err = builder.Add(whole)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	data, err := builder.Build()
	return data, [][]int32{ordinals}, err
}

// swap names the merged segment in the place of its inputs, with the deletes that were added since they were read.
func (m *merged) swap(ctx context.Context, tx *sql.Tx) error {
	bitmap, delta := roaring.New(), segment.Delta{}
	for input, p := range m.parts {
		if err := m.replay(ctx, tx, input, p, bitmap, &delta); err != nil {
			return err
		}
	}
	if m.made == nil {
		return replaceParts(ctx, tx, m.parts, nil)
	}
	if err := replaceParts(ctx, tx, m.parts, []*part{m.made}); err != nil || bitmap.IsEmpty() {
		return err
	}
	return addDeletes(ctx, tx, m.made.id, bitmap, delta)
}

// replay collects what was deleted from an input since it was read, by its ordinals in the merged segment.
func (m *merged) replay(ctx context.Context, tx *sql.Tx, input int, p *part, bitmap *roaring.Bitmap,
	delta *segment.Delta) error {
	now := &part{id: p.id, name: p.name, documents: p.documents}
	vectors := ""
	err := get(ctx, tx, []any{&now.deletes, &vectors}, `SELECT deletes, coalesce(v.name, '') FROM segments
		LEFT JOIN vector_files v ON v.segment = id WHERE id = ? AND segments.name = ?`, p.id, p.name)
	if errors.Is(err, sql.ErrNoRows) || err == nil && vectors != p.vectors.fileName() {
		return errOvertaken
	}
	if err != nil {
		return err
	}
	if now.deletes == p.deletes {
		return nil
	}
	if err := readDeletes(ctx, tx, now); err != nil {
		return damaged(p.name, err)
	}
	later := &part{id: p.id, name: p.name}
	for _, record := range now.records {
		if record.number <= p.deletes {
			continue
		}
		if record.since < p.deletes {
			return errOvertaken // folded with earlier deletes, from which it cannot be separated
		}
		later.records = append(later.records, record)
		for ordinals := record.bitmap.Iterator(); ordinals.HasNext(); {
			if old := ordinals.Next(); m.made != nil && m.remap[input][old] >= 0 {
				bitmap.AddInt(int(m.remap[input][old]))
			}
		}
	}
	statistics, err := later.statistics()
	if err != nil {
		return err
	}
	if statistics != nil {
		delta.Add(*statistics)
	}
	return nil
}
