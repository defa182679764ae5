package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"quarry/server/index"
	"quarry/server/index/lexical"
	"quarry/server/index/segment"
	"quarry/server/sqlite"
)

var errClosed = errors.New("the snapshot is closed")

// snapshot implements index.Snapshot. Searches run at the same time; reads of the database, which are short, one after
// another, as they share a connection.
type snapshot struct {
	index   *Index
	version string

	// open is held for reading while a method runs, so that Close does not take the mapped files away from under it.
	open   sync.RWMutex
	closed bool

	mutex   sync.Mutex // guards view and retired
	view    *view
	retired []*view // views that turned out to be damaged; what was found through them may still be in use

	reading sync.Mutex // held while the transaction of a view is used

	damaged damages
}

// Snapshot implements index.Index.
func (x *Index) Snapshot(ctx context.Context) (index.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opened, err := x.openView(ctx)
	if err != nil {
		return nil, err
	}
	return &snapshot{index: x, version: opened.meta.version(), view: opened}, nil
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
		v.close()
	}
}

// Version implements index.Snapshot.
func (s *snapshot) Version() string { return s.version }

func (s *snapshot) current() *view {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.view
}

// renew gives the snapshot a view of the newest state, the only one that can be repaired, in the place of a damaged one.
func (s *snapshot) renew(ctx context.Context, damaged *view) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.view != damaged {
		return nil // another call did it already
	}
	opened, err := s.index.openView(ctx)
	if err != nil {
		return err
	}
	s.retired = append(s.retired, s.view)
	s.view = opened
	return nil
}

// search runs ask, and again after the index was repaired if it was damaged, or without the damaged segments if it cannot
// be repaired.
func (s *snapshot) search(ctx context.Context, ask func(*lexical.Searcher) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return errClosed
	}
	for tries := 0; ; tries++ {
		shown := s.current()
		err := askSafely(shown, ask)
		damaged := s.index.damageIn(shown.state, err)
		if damaged == nil || tries > len(shown.state.parts)+openRepairs {
			return err
		}
		if err := s.index.repair(ctx, damaged); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.index.states.exclude(shown.state, damaged)
		}
		if err := s.renew(ctx, shown); err != nil {
			return err
		}
	}
}

// askSafely turns a fault in a mapped file that was cut off into an error.
func askSafely(v *view, ask func(*lexical.Searcher) error) error {
	return segment.Protect(func() string { return "" }, func() error {
		searcher, err := v.state.searcher()
		if err != nil {
			return err
		}
		return ask(searcher)
	})
}

// Search implements index.Snapshot.
func (s *snapshot) Search(ctx context.Context, query index.Query) (index.Result, error) {
	var result index.Result
	err := s.search(ctx, func(searcher *lexical.Searcher) (err error) {
		result, err = searcher.Search(ctx, query)
		return err
	})
	if err != nil {
		return index.Result{}, fmt.Errorf("search: %w", err)
	}
	if result.Matched != nil {
		result.Matched = &matched{snapshot: s, view: s.current(), inner: result.Matched, query: query}
	}
	return result, nil
}

// Nearest implements index.Snapshot. Vectors that turn out to be damaged are restored first; where that is not possible
// the other segments' are searched.
func (s *snapshot) Nearest(ctx context.Context, wanted index.Vector, query index.Query) ([]index.Hit, error) {
	for tries := 0; ; tries++ {
		shown := s.current()
		var hits []index.Hit
		var lost string
		var damage error
		err := s.search(ctx, func(searcher *lexical.Searcher) error {
			var err error
			hits, err = searcher.Nearest(ctx, wanted, query)
			if lost = lostVectors(shown.state, err); lost != "" {
				damage = err
				return nil // the segments are sound
			}
			return err
		})
		if err != nil || lost != "" && tries > len(shown.state.parts) {
			return nil, fmt.Errorf("search by vector: %w", errors.Join(err, damage))
		}
		if lost == "" {
			return hits, nil
		}
		if err := s.index.healVectors(ctx, shown.state, []string{lost}, damage); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.index.states.excludeVectors(shown.state, []string{lost}, damage)
		}
		if err := s.renew(ctx, shown); err != nil {
			return nil, fmt.Errorf("search by vector: %w", err)
		}
	}
}

// matched counts under the protection of its snapshot.
type matched struct {
	snapshot *snapshot
	view     *view
	inner    index.Matched
	query    index.Query
}

// Count implements index.Matched.
func (m *matched) Count(ctx context.Context, returned []string) (index.Counts, error) {
	var counts index.Counts
	err := m.snapshot.search(ctx, func(searcher *lexical.Searcher) error {
		counting := m.inner
		if m.snapshot.current() != m.view {
			// The index was repaired since: what was found is looked for again.
			query := m.query
			query.Count = true
			result, err := searcher.Search(ctx, query)
			if err != nil {
				return err
			}
			counting = result.Matched
		}
		var err error
		counts, err = counting.Count(ctx, returned)
		return err
	})
	if err != nil {
		return index.Counts{}, fmt.Errorf("count what matched: %w", err)
	}
	return counts, nil
}

// Facets implements index.Snapshot.
func (s *snapshot) Facets(ctx context.Context, filter index.Filter) (index.Counts, error) {
	var counts index.Counts
	err := s.search(ctx, func(searcher *lexical.Searcher) (err error) {
		counts, err = searcher.Facets(ctx, filter)
		return err
	})
	if err != nil {
		return index.Counts{}, fmt.Errorf("count documents: %w", err)
	}
	return counts, nil
}

// Suggest implements index.Snapshot.
func (s *snapshot) Suggest(ctx context.Context, prefix string, access index.Access, limit int) (index.Suggestions,
	error) {
	var suggestions index.Suggestions
	err := s.search(ctx, func(searcher *lexical.Searcher) (err error) {
		suggestions, err = searcher.Suggest(ctx, prefix, access, limit)
		return err
	})
	if err != nil {
		return index.Suggestions{}, fmt.Errorf("suggest: %w", err)
	}
	return suggestions, nil
}

// read runs ask in the snapshot's transaction.
func (s *snapshot) read(ask func(*view, *library) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return errClosed
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	shown := s.current()
	return ask(shown, shown.library)
}

// Documents implements index.Snapshot.
func (s *snapshot) Documents(ctx context.Context, ids []string, access index.Access) ([]index.Stored, error) {
	found := make([]index.Stored, 0, len(ids))
	err := s.read(func(shown *view, _ *library) error {
		for _, id := range ids {
			document, err := s.admitted(ctx, shown, id, access)
			if err != nil {
				return err
			}
			if document != nil {
				found = append(found, index.Stored{Document: document.document, ChunkCount: document.chunks,
					Damaged: document.damaged != nil})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Chunks implements index.Snapshot.
func (s *snapshot) Chunks(ctx context.Context, id string, from, to int, access index.Access) ([]index.Chunk, error) {
	var chunks []index.Chunk
	err := s.read(func(shown *view, library *library) error {
		document, err := s.admitted(ctx, shown, id, access)
		switch {
		case err != nil:
			return err
		case document == nil:
			return fmt.Errorf("document %q: %w", id, index.ErrNotFound)
		case document.damaged != nil:
			return fmt.Errorf("document %q: %w: %w", id, index.ErrDamaged, document.damaged)
		}
		chunks, err = library.readChunks(ctx, document, from, to)
		if damage, ok := damageOf(document, max(from, 0), chunks); ok {
			s.damaged.add(damage)
		}
		return err
	})
	return chunks, err
}

// admits says whether somebody may see a document.
func admits(access index.Access, document *index.Document) bool {
	if document.Hidden {
		return false
	}
	return access.All || slices.ContainsFunc(document.Access, func(term string) bool {
		return slices.Contains(access.Terms, term)
	})
}

// DocumentIDs implements index.Snapshot. The ids ascend.
func (s *snapshot) DocumentIDs(ctx context.Context, by index.Selector) ([]string, error) {
	where, args := selection(by)
	if where == "" {
		return nil, nil
	}
	var ids []string
	err := s.read(func(shown *view, _ *library) error {
		rows, err := shown.tx.QueryContext(context.WithoutCancel(ctx),
			"SELECT id FROM documents WHERE "+where+" ORDER BY id", args...)
		if err != nil {
			return sqlite.Explain(fmt.Errorf("list documents: %w", err))
		}
		return eachText(ctx, rows, func(id string) error {
			ids = append(ids, id)
			return nil
		})
	})
	return ids, err
}

// Origins implements index.Snapshot.
func (s *snapshot) Origins(ctx context.Context) (map[string]int, error) {
	origins := make(map[string]int)
	err := s.read(func(shown *view, _ *library) error {
		rows, err := shown.tx.QueryContext(context.WithoutCancel(ctx),
			"SELECT origin FROM documents WHERE origin <> '' ORDER BY origin")
		if err != nil {
			return sqlite.Explain(fmt.Errorf("count documents by origin: %w", err))
		}
		return eachText(ctx, rows, func(origin string) error {
			origins[origin]++
			return nil
		})
	})
	return origins, err
}

// Stats implements index.Snapshot.
func (s *snapshot) Stats(ctx context.Context) (index.Stats, error) {
	var stats index.Stats
	err := s.read(func(shown *view, _ *library) error {
		stats.Documents, stats.Chunks = shown.meta.documents, shown.meta.chunks
		row := shown.tx.QueryRowContext(context.WithoutCancel(ctx),
			"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
		if err := row.Scan(&stats.Bytes); err != nil {
			return sqlite.Explain(fmt.Errorf("measure the library: %w", err))
		}
		for _, p := range shown.state.parts {
			stats.Bytes += p.bytes
		}
		if err := countVectors(ctx, shown, &stats); err != nil {
			return err
		}
		if path := s.index.db.Path(); path != "" {
			if info, err := os.Stat(path + "-wal"); err == nil {
				stats.Bytes += info.Size()
			}
		}
		return nil
	})
	return stats, err
}
