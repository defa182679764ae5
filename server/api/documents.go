package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/pipeline"
)

const (
	documentNotFound = "Document not found"
	chunkNotFound    = "Chunk not found"
	maxDocumentID    = 4096 // runes
	maxChunkNumber   = 1 << 30
)

// documentID reads the id that a request names.
func documentID(f *fields) string {
	if !f.require("document_id") {
		return ""
	}
	return f.text(f.raw["document_id"], 1, maxDocumentID, "document_id")
}

// stored describes a document that the caller may see; any other is a 404.
func stored(ctx context.Context, snapshot index.Snapshot, id string, access index.Access) (index.Stored, error) {
	found, err := snapshot.Documents(ctx, []string{id}, access)
	if err != nil {
		return index.Stored{}, err
	}
	switch {
	case len(found) == 0:
		return index.Stored{}, detailed(http.StatusNotFound, documentNotFound)
	case found[0].Damaged:
		return index.Stored{}, damagedDocument()
	}
	return found[0], nil
}

// damagedDocument is the answer for a document, or a chunk of one, that is stored and cannot be read.
func damagedDocument() failure {
	return coded(http.StatusInternalServerError, wire.CodeDocumentDamaged,
		"The document is damaged: it is stored, but cannot be read.")
}

// readChunks reads chunks from to to of a document that the caller may see.
func readChunks(ctx context.Context, snapshot index.Snapshot, id string, from, to int, access index.Access) (
	[]index.Chunk, error) {
	chunks, err := snapshot.Chunks(ctx, id, from, to, access)
	if errors.Is(err, index.ErrNotFound) {
		return nil, detailed(http.StatusNotFound, documentNotFound)
	}
	return chunks, err
}

// documentChunks answers GET /document/chunks: a stretch of a document, and what is known of the whole.
func (s *Server) documentChunks(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := queryFields(r.URL.Query())
	id := documentID(f)
	from := f.wholeOr("from", 0, 0, maxChunkNumber)
	to := f.wholeOr("to", from+wire.MaxChunksPerRequest-1, 0, maxChunkNumber)
	switch {
	case to < from:
		f.refuse(f.raw["to"], "value_error", "Value error, to must not be less than from", "to")
	case to-from >= wire.MaxChunksPerRequest:
		f.refuse(f.raw["to"], "value_error", "Value error, at most "+
			plural(wire.MaxChunksPerRequest, "chunk")+" can be read at once", "to")
	}
	if err := f.failure(); err != nil {
		return err
	}
	return s.reading(r.Context(), who, func(snapshot index.Snapshot) error {
		document, err := stored(r.Context(), snapshot, id, who.Access())
		if err != nil {
			return err
		}
		answered := wire.DocumentChunks{Document: describe(document, !isListener(r.Context())), Chunks: []wire.Chunk{}}
		if from < document.ChunkCount {
			chunks, err := readChunks(r.Context(), snapshot, id, from, to, who.Access())
			if err != nil {
				return err
			}
			for i, c := range chunks {
				answered.Chunks = append(answered.Chunks, wire.Chunk{
					ChunkInd: from + i, Content: c.Text, HeadingPath: append([]string{}, c.Headings...), Damaged: c.Damaged,
				})
			}
		}
		return answer(w, answered)
	})
}

// describe is what the API tells of a document. Files are linked to for who is at their machine.
func describe(document index.Stored, files bool) wire.DocumentInfo {
	info := wire.DocumentInfo{
		ID: document.ID, Title: document.Title, SourceType: document.Source, UpdatedAt: timestamp(document.UpdatedAt),
		Authors: []string{}, ChunkCount: document.ChunkCount, Outline: []wire.OutlineHeading{},
	}
	info.Link = pipeline.Link(files, document.Link)
	for _, author := range document.Authors {
		info.Authors = append(info.Authors, author.Display())
	}
	for _, h := range document.Outline {
		info.Outline = append(info.Outline, wire.OutlineHeading{Level: h.Level, Text: h.Text, ChunkInd: h.Chunk})
	}
	return info
}

// timestamp writes a time for the API; nil for none.
func timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := directory.Timestamp(t)
	return &text
}

// documentSize answers GET /document/document-size-info.
func (s *Server) documentSize(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := queryFields(r.URL.Query())
	id := documentID(f)
	if err := f.failure(); err != nil {
		return err
	}
	return s.reading(r.Context(), who, func(snapshot index.Snapshot) error {
		document, err := stored(r.Context(), snapshot, id, who.Access())
		if err != nil {
			return err
		}
		size := wire.DocumentSize{NumChunks: document.ChunkCount}
		for from := 0; from < document.ChunkCount; from += wire.MaxChunksPerRequest {
			chunks, err := readChunks(r.Context(), snapshot, id, from, from+wire.MaxChunksPerRequest-1, who.Access())
			if err != nil {
				return err
			}
			for _, c := range chunks {
				size.NumTokens += text.EstimateTokens(c.Text)
			}
		}
		return answer(w, size)
	})
}

// chunkInfo answers GET /document/chunk-info: one chunk.
func (s *Server) chunkInfo(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := queryFields(r.URL.Query())
	id := documentID(f)
	number := 0
	if f.require("chunk_id") {
		number = f.wholeOr("chunk_id", 0, -maxChunkNumber, maxChunkNumber)
	}
	if err := f.failure(); err != nil {
		return err
	}
	return s.reading(r.Context(), who, func(snapshot index.Snapshot) error {
		if number < 0 {
			return detailed(http.StatusNotFound, chunkNotFound)
		}
		chunks, err := snapshot.Chunks(r.Context(), id, number, number, who.Access())
		switch {
		case errors.Is(err, index.ErrDamaged) || len(chunks) > 0 && chunks[0].Damaged:
			return damagedDocument()
		case err != nil && !errors.Is(err, index.ErrNotFound):
			return err
		case len(chunks) == 0:
			return detailed(http.StatusNotFound, chunkNotFound)
		}
		return answer(w, wire.ChunkInfo{Content: chunks[0].Text, NumTokens: text.EstimateTokens(chunks[0].Text)})
	})
}
