package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// ingest answers POST /onyx-api/ingestion: the document can be found when the answer comes.
func (s *Server) ingest(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	posted := decodeDocument(f)
	connector := f.whole("cc_pair_id", -maxChunkNumber, maxChunkNumber)
	if err := f.failure(); err != nil {
		return err
	}
	if connector != nil {
		return coded(http.StatusNotFound, "CONNECTOR_NOT_FOUND", "Connector-credential pair %d not found", *connector)
	}
	document, err := ingest.FromIngestion(posted, s.Now())
	if err != nil {
		return invalid(problem{kind: "value_error", where: []any{"body", "document"}, text: "Value error, " + err.Error()})
	}
	documents, err := s.Index(r.Context(), who.Tenant, true)
	if err != nil {
		return err
	}
	written, err := documents.Write(r.Context(), index.Batch{Upsert: []index.Document{document}})
	if err != nil {
		return err
	}
	return answer(w, wire.IngestionResponse{DocumentID: document.ID, AlreadyExisted: written.Added == 0})
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
	if err := json.Unmarshal(raw, &document); err != nil {
		f.refuse(raw, "value_error", "Value error, "+strings.TrimPrefix(err.Error(), "json: "), "document")
	}
	return document
}
