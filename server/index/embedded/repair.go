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
	x.repairs.Lock()
	defer x.repairs.Unlock()
	x.log.Warn("the index is damaged and will be rebuilt from the stored documents", "cause", suspects)
	var names []string
	var err error
	for range freeRepairs {
		if names, err = x.repairFree(ctx, suspects); !errors.Is(err, errOvertaken) {
			break
		}
	}
	if errors.Is(err, errOvertaken) {
		var made *rebuilt
		err = x.db.Update(ctx, func(tx *sql.Tx) (err error) {
			if made, err = x.rebuild(ctx, tx, suspects); err != nil || made == nil {
				return err
			}
			return made.swap(ctx, tx)
		})
		names = x.discardUnless(err == nil, made)
	}
	if err != nil {
		return fmt.Errorf("rebuild the index: %w", err)
	}
	x.states.forget()
	for _, name := range names {
		x.restoreVectors(ctx, name)
	}
	return nil
}

// repairFree returns the names of the new segments.
func (x *Index) repairFree(ctx context.Context, suspects *damagedError) ([]string, error) {
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
	return x.discardUnless(err == nil, made), err
}

// discardUnless removes rebuilt segments that were not put to use, or else those that they replaced. It returns the
// names of those that are used.
func (x *Index) discardUnless(used bool, made *rebuilt) (names []string) {
	if made == nil {
		return nil
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
	if !used {
		return nil
	}
	for _, p := range made.segments {
		names = append(names, p.name)
	}
	return names
}

// rebuilt are segments that hold the documents of damaged ones.
type rebuilt struct {
	meta     meta
	damaged  []*part
	segments []*part
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
	return bumpManifest(ctx, tx)
}

// rebuild makes new segments of all documents that are not live in a sound one. nil: no suspect is in use any more.
func (x *Index) rebuild(ctx context.Context, q querier, suspects *damagedError) (made *rebuilt, err error) {
	made = new(rebuilt)
	if made.meta, err = readMeta(ctx, q); err != nil {
		return nil, err
	}
	sound, present, err := x.inspect(ctx, q, suspects.ids, made)
	defer x.dropAll(sound)
	switch {
	case err != nil:
		return nil, err
	case !present:
		return nil, nil
	case len(made.damaged) == 0:
		return nil, suspects.cause // the file is sound: making it again would change nothing
	}
	if err := x.rebuildMissing(ctx, q, sound, made); err != nil {
		return made, err
	}
	return made, nil
}

// inspect sorts the manifest into sound parts and damaged ones. All are read from beginning to end: damage seldom comes
// alone, and the search that met it is tried only once more.
func (x *Index) inspect(ctx context.Context, q querier, suspects []int64, made *rebuilt) (sound []*part, present bool,
	err error) {
	parts, err := readManifest(ctx, q)
	if err != nil {
		return nil, false, err
	}
	for _, p := range parts {
		present = present || slices.Contains(suspects, p.id)
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
func (x *Index) rebuildMissing(ctx context.Context, q querier, sound []*part, made *rebuilt) error {
	missing, err := missingIDs(ctx, newLibrary(q, x.packer), sound)
	if err != nil {
		return x.blame(sound, err)
	}
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
	for _, id := range missing {
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

// missingIDs lists the stored documents that no part has. Both sides ascend by id, so each part is read along once.
func missingIDs(ctx context.Context, library *library, sound []*part) ([]string, error) {
	next := make([]int, len(sound))
	var missing []string
	err := library.ids(ctx, func(id string) error {
		for i, p := range sound {
			for next[i] < p.documents {
				there, err := p.segment.reader.DocumentID(next[i])
				if err != nil {
					return err
				}
				if there > id {
					break
				}
				ordinal := next[i]
				next[i]++
				if there == id && !p.isDeleted(ordinal) {
					return nil
				}
			}
		}
		missing = append(missing, id)
		return nil
	})
	return missing, err
}
