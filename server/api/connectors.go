package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// documentBatch is how many documents are read or updated in one step.
const documentBatch = 1_000

// SyncConnectors updates the stored documents of changed connectors: who may see them, and their document sets. It
// deletes the documents of removed connectors. After an error, the next call continues.
func (s *Server) SyncConnectors(ctx context.Context, tenant string) error {
	if pairs, err := s.Directory.In(ctx, tenant).UnsyncedCCPairs(); err != nil || len(pairs) == 0 {
		return err
	}
	return s.lease(ctx, "connectors of "+tenant,
		func(ctx context.Context) error { return guard.Ended(func() { s.syncConnectors(ctx, tenant) }) })
}

func (s *Server) syncConnectors(ctx context.Context, tenant string) {
	for {
		pairs := must(s.Directory.In(ctx, tenant).UnsyncedCCPairs())
		if len(pairs) == 0 {
			return
		}
		for _, pair := range pairs {
			err := guard.Ended(func() { s.updateDocuments(ctx, tenant, pair) })
			guard.While("change the documents of connector "+pair.Name, err)
			// A pair that was changed in the meantime is not marked, and the next round updates it again.
			must(s.Directory.MarkSynced(ctx, pair))
		}
	}
}

// updateDocuments updates or deletes the documents of a pair.
func (s *Server) updateDocuments(ctx context.Context, tenant string, pair directory.CCPair) {
	documents := must(s.Index(ctx, tenant, false))
	var ids []string
	check(view(ctx, documents, func(snapshot index.Snapshot) (err error) {
		ids, err = snapshot.DocumentIDs(ctx, index.Selector{Origin: pair.Origin()})
		return err
	}))
	access, _ := pair.Terms()
	for batch := range slices.Chunk(ids, documentBatch) {
		if pair.Deleting {
			must(writePosted(ctx, documents, index.Batch{Delete: batch, Cursors: ingest.RefillCursors(),
				Owns: ownedBy(pair)}))
			continue
		}
		must(documents.UpdateAccess(ctx, mapped(batch, func(id string) index.AccessPatch {
			return index.AccessPatch{ID: id, Origin: pair.Origin(), Access: access, Sets: listed(pair.Sets)}
		})))
	}
}

// ownedBy reports whether a document belongs to a pair: another pair may have replaced it since it was listed.
func ownedBy(pair directory.CCPair) func(origin string) bool {
	return func(origin string) bool { return origin == pair.Origin() }
}

// ownedByPosts reports whether a posted document may replace one of that origin, which is unknown if it is damaged.
func ownedByPosts(origin string) bool {
	return origin == index.LostOrigin || directory.IsPosted(origin)
}

// writePosted writes a batch of documents whose ids are the same for everybody.
func writePosted(ctx context.Context, documents index.Index, batch index.Batch) (index.Written, error) {
	new(ingest.Names).AddHashes(&batch)
	return documents.Write(ctx, batch)
}

// post stores a document for a pair. It then reads the pair again, because SyncConnectors may have missed the document
// if the pair was changed in the meantime.
func (c *call) post(document index.Document, pairID int) (written index.Written) {
	pair := must(c.directory.CCPair(pairID))
	documents := must(c.Index(c.ctx, c.who.Tenant, true))
	own := document.Access
	for first := true; ; first = false {
		document.Origin, document.Sets, document.Access = pair.Origin(), pair.Sets, own
		if terms, decided := pair.Terms(); decided {
			document.Access = terms
		}
		now := must(writePosted(c.ctx, documents, index.Batch{Upsert: []index.Document{document}, Owns: ownedByPosts}))
		if first {
			written = now
		}
		again, err := c.directory.CCPair(pairID)
		if errors.Is(err, directory.ErrNotFound) {
			_, gone := writePosted(c.ctx, documents, index.Batch{
				Delete: []string{document.ID}, Cursors: ingest.RefillCursors(), Owns: ownedBy(pair),
			})
			abort(errors.Join(err, gone))
		}
		if check(err); again.Revision == pair.Revision {
			return written
		}
		pair = again
	}
}

// addedTo counts the documents of a set that do not come from a connector.
func (c *call) addedTo(set string) (n int) {
	c.read(func(snapshot index.Snapshot) {
		ids := must(snapshot.DocumentIDs(c.ctx, index.Selector{Set: set}))
		for batch := range slices.Chunk(ids, documentBatch) {
			for _, stored := range must(snapshot.Documents(c.ctx, batch, index.Everything())) {
				if !directory.IsPairOrigin(stored.Origin) {
					n++
				}
			}
		}
	})
	return n
}

// postDocument answers POST /onyx-api/ingestion, once the document can be found.
func postDocument(c *call) any {
	posted := decodeDocument(c.fields)
	connector := c.whole("cc_pair_id", -maxChunkNumber, maxChunkNumber)
	check(c.failure())
	document, err := ingest.FromIngestion(posted, c.Now())
	if err != nil {
		abort(invalid(problem{kind: "value_error", where: []any{"body", "document"},
			text: "Value error, " + err.Error()}))
	}
	c.refuseTaken(document.ID)
	written := c.store(document, posted.ExternalAccess != nil, connector)
	c.Changed(c.who.Tenant)
	return wire.IngestionResponse{DocumentID: document.ID, AlreadyExisted: written.Added == 0}
}

// refuseTaken refuses an id for a posted document that reads as another one's: as the public id or a ref of the
// document of a file, or as a short ref.
func (c *call) refuseTaken(id string) {
	c.read(func(snapshot index.Snapshot) {
		edge := c.edge(snapshot)
		edge.access = index.Everything()
		public, _ := edge.names.Stored(id)
		ofPublic, _, _ := wire.SplitRef(public)
		found := must(snapshot.Documents(c.ctx, []string{id, public, ofPublic}, edge.access))
		if len(found) > 0 && found[0].ID == id {
			return // the document itself, which Write refuses to replace if it is another's
		}
		for _, d := range found {
			if !ownedByPosts(d.Origin) {
				abort(&index.OwnedError{Origins: map[string]string{id: d.Origin}})
			}
		}
		if short, _, isShort := wire.SplitShort(id); isShort && len(must(edge.hashes(short))) > 0 {
			abort(coded("CONFLICT", "The id reads as the short ref of another document; choose another one."))
		}
	})
}

// ingested answers GET /onyx-api/ingestion: the posted documents that the caller may see.
func ingested(c *call) any { return c.postedBy(index.Selector{Posted: true}) }

// ingestedFor answers GET /onyx-api/connector-docs/{id}: those of a connector.
func ingestedFor(c *call, id int) any {
	pair, err := c.directory.CCPair(id)
	if errors.Is(err, directory.ErrNotFound) {
		err = forbidden("Connection not found for current user's permissions")
	}
	check(err)
	return c.postedBy(index.Selector{Origin: pair.Origin()})
}

func (c *call) postedBy(by index.Selector) any {
	return c.view(func(snapshot index.Snapshot) any {
		documents := []wire.IngestedDocument{}
		for batch := range slices.Chunk(must(snapshot.DocumentIDs(c.ctx, by)), documentBatch) {
			for _, d := range must(snapshot.Documents(c.ctx, batch, c.who.Access())) {
				documents = append(documents, wire.IngestedDocument{ID: d.ID, Title: d.Title, Link: orNil(d.Link)})
			}
		}
		return documents
	})
}

// removeIngested answers DELETE /onyx-api/ingestion/{id}. Who may post documents may delete any posted one, seen or
// not.
func removeIngested(c *call) any {
	id := c.PathValue("id")
	documents := must(c.Index(c.ctx, c.who.Tenant, false))
	var stored []index.Stored
	check(view(c.ctx, documents, func(snapshot index.Snapshot) (err error) {
		stored, err = snapshot.Documents(c.ctx, []string{id}, index.Everything())
		return err
	}))
	switch {
	case len(stored) == 0:
		abort(coded("DOCUMENT_NOT_FOUND", "Document not found"))
	case !ownedByPosts(stored[0].Origin):
		abort(coded("VALIDATION_ERROR", "Document was not created via the ingestion API"))
	}
	_, err := writePosted(c.ctx, documents, index.Batch{Delete: []string{id}, Cursors: ingest.RefillCursors(),
		Owns: ownedByPosts})
	check(err)
	return nil
}

// store writes a posted document. Without a connector the document's own access applies, or it is public. A document of
// a synced connector that names nobody is visible to nobody.
func (c *call) store(document index.Document, hasAccess bool, connector *int) index.Written {
	if connector != nil {
		if !hasAccess {
			document.Access = []string{}
		}
		return c.post(document, *connector)
	}
	documents := must(c.Index(c.ctx, c.who.Tenant, true))
	return must(writePosted(c.ctx, documents, index.Batch{Upsert: []index.Document{document}, Owns: ownedByPosts}))
}

// decodeDocument reads the document of an ingestion request.
func decodeDocument(f *fields) (document wire.IngestionDocument) {
	if !f.require("document") {
		return document
	}
	raw := f.raw["document"]
	inner := f.object(raw, "document")
	if inner == nil {
		return document
	}
	if source, ok := inner.given("source"); ok {
		f.enum(source, wire.SourceValues(), "document", "source")
	}
	for _, name := range []string{"sections", "semantic_identifier"} {
		if _, ok := inner.given(name); !ok {
			f.refuse(json.RawMessage("null"), "missing", "Field required", "document", name)
		}
	}
	if len(f.problems) > 0 {
		return document
	}
	if err := wire.Unmarshal(raw, &document); err != nil {
		f.refuse(raw, "value_error", "Value error, "+err.Error(), "document")
	}
	return document
}

func setName(set directory.DocumentSet) string { return set.Name }

// matchSets creates and removes sets to match the documents. It removes a set without documents, unless an added folder
// still puts documents in it and the set is not the removed one: an empty folder must not turn searches of its set into
// errors. It creates a set again when it has documents.
func (w *work) matchSets(removed string) {
	used := must(ingest.Sets(w.ctx, w.documents))
	names := mapped(must(w.directory.DocumentSets()), setName)
	empty := w.emptySets(slices.Concat(names, used))
	for _, name := range used {
		if !slices.Contains(names, name) && !slices.Contains(empty, name) {
			check(w.directory.EnsureDocumentSet(name))
		}
	}
	for _, name := range names {
		if slices.Contains(empty, name) && (name == removed || !slices.Contains(used, name)) {
			check(w.directory.ForgetDocumentSet(name))
		}
	}
}

// emptySets returns those of the named sets that have no documents.
func (w *work) emptySets(names []string) (empty []string) {
	if len(names) == 0 {
		return nil
	}
	snapshot := must(w.documents.Snapshot(w.ctx))
	defer snapshot.Close()
	counts, err := snapshot.Facets(w.ctx, index.Filter{Access: index.Everything()})
	guard.While("count the documents of sets", err)
	nonempty := map[string]bool{}
	for _, set := range counts.Values[field.Set] {
		nonempty[set.Value] = set.Count > 0
	}
	for _, name := range names {
		if nonempty[name] {
			continue
		}
		ids, err := snapshot.DocumentIDs(w.ctx, index.Selector{Set: name}) // hidden ones are not counted
		guard.While(fmt.Sprintf("list the documents of set %q", name), err)
		if len(ids) == 0 {
			empty = append(empty, name)
		}
	}
	return empty
}
