package embedded

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/sqldb"
)

// batchSizes are how many documents or ranges one statement reads; each of them is prepared once.
func batchSizes() []int { return []int{4, 16, 64} }

// inBatches calls read with up to as many values as one statement reads, and with how many it has places for.
func inBatches[T any](values []T, read func(values []T, places int) error) error {
	sizes := batchSizes()
	for batch := range slices.Chunk(values, sizes[len(sizes)-1]) {
		at, _ := slices.BinarySearch(sizes, len(batch))
		if err := read(batch, sizes[at]); err != nil {
			return err
		}
	}
	return nil
}

// listOf returns n times item, with commas between, for a statement.
func listOf(n int, item string) string { return strings.Repeat(item+",", n-1) + item }

// recallAll reads the documents that recall is called for next. What cannot be read is left to recall.
func (l *library) recallAll(ctx context.Context, ids []string) {
	if len(l.recalled)+len(ids) > maxRecalled || l.recalled == nil {
		l.recalled = make(map[string]*documents.Row)
	}
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return l.recalled[id] != nil })
	if len(unknown) < 2 || len(unknown) > maxRecalled {
		return
	}
	_ = inBatches(unknown, func(ids []string, n int) error {
		args := make([]any, n)
		for i := range args {
			args[i] = ids[min(i, len(ids)-1)]
		}
		return sqldb.EachWhole(ctx, l, func(row *sql.Rows) error {
			found, err := l.scan(row)
			if err == nil {
				l.complete(found)
				l.recalled[found.ID] = found
			}
			return err
		}, "SELECT "+documents.Columns+" FROM documents WHERE id IN "+sqldb.Places(n), args...)
	})
}

// wantedChunks are some chunks of a document, which readAll fills.
type wantedChunks struct {
	of     *documents.Row
	from   int
	chunks []index.Chunk
}

// want prepares to read the chunks from to to, inclusive, of those that there are.
func want(s *documents.Row, from, to int) wantedChunks {
	from, to = max(from, 0), min(to, s.ChunkCount-1)
	return wantedChunks{s, from, codec.Unread(to - from + 1)}
}

// fill takes the chunks of a group that are wanted.
func (w *wantedChunks) fill(p *codec.Packer, key int64, body []byte) {
	if group, err := unpackGroup(p, body, key, w.of.Hash); err == nil {
		codec.Fill(w.chunks, int(key&ordinalMask)-w.from, group)
	}
}

// readAll reads chunks of several documents. Those that cannot be read are marked.
func (l *library) readAll(ctx context.Context, wanted []wantedChunks) error {
	err := inBatches(wanted, func(batch []wantedChunks, n int) error { return l.readBatch(ctx, batch, n) })
	if !unreadable(err) {
		return err
	}
	for _, w := range wanted {
		if err := l.fillChunks(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func (l *library) readBatch(ctx context.Context, batch []wantedChunks, n int) error {
	args := make([]any, 0, 4*n)
	for i, w := range batch {
		row := w.of.Number
		args = append(args, i, chunkKey(row, 0), chunkKey(row, w.from), chunkKey(row, w.from+len(w.chunks)-1))
	}
	for i := len(batch); i < n; i++ {
		args = append(args, i, 1, 0, 0) // no key is between 1 and 0
	}
	number, at := 0, 0
	var key, last int64
	var body sql.RawBytes
	return sqldb.EachWhole(ctx, l, func(row *sql.Rows) error {
		if err := row.Scan(&number, &key, &body); err != nil {
			return err
		}
		if number < at || number >= len(batch) || number == at && key <= last {
			return documents.ErrOrder
		}
		at, last = number, key
		batch[number].fill(l.packer, key, body)
		return nil
	}, "WITH wanted(number, begin, first, last) AS (VALUES "+listOf(n, "(?,?,?,?)")+`) SELECT number, key, body
		FROM wanted CROSS JOIN chunks WHERE key >= coalesce((SELECT max(key) FROM chunks WHERE key BETWEEN begin AND first), begin)
		AND key <= last`, args...)
}
