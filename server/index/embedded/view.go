package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"quarry/server/sqlite"
)

const (
	// openAttempts bounds the attempts to open a view while merges remove its segments.
	openAttempts = 100
	// openRepairs bounds how often the index is repaired for that.
	openRepairs = 2
)

// view is one state of the whole library: an open read transaction and the segments that its manifest names.
type view struct {
	meta    meta
	tx      *sql.Tx
	library *library // of tx; its statements and what it found serve all reads of the view
	state   *state
	close   func()
}

// openView opens a view of the newest state. A damaged index is repaired first; if that fails, the view lacks the
// damaged files.
func (x *Index) openView(ctx context.Context) (*view, error) {
	var failure error
	before, repairs := int64(-1), 0
	for range openAttempts {
		opened, err := x.tryView(ctx)
		suspects := damageOf(err)
		if err == nil {
			if suspects = x.states.unreadVectors(opened.state); suspects == nil {
				return opened, nil
			}
			opened.close()
			err = suspects
		}
		if suspects == nil {
			return nil, err
		}
		if failure = err; ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// A file that is missing has most likely just been merged, and the next manifest names another. When the same
		// manifest names it again it is lost.
		if suspects.missing && suspects.manifest != before {
			before = suspects.manifest
			continue
		}
		if repairs++; repairs <= openRepairs {
			err = x.repair(ctx, suspects)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			x.log.Warn("searching without the damaged part of the index", "error", err)
			x.states.exclude(suspects)
		}
	}
	return nil, fmt.Errorf("open the index: %w", failure)
}

// openSound opens a view for a repair: what is damaged is an error.
func (x *Index) openSound(ctx context.Context) (*view, error) {
	var failure error
	for range openAttempts {
		opened, err := x.tryView(ctx)
		suspects := damageOf(err)
		if suspects == nil || !suspects.missing {
			return opened, err
		}
		if failure = err; ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("open the index: %w", failure)
}

func (x *Index) tryView(ctx context.Context) (*view, error) {
	source, release := x.db.Reader, func() {}
	if x.db.InMemory() { // readers would keep writers waiting: they read a copy
		var err error
		if source, release, err = x.frozen.acquire(ctx, x.db); err != nil {
			return nil, err
		}
	}
	// The transaction outlives the call, and so must not end with its context.
	tx, err := source.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		release()
		return nil, sqlite.Explain(fmt.Errorf("read the library: %w", err))
	}
	end := func() {
		_ = tx.Rollback()
		release()
	}
	m, err := readMeta(ctx, tx)
	if err != nil {
		end()
		return nil, err
	}
	shown, err := x.states.acquire(ctx, tx, m.manifest)
	if err != nil {
		end()
		return nil, err
	}
	x.noteStale(shown)
	reading := newLibrary(tx, x.packer)
	return &view{meta: m, tx: tx, library: reading, state: shown, close: func() {
		x.states.drop(shown)
		reading.close()
		end()
	}}, nil
}

// noteStale has segments of an older analyser rebuilt in the background. They are searched until then.
func (x *Index) noteStale(shown *state) {
	if x.ReadOnly() || x.staleNoted.Swap(shown.manifest) == shown.manifest {
		return
	}
	if slices.ContainsFunc(shown.parts, stale) {
		x.worker.kick()
	}
}

// currentState opens the newest state without the documents.
func (x *Index) currentState(ctx context.Context) (current *state, err error) {
	err = x.reading(ctx, func(tx *sql.Tx) error {
		m, err := readMeta(ctx, tx)
		if err == nil {
			current, err = x.states.acquire(ctx, tx, m.manifest)
		}
		return err
	})
	return current, err
}

// frozen keeps the newest copy of a database in memory.
type frozen struct {
	mutex  sync.Mutex
	newest *frozenCopy
}

type frozenCopy struct {
	version string
	db      *sqlite.DB
	users   int
}

func (f *frozen) acquire(ctx context.Context, db *sqlite.DB) (*sql.DB, func(), error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	m, err := readMeta(ctx, db.Reader)
	if err != nil {
		return nil, nil, err
	}
	current := fmt.Sprintf("%s.%d", m.version(), m.manifest)
	if f.newest == nil || f.newest.version != current {
		copied, err := db.Copy(ctx)
		if err != nil {
			return nil, nil, err
		}
		made := &frozenCopy{db: copied, users: 1}
		if m, err = readMeta(ctx, copied.Reader); err != nil {
			return nil, nil, errors.Join(err, copied.Close())
		}
		made.version = fmt.Sprintf("%s.%d", m.version(), m.manifest)
		f.release(f.newest)
		f.newest = made
	}
	used := f.newest
	used.users++
	return used.db.Reader, func() {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.release(used)
	}, nil
}

func (f *frozen) release(used *frozenCopy) {
	if used == nil {
		return
	}
	used.users--
	if used.users == 0 {
		_ = used.db.Close()
	}
}

func (f *frozen) close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.release(f.newest)
	f.newest = nil
}
