package documents

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/lexical"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// CountWords makes the store count words from now on, and counts those that are stored.
func (s *Store) CountWords(ctx context.Context) (err error) {
	defer guard.End(&err)
	version := 0
	if s.Newest(ctx).Get([]any{&version}, "SELECT analyser FROM statistics") && version == analysis.Version {
		return nil
	}
	return s.Change(ctx, func(tx *sqldb.Tx) {
		for _, table := range []string{"statistics", "terms", "surfaces", "analysed"} {
			tx.Exec("DELETE FROM " + table)
		}
		tx.Exec("INSERT INTO statistics VALUES (" + fmt.Sprint(analysis.Version) + ", 0, 0, 0, 0, 0)")
		s.countAll(tx)
	})
}

// countAll counts the words of all documents.
func (s *Store) countAll(tx *sqldb.Tx) {
	from := s.Reader(tx.Source)
	for last := int64(-1); ; {
		rows := from.Rows("WHERE row > ? ORDER BY row LIMIT 1000", last)
		if len(rows) == 0 {
			return
		}
		last = rows[len(rows)-1].Number
		list := from.Whole(rows...)
		packed, logged := s.analyse(from, list), from.logged(rows)
		analysed := make([][]any, len(rows))
		for i, row := range rows {
			analysed[i] = []any{row.Number, logged[row.Number].number, packed[i]}
		}
		countsOf(list, nil).add(tx)
		putAnalysed(tx, analysed)
	}
}

// counts are words that some documents add to those of the store.
type counts struct {
	segment.Delta
	hidden  int
	removed segment.Delta // what of it documents that are gone have removed
}

// countsOf counts the words of some documents, less those of others.
func countsOf(added, removed []index.Document) counts {
	more, less := segment.DeltaOf(added...), segment.DeltaOf(removed...)
	more.Add(less, -1)
	hidden := 0
	for i := range added {
		hidden += bit(added[i].Hidden)
	}
	for i := range removed {
		hidden -= bit(removed[i].Hidden)
	}
	return counts{more, hidden, less}
}

// add adds the words to those of the store.
func (c counts) add(tx *sqldb.Tx) {
	var terms, surfaces [][]any
	for _, term := range slices.Sorted(maps.Keys(c.Terms)) {
		if n := c.Terms[term]; n != (segment.TermCounts{}) {
			terms = append(terms, []any{term, n.Chunks, n.Documents, n.Titles})
		}
	}
	for _, surface := range slices.Sorted(maps.Keys(c.Surfaces)) {
		if n := c.Surfaces[surface]; n != 0 {
			surfaces = append(surfaces, []any{surface, analysis.Stem(surface), n})
		}
	}
	tx.Insert("terms (term, chunks, documents, titles)", terms, ` ON CONFLICT (term) DO UPDATE SET
		chunks = terms.chunks + excluded.chunks, documents = terms.documents + excluded.documents,
		titles = terms.titles + excluded.titles`)
	tx.Insert("surfaces (surface, term, documents)", surfaces, ` ON CONFLICT (surface) DO UPDATE SET
		documents = surfaces.documents + excluded.documents`)
	sqldb.ExecList(tx, "DELETE FROM terms WHERE documents <= 0 AND term IN (SELECT value FROM json_each(?))",
		slices.Collect(maps.Keys(c.removed.Terms)))
	sqldb.ExecList(tx, "DELETE FROM surfaces WHERE documents <= 0 AND surface IN (SELECT value FROM json_each(?))",
		slices.Collect(maps.Keys(c.removed.Surfaces)))
	tx.Exec(`UPDATE statistics SET body_tokens = body_tokens + ?, heading_tokens = heading_tokens + ?,
		title_tokens = title_tokens + ?, chunk_title_tokens = chunk_title_tokens + ?, hidden = hidden + ?`,
		c.Stats.BodyTokens, c.Stats.HeadingTokens, c.Stats.TitleTokens, c.Stats.ChunkTitleTokens, c.hidden)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Words returns the statistics of all documents, and how many of them are hidden.
func (s *Snapshot) Words(ctx context.Context) (stats segment.Stats, hidden int, err error) {
	stats.Documents, stats.Chunks = int64(s.State.Documents), int64(s.State.Chunks)
	err = s.locked(ctx, func(from *Reader) {
		from.Row(sql.ErrNoRows, []any{&stats.BodyTokens, &stats.HeadingTokens, &stats.TitleTokens,
			&stats.ChunkTitleTokens, &hidden},
			"SELECT body_tokens, heading_tokens, title_tokens, chunk_title_tokens, hidden FROM statistics")
	})
	return stats, hidden, err
}

// Counts returns the statistics of terms; those that no document contains are missing.
func (s *Snapshot) Counts(ctx context.Context, terms []string) (found map[string]segment.TermCounts,
	err error) {
	found = make(map[string]segment.TermCounts, len(terms))
	err = s.locked(ctx, func(from *Reader) {
		term, n := "", segment.TermCounts{}
		for range from.Each([]any{&term, &n.Chunks, &n.Documents, &n.Titles},
			"SELECT term, chunks, documents, titles FROM terms WHERE term IN (SELECT value FROM json_each(?))",
			sqldb.JSON{V: terms}) {
			found[term] = n
		}
	})
	return found, err
}

// Surface returns how many documents contain a surface.
func (s *Snapshot) Surface(ctx context.Context, surface string) (documents int64, err error) {
	found, err := s.surfaces(ctx, "WHERE surface = ?", surface)
	if len(found) > 0 {
		documents = found[0].Documents
	}
	return documents, err
}

// Surfaces returns surfaces that begin with a prefix, those of most documents first.
func (s *Snapshot) Surfaces(ctx context.Context, prefix string, limit int) ([]lexical.Surface, error) {
	return s.surfaces(ctx, "WHERE surface >= ? AND surface < ? ORDER BY documents DESC, surface LIMIT ?", prefix,
		prefix+string(utf8.MaxRune), limit)
}

// Vocabulary returns the surfaces of most documents, in the order of the alphabet.
func (s *Snapshot) Vocabulary(ctx context.Context, limit int) ([]lexical.Surface, error) {
	all, err := s.surfaces(ctx, "ORDER BY documents DESC LIMIT ?", limit)
	slices.SortFunc(all, func(a, b lexical.Surface) int { return strings.Compare(a.Surface, b.Surface) })
	return all, err
}

func (s *Snapshot) surfaces(ctx context.Context, where string, args ...any) (found []lexical.Surface, err error) {
	err = s.locked(ctx, func(from *Reader) {
		found = sqldb.RowsOf(from.Source, func(s *lexical.Surface) []any {
			return []any{&s.Surface, &s.Term, &s.Documents}
		}, "SELECT surface, term, documents FROM surfaces "+where, args...)
	})
	return found, err
}
