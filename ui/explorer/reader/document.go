// Package reader shows one passage as a document that reads well: rendered Markdown with the query's words marked, the
// chunks around it when they were fetched, and always the place that the person was looking at. It does nothing by
// itself: fetching and the slow part of rendering are handed out as values and come back as values.
package reader

import (
	"crypto/sha256"
	"fmt"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Document is what the reader shows: a search result, as far as the server told about it.
type Document struct {
	Ref        string // of the passage
	DocumentID string
	Title      string
	Source     string // source type, like "google_drive"
	UpdatedAt  string // ISO 8601; empty when unknown
	Authors    []string
	Link       string
	// HeadingPath holds the headings that the passage stands under, outermost first.
	HeadingPath []string

	Content    string      // Markdown
	Highlights []wire.Span // bytes of Content that match the query
	Words      []string    // looked for where there are no highlights, and in fetched chunks

	Chunk      int // the chunk that matched, from 0
	ChunkStart int // first chunk in Content
	ChunkEnd   int // last chunk in Content, inclusive
	ChunkCount int // of the document; 0 when unknown
	Citation   int // number in the list; 0 for none

	CanExpand bool   // the server can give the chunks around the passage
	WhyNot    string // the reason why it cannot, in a few words
	FileLinks bool   // links to files may be opened: the document is of a library on this machine
}

// OfResult makes the document of a search result. words are looked for where the server sent no highlights; whyNot says
// why the chunks around it cannot be fetched, and is empty when they can.
func OfResult(r wire.SearchResult, words []string, whyNot string) Document {
	d := Document{
		Ref: r.Ref, DocumentID: r.DocumentID, Title: r.Title, Source: r.SourceType, Authors: r.Authors,
		HeadingPath: r.HeadingPath, Content: r.Content, Highlights: r.Highlights, Words: words,
		Chunk: r.ChunkInd, ChunkStart: r.ChunkStart, ChunkEnd: r.ChunkEnd, ChunkCount: r.ChunkCount,
		CanExpand: whyNot == "", WhyNot: whyNot,
	}
	if r.UpdatedAt != nil {
		d.UpdatedAt = *r.UpdatedAt
	}
	if r.Link != nil {
		d.Link = *r.Link
	}
	if r.CitationID != nil {
		d.Citation = *r.CitationID
	}
	return d
}

// unit is a piece of text that is laid out and rendered by itself: a passage, a chunk, or a part of one that is too
// large to be rendered at once.
type unit struct {
	id    contentID
	text  string // painted: its offsets are those of everything below
	spans []wire.Span
	first int // chunks that it comes from
	last  int
	files bool // its links to files may be opened
}

// contentID stands for a text and its highlights.
type contentID [16]byte

// maxUnit is the largest text, in bytes, that is rendered in one go.
const maxUnit = 16 << 10

// unitsOf cleans a text for the screen and splits it into units. Where there are no highlights, words are looked for.
func unitsOf(content string, spans []wire.Span, words []string, from unit) []unit {
	content, spans = client.SanitizeSpans(content, spans...)
	if len(spans) == 0 {
		spans = passage.FindWords(content, words)
	}
	content, spans = paint.TextSpans(content, spans)
	var units []unit
	for _, piece := range pieces(content, maxUnit) {
		u := from
		u.text = content[piece.Start:piece.End]
		u.spans = paint.SpansWithin(spans, piece)
		u.id = identify(u)
		units = append(units, u)
	}
	return units
}

func identify(u unit) contentID {
	hash := sha256.New()
	fmt.Fprintln(hash, len(u.text), u.files, u.spans)
	hash.Write([]byte(u.text))
	return contentID(hash.Sum(nil)[:16])
}
