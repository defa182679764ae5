package documents

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// Reader reads documents within one transaction. It is not safe for concurrent use. Like those of its source, its
// methods abort with their errors.
type Reader struct {
	sqldb.Source
	Packer *Packer
	// Sees reports whether access admits a document whose row is lost, by what is known of its rights elsewhere; nil:
	// nobody sees it.
	Sees func(id string, access index.Access) bool

	version string // that it shows; empty: not that of a snapshot, and what it reads is not kept
}

// In returns a reader of the same transaction for another caller.
func (r *Reader) In(ctx context.Context) *Reader {
	in := *r
	in.Context = ctx
	return &in
}

// batchSizes are how many documents or spans one statement reads; each of them is prepared once. A server answers a
// statement after a round trip.
func batchSizes() []int { return []int{1, 4, 10, 16, 64, 256, 1024} }

// inBatches yields up to as many values as one statement reads, and how many it has places for.
func inBatches[T any](values []T) iter.Seq2[[]T, int] {
	return func(yield func([]T, int) bool) {
		sizes := batchSizes()
		for batch := range slices.Chunk(values, sizes[len(sizes)-1]) {
			if at, _ := slices.BinarySearch(sizes, len(batch)); !yield(batch, sizes[at]) {
				return
			}
		}
	}
}

// Recall returns the rows of documents, nil for one that does not exist. Those that snapshots read last are kept: an
// answer describes its documents first and then reads their chunks.
func (r *Reader) Recall(ids ...string) []*Row {
	guard.Check(r.Err())
	rows := make([]*Row, len(ids))
	var unknown []string
	for i, id := range ids {
		if rows[i] = r.kept(r.rowKey(id)).row; rows[i] == nil {
			unknown = append(unknown, id)
		}
	}
	found := r.Find(unknown)
	for _, row := range found {
		r.complete(row)
		r.keepRow(row)
	}
	for i, id := range ids {
		rows[i] = cmp.Or(rows[i], found[id])
	}
	return rows
}

// Find reads the rows of documents by id, without unpacking their details; those that do not exist are missing.
func (r *Reader) Find(ids []string) map[string]*Row {
	found := make(map[string]*Row, len(ids))
	for ids, places := range inBatches(ids) {
		args := make([]any, places)
		for i := range args {
			args[i] = ids[min(i, len(ids)-1)]
		}
		if Damage(func() {
			for row := range r.each("WHERE id IN "+sqldb.Places(places), args...) {
				found[row.ID] = row
			}
		}) != nil {
			for _, id := range ids {
				r.findLost(id, found)
			}
		}
	}
	return found
}

// findLost finds a document alone, as the rows of others cannot be read.
func (r *Reader) findLost(id string, found map[string]*Row) {
	if lost := Damage(func() {
		for row := range r.each("WHERE id = ?", id) {
			found[id] = row
		}
	}); lost != nil {
		// The index on ids may know the row's number although the row cannot be read.
		found[id] = Lost(id, lost)
		_ = Damage(func() { r.Get([]any{&found[id].Number}, "SELECT row FROM documents WHERE id = ?", id) })
	}
}

// Rows reads the rows of documents; where also orders and limits them.
func (r *Reader) Rows(where string, args ...any) []*Row {
	return slices.Collect(r.EachRow(where, args...))
}

// EachRow yields what Rows returns.
func (r *Reader) EachRow(where string, args ...any) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for row := range r.each(where, args...) {
			if r.complete(row); !yield(row) {
				return
			}
		}
	}
}

// EachID yields the id of every document, ascending.
func (r *Reader) EachID() iter.Seq[string] {
	return func(yield func(string) bool) {
		id, last := "", ""
		for range r.Each([]any{&id}, "SELECT id FROM documents ORDER BY id") {
			if id <= last {
				guard.Abort(ErrOrder)
			}
			if last = id; !yield(id) {
				return
			}
		}
	}
}

// Counts counts the documents and their chunks.
func (r *Reader) Counts() (documents, chunks int) {
	r.Get([]any{&documents, &chunks}, "SELECT count(*), coalesce(sum(chunks), 0) FROM documents")
	return documents, chunks
}

// RowNumbers returns the number of the first row, and the one behind the last.
func (r *Reader) RowNumbers() (first, end int64) {
	r.Get([]any{&first, &end}, `SELECT coalesce((SELECT min(row) FROM documents), 0),
		coalesce((SELECT max(row) FROM documents), -1) + 1`)
	return first, end
}

// each yields rows, without unpacking their details.
func (r *Reader) each(where string, args ...any) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for row := range sqldb.All(r.Source, (*Row).pointers, "SELECT "+Columns+" FROM documents "+where, args...) {
			if r.open(row); !yield(row) {
				return
			}
		}
	}
}

// open checks the seal of a row that was read.
func (r *Reader) open(row *Row) {
	row.expand()
	if !isSealed(row.Detail) {
		r.completeOld(row)
		return
	}
	if row.Lose(Damage(func() { r.Packer.unseal(row) })); row.Damaged && row.Origin != row.short[1] {
		row.Origin = "" // the number may be that of another name
	}
}

// complete unpacks what the row contains beside its columns.
func (r *Reader) complete(row *Row) {
	if row.Detail == nil || row.Damaged {
		return
	}
	size, err := r.Packer.unpackDetail(row.Detail, row.names, &row.Document)
	row.Lose(err)
	row.size, row.Detail = size, nil
}

// completeOld is complete for a row without a seal, which is checked by the document's hash.
func (r *Reader) completeOld(row *Row) {
	r.complete(row)
	if !row.Damaged && (row.ChunkCount < 0 || row.ChunkCount > MaxChunks ||
		!sameHead(Hash(&row.Document), row.Hash)) {
		row.Lose(fmt.Errorf("%w: its hash is wrong", ErrPacked))
	}
}

// span is where chunks of a document are, first and last included.
type span struct {
	of          *Row
	first, last int
}

// groups calls yield with the groups of chunks of spans, by the number of the span. Those of one come in no order.
func (r *Reader) groups(spans []span, yield func(n int, key int64, body []byte)) {
	done := 0
	for batch, places := range inBatches(spans) {
		args := make([]any, 0, 2*places)
		for _, s := range batch {
			args = append(args, chunkKey(s.of.Number, s.first), chunkKey(s.of.Number, s.last))
		}
		for range places - len(batch) {
			args = append(args, 1, 0) // no key is between 1 and 0
		}
		type place struct {
			span int
			key  int64
		}
		seen := make(map[place]bool, len(batch))
		var at place
		var body sql.RawBytes
		for range r.Each([]any{&at.span, &at.key, &body}, groupsStatement(places), args...) {
			if at.span < 0 || at.span >= len(batch) || seen[at] {
				guard.Abort(ErrOrder)
			}
			seen[at] = true
			yield(done+at.span, at.key, body)
		}
		done += len(batch)
	}
}

// groupsStatement reads the groups of a number of spans. The first group of each is the last one of its document that
// begins at or before its first chunk.
func groupsStatement(spans int) string {
	statement := []byte("WITH spans(number, first, last) AS (VALUES ")
	for i := range spans {
		statement = fmt.Appendf(statement, "(%d, CAST(? AS BIGINT), CAST(? AS BIGINT)), ", i)
	}
	return fmt.Sprintf(`%s) SELECT number, key, body FROM spans CROSS JOIN chunks WHERE key <= last AND key >=
		coalesce((SELECT max(key) FROM chunks WHERE key BETWEEN first >> %d << %[2]d AND first), first)`,
		statement[:len(statement)-2], ordinalBits)
}

// chunkRange are some chunks of a document, which the reader fills.
type chunkRange struct {
	span
	chunks []index.Chunk
}

// rangeOf returns the chunks from to to, inclusive, of those that there are. They are not read yet.
func rangeOf(row *Row, from, to int) chunkRange {
	from, to = max(from, 0), min(to, row.ChunkCount-1)
	return chunkRange{span{row, from, to}, Unread(to - from + 1)}
}

// fill reads chunks of several documents. Those that cannot be read are marked. Where the database itself is damaged,
// each range, and each half of one, is tried alone.
func (r *Reader) fill(ranges ...chunkRange) {
	ranges = slices.DeleteFunc(slices.Clone(ranges), r.fillRecent)
	spans := make([]span, len(ranges))
	for i, c := range ranges {
		spans[i] = c.span
	}
	fill := func(n int, key int64, body []byte) {
		c, at := ranges[n], int(key&ordinalMask)
		if group, err := r.Packer.unpackGroup(body, key, c.of.Hash, c.first-at, c.last-at); err == nil {
			expandLinks(group, c.of.Link)
			copy(c.chunks[min(max(at-c.first, 0), len(c.chunks)):], group)
			if isSealed(body) {
				r.keepChunks(c, max(at, c.first), group)
			}
		}
	}
	if Damage(func() { r.groups(spans, fill) }) == nil {
		return
	}
	for _, c := range ranges {
		parts := []chunkRange{c}
		if half := len(c.chunks) / 2; len(ranges) == 1 {
			if half == 0 {
				c.chunks[0] = index.Chunk{Damaged: true}
				return
			}
			parts = []chunkRange{{span{c.of, c.first, c.first + half - 1}, c.chunks[:half]},
				{span{c.of, c.first + half, c.last}, c.chunks[half:]}}
		}
		for _, part := range parts {
			r.fill(part)
		}
	}
}

// Whole reads documents with all their chunks, in the order of their rows. Chunks that cannot be read are marked; of a
// damaged row only the id is known.
func (r *Reader) Whole(rows ...*Row) []index.Document {
	ranges := make([]chunkRange, 0, len(rows))
	for _, row := range rows {
		if r.complete(row); row.Damaged {
			ranges = append(ranges, chunkRange{span: span{of: Lost(row.ID, row.Cause)}})
		} else {
			ranges = append(ranges, rangeOf(row, 0, row.ChunkCount-1))
		}
	}
	r.fill(ranges...)
	all := make([]index.Document, len(rows))
	for i, c := range ranges {
		all[i] = c.of.Document
		if all[i].Chunks = c.chunks; !c.of.Damaged {
			setDerived(&all[i])
		}
	}
	return all
}

// textless is Whole without the chunks, which are in another table.
func (r *Reader) textless(rows ...*Row) []index.Document {
	all := make([]index.Document, len(rows))
	for i, row := range rows {
		r.complete(row)
		all[i] = row.Document
	}
	return all
}

// ExportChunks bounds what Export reads at once, beside one document.
const ExportChunks = 8000

// Fitting returns how many documents are read at once.
func Fitting(rows []*Row) int {
	chunks := 0
	for i, row := range rows {
		if chunks += row.ChunkCount; chunks > ExportChunks && i > 0 {
			return i
		}
	}
	return len(rows)
}

// Export returns documents as index.Exporter does.
func (r *Reader) Export(after string, limit int) []index.Document {
	rows := r.Rows("WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	rows = rows[:Fitting(rows)]
	list := r.Whole(rows...)
	for i, row := range rows {
		if row.Damaged || Damaged(list[i].Chunks, 0) != nil {
			guard.Abort(fmt.Errorf("document %q: %w", row.ID, fault.ErrDamaged))
		}
	}
	return list
}
