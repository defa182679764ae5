package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqlite"
)

const (
	// freeRepairs are tried without the lock; after that writers wait for the repair.
	freeRepairs = 2
	// rebuildBytes is the memory of a builder above which a rebuilt segment is closed and another one begun.
	rebuildBytes = 64 << 20
)

// damageOf returns what an error says is damaged; nil for all other errors.
func (x *Index) damageOf(err error) *damagedError {
	var damaged *damagedError
	if errors.As(err, &damaged) {
		return damaged
	}
	return nil
}

// damageIn is damageOf for an error that came from searching a state.
func (x *Index) damageIn(searched *state, err error) *damagedError {
	return x.damageOf(x.blame(searched.parts, err))
}

// blame adds to the error of a damaged segment which one of parts it is; all of them when it does not say.
func (x *Index) blame(parts []*part, err error) error {
	if !errors.Is(err, segment.ErrDamaged) || x.damageOf(err) != nil {
		return err
	}
	name, _ := segment.NameOf(err)
	var damaged, all *damagedError
	for _, p := range parts {
		all = all.add(p.id, err)
		if p.name == name {
			damaged = damaged.add(p.id, err)
		}
	}
	if damaged != nil {
		return damaged
	}
	return all
}

// repair replaces damaged segments by new ones, made from the stored documents. It returns the cause when none of the
// suspects turns out to be damaged, and nil when somebody else has replaced them.
func (x *Index) repair(ctx context.Context, suspects *damagedError) error {
	if x.ReadOnly() {
		return fmt.Errorf("%w; it is rebuilt when the library is opened with the right to write: %w",
			suspects, index.ErrReadOnly)
	}
	x.log.Warn("the index is damaged and will be rebuilt from the stored documents", "cause", suspects)
	_, err := x.rebuildIndex(ctx, suspects)
	return err
}

// rebuildIndex replaces damaged segments. Without suspects it also makes index and documents agree. nil: there was nothing
// to do.
func (x *Index) rebuildIndex(ctx context.Context, suspects *damagedError) (made *rebuilt, err error) {
	x.repairs.Lock()
	defer x.repairs.Unlock()
	for range freeRepairs {
		if made, err = x.repairFree(ctx, suspects); !errors.Is(err, errOvertaken) {
			break
		}
	}
	if errors.Is(err, errOvertaken) {
		err = x.db.Update(ctx, func(tx *sql.Tx) (err error) {
			if made, err = x.rebuild(ctx, tx, suspects); err != nil || made == nil {
				return err
			}
			return made.swap(ctx, tx)
		})
		x.discardUnless(err == nil, made)
	}
	if err != nil {
		return nil, fmt.Errorf("rebuild the index: %w", err)
	}
	x.states.forget()
	if made != nil {
		for _, p := range made.segments {
			x.restoreVectors(ctx, p.name)
		}
	}
	return made, nil
}

// repairFree rebuilds without the lock. errOvertaken: somebody wrote meanwhile.
func (x *Index) repairFree(ctx context.Context, suspects *damagedError) (*rebuilt, error) {
	tx, err := x.db.Reader.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read the library: %w", err))
	}
	made, err := x.rebuild(ctx, tx, suspects)
	_ = tx.Rollback()
	if err != nil || made == nil {
		x.discardUnless(false, made)
		return nil, err
	}
	err = x.db.Update(ctx, func(tx *sql.Tx) error {
		now, err := readMeta(ctx, tx)
		if err != nil {
			return err
		}
		if now != made.meta {
			return errOvertaken
		}
		return made.swap(ctx, tx)
	})
	x.discardUnless(err == nil, made)
	return made, err
}

// discardUnless removes rebuilt segments that were not put to use, or else those that they replaced.
func (x *Index) discardUnless(used bool, made *rebuilt) {
	if made == nil {
		return
	}
	unneeded := made.damaged
	if !used {
		unneeded = made.segments
	}
	for _, p := range unneeded {
		if !validSegmentName(p.name) {
			continue
		}
		x.discard(p.name, p.vectors)
	}
}

// rebuilt are segments that hold the documents of damaged ones.
type rebuilt struct {
	meta     meta
	damaged  []*part
	segments []*part
	disagreement
}

func (r *rebuilt) swap(ctx context.Context, tx *sql.Tx) error {
	statement := context.WithoutCancel(ctx)
	for _, p := range r.damaged {
		if _, err := tx.ExecContext(statement, "DELETE FROM segments WHERE id = ?", p.id); err != nil {
			return sqlite.Explain(fmt.Errorf("replace segments: %w", err))
		}
	}
	for _, p := range r.segments {
		if _, err := tx.ExecContext(statement,
			"INSERT INTO segments (name, documents, bytes, deletes) VALUES (?, ?, ?, 0)",
			p.name, p.documents, p.bytes); err != nil {
			return sqlite.Explain(fmt.Errorf("replace segments: %w", err))
		}
	}
	if err := r.settle(ctx, tx); err != nil {
		return err
	}
	return bumpManifest(ctx, tx)
}

// rebuild makes new segments of all documents that are not live in a sound one. nil: no suspect is in use any more.
func (x *Index) rebuild(ctx context.Context, q querier, suspects *damagedError) (made *rebuilt, err error) {
	made = new(rebuilt)
	if made.meta, err = readMeta(ctx, q); err != nil {
		return nil, err
	}
	sound, present, err := x.inspect(ctx, q, suspects, made)
	defer x.dropAll(sound)
	switch {
	case err != nil:
		return nil, err
	case suspects != nil && !present:
		return nil, nil
	case suspects != nil && len(made.damaged) == 0:
		return nil, suspects.cause // the file is sound: making it again would change nothing
	}
	if made.disagreement, err = compareIDs(ctx, newLibrary(q, x.packer), sound); err != nil {
		return nil, x.blame(sound, err)
	}
	if suspects != nil {
		made.disagreement = disagreement{missing: made.missing}
	} else if made.counters, err = miscounted(ctx, q, made.meta); err != nil || len(made.damaged) == 0 && made.none() {
		return nil, err
	}
	for i := range made.doubled {
		t := &made.doubled[i]
		if t.delta, err = t.part.segment.reader.DeltaOf(t.ordinal); err != nil {
			return nil, x.blame(sound, err)
		}
	}
	return made, x.rebuildMissing(ctx, q, made)
}

// inspect sorts the manifest into sound parts and damaged ones. All are read from beginning to end: damage seldom comes
// alone, and the search that met it is tried only once more.
func (x *Index) inspect(ctx context.Context, q querier, suspects *damagedError, made *rebuilt) (sound []*part,
	present bool, err error) {
	parts, err := readManifest(ctx, q)
	if err != nil {
		return nil, false, err
	}
	for _, p := range parts {
		present = present || suspects != nil && slices.Contains(suspects.ids, p.id)
		err := x.inspectPart(ctx, q, p)
		switch {
		case err == nil:
			sound = append(sound, p)
		case isDamage(err):
			x.log.Warn("a segment is damaged", "segment", p.name, "documents", p.documents, "error", err)
			made.damaged = append(made.damaged, p)
		default:
			return sound, present, err
		}
	}
	return sound, present, nil
}

func (x *Index) inspectPart(ctx context.Context, q querier, p *part) error {
	if err := readDeletes(ctx, q, p); err != nil {
		return err
	}
	if _, err := p.statistics(); err != nil {
		return err
	}
	if err := x.verifyFile(p.name); err != nil {
		return err
	}
	opened, err := x.pool.acquire(p.name)
	if err != nil {
		return err
	}
	if opened.reader.Documents() != p.documents {
		x.pool.drop(opened)
		return fmt.Errorf("%w: segment %s does not have the documents that the manifest says", segment.ErrDamaged,
			p.name)
	}
	p.segment = opened
	return nil
}

// verifyFile opens a segment afresh, as blocks that were once found sound are not checked again, and checks all of it.
func (x *Index) verifyFile(name string) error {
	data, release, err := x.files.Open(name)
	if err != nil {
		return err
	}
	defer release()
	if err := checkName(name, data); err != nil {
		return err
	}
	reader, err := segment.Open(name, data)
	if err != nil {
		return err
	}
	return reader.Verify()
}

func (x *Index) dropAll(parts []*part) {
	for _, p := range parts {
		x.pool.drop(p.segment)
	}
}

// rebuildMissing indexes the stored documents that are live in none of the sound parts.
func (x *Index) rebuildMissing(ctx context.Context, q querier, made *rebuilt) error {
	library := newLibrary(q, x.packer)
	defer library.close()
	builder := segment.NewBuilder()
	flush := func() error {
		if builder.Len() == 0 {
			return nil
		}
		count := builder.Len()
		data, err := builder.Build()
		if err != nil {
			return fmt.Errorf("build a segment: %w", err)
		}
		name, err := x.files.Create(data)
		if err != nil {
			return err
		}
		made.segments = append(made.segments, &part{name: name, documents: count, bytes: int64(len(data))})
		builder = segment.NewBuilder()
		return nil
	}
	for _, id := range made.missing {
		if err := addStored(ctx, library, builder, id); err != nil {
			return err
		}
		if builder.Bytes() > rebuildBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
