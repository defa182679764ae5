package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/embedded"
	"quarry/server/sqldb"
	"quarry/server/sqlite"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
)

const (
	// lockRetry is the pause between attempts to lock the index.
	lockRetry = 10 * time.Millisecond

	// indexPrefix begins the name of the folder of a segment index; the store's follows, as of another one nothing can
	// be used.
	indexPrefix = "index-"
	lockName    = "index.lock"
)

// Local searches a store with a segment index of its own, which follows the store's log. The processes of a machine
// share one, and one of them at a time applies changes to it.
type Local struct {
	*Store
	options embedded.Options
	applied func()              // is called when changes of other processes were applied in the background
	applies *semaphore.Weighted // of 1: held while changes are applied
	used    atomic.Int64        // when a snapshot was opened last, in nanoseconds since 1970
	wait    time.Duration       // followWait; replaced in tests

	follower *Follower

	mutex sync.Mutex
	own   *segments
	past  []*segments // of stores that were replaced; snapshots of them may be open
}

var _ index.Index = (*Local)(nil)

// OpenLocal opens the segment index of a store in the folder of options, for all processes of this machine that use it.
// The store is closed with it. applied is called after the changes of other processes were applied in the background;
// it may be nil.
func OpenLocal(ctx context.Context, store *Store, options embedded.Options, applied func()) (*Local, error) {
	options.ReadOnly = false // a derived index may be written in any case
	l := &Local{Store: store, options: options, applied: applied, applies: semaphore.NewWeighted(1),
		own: new(segments), wait: followWait}
	l.used.Store(time.Now().UnixNano())
	store.id = "" // step replaces the index
	l.options.Resolve = l.resolve
	m, err := readState(ctx, store.DB.Pool())
	if err == nil {
		err = l.alone(ctx, func() error { return l.open(ctx, m.store) })
	}
	if err != nil {
		return nil, err
	}
	l.follower = Follow(ctx, store.log, "the index of this server", l.follow, l.lookPause)
	return l, nil
}

// alone calls do while no other goroutine and no other process applies changes.
func (l *Local) alone(ctx context.Context, do func() error) error {
	if err := l.applies.Acquire(ctx, 1); err != nil {
		return err
	}
	defer l.applies.Release(1)
	if l.options.Dir == "" {
		return do()
	}
	if err := sqlite.MakeFolder(l.options.Dir); err != nil {
		return sqldb.Explain(fmt.Errorf("create the folder of the index: %w", err))
	}
	lock := flock.New(filepath.Join(l.options.Dir, lockName))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return sqldb.Explain(fmt.Errorf("lock %s: %w", lock, err))
	}
	defer func() { _ = lock.Close() }() // the file is empty
	return do()
}

// open opens the segment index of a store, and removes those of others. A damaged one is built again. The caller is
// alone.
func (l *Local) open(ctx context.Context, store string) error {
	options := l.options
	if options.Dir != "" {
		options.Dir = filepath.Join(options.Dir, indexPrefix+store)
	}
	x, err := embedded.Open(ctx, options)
	if options.Dir != "" && (errors.Is(err, fault.ErrDamaged) || errors.Is(err, fault.ErrLost)) {
		l.log.Warn("the index of this server is damaged, and built again", "error", err)
		if err := os.RemoveAll(options.Dir); err != nil {
			return fmt.Errorf("remove a damaged index: %w", err)
		}
		x, err = embedded.Open(ctx, options)
	}
	if err != nil {
		return fmt.Errorf("open the index of this server: %w", err)
	}
	own := &segments{Index: x, store: store, dir: options.Dir}
	if options.Dir != "" {
		if own.file, err = embedded.Stat(options.Dir); err != nil {
			return errors.Join(err, x.Close())
		}
	}
	l.replace(own)
	if err := RemoveIndexes(l.options.Dir, store); err != nil {
		l.log.Warn("an index that is not used any more was not removed", "error", err)
	}
	return nil
}

// RemoveIndexes removes the segment indexes in a folder but that of a store, which may be empty.
func RemoveIndexes(dir, store string) error {
	if dir == "" {
		return nil
	}
	found, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, folder := range found {
		if name := folder.Name(); strings.HasPrefix(name, indexPrefix) && name != indexPrefix+store {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

// replace makes an index the current one. Snapshots of the other may be open.
func (l *Local) replace(own *segments) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.own.Index != nil {
		l.past = append(l.past, l.own)
	}
	l.own = own
}

func (l *Local) segments() *segments {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.own
}

// resolve replaces AddedSince, as the segment index knows only when it got a document.
func (l *Local) resolve(ctx context.Context, f index.Filter) (index.Filter, error) {
	if f.AddedSince.IsZero() {
		return f, nil
	}
	shown, err := l.Store.Snapshot(ctx)
	if err != nil {
		return f, err
	}
	defer shown.Close()
	return shown.Resolve(ctx, f)
}

// Close implements index.Index.
func (l *Local) Close() error {
	l.follower.Close()
	_ = l.applies.Acquire(context.Background(), 1) // cannot fail; it is not released, so that nothing is applied any more
	l.replace(new(segments))
	var failed []error
	for _, s := range l.past {
		failed = append(failed, s.Close())
	}
	return errors.Join(append(failed, l.Store.Close())...)
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

// Embed implements index.Index. Vectors that another process has made are used.
func (l *Local) Embed(ctx context.Context, pass index.Embedding) error {
	now, err := l.current(ctx)
	if err != nil {
		return err
	}
	pass.Vectors = l.Vectorise(pass.Model, pass.Vectors)
	return now.own.Embed(ctx, pass)
}

// Check implements index.Index: it checks the store and the segment index, which is repaired from the store.
func (l *Local) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) ([]index.Damage, error) {
	found, err := l.Store.Check(ctx, options, report)
	if err != nil {
		return found, err
	}
	now, err := l.current(ctx)
	if err != nil {
		return found, err
	}
	derived, err := now.own.Check(ctx, options, nil)
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
	return found, l.alone(ctx, func() error { // nothing older than what is applied must be written
		shown, err := l.Store.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer shown.Close()
		documents, err := shown.Whole(ctx, again)
		if err == nil {
			_, err = now.own.Write(ctx, index.Batch{Upsert: documents})
		}
		return err
	})
}

// Snapshot implements index.Index. It has all changes that were stored before the call.
func (l *Local) Snapshot(ctx context.Context) (index.Snapshot, error) {
	now, err := l.current(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := now.own.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &localSnapshot{Snapshot: inner, version: now.version()}, nil
}

// localSnapshot is a snapshot of the segment index under the store's version.
type localSnapshot struct {
	index.Snapshot
	version string
}

// Version implements index.Snapshot.
func (s *localSnapshot) Version() string { return s.version }

// Engine names what found the passages.
func (s *localSnapshot) Engine() string { return "this server's index of PostgreSQL" }

// Stats implements index.Snapshot.
func (s *localSnapshot) Stats(ctx context.Context) (index.Stats, error) {
	stats, err := s.Snapshot.Stats(ctx)
	stats.Engine = "documents in PostgreSQL, indexed by each server"
	return stats, err
}
