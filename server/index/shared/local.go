package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/embedded"
	"quarry/server/sqldb"
	"quarry/server/sqlite"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
)

const (
	// followAtOnce changes are applied together.
	followAtOnce = 1000
	// followWait is how long a snapshot waits for the changes that it lacks.
	followWait = 10 * time.Second
	// lookAfter is how often a process looks for changes of others while it is used. It looks less often later, so that the
	// connections to the documents of many tenants end; lookAtLeast is the longest pause.
	lookAfter, lookAtLeast = 2 * time.Second, 10 * time.Minute
	// lockRetry is the pause between attempts to lock the index.
	lockRetry = 10 * time.Millisecond

	// positionKey is the cursor of the number of the last change that a segment index has.
	positionKey = "position"
	// emptying instead of a number: what the index has is being removed.
	emptying = -1

	// indexPrefix begins the name of the folder of a segment index; the store's follows, as of another one nothing can be used.
	indexPrefix = "index-"
	lockName    = "index.lock"
)

// Local searches a store with a segment index of its own, which follows the store's log. The processes of a machine share one,
// and one of them at a time applies changes to it.
type Local struct {
	*Store
	options embedded.Options
	applied func()              // is called when changes of other processes were applied in the background
	applies *semaphore.Weighted // of 1: held while changes are applied
	used    atomic.Int64        // when a snapshot was opened last, in nanoseconds since 1970
	kick    chan struct{}       // has a place for one
	wait    time.Duration       // followWait; replaced in tests
	stop    context.CancelFunc
	stopped chan struct{}

	mutex sync.Mutex
	own   *segments
	past  []*segments // of stores that were replaced; snapshots of them may be open
}

// segments is the segment index of a store.
type segments struct {
	*embedded.Index
	store string
}

// progress is how far a segment index is.
type progress struct {
	own         *segments
	position    int64 // of the last change that it has
	left, total int   // changes that it lacks, of all documents
}

func (p progress) version() string { return state{store: p.own.store, sequence: p.position}.version() }

var _ index.Index = (*Local)(nil)

// OpenLocal opens the segment index of a store in the folder of options, for all processes of this machine that use it. The
// store is closed with it. applied is called after the changes of other processes were applied in the background; it may be nil.
func OpenLocal(ctx context.Context, store *Store, options embedded.Options, applied func()) (*Local, error) {
	options.ReadOnly = false // a derived index may be written in any case
	l := &Local{Store: store, options: options, applied: applied, applies: semaphore.NewWeighted(1), kick: make(chan struct{}, 1),
		stopped: make(chan struct{}), own: new(segments), wait: followWait}
	l.used.Store(time.Now().UnixNano())
	m, err := readState(ctx, store.db.Pool())
	if err == nil {
		err = l.alone(ctx, func() error { return l.open(ctx, m.store) })
	}
	if err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	guard.Go(func() {
		defer close(l.stopped)
		l.follow(background)
	}, func(err error) { store.log.Error("follow the documents", guard.Attr(err)) })
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

// open opens the segment index of a store, and removes those of others. A damaged one is built again. The caller is alone.
func (l *Local) open(ctx context.Context, store string) error {
	options := l.options
	if options.Dir != "" {
		options.Dir = filepath.Join(options.Dir, indexPrefix+store)
	}
	x, err := embedded.Open(ctx, options)
	if options.Dir != "" && (errors.Is(err, index.ErrDamaged) || errors.Is(err, index.ErrLost)) {
		l.log.Warn("the index of this server is damaged, and built again", "error", err)
		if err := os.RemoveAll(options.Dir); err != nil {
			return fmt.Errorf("remove a damaged index: %w", err)
		}
		x, err = embedded.Open(ctx, options)
	}
	if err != nil {
		return fmt.Errorf("open the index of this server: %w", err)
	}
	l.replace(&segments{x, store})
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
	found, err := filepath.Glob(filepath.Join(dir, indexPrefix+"*"))
	for _, folder := range found {
		if filepath.Base(folder) != indexPrefix+store {
			err = errors.Join(err, os.RemoveAll(folder))
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

// Close implements index.Index.
func (l *Local) Close() error {
	l.stop()
	<-l.stopped
	_ = l.applies.Acquire(context.Background(), 1) // cannot fail; it is not released, so that nothing is applied any more
	l.replace(new(segments))
	var failed []error
	for _, s := range l.past {
		failed = append(failed, s.Close())
	}
	return errors.Join(append(failed, l.Store.Close())...)
}

// follow applies all changes whenever there may be some, until ctx ends.
func (l *Local) follow(ctx context.Context) {
	for failing := false; ; {
		changed, err := l.followOnce(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			l.log.Warn("the index of this server does not follow the documents", "error", err)
		}
		if failing = err != nil; changed && l.applied != nil {
			l.applied()
		}
		pause := time.Since(time.Unix(0, l.used.Load())) / 4
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(max(pause, lookAfter), lookAtLeast)):
		case <-l.kick:
		}
	}
}

// followOnce applies the changes that are stored, and reports whether there were any. If the documents were removed with their
// tenant, so is the index.
func (l *Local) followOnce(ctx context.Context) (changed bool, err error) {
	for {
		m, err := readState(ctx, l.db.Pool())
		if err != nil {
			if l.removed(ctx) {
				err = l.alone(ctx, func() error {
					l.replace(new(segments))
					return RemoveIndexes(l.options.Dir, "")
				})
			}
			return changed, err
		}
		if now, err := l.at(ctx, m); now != nil || err != nil {
			return changed, err
		}
		if _, err := l.apply(ctx); err != nil {
			return changed, err
		}
		changed = true
	}
}

// at returns how far the index is if that is exactly the state of the store; nil if it is not.
func (l *Local) at(ctx context.Context, m state) (*progress, error) {
	own := l.segments()
	if own.store != m.store {
		return nil, nil
	}
	position, err := own.position(ctx)
	if err != nil || position != m.sequence {
		return nil, err
	}
	return &progress{own: own, position: position}, nil
}

// position returns the number of the last change that the index has, or emptying. Another process may have applied more since.
func (s *segments) position(ctx context.Context) (int64, error) {
	cursors, err := s.Cursors(ctx, positionKey)
	if err != nil || cursors[positionKey] == "" {
		return 0, err
	}
	position, err := strconv.ParseInt(cursors[positionKey], 10, 64)
	if err != nil {
		position = emptying
	}
	return position, nil
}

func positionCursor(position int64) map[string]string {
	return map[string]string{positionKey: strconv.FormatInt(position, 10)}
}

// apply applies some changes.
func (l *Local) apply(ctx context.Context) (now progress, err error) {
	err = l.alone(ctx, func() (err error) {
		now, err = l.step(ctx)
		return err
	})
	return now, err
}

// step applies some changes. The caller is alone.
func (l *Local) step(ctx context.Context) (now progress, err error) {
	shown, err := l.Store.Snapshot(ctx)
	if err != nil {
		return now, err
	}
	defer shown.Close()
	if l.segments().store != shown.Store() { // another library took the place of what was indexed
		if err := l.open(ctx, shown.Store()); err != nil {
			return now, err
		}
	}
	now.own = l.segments()
	if now.position, err = now.own.position(ctx); err != nil {
		return now, err
	}
	if now.position == emptying || now.position > shown.Sequence() { // a backup of the store was restored
		if err := now.own.empty(ctx); err != nil {
			return now, fmt.Errorf("empty an index that is newer than the documents: %w", err)
		}
		now.position = 0
	}
	if now.position == shown.Sequence() {
		return now, nil
	}
	changes, err := shown.Changes(ctx, now.position, followAtOnce)
	if err != nil {
		return now, err
	}
	batch := index.Batch{Delete: changes.Removed, Cursors: positionCursor(changes.Last)}
	for i := range changes.Put {
		batch.Upsert = append(batch.Upsert, changes.Put[i].Document)
	}
	if _, err := now.own.Write(ctx, batch); err != nil {
		return now, fmt.Errorf("index the documents: %w", err)
	}
	now.position, now.left, now.total = changes.Last, changes.Left, changes.Total
	return now, nil
}

// empty removes all documents. Interrupted, it begins again.
func (s *segments) empty(ctx context.Context) error {
	shown, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer shown.Close()
	ids, err := shown.DocumentIDs(ctx, index.Selector{All: true})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, codec.MaxBatchDocuments) {
		if _, err := s.Write(ctx, index.Batch{Delete: some, Cursors: positionCursor(emptying)}); err != nil {
			return err
		}
	}
	_, err = s.Write(ctx, index.Batch{Cursors: positionCursor(0)})
	return err
}

// current applies all changes that are stored now. A long list is left to the background.
func (l *Local) current(ctx context.Context) (progress, error) {
	l.used.Store(time.Now().UnixNano())
	m, err := readState(ctx, l.db.Pool())
	if err != nil {
		return progress{}, err
	}
	if now, err := l.at(ctx, m); now != nil || err != nil {
		return *cmp.Or(now, &progress{}), err
	}
	waiting, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	for last := (progress{}); ; {
		now, err := l.apply(waiting)
		switch {
		case err == nil && (now.left == 0 || now.own.store == m.store && now.position >= m.sequence):
			return now, nil
		case err == nil:
			last = now
			continue
		case ctx.Err() != nil || waiting.Err() == nil:
			return now, err
		}
		l.wake()
		if err = index.ErrBehind; last.total > 0 {
			err = fmt.Errorf("%w: it lacks %d of %d documents", err, last.left, last.total)
		}
		return now, err
	}
}

// CatchUp applies all changes, however many there are. report is called with the number that is left, and that of all documents.
func (l *Local) CatchUp(ctx context.Context, report func(left, total int)) error {
	for {
		now, err := l.apply(ctx)
		if err != nil || now.left == 0 {
			return err
		}
		report(now.left, now.total)
	}
}

// wake makes the background apply changes at once.
func (l *Local) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
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

// afterwards applies changes that are stored already, so that who writes faster than is indexed has to wait. What is left is
// applied by the background, or the next snapshot.
func (l *Local) afterwards(ctx context.Context, changed bool) {
	if !changed {
		return
	}
	now, err := l.apply(ctx)
	if err != nil && ctx.Err() == nil {
		l.log.Warn("the index of this server does not follow the documents", "error", err)
	}
	if err != nil || now.left > 0 {
		l.wake()
	}
}

// Embed implements index.Index. Vectors that another process has made are used.
func (l *Local) Embed(ctx context.Context, model string, vectors index.Vectorise, report func(index.Embedded)) error {
	now, err := l.current(ctx)
	if err != nil {
		return err
	}
	return now.own.Embed(ctx, model, l.Vectorise(model, vectors), report)
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
	return &localSnapshot{Snapshot: inner, local: l, version: now.version()}, nil
}

// localSnapshot is a snapshot of the segment index under the store's version.
type localSnapshot struct {
	index.Snapshot
	local   *Local
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
