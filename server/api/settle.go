package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// settleBatch is how many documents follow their connector in one step.
const settleBatch = 1_000

// Settle brings the stored documents of a tenant in step with the connectors that changed: who may see them, and what
// sets they are in. The documents of connectors that were removed go. What is broken off goes on with the next call.
func (s *Server) Settle(ctx context.Context, tenant string) error {
	d, err := s.Directory(ctx, false)
	if err != nil {
		return err
	}
	for {
		pairs, err := d.Unsettled(ctx, tenant)
		if err != nil || len(pairs) == 0 {
			return err
		}
		for _, pair := range pairs {
			if err := s.follow(ctx, tenant, pair); err != nil {
				return fmt.Errorf("change the documents of connector %s: %w", pair.Name, err)
			}
			// Whoever changes the pair meanwhile leaves it unsettled, so that the next round sees it again.
			if _, err := d.Settled(ctx, pair); err != nil {
				return err
			}
		}
	}
}

// follow makes the documents of a pair what it says.
func (s *Server) follow(ctx context.Context, tenant string, pair directory.CCPair) error {
	documents, err := s.Index(ctx, tenant, false)
	if err != nil {
		return err
	}
	var ids []string
	err = view(ctx, documents, func(snapshot index.Snapshot) (err error) {
		ids, err = snapshot.DocumentIDs(ctx, index.Selector{Origin: pair.Origin()})
		return err
	})
	if err != nil {
		return err
	}
	access, _ := pair.Terms()
	for some := range slices.Chunk(ids, settleBatch) {
		if pair.Deleting {
			_, err = documents.Write(ctx, index.Batch{Delete: some, Cursors: ingest.RefillCursors(), Owns: ownedBy(pair)})
		} else {
			_, err = documents.UpdateAccess(ctx, mapped(some, func(id string) index.AccessPatch {
				return index.AccessPatch{ID: id, Origin: pair.Origin(), Access: access, Sets: listed(pair.Sets)}
			}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownedBy returns the test for the documents of a pair. Another one may have taken one over since they were listed.
func ownedBy(pair directory.CCPair) func(origin string) bool {
	return func(origin string) bool { return origin == pair.Origin() }
}

// ownedByPosts reports whether a posted document may replace one with that origin; a damaged one may have been posted.
func ownedByPosts(origin string) bool {
	return origin == index.LostOrigin || directory.IsPosted(origin)
}

// post stores a document for a pair. It looks at the pair again afterwards: a change that was made meanwhile may have
// passed the document by.
func (s *Server) post(ctx context.Context, who directory.Principal, document index.Document, pairID int) (
	written index.Written, err error) {
	d, err := s.Directory(ctx, false)
	if err != nil {
		return written, err
	}
	pair, err := d.CCPair(ctx, who.Tenant, pairID)
	if err != nil {
		return written, err
	}
	documents, err := s.Index(ctx, who.Tenant, true)
	if err != nil {
		return written, err
	}
	own := document.Access
	for first := true; ; first = false {
		document.Origin, document.Sets, document.Access = pair.Origin(), pair.Sets, own
		if terms, decided := pair.Terms(); decided {
			document.Access = terms
		}
		now, err := documents.Write(ctx, index.Batch{Upsert: []index.Document{document}, Owns: ownedByPosts})
		if err != nil {
			return written, err
		}
		if first {
			written = now
		}
		again, err := d.CCPair(ctx, who.Tenant, pairID)
		if errors.Is(err, directory.ErrNotFound) {
			_, gone := documents.Write(ctx, index.Batch{
				Delete: []string{document.ID}, Cursors: ingest.RefillCursors(), Owns: ownedBy(pair),
			})
			return written, errors.Join(err, gone)
		}
		if err != nil || again.Revision == pair.Revision {
			return written, err
		}
		pair = again
	}
}

// removeDocumentSet ends a document set; its documents stay. One that added files are in is refused: the next sync would
// make it again.
func (s *Server) removeDocumentSet(d *directory.Directory, ctx context.Context, tenant, name string) error {
	added, err := s.addedTo(ctx, tenant, name)
	if err != nil {
		return err
	}
	if added > 0 {
		return directory.InputError{Reason: fmt.Sprintf("%s that were added are in document set %q; remove them with "+
			"quarry remove --set, and it goes with them", plural(added, "document"), name)}
	}
	return d.RemoveDocumentSet(ctx, tenant, name)
}

// addedTo counts the documents of a set that no connector brought.
func (s *Server) addedTo(ctx context.Context, tenant, set string) (n int, err error) {
	err = s.reading(ctx, tenant, func(snapshot index.Snapshot) error {
		ids, err := snapshot.DocumentIDs(ctx, index.Selector{Set: set})
		for some := range slices.Chunk(ids, settleBatch) {
			stored, err := snapshot.Documents(ctx, some, index.Access{All: true})
			if err != nil {
				return err
			}
			for i := range stored {
				if !directory.IsPairOrigin(stored[i].Origin) {
					n++
				}
			}
		}
		return err
	})
	return n, err
}
