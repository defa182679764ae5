package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/embedded"

	"golang.org/x/sync/semaphore"
)

const (
	// followAtOnce changes are applied together.
	followAtOnce = 1000
	// followWait is how long a snapshot waits for the changes that it lacks.
	followWait = 10 * time.Second
	// positionKey is the cursor of the number of the last change that a segment index has.
	positionKey = "position"
)

// ErrBehind: the index of this process lacks changes that are stored.
var ErrBehind = errors.New("the index of this server is being built")

// Local searches a store with a segment index of its own, which follows the store's log. Every process has one.
type Local struct {
	*Store
	options  embedded.Options
	store    string              // which one is followed
	follows  *semaphore.Weighted // of 1: held while changes are applied, and while a snapshot is opened
	own      *embedded.Index
	position int64
	left     Changes // what the last step left over
	stop     context.CancelFunc
}

var _ index.Index = (*Local)(nil)

// OpenLocal opens the segment index of a store in the folder of options. The store is closed with it.
func OpenLocal(ctx context.Context, store *Store, options embedded.Options) (*Local, error) {
	m, err := readState(ctx, store.db.Pool())
	if err != nil {
		return nil, err
	}
	options.ReadOnly = false // a derived index may be written in any case
	if options.Dir != "" {
		options.Dir = filepath.Join(options.Dir, "index-"+m.store) // of another store nothing can be used
	}
	l := &Local{Store: store, options: options, store: m.store, follows: semaphore.NewWeighted(1)}
	if err := l.open(ctx, m.sequence); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	guard.Go(func() { l.follow(background) }, func(err error) { store.log.Error("follow the documents", "error", err) })
	return l, nil
}

// open opens the segment index. One that is ahead of the store, which a backup was restored to, is built again.
func (l *Local) open(ctx context.Context, sequence int64) (err error) {
	if l.own, err = embedded.Open(ctx, l.options); err != nil {
		return err
	}
	cursors, err := l.own.Cursors(ctx, positionKey)
	if err != nil {
		return errors.Join(err, l.own.Close())
	}
	if l.position, err = strconv.ParseInt(cursors[positionKey], 10, 64); err == nil && l.position <= sequence || cursors[positionKey] == "" {
		return nil
	}
	if err := l.own.Close(); err != nil {
		return err
	}
	if err := os.RemoveAll(l.options.Dir); err != nil {
		return fmt.Errorf("remove an index that is newer than the documents: %w", err)
	}
	l.position = 0
	l.own, err = embedded.Open(ctx, l.options)
	return err
}

// Close implements index.Index.
func (l *Local) Close() error {
	l.stop()
	_ = l.follows.Acquire(context.Background(), 1) // cannot fail; it is not released, so that nothing follows any more
	return errors.Join(l.own.Close(), l.Store.Close())
}

// follow applies all changes; a later call applies what was changed since.
func (l *Local) follow(ctx context.Context) {
	for {
		if err := l.follows.Acquire(ctx, 1); err != nil {
			return
		}
		done, err := l.step(ctx)
		l.follows.Release(1)
		if err != nil || done {
			if err != nil && ctx.Err() == nil {
				l.log.Warn("the index of this server does not follow the documents", "error", err)
			}
			return
		}
	}
}

// step applies some changes. The caller holds follows.
func (l *Local) step(ctx context.Context) (done bool, err error) {
	m, err := readState(ctx, l.db.Pool())
	switch {
	case err != nil:
		return true, err
	case m.store != l.store: // another library took its place: what was indexed is not its
		return true, fmt.Errorf("follow the documents: %w: they were replaced", index.ErrLost)
	case m.sequence == l.position:
		return true, nil
	}
	shown, err := l.Store.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	defer shown.Close()
	changes, err := shown.Changes(ctx, l.position, followAtOnce)
	if err != nil {
		return false, err
	}
	batch := index.Batch{Delete: changes.Removed, Cursors: map[string]string{positionKey: strconv.FormatInt(changes.Last, 10)}}
	for i := range changes.Put {
		batch.Upsert = append(batch.Upsert, changes.Put[i].Document)
	}
	if _, err := l.own.Write(ctx, batch); err != nil {
		return false, fmt.Errorf("index the documents: %w", err)
	}
	l.position, l.left = changes.Last, changes
	return changes.Left == 0, nil
}

// current applies all changes and returns with follows held. A long list is applied in the background.
func (l *Local) current(ctx context.Context) error {
	for deadline := time.Now().Add(followWait); ; {
		if err := l.follows.Acquire(ctx, 1); err != nil {
			return err
		}
		done, err := l.step(ctx)
		switch {
		case err == nil && done:
			return nil
		case err == nil && time.Now().After(deadline):
			err = fmt.Errorf("%w: %d of %d documents are left", ErrBehind, l.left.Left, l.left.Total)
		}
		l.follows.Release(1)
		if err != nil {
			return err
		}
	}
}

// Write implements index.Index.
func (l *Local) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	written, err := l.Store.Write(ctx, batch)
	l.afterwards(ctx, err == nil && !batch.DryRun)
	return written, err
}

// UpdateAccess implements index.Index.
func (l *Local) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (int, error) {
	n, err := l.Store.UpdateAccess(ctx, patches)
	l.afterwards(ctx, err == nil)
	return n, err
}

// afterwards applies changes that are stored already: if that fails, the next snapshot does it.
func (l *Local) afterwards(ctx context.Context, changed bool) {
	if !changed {
		return
	}
	if err := l.current(ctx); err != nil {
		l.log.Warn("the index of this server does not follow the documents", "error", err)
		return
	}
	l.follows.Release(1)
}

// Embed implements index.Index. Vectors that another process has made are used.
func (l *Local) Embed(ctx context.Context, model string, vectors index.Vectorise, report func(index.Embedded)) error {
	if err := l.current(ctx); err != nil {
		return err
	}
	l.follows.Release(1)
	return l.own.Embed(ctx, model, l.Vectorise(model, vectors), report)
}

// Check implements index.Index: it checks the store and the segment index, which is repaired from the store.
func (l *Local) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) ([]index.Damage, error) {
	found, err := l.Store.Check(ctx, options, report)
	if err != nil {
		return found, err
	}
	derived, err := l.own.Check(ctx, options, nil)
	if err != nil {
		return found, err
	}
	var again []string
	for _, damage := range derived {
		if damage.Kind == index.DamagedDocument || damage.Kind == index.DamagedText {
			again, damage.Repaired = append(again, damage.ID), options.Repair
		}
		found = append(found, damage)
	}
	if !options.Repair || len(again) == 0 {
		return found, nil
	}
	shown, err := l.Store.Snapshot(ctx)
	if err != nil {
		return found, err
	}
	defer shown.Close()
	documents, err := shown.Whole(ctx, again)
	if err == nil {
		_, err = l.own.Write(ctx, index.Batch{Upsert: documents})
	}
	return found, err
}

// Snapshot implements index.Index. It has all changes that were stored before the call.
func (l *Local) Snapshot(ctx context.Context) (index.Snapshot, error) {
	if err := l.current(ctx); err != nil {
		return nil, err
	}
	defer l.follows.Release(1)
	inner, err := l.own.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	m, err := readState(ctx, l.db.Pool())
	if err != nil {
		inner.Close()
		return nil, err
	}
	m.sequence = l.position
	return &localSnapshot{Snapshot: inner, local: l, version: m.version()}, nil
}

// localSnapshot is a snapshot of the segment index under the store's version.
type localSnapshot struct {
	index.Snapshot
	local   *Local
	version string
}

// Version implements index.Snapshot.
func (s *localSnapshot) Version() string { return s.version }

// resolve replaces AddedSince, as the segment index knows only when it got a document.
func (s *localSnapshot) resolve(ctx context.Context, f index.Filter) (index.Filter, error) {
	if f.AddedSince.IsZero() {
		return f, nil
	}
	shown, err := s.local.Store.Snapshot(ctx)
	if err != nil {
		return f, err
	}
	defer shown.Close()
	return shown.Resolve(ctx, f)
}

// Search implements index.Snapshot.
func (s *localSnapshot) Search(ctx context.Context, query index.Query) (_ index.Result, err error) {
	if query.Filter, err = s.resolve(ctx, query.Filter); err != nil {
		return index.Result{}, err
	}
	return s.Snapshot.Search(ctx, query)
}

// Nearest implements index.Snapshot.
func (s *localSnapshot) Nearest(ctx context.Context, vector index.Vector, query index.Query) (_ []index.Hit, err error) {
	if query.Filter, err = s.resolve(ctx, query.Filter); err != nil {
		return nil, err
	}
	return s.Snapshot.Nearest(ctx, vector, query)
}

// Facets implements index.Snapshot.
func (s *localSnapshot) Facets(ctx context.Context, filter index.Filter) (_ index.Counts, err error) {
	if filter, err = s.resolve(ctx, filter); err != nil {
		return index.Counts{}, err
	}
	return s.Snapshot.Facets(ctx, filter)
}
