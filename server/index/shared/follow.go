package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/index/embedded"
)

const (
	// followAtOnce changes are applied together.
	followAtOnce = 1000
	// followWait is how long a snapshot waits for the changes that it lacks.
	followWait = 10 * time.Second
	// lookAfter is how often a process looks for changes of others while it is used. It looks less often later, so that
	// the connections to the documents of many tenants end; lookAtLeast is the longest pause.
	lookAfter, lookAtLeast = 2 * time.Second, 10 * time.Minute

	// positionKey is the cursor of the number of the last change that a segment index has.
	positionKey = "position"
	// emptying instead of a number: what the index has is being removed.
	emptying = -1
)

// segments is the segment index of a store.
type segments struct {
	*embedded.Index
	store string
	dir   string
	file  fs.FileInfo // its database; nil in memory
}

// replaced reports whether another process of this machine has removed the index, which was damaged.
func (s *segments) replaced() bool {
	if s.file == nil {
		return false
	}
	now, err := embedded.Stat(s.dir)
	return err == nil && (now == nil || !os.SameFile(s.file, now))
}

// progress is how far a segment index is.
type progress struct {
	own         *segments
	position    int64 // of the last change that it has
	left, total int   // changes that it lacks, of all documents
}

func (p progress) version() string { return state{store: p.own.store, sequence: p.position}.Version() }

// follow is followOnce for the background.
func (l *Local) follow(ctx context.Context) error {
	changed, err := l.followOnce(ctx)
	if changed && l.applied != nil {
		l.applied()
	}
	return err
}

// lookPause returns how long the background waits for changes of others.
func (l *Local) lookPause() time.Duration {
	return min(max(time.Since(time.Unix(0, l.used.Load()))/4, lookAfter), lookAtLeast)
}

// followOnce applies the changes that are stored, and reports whether there were any. If the documents were removed
// with their tenant, so is the index.
func (l *Local) followOnce(ctx context.Context) (changed bool, err error) {
	for {
		m, err := l.state(ctx, l.DB.Pool())
		if errors.Is(err, fault.ErrReplaced) {
			return changed, l.alone(ctx, l.discard)
		}
		if err != nil {
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
		return nil, ctx.Err() // step finds out again what is wrong
	}
	return &progress{own: own, position: position}, nil
}

// position returns the number of the last change that the index has, or emptying. Another process may have applied more
// since.
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
	if own := l.segments(); own.store != shown.Store() || own.replaced() {
		if err := l.open(ctx, shown.Store()); err != nil {
			return now, err
		}
	}
	now.own = l.segments()
	if now.position, err = now.own.position(ctx); err != nil {
		return now, l.repaired(err)
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
		return now, l.repaired(fmt.Errorf("index the documents: %w", err))
	}
	now.position, now.left, now.total = changes.Last, changes.Left, changes.Total
	return now, nil
}

// repaired returns an error of the index. The next attempt after damage builds it again.
func (l *Local) repaired(err error) error {
	if !errors.Is(err, fault.ErrDamaged) && !errors.Is(err, fault.ErrLost) {
		return err
	}
	l.log.Warn("the index of this server is damaged, and built again", "error", err)
	return errors.Join(fault.ErrBehind, l.discard())
}

// discard removes the index. The caller is alone.
func (l *Local) discard() error {
	l.replace(new(segments))
	return RemoveIndexes(l.options.Dir, "")
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
	for some := range slices.Chunk(ids, documents.MaxBatchDocuments) {
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
	m, err := l.state(ctx, l.DB.Pool())
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
		case errors.Is(err, fault.ErrBehind) && waiting.Err() == nil:
			continue
		case ctx.Err() != nil || waiting.Err() == nil:
			return now, err
		}
		l.follower.Wake()
		if err = fault.ErrBehind; last.total > 0 {
			err = fmt.Errorf("%w: it lacks %d of %d documents", err, last.left, last.total)
		}
		return now, err
	}
}

// CatchUp applies all changes, however many there are. report is called with the number that is left, and that of all
// documents.
func (l *Local) CatchUp(ctx context.Context, report func(left, total int)) error {
	for {
		now, err := l.apply(ctx)
		if err != nil || now.left == 0 {
			return err
		}
		report(now.left, now.total)
	}
}

// afterwards applies changes that are stored already, so that who writes faster than is indexed has to wait. What is
// left is applied by the background, or the next snapshot.
func (l *Local) afterwards(ctx context.Context, changed bool) {
	if !changed {
		return
	}
	now, err := l.apply(ctx)
	if err != nil && ctx.Err() == nil {
		l.log.Warn("the index of this server does not follow the documents", "error", err)
	}
	if err != nil || now.left > 0 {
		l.follower.Wake()
	}
}
