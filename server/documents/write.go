package documents

import (
	"context"
	"slices"

	"quarry/server/index"
	"quarry/server/sqldb"
)

// Pack packs the chunks that are stored anew. It takes most of the time of a write.
func (p *Plan) Pack(ctx context.Context, packer *Packer) {
	for _, i := range p.Items {
		if !i.Keep && i.Put != nil && !i.SameText {
			i.Groups = packer.PackChunks(ctx, shortLinks(i.Put))
		}
	}
}

// put stores what a plan changes, and numbers the changes.
func (s *Tables) put(tx *sqldb.Tx, plan *Plan, before State) {
	_, end := s.Reader(tx.Source).RowNumbers()
	rows, number, added := Rows{Packer: s.Packer}, max(before.Generation, end-1), false // older versions counted writes
	for _, i := range plan.Items {
		if i.Keep {
			continue
		}
		number++
		if i.Number, i.Row = number, number; i.Old != nil && i.Old.Number != 0 {
			i.Row = i.Old.Number
		}
		if i.Old == nil && !added { // a row stands for what is added behind it, too
			tx.Exec("DELETE FROM additions WHERE document >= ?", i.Row)
			tx.Exec("INSERT INTO additions (document, at) VALUES (?, ?)", i.Row, s.Now().UnixMicro())
			added = true
		}
		rows.Add(tx, i)
	}
	rows.Flush(tx)
	tx.Exec("UPDATE meta SET generation = ?, documents = documents + ?, chunks = chunks + ?", number, rows.Documents,
		rows.Chunks)
}

// listed are numbers in a parameter that is a list.
const listed = "(SELECT CAST(value AS BIGINT) FROM json_each(?))"

// flushAt groups of chunks are in memory twice while they are written.
const flushAt = 200

// Rows are the rows of documents, their sets and their chunks that a write removes and inserts.
type Rows struct {
	Packer            *Packer
	Documents, Chunks int // how many more there are

	gone                  []int64 // rows of documents that are removed or inserted again
	retexted              []int64 // whose chunks are
	puts, groups, setRows [][]any
	hashed, unhashed      [][]any // hashes and rows of documents
}

// Add adds what an item that is not kept does, whose row number is set.
func (r *Rows) Add(tx *sqldb.Tx, i *Item) {
	if i.Old != nil {
		r.Documents, r.Chunks = r.Documents-1, r.Chunks-i.Old.ChunkCount
		r.gone = append(r.gone, i.Old.Number)
		if !i.SameText {
			r.retexted = append(r.retexted, i.Old.Number)
		}
	}
	if i.Put != nil {
		r.put(i)
	}
	switch {
	case i.Hashed == nil:
	case i.Put == nil:
		r.unhashed = append(r.unhashed, []any{i.Hashed(i.ID), i.Old.Number})
	case i.Old == nil || i.Old.Number != i.Row:
		r.hashed = append(r.hashed, []any{i.Hashed(i.ID), i.Row})
	}
	if len(r.groups) >= flushAt {
		r.Flush(tx)
	}
}

func (r *Rows) put(i *Item) {
	row := Row{Stored: index.Stored{Document: *i.Put, ChunkCount: len(i.Put.Chunks)}, Number: i.Row,
		Hash: i.storedHash()}
	if i.Patches != nil {
		row.ChunkCount = i.Old.ChunkCount // the plan need not have read them
	}
	r.Documents, r.Chunks = r.Documents+1, r.Chunks+row.ChunkCount
	r.Packer.sealDetail(&row)
	r.puts = append(r.puts, row.Values())
	for _, name := range slices.Compact(slices.Sorted(slices.Values(row.Sets))) {
		r.setRows = append(r.setRows, []any{i.Row, name})
	}
	for _, g := range i.Groups {
		key, body := g.Sealed(i.Row, row.Hash)
		r.groups = append(r.groups, []any{key, body})
	}
}

// storedHash returns the hash as the row has it: chunks that stay are sealed by that of older versions.
func (i *Item) storedHash() []byte {
	head, chunks := halves(i.Hash)
	if chunks = chunks[:min(len(chunks), storedBytes)]; i.SameText {
		_, chunks = halves(i.Old.Hash)
	}
	return slices.Concat(head[:min(len(head), len(chunks))], chunks)
}

// Flush writes the rows that were added.
func (r *Rows) Flush(tx *sqldb.Tx) {
	sqldb.ExecList(tx, "DELETE FROM document_sets WHERE document IN "+listed, r.gone)
	RemoveChunks(tx, r.retexted...)
	sqldb.ExecList(tx, "DELETE FROM documents WHERE row IN "+listed, r.gone)
	tx.Insert("documents ("+Columns+")", r.puts, "")
	tx.Insert("document_sets (document, name)", r.setRows, "")
	tx.Insert("chunks (key, body)", r.groups, "")
	changeHashes(tx, r.unhashed, r.hashed)
	*r = Rows{Packer: r.Packer, Documents: r.Documents, Chunks: r.Chunks}
}
