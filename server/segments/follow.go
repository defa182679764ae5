package segments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"quarry/server/documents"
	"quarry/server/fault"
)

const (
	// followAtOnce changes are applied together.
	followAtOnce = 1000
	// followWait is how long a snapshot waits for the changes that it lacks.
	followWait = 10 * time.Second
	// lookAfter is how often a process looks for changes of others while it is used. It looks less often later, so that
	// the connections to the documents of many tenants end; lookAtLeast is the longest pause.
	lookAfter, lookAtLeast = 2 * time.Second, 10 * time.Minute
	// replacedTries bounds how often another index takes the place of one that is used.
	replacedTries = 3
)

// follower is an index that stores no documents: it follows the log of a store, and its manifest is committed with the
// number of the last change that it has.
type follower struct {
	*Index
	of    *Local
	store string
	dir   string
	file  fs.FileInfo // its database
}

// replaced reports whether another process of this machine has removed the index, which was damaged.
func (f *follower) replaced() bool {
	now, err := Stat(f.dir)
	return err == nil && (now == nil || !os.SameFile(f.file, now))
}

// view opens a snapshot of the documents.
func (f *follower) view(ctx context.Context) (*documents.Snapshot, error) {
	shown, err := f.of.Store.Snapshot(ctx)
	if err == nil {
		err = f.check(shown)
	}
	return shown, err
}

// inStep applies the changes that the index lacks, and calls do with a view of the documents that it has then. do must
// close the view. A long list of changes is left to the background: fault.ErrBehind.
func (f *follower) inStep(ctx context.Context, do func(*documents.Snapshot) error) error {
	l := f.of
	waiting, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	for last := (progress{}); ; {
		now, err := l.apply(waiting, func(shown *documents.Snapshot) error {
			if err := f.check(shown); err != nil {
				return err
			}
			return do(shown)
		})
		switch {
		case err == nil && now.left == 0:
			return nil
		case err == nil:
			last = now
			continue
		case ctx.Err() != nil || waiting.Err() == nil:
			return err
		}
		l.background.Wake()
		if err = fault.ErrBehind; last.total > 0 {
			err = fmt.Errorf("%w: it lacks %d of %d documents", err, last.left, last.total)
		}
		return err
	}
}

// check closes a snapshot of documents that are not those of the index, or if it is not used any more:
// fault.ErrReplaced.
func (f *follower) check(shown *documents.Snapshot) error {
	if shown.State.Store != f.store || f.of.segments() != f {
		shown.Close()
		return fmt.Errorf("read the documents: %w", fault.ErrReplaced)
	}
	return nil
}

// with calls use with the index of this server, and again if that was replaced, or damaged and discarded.
func (l *Local) with(ctx context.Context, use func(*follower) error) (err error) {
	for range replacedTries {
		own := l.segments()
		if err = fault.ErrReplaced; own.Index != nil {
			err = use(own)
		}
		switch {
		case isDamaged(err):
			err = l.alone(ctx, func() error { return l.repaired(own, err) })
		case !errors.Is(err, fault.ErrReplaced):
			return err
		}
		if ctx.Err() != nil {
			return err
		}
		if _, err := l.apply(ctx, nil); err != nil {
			return err
		}
	}
	return err
}

// progress is what a segment index lacks: changes, of all documents.
type progress struct {
	left, total int
	changed     bool // changes were applied
}

// lookPause returns how long the background waits for changes of others.
func (l *Local) lookPause() time.Duration {
	return min(max(time.Since(time.Unix(0, l.used.Load()))/4, lookAfter), lookAtLeast)
}

// follow applies the changes that are stored, for the background. If the documents were removed with their tenant, so
// is the index.
func (l *Local) follow(ctx context.Context) error {
	last, err := l.State(ctx)
	if errors.Is(err, fault.ErrReplaced) {
		return l.alone(ctx, l.discard)
	}
	if err != nil {
		return err
	}
	if own := l.segments(); own.store == last.Store {
		if position, _, err := own.position(ctx); err == nil && position == last.Generation {
			return nil
		}
	}
	for changed := false; ; {
		now, err := l.apply(ctx, nil)
		if changed = changed || now.changed; err == nil && now.left > 0 {
			continue
		}
		if changed && l.applied != nil {
			l.applied()
		}
		return err
	}
}

// apply applies some changes, and calls then, unless it is nil, with a snapshot of exactly what the index has if none
// is left. then closes the snapshot.
func (l *Local) apply(ctx context.Context, then func(*documents.Snapshot) error) (now progress, err error) {
	err = l.alone(ctx, func() (err error) {
		if now, err = l.step(ctx, then); errors.Is(err, fault.ErrBehind) || l.segments().mended(ctx, err) {
			now, err = l.step(ctx, then)
		}
		return err
	})
	return now, err
}

// step is apply for a caller who is alone.
func (l *Local) step(ctx context.Context, then func(*documents.Snapshot) error) (now progress, err error) {
	shown, err := l.Store.Snapshot(ctx)
	if err != nil {
		return now, err
	}
	if now, err = l.stepTo(ctx, shown); err != nil || now.left > 0 || then == nil {
		shown.Close()
		return now, err
	}
	return now, then(shown)
}

// stepTo applies some of the changes that a snapshot has.
func (l *Local) stepTo(ctx context.Context, shown *documents.Snapshot) (now progress, err error) {
	own := l.segments()
	if own.store != shown.State.Store || own.replaced() {
		if err := l.open(ctx, shown.State.Store); err != nil {
			return now, l.repaired(own, err)
		}
		own = l.segments()
	}
	position, whole, err := own.position(ctx)
	if err != nil {
		return now, l.repaired(own, err)
	}
	if position > shown.State.Generation { // a backup of the store was restored
		if err := errors.Join(l.discard(), l.open(ctx, shown.State.Store)); err != nil {
			return now, fmt.Errorf("replace an index that is newer than the documents: %w", err)
		}
		own, position, whole = l.segments(), 0, false
	}
	if position == shown.State.Generation {
		return now, nil
	}
	changes, err := shown.Changes(ctx, position, whole, followAtOnce)
	if err != nil {
		return now, err
	}
	err = own.followTo(ctx, planOf(&changes), changes.Replaced, changes.Last, changes.Left == 0)
	return progress{changes.Left, changes.Total, err == nil}, l.repaired(own, err)
}

// planOf is what an index does to follow.
func planOf(c *documents.Changes) *documents.Plan {
	p := new(documents.Plan)
	for i := range c.Put {
		put := &c.Put[i]
		p.Items = append(p.Items, &documents.Item{Change: documents.Change{ID: put.ID, Put: &put.Document},
			Old: new(documents.Row), SameText: put.AccessAlone && documents.Damaged(put.Chunks, 0) == nil})
	}
	for _, id := range c.Removed {
		p.Items = append(p.Items, &documents.Item{Change: documents.Change{ID: id}, Old: new(documents.Row)})
	}
	return p
}

// isDamaged reports whether building an index again repairs the cause of an error.
func isDamaged(err error) bool {
	return errors.Is(err, fault.ErrDamaged) || errors.Is(err, fault.ErrLost)
}

// repaired returns an error of an index. If that is damaged, it is discarded, so that the next attempt builds it again.
// The caller is alone.
func (l *Local) repaired(own *follower, err error) error {
	if !isDamaged(err) {
		return err
	}
	l.Log.Warn("the index of this server is damaged, and built again", "error", err)
	if l.segments() == own {
		err = l.discard()
	}
	return errors.Join(fault.ErrBehind, err)
}

// discard removes the index. The caller is alone.
func (l *Local) discard() error {
	l.replace(new(follower))
	return RemoveIndexes(l.dir, "")
}

// CatchUp applies all changes, however many there are. report is called with the number that is left, and that of all
// documents.
func (l *Local) CatchUp(ctx context.Context, report func(left, total int)) error {
	for {
		now, err := l.apply(ctx, nil)
		if err != nil || now.left == 0 {
			return err
		}
		report(now.left, now.total)
	}
}

// afterwards applies changes that are stored already, so that who writes faster than is indexed has to wait. What is
// left is applied by the background, or the next snapshot.
func (l *Local) afterwards(ctx context.Context) {
	now, err := l.apply(ctx, nil)
	if err != nil && ctx.Err() == nil {
		l.Log.Warn("the index of this server does not follow the documents", "error", err)
	}
	if err != nil || now.left > 0 {
		l.background.Wake()
	}
}
