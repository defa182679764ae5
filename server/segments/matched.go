package segments

import (
	"context"

	"quarry/server/index"
	"quarry/server/index/lexical"
)

// matched counts under the protection of its snapshot.
type matched struct {
	snapshot *snapshot
	view     *view
	inner    index.Matched
	query    index.Query // asks for Matched
}

// Count implements index.Matched.
func (m *matched) Count(ctx context.Context) (index.Counts, error) {
	return askMatched(ctx, m, func(of index.Matched) (index.Counts, error) { return of.Count(ctx) })
}

// Has implements index.Matched.
func (m *matched) Has(ctx context.Context, ids []string) (map[string]bool, error) {
	return askMatched(ctx, m, func(of index.Matched) (map[string]bool, error) { return of.Has(ctx, ids) })
}

// Twins implements index.Matched.
func (m *matched) Twins(ctx context.Context) ([][]string, error) {
	return askMatched(ctx, m, func(of index.Matched) ([][]string, error) { return of.Twins(ctx) })
}

// askMatched asks what was matched, after a new search if the index was repaired since.
func askMatched[T any](ctx context.Context, m *matched, question func(index.Matched) (T, error)) (T, error) {
	return ask(ctx, m.snapshot, func(searcher *lexical.Searcher) (answer T, err error) {
		of := m.inner
		if m.snapshot.current() != m.view {
			result, err := searcher.Search(ctx, m.query)
			if err != nil {
				return answer, err
			}
			of = result.Matched
		}
		return question(of)
	})
}
