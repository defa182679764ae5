package api

import (
	"context"
	"encoding/json"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// ingest answers POST /onyx-api/ingestion, once the document can be found.
func (s *Server) ingest(c *call) (any, error) {
	posted := decodeDocument(c.fields)
	connector := c.whole("cc_pair_id", -maxChunkNumber, maxChunkNumber)
	if err := c.failure(); err != nil {
		return nil, err
	}
	document, err := ingest.FromIngestion(posted, s.Now())
	if err != nil {
		return nil, invalid(problem{kind: "value_error", where: []any{"body", "document"}, text: "Value error, " + err.Error()})
	}
	written, err := s.store(c.Context(), c.who, document, posted.ExternalAccess != nil, connector)
	if err != nil {
		return nil, err
	}
	s.changed(c.who.Tenant)
	return wire.IngestionResponse{DocumentID: document.ID, AlreadyExisted: written.Added == 0}, nil
}

// store writes a posted document. Without a connector the document's own access applies, or it is public. A document of a
// synced connector that names nobody is visible to nobody.
func (s *Server) store(ctx context.Context, who directory.Principal, document index.Document, hasAccess bool,
	connector *int) (index.Written, error) {
	if connector != nil {
		if !hasAccess {
			document.Access = []string{}
		}
		return s.post(ctx, who, document, *connector)
	}
	documents, err := s.Index(ctx, who.Tenant, true)
	if err != nil {
		return index.Written{}, err
	}
	return documents.Write(ctx, index.Batch{Upsert: []index.Document{document}, Owns: ownedByPosts})
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
		f.enum(source, sourceValues(), "document", "source")
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
		f.refuse(raw, "value_error", "Value error, "+strings.TrimPrefix(err.Error(), "json: "), "document")
	}
	return document
}
