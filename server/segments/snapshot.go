package segments

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"sync"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/lexical"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

var errClosed = errors.New("the snapshot is closed")

// snapshot implements index.Snapshot. Searches run at the same time; reads of the database, which are short, one after
// another, as they share a connection.
type snapshot struct {
	documents.Reads
	index   *Index
	version string

	// open is held for reading while a method runs, so that Close does not unmap files in use.
	open   sync.RWMutex
	closed bool

	mutex   sync.Mutex // guards view and retired
	view    *view
	retired []*view // views that turned out to be damaged; what was found through them may still be in use

	reading sync.Mutex // held while the transaction of a view is used
}

// Snapshot implements index.Index.
func (x *Index) Snapshot(ctx context.Context) (_ index.Snapshot, err error) {
	defer guard.End(&err)
	guard.Check(ctx.Err())
	opened := x.openView(ctx)
	s := &snapshot{index: x, version: opened.Version(), view: opened}
	s.Reads.Read = func(ctx context.Context, read func(*documents.Reader)) error {
		return s.read(func(shown *view) { read(shown.Reader.In(ctx)) })
	}
	return s, nil
}

// Close implements index.Snapshot. It waits for methods that are still running.
func (s *snapshot) Close() {
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	for _, v := range append(s.retired, s.view) {
		v.end()
		v.drop()
	}
}

// Version implements index.Snapshot.
func (s *snapshot) Version() string { return s.version }

func (s *snapshot) current() *view {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.view
}

// renew repairs the index, and gives the snapshot a view of the newest state, the only one that can be repaired, in the
// place of a damaged one. If it cannot be repaired, the view lacks the damaged files.
func (s *snapshot) renew(ctx context.Context, damaged *view, suspects *damagedError) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.current() != damaged {
		return // another call did it already
	}
	damaged.end() // there are few views of a source, and a repair needs one
	if err := s.index.repair(ctx, suspects); err != nil {
		guard.Check(ctx.Err())
		s.index.states.exclude(suspects)
	}
	opened := s.index.openView(ctx)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.retired = append(s.retired, s.view)
	s.view = opened
}

// ask calls search, and again with another view if the index was damaged.
func ask[T any](ctx context.Context, s *snapshot, search func(*lexical.Searcher) (T, error)) (answer T, err error) {
	defer guard.End(&err)
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return answer, errClosed
	}
	for tries := 0; ; tries++ {
		shown := s.current()
		// A fault in a mapped file that was cut off becomes an error.
		err := segment.Protect(func() string { return "" }, func() {
			answer = guard.Must(search(guard.Must(shown.state.searcher())))
		})
		suspects := damageOf(blame(shown.state.parts, err))
		if suspects == nil || tries > len(shown.state.parts)+openRepairs {
			return answer, err
		}
		s.renew(ctx, shown, suspects)
	}
}

// Search implements index.Snapshot.
func (s *snapshot) Search(ctx context.Context, query index.Query) (_ index.Result, err error) {
	if query, err = query.Resolve(ctx, s.Resolve); err != nil {
		return index.Result{}, err
	}
	result, err := ask(ctx, s, func(searcher *lexical.Searcher) (index.Result, error) {
		return searcher.Search(ctx, query)
	})
	if result.Matched != nil {
		result.Matched = &matched{snapshot: s, view: s.current(), inner: result.Matched, query: query}
	}
	return result, err
}

// Nearest implements index.Snapshot.
func (s *snapshot) Nearest(ctx context.Context, wanted index.Vector, query index.Query) (_ []index.Hit, err error) {
	if query.Filter, err = s.Resolve(ctx, query.Filter); err != nil {
		return nil, err
	}
	return ask(ctx, s, func(searcher *lexical.Searcher) ([]index.Hit, error) {
		return searcher.Nearest(ctx, wanted, query)
	})
}

// Facets implements index.Snapshot.
func (s *snapshot) Facets(ctx context.Context, filter index.Filter) (_ index.Counts, err error) {
	if filter, err = s.Resolve(ctx, filter); err != nil {
		return index.Counts{}, err
	}
	return ask(ctx, s, func(searcher *lexical.Searcher) (index.Counts, error) {
		return searcher.Facets(ctx, filter)
	})
}

// Suggest implements index.Snapshot.
func (s *snapshot) Suggest(ctx context.Context, prefix string, access index.Access, limit int) (index.Suggestions,
	error) {
	return ask(ctx, s, func(searcher *lexical.Searcher) (index.Suggestions, error) {
		return searcher.Suggest(ctx, prefix, access, limit)
	})
}

// Like implements index.Snapshot.
func (s *snapshot) Like(ctx context.Context, id string, chunk int, access index.Access) (index.Likeness, error) {
	return s.Likeness(ctx, id, chunk, access, func(text string) ([]string, error) {
		return ask(ctx, s,
			func(searcher *lexical.Searcher) ([]string, error) { return searcher.RareWords(ctx, text, access) })
	})
}

// read calls f with the snapshot's view, whose transaction it may use.
func (s *snapshot) read(f func(*view)) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return errClosed
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	return guard.Ended(func() { f(s.current()) })
}

// Stats implements index.Snapshot.
func (s *snapshot) Stats(ctx context.Context) (index.Stats, error) {
	var stats index.Stats
	err := s.read(func(shown *view) {
		from := sqldb.Shared(ctx, shown.tx)
		stats.Documents, stats.Chunks = shown.Documents, shown.Chunks
		from.Get([]any{&stats.Bytes}, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
		for _, p := range shown.state.parts {
			stats.Bytes += p.bytes
		}
		s.index.countVectors(from, shown, &stats)
		if path := s.index.db.Path(); path != "" {
			if info, err := os.Stat(path + "-wal"); err == nil {
				stats.Bytes += info.Size()
			}
		}
	})
	return stats, err
}

const (
	// openAttempts bounds the attempts to open a view while merges remove its segments.
	openAttempts = 100
	// openRepairs bounds how often the index is repaired for that.
	openRepairs = 2
)

// view is one state of the whole library: an open read transaction and the segments that its manifest names, and the
// same state of the documents.
type view struct {
	*documents.Reader
	documents.State // of the documents
	tx              *sql.Tx
	state           *state
	end, drop       func() // end the transactions, and release the segments
}

func (v *view) close() {
	v.end()
	v.drop()
}

// openView opens a view of the newest state. A damaged index is repaired first; if that fails, the view lacks the
// damaged files.
func (x *Index) openView(ctx context.Context) *view {
	var failure error
	repairs := 0
	for range openAttempts {
		opened, err := x.openSound(ctx)
		suspects := damageOf(err)
		if err == nil {
			if suspects = x.states.unreadVectors(opened.state); suspects == nil {
				return opened
			}
			opened.close()
			err = suspects
		}
		if suspects == nil {
			guard.Abort(err)
		}
		failure = err
		guard.Check(ctx.Err())
		if repairs++; repairs <= openRepairs {
			err = x.repair(ctx, suspects)
		}
		if err != nil {
			guard.Check(ctx.Err())
			x.Log.Warn("searching without the damaged part of the index", "error", err)
			x.states.exclude(suspects)
		}
	}
	guard.While("open the index", failure)
	return nil
}

// openSound opens a view, also for a repair: what is damaged is an error. A file that is missing has most likely just
// been merged, and the next manifest names another. When the same manifest names it again it is lost.
func (x *Index) openSound(ctx context.Context) (*view, error) {
	for before := int64(-1); ; {
		opened, err := x.tryView(ctx)
		suspects := damageOf(err)
		if suspects == nil || !suspects.missing || suspects.manifest == before || ctx.Err() != nil {
			return opened, err
		}
		before = suspects.manifest
	}
}

func (x *Index) tryView(ctx context.Context) (opened *view, err error) {
	if x.source == nil {
		return x.viewOf(ctx, nil)
	}
	open := func(shown *documents.Snapshot) error {
		opened, err = x.viewOf(ctx, shown)
		return err
	}
	shown, err := x.source.view(ctx)
	if err == nil && errors.Is(open(shown), documents.ErrOvertaken) {
		err = x.source.inStep(ctx, open)
	}
	return opened, err
}

// viewOf opens a view with the documents of the source, which it closes if it fails; nil: of library.db.
// documents.ErrOvertaken: the index does not have the same changes.
func (x *Index) viewOf(ctx context.Context, shown *documents.Snapshot) (opened *view, err error) {
	defer guard.End(&err)
	source, release := x.db.Reader, func() {}
	if shown != nil {
		release = shown.Close
	} else if x.db.InMemory() { // readers would keep writers waiting: they read a copy
		source, release = x.freeze(ctx)
	}
	tx, err := source.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		release()
		return nil, sqldb.Explained("read the library", err)
	}
	opened = &view{tx: tx, end: sync.OnceFunc(func() {
		_ = tx.Rollback()
		release()
	})}
	if err := guard.Ended(func() {
		from := sqldb.Shared(ctx, tx)
		m := documents.ReadState(from)
		if shown == nil {
			opened.Reader, opened.State = x.Shown(from, m), m
		} else {
			opened.Reader, opened.State = shown.Reader(ctx), shown.State
		}
		if m.Generation != opened.Generation {
			guard.Abort(documents.ErrOvertaken)
		}
		opened.state = x.states.acquire(from, m.Manifest)
	}); err != nil {
		opened.end()
		return nil, err
	}
	opened.drop, opened.Sees = func() { x.states.drop(opened.state) }, opened.state.sees
	x.noteStale(opened.state)
	return opened, nil
}

// noteStale has segments of an older analyser or format rebuilt in the background. They are searched until then.
func (x *Index) noteStale(shown *state) {
	if x.ReadOnly() || x.staleNoted.Swap(shown.manifest) == shown.manifest {
		return
	}
	if slices.ContainsFunc(shown.parts, stale) || slices.ContainsFunc(shown.parts, outdated) {
		x.worker.kick()
	}
}

// currentState opens the newest state without the documents.
func (x *Index) currentState(ctx context.Context) (current *state) {
	guard.Check(x.Read(ctx, func(tx sqldb.Source) {
		current = x.states.acquire(tx, documents.ReadState(tx).Manifest)
	}))
	return current
}

// freeze returns a copy of a database in memory, of which there is one for each state.
func (x *Index) freeze(ctx context.Context) (copied *sql.DB, release func()) {
	source, err := x.db.Writer.Conn(ctx) // there is one: nothing is written, or frozen twice, until it is closed
	guard.Check(sqldb.Explained("read the library", err))
	defer source.Close()
	from := sqldb.Shared(ctx, source)
	shown := x.states.acquire(from, documents.ReadState(from).Manifest)
	if shown.frozen == nil {
		if shown.frozen, err = x.db.Copy(ctx, source); err != nil {
			x.states.drop(shown)
			guard.Abort(err)
		}
	}
	return shown.frozen.Reader, func() { x.states.drop(shown) }
}
