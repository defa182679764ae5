package api

import (
	"context"
	"net/http"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/language"
	"quarry/server/pipeline"
)

const (
	documentNotFound = "Document not found"
	chunkNotFound    = "Chunk not found"
	maxDocumentID    = 4096 // runes
	maxChunkNumber   = 1 << 30
)

// documentID reads the id that a request names.
func (f *fields) documentID() string { return f.requireText("document_id", 1, maxDocumentID) }

// viewDocument is view of the document that a request names by its id, a short ref, an address or a citation, which
// also says the passage.
func (c *call) viewDocument(named string, do func(edge, index.Stored, *int) any) any {
	return c.view(func(snapshot index.Snapshot) any {
		edge := c.edge(snapshot)
		document, passage, err := edge.cited(named)
		check(err)
		return do(edge, document, passage)
	})
}

// stored returns a document that the caller may see; for any other the error is a 404.
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

// damagedDocument is the answer for a document or chunk that is stored but cannot be read.
func damagedDocument() failure {
	return coded(wire.CodeDocumentDamaged, "The document is damaged: it is stored, but cannot be read.")
}

// readChunks reads chunks from to to of a document that was described.
func (e edge) readChunks(id string, from, to int) ([]index.Chunk, error) {
	texts, err := e.snapshot.Texts(e.ctx, []index.Range{{DocumentID: id, From: from, To: to}}, e.access)
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// documentChunks answers GET /document/chunks: a range of chunks, and a description of the document. With a query, what
// it matches is marked.
func documentChunks(c *call) any {
	id := c.documentID()
	from := c.wholeOr("from", 0, 0, maxChunkNumber)
	to := c.wholeOr("to", from+wire.MaxChunksPerRequest-1, 0, maxChunkNumber)
	query := c.textOf("query", wire.MaxQueryRunes)
	switch {
	case to < from:
		c.refuse(c.raw["to"], "value_error", "Value error, to must not be less than from", "to")
	case to-from >= wire.MaxChunksPerRequest:
		c.refuse(c.raw["to"], "value_error", "Value error, at most "+
			plural(wire.MaxChunksPerRequest, "chunk")+" can be read at once", "to")
	}
	return c.viewDocument(id, func(edge edge, document index.Stored, passage *int) any {
		answer := wire.DocumentChunks{Document: describe(document, edge), Passage: passage, Chunks: []wire.Chunk{}}
		if from >= document.ChunkCount {
			return answer
		}
		c.openings.add(c.who.Tenant, document.ID)
		chunks := must(edge.readChunks(document.ID, from, to))
		var found index.Result
		if query != "" { // of no passages: only for its words, as they match
			found = must(edge.snapshot.Search(c.ctx, index.Query{Text: query, PrefixIfUnknown: true,
				Filter: index.Filter{Access: c.who.Access()}}))
		}
		for i, chunk := range chunks {
			one := wire.Chunk{ChunkInd: from + i, Content: chunk.Text, HeadingPath: listed(chunk.Headings),
				Damaged: chunk.Damaged}
			if from+i < len(document.Positions) {
				at := document.Positions[from+i]
				one.Lines, one.Bytes = []int{at.FirstLine, at.LastLine}, []int{at.Start, at.End}
			}
			if found.Highlighter != nil {
				spoken := index.InLanguage(language.OfChunk(chunk.Text, document.Language, document.ChunkCount))
				marks, _ := found.Highlighter.Highlight(chunk.Text, spoken, [2]int{})
				one.Highlights = mapped(marks, func(at [2]int) wire.Span { return at })
			}
			answer.Chunks = append(answer.Chunks, one)
		}
		return answer
	})
}

// describe describes a document.
func describe(document index.Stored, edge edge) wire.DocumentInfo {
	return wire.DocumentInfo{
		ID: edge.id(document.ID), Title: document.Title, Link: pipeline.Link(edge.owner, document.Link),
		SourceType: document.Source,
		UpdatedAt:  directory.TimestampOrNil(document.UpdatedAt),
		Authors:    mapped(document.Authors, index.Person.Display), ChunkCount: document.ChunkCount,
		Outline: mapped(document.Outline, func(h index.Heading) wire.OutlineHeading {
			return wire.OutlineHeading{Level: h.Level, Text: h.Text, ChunkInd: h.Chunk}
		}),
	}
}

// documentSize answers GET /document/document-size-info.
func documentSize(c *call) any {
	return c.viewDocument(c.documentID(), func(edge edge, document index.Stored, _ *int) any {
		size := wire.DocumentSize{NumChunks: document.ChunkCount}
		for from := 0; from < document.ChunkCount; from += wire.MaxChunksPerRequest {
			for _, chunk := range must(edge.readChunks(document.ID, from, from+wire.MaxChunksPerRequest-1)) {
				size.NumTokens += text.EstimateTokens(chunk.Text)
			}
		}
		return size
	})
}

// chunkInfo answers GET /document/chunk-info: one chunk. A document that is not found is a chunk that is not.
func chunkInfo(c *call) any {
	info, err := guard.Result(func() any { return viewChunk(c) })
	if statusOf(err) == http.StatusNotFound {
		err = detailed(http.StatusNotFound, chunkNotFound)
	}
	return must(info, err)
}

func viewChunk(c *call) any {
	id := c.documentID()
	c.require("chunk_id")
	number := c.wholeOr("chunk_id", 0, -maxChunkNumber, maxChunkNumber)
	return c.viewDocument(id, func(edge edge, document index.Stored, _ *int) any {
		chunks := must(edge.readChunks(document.ID, number, number))
		switch {
		case len(chunks) == 0:
			abort(detailed(http.StatusNotFound, chunkNotFound))
		case chunks[0].Damaged:
			abort(damagedDocument())
		}
		return wire.ChunkInfo{Content: chunks[0].Text, NumTokens: text.EstimateTokens(chunks[0].Text)}
	})
}
