package segments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/sqldb"
	"quarry/server/sqlite"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
)

const (
	// lockRetry is the pause between attempts to lock the index.
	lockRetry = 10 * time.Millisecond

	// indexPrefix begins the name of the folder of a segment index; the store's follows, as of another one nothing can
	// be used. Older versions kept the texts, too, in folders with olderPrefix.
	indexPrefix, olderPrefix = "segments-", "index-"
	lockName                 = "index.lock"
)

// Local searches a store with segments of its own, which follow the store's log. The texts are in the store alone. The
// processes of a machine share the segments, and one of them at a time applies changes to them.
type Local struct {
	*documents.Store
	dir     string
	applied func()              // is called when changes of other processes were applied in the background
	applies *semaphore.Weighted // of 1: held while changes are applied
	closed  bool                // likewise; nothing is applied any more
	used    atomic.Int64        // when a snapshot was opened last, in nanoseconds since 1970
	wait    time.Duration       // followWait; replaced in tests

	background *documents.Follower

	mutex sync.Mutex
	own   *follower
	past  []*follower // of stores that were replaced; snapshots of them may be open
}

var _ index.Index = (*Local)(nil)

// NewLocal searches a store, which is closed with it, with segments in a folder, for all processes of this
// machine that use it. They are opened and built in the background, or when they are used. applied is called after
// changes were applied in the background; it may be nil.
func NewLocal(ctx context.Context, store *documents.Store, dir string, applied func()) *Local {
	l := &Local{Store: store, dir: dir, applied: applied, applies: semaphore.NewWeighted(1),
		own: new(follower), wait: followWait}
	l.used.Store(time.Now().UnixNano())
	store.MayBeReplaced() // stepTo replaces the index
	store.Stored = l.afterwards
	l.mutex.Lock() // what runs in the background begins with segments
	defer l.mutex.Unlock()
	l.background = documents.Follow(ctx, l.Log, "the index of this server", l.follow, l.lookPause)
	return l
}

// alone calls do while no other goroutine and no other process applies changes.
func (l *Local) alone(ctx context.Context, do func() error) error {
	if err := l.applies.Acquire(ctx, 1); err != nil {
		return err
	}
	defer l.applies.Release(1)
	if l.closed {
		return errClosed
	}
	if err := sqlite.MakeFolder(l.dir); err != nil {
		return sqldb.Explained("create the folder of the index", err)
	}
	lock := flock.New(filepath.Join(l.dir, lockName))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return sqldb.Explained("lock "+lock.String(), err)
	}
	defer lock.Close() // the file is empty
	return do()
}

// open opens the segment index of a store, and removes those of others. The caller is alone.
func (l *Local) open(ctx context.Context, store string) error {
	own := &follower{of: l, store: store, dir: filepath.Join(l.dir, indexPrefix+store)}
	var err error
	// A derived index may be written in any case.
	if own.Index, err = Open(ctx, Options{Dir: own.dir, Log: l.Log, Now: l.Now, source: own}); err != nil {
		return fmt.Errorf("open the index of this server: %w", err)
	}
	if own.file, err = Stat(own.dir); err != nil {
		return errors.Join(err, own.Close())
	}
	l.replace(own)
	if err := RemoveIndexes(l.dir, store); err != nil {
		l.Log.Warn("an index that is not used any more was not removed", "error", err)
	}
	return nil
}

// RemoveIndexes removes the segment indexes in a folder but that of a store, which may be empty.
func RemoveIndexes(dir, store string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, folder := range found {
		name := folder.Name()
		if strings.HasPrefix(name, olderPrefix) || strings.HasPrefix(name, indexPrefix) && name != indexPrefix+store {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

// replace makes an index the current one. Snapshots of the other may be open.
func (l *Local) replace(own *follower) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.own.Index != nil {
		l.past = append(l.past, l.own)
	}
	l.own = own
}

func (l *Local) segments() *follower {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.own
}

// Close implements index.Index.
func (l *Local) Close() error {
	l.background.Close()
	_ = l.applies.Acquire(context.Background(), 1) // cannot fail
	l.closed = true
	l.applies.Release(1)
	l.replace(new(follower))
	var failed []error
	for _, s := range l.past {
		failed = append(failed, s.Close())
	}
	return errors.Join(append(failed, l.Store.Close())...)
}

// Embed implements index.Index. Vectors that another process has made are used.
func (l *Local) Embed(ctx context.Context, pass index.Embedding) error {
	return l.with(ctx, func(own *follower) error { return own.Embed(ctx, pass) })
}

// Check implements index.Index: it checks the store and the segments, which are built again if they cannot be repaired.
func (l *Local) Check(ctx context.Context, options index.CheckOptions,
	report func(done, total int)) ([]index.Damage, error) {
	found, err := l.Store.Check(ctx, options, report)
	if err != nil {
		return found, err
	}
	var derived []index.Damage
	err = l.with(ctx, func(own *follower) (err error) {
		derived, err = own.Check(ctx, options, nil)
		return err
	})
	lost := func(damage index.Damage) bool { return !damage.Repaired }
	if err == nil && options.Repair && slices.ContainsFunc(derived, lost) {
		err = l.alone(ctx, l.discard)
		for i := range derived {
			derived[i].Repaired = err == nil
		}
		l.background.Wake()
	}
	return append(found, derived...), err
}

// Snapshot implements index.Index. It has all changes that were stored before the call.
func (l *Local) Snapshot(ctx context.Context) (index.Snapshot, error) {
	l.used.Store(time.Now().UnixNano())
	var shown localSnapshot
	err := l.with(ctx, func(own *follower) (err error) {
		shown.Snapshot, err = own.Snapshot(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown, nil
}

// localSnapshot says where its documents are.
type localSnapshot struct{ index.Snapshot }

// Engine names what found the passages.
func (s localSnapshot) Engine() string { return "this server's index of PostgreSQL" }

// Stats implements index.Snapshot.
func (s localSnapshot) Stats(ctx context.Context) (index.Stats, error) {
	stats, err := s.Snapshot.Stats(ctx)
	stats.Engine = "documents in PostgreSQL, indexed by each server"
	return stats, err
}
