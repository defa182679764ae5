package documents

import (
	"context"
	"slices"

	"quarry/server/index"
	"quarry/server/sqldb"
)

// Pack packs the chunks that are stored anew. It takes most of the time of a write.
func (p *Plan) Pack(ctx context.Context, packer *Packer) (err error) {
	for n := range p.Items {
		if i := &p.Items[n]; !i.Keep && i.Put != nil && !i.SameText {
			if i.Groups, err = packer.PackChunks(ctx, i.Put.Chunks); err != nil {
				return err
			}
		}
	}
	return nil
}

// flushAt groups of chunks are in memory twice while they are written.
const flushAt = 200

// Rows are the rows of documents, their sets and their chunks that a write removes and inserts.
type Rows struct {
	Packer            *Packer
	Logged            bool // rows have LogColumns, and stay when their document is replaced
	Documents, Chunks int  // how many more there are

	reset                 []int64 // rows of documents whose sets change
	retexted, gone        []int64 // whose chunks, and which themselves are removed
	puts, groups, setRows [][]any
	hashed, unhashed      [][]any // hashes and rows of documents
}

// Add adds what an item that is not kept does, whose row number is set. log has the values of LogColumns.
func (r *Rows) Add(tx *sqldb.Tx, i *Item, log ...any) {
	if i.Old != nil {
		r.Documents, r.Chunks = r.Documents-1, r.Chunks-i.Old.ChunkCount
		r.reset = append(r.reset, i.Old.Number)
		if !i.SameText {
			r.retexted = append(r.retexted, i.Old.Number)
		}
		if i.Put == nil || !r.Logged {
			r.gone = append(r.gone, i.Old.Number)
		}
	}
	if i.Put != nil {
		r.put(tx, i, log)
	}
	switch {
	case i.Hashed == nil:
	case i.Put == nil:
		r.unhashed = append(r.unhashed, []any{i.Hashed(i.ID), i.Old.Number})
	case i.Old == nil:
		r.hashed = append(r.hashed, []any{i.Hashed(i.ID), i.Row})
	}
	if len(r.groups) >= flushAt {
		r.Flush(tx)
	}
}

func (r *Rows) put(tx *sqldb.Tx, i *Item, log []any) {
	row := Row{Stored: index.Stored{Document: *i.Put, ChunkCount: len(i.Put.Chunks)}, Number: i.Row, Hash: i.Hash}
	if i.Patches != nil {
		row.ChunkCount = i.Old.ChunkCount // the plan need not have read them
	}
	r.Documents, r.Chunks = r.Documents+1, r.Chunks+row.ChunkCount
	tx.Fail(r.Packer.SealDetail(&row))
	r.puts = append(r.puts, row.Values(log...))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(row.Sets))) {
		r.setRows = append(r.setRows, []any{i.Row, name})
	}
	for _, g := range i.Groups {
		key, body := g.Sealed(i.Row, i.Hash)
		r.groups = append(r.groups, []any{key, body})
	}
}

// Flush writes the rows that were added.
func (r *Rows) Flush(tx *sqldb.Tx) {
	const listed = " IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
	sqldb.ExecList(tx, "DELETE FROM document_sets WHERE document"+listed, r.reset)
	RemoveChunks(tx, r.retexted...)
	sqldb.ExecList(tx, "DELETE FROM documents WHERE row"+listed, r.gone)
	into, behind := Columns, ""
	if r.Logged {
		into, behind = into+", "+LogColumns, " ON CONFLICT (id) DO UPDATE SET "+Replaced()+`, changed = excluded.changed,
			texted = excluded.texted,
			vectors = CASE WHEN excluded.texted = excluded.changed THEN '' ELSE documents.vectors END`
	}
	tx.Insert("documents ("+into+")", r.puts, behind)
	tx.Insert("document_sets (document, name)", r.setRows, "")
	tx.Insert("chunks (key, body)", r.groups, "")
	changeHashes(tx, r.unhashed, r.hashed)
	*r = Rows{Packer: r.Packer, Logged: r.Logged, Documents: r.Documents, Chunks: r.Chunks}
}
