package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// rebuildBytes is the memory of a builder above which a rebuilt segment is closed and another one begun.
const rebuildBytes = 64 << 20

// repair replaces damaged files by new ones, made from the stored documents and vectors. It returns the cause when none of
// the suspects turns out to be damaged, and nil when another process has replaced them.
func (x *Index) repair(ctx context.Context, suspects *damagedError) error {
	if x.ReadOnly() {
		return fmt.Errorf("%w; open the library with write access to rebuild it: %w",
			suspects, index.ErrReadOnly)
	}
	x.log.Warn("the index is damaged and will be rebuilt from the stored documents", "cause", suspects)
	if suspects.vectors {
		return x.repairVectors(ctx, suspects)
	}
	return x.rebuildIndex(ctx, suspects)
}

// rebuildIndex replaces damaged segments. Without suspects it also makes index and documents agree.
func (x *Index) rebuildIndex(ctx context.Context, suspects *damagedError) error {
	x.repairs.Lock()
	defer x.repairs.Unlock()
	made := new(rebuilt)
	err := x.commit(ctx, func(tx *sql.Tx) (err error) {
		x.discard(made.segments...)
		made, err = x.rebuild(ctx, tx, suspects)
		return err
	}, func(tx *sql.Tx) error {
		if now, err := readMeta(ctx, tx); err != nil || now != made.meta {
			return errors.Join(err, errOvertaken)
		}
		return nil
	}, func(tx *sql.Tx) error {
		return made.swap(ctx, tx)
	})
	if err != nil {
		x.discard(made.segments...)
		return fmt.Errorf("rebuild the index: %w", err)
	}
	x.states.forget()
	x.discard(made.damaged...)
	for _, p := range made.segments {
		x.restoreVectors(ctx, p.name)
	}
	return nil
}

// rebuilt are segments that contain the documents of damaged ones.
type rebuilt struct {
	meta     meta
	damaged  []*part
	segments []*part
	disagreement
}

func (r *rebuilt) swap(ctx context.Context, tx *sql.Tx) error {
	if err := replaceParts(ctx, tx, r.damaged, r.segments); err != nil {
		return err
	}
	return r.reconcile(ctx, tx)
}

// rebuild makes new segments of all documents that are not live in a sound one. errUnchanged: no suspect is in use any
// more, or there are none and nothing is damaged.
func (x *Index) rebuild(ctx context.Context, tx *sql.Tx, suspects *damagedError) (made *rebuilt, err error) {
	made = new(rebuilt)
	if made.meta, err = readMeta(ctx, tx); err != nil {
		return made, err
	}
	sound, present, err := x.inspect(ctx, tx, suspects, made)
	defer func() { x.states.dropParts(sound) }()
	switch {
	case err != nil:
		return made, err
	case suspects != nil && !present:
		return new(rebuilt), errUnchanged
	case suspects != nil && len(made.damaged) == 0:
		return made, suspects.cause // the file is sound: making it again would change nothing
	}
	library := newLibrary(tx, x.packer)
	defer library.close()
	if made.disagreement, err = compareIDs(ctx, library, sound); err != nil {
		return made, blame(sound, err)
	}
	if suspects != nil {
		made.disagreement = disagreement{missing: made.missing}
	} else if made.counters, err = miscounted(ctx, tx, made.meta); err != nil {
		return made, err
	} else if len(made.damaged) == 0 && made.none() {
		return made, errUnchanged
	}
	for i := range made.duplicates {
		t := &made.duplicates[i]
		if t.delta, err = t.part.segment.reader.DeltaOf(t.ordinal); err != nil {
			return made, blame(sound, err)
		}
	}
	return made, x.rebuildMissing(ctx, library, made)
}

// inspect sorts the manifest into sound parts and damaged ones. All are read from beginning to end: damage rarely comes
// alone, and the search that found it is repeated only once.
func (x *Index) inspect(ctx context.Context, tx *sql.Tx, suspects *damagedError, made *rebuilt) (sound []*part,
	present bool, err error) {
	parts, err := readManifest(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	for _, p := range parts {
		present = present || suspects != nil && slices.Contains(suspects.files, p.name)
		err := x.inspectPart(ctx, tx, p)
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

func (x *Index) inspectPart(ctx context.Context, tx *sql.Tx, p *part) error {
	if err := readDeletes(ctx, tx, p); err != nil {
		return err
	}
	if _, err := p.statistics(); err != nil {
		return err
	}
	if err := x.pool.verify(p.name); err != nil {
		return err
	}
	return x.states.openSegment(p)
}

// rebuildMissing indexes the stored documents that are live in none of the sound parts.
func (x *Index) rebuildMissing(ctx context.Context, library *library, made *rebuilt) error {
	builder := segment.NewBuilder()
	for i, id := range made.missing {
		whole, err := library.indexed(ctx, id)
		if err == nil {
			err = builder.Add(whole)
		}
		if err != nil {
			return err
		}
		if i < len(made.missing)-1 && builder.Bytes() <= rebuildBytes {
			continue
		}
		p, _, err := x.buildSegment(builder)
		if err != nil {
			return err
		}
		made.segments, builder = append(made.segments, p), segment.NewBuilder()
	}
	return nil
}
