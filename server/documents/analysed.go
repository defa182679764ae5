package documents

import (
	"context"
	"runtime"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// analyse returns documents as they are searched, packed, in their order, so that a search need not analyse its
// candidates.
func (s *Store) analyse(ctx context.Context, list []index.Document) [][]byte {
	all := make([][]byte, len(list))
	group, within := guard.NewGroup(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range list {
		group.Run(func() {
			guard.Check(within.Err())
			data := guard.Must(segment.Of(&list[i]))
			if len(data) > MaxUnpacked {
				data = nil // a search analyses it
			}
			// With a dictionary, reading takes twice the time.
			all[i] = guard.Must(s.Packer.packWith(s.Packer.plain, data))
		})
	}
	guard.While("analyse the documents", group.Wait())
	return all
}

// putAnalysed stores rows: the numbers of a document's row and of its change, and what analyse returned.
func putAnalysed(tx *sqldb.Tx, rows [][]any) {
	tx.Insert("analysed (document, changed, body)", rows,
		" ON CONFLICT (document) DO UPDATE SET changed = excluded.changed, body = excluded.body")
}

// Analysed returns documents as segments, packed, by id. Those that are not stored so are missing.
func (s *Snapshot) Analysed(ctx context.Context, ids []string) (found map[string][]byte, err error) {
	err = s.locked(ctx, func(from *Reader) {
		found = sqldb.MapOf[string, []byte](from.Source, `SELECT documents.id, body FROM documents
			JOIN changes ON changes.document = documents.row
			JOIN analysed ON analysed.document = documents.row AND analysed.changed = changes.number
			WHERE documents.id IN (SELECT value FROM json_each(?))`, sqldb.JSON{V: ids})
	})
	return found, err
}

// Segment opens what Analysed returned.
func (s *Store) Segment(id string, packed []byte) (*segment.Reader, error) {
	data, err := s.Packer.Unpack(packed)
	if err != nil {
		return nil, err
	}
	return segment.Open(id, data)
}
