// Package reader is the pane that shows one search result: rendered Markdown with highlighted matches, and the chunks
// around it once they were fetched. It does no I/O and starts no goroutines: Want and RenderJob return the work to do,
// and Add, SetWhole and Apply take the results.
package reader

import (
	"crypto/sha256"
	"fmt"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Document is a search result, as far as the server described it.
type Document struct {
	Title     string
	Source    string // source type, like "google_drive"
	UpdatedAt string // ISO 8601; empty when unknown
	Authors   []string
	Link      string
	// HeadingPath lists the headings above the passage, outermost first.
	HeadingPath []string

	Content    string      // Markdown
	Highlights []wire.Span // bytes of Content that match the query
	Words      []string    // highlighted in fetched chunks, and in Content if Highlights is empty

	ChunkStart int // first chunk in Content
	ChunkEnd   int // last chunk in Content, inclusive
	ChunkCount int // of the document; 0 when unknown

	CanExpand bool   // the server can send the chunks around the passage
	WhyNot    string // why it cannot, in a few words
	FileLinks bool   // links to files may be opened, because the library is on this machine
}

// OfResult returns the document for a search result. words are highlighted if the server sent no highlights. whyNot is
// the reason why the chunks around the result cannot be fetched, or empty.
func OfResult(r wire.SearchResult, words []string, whyNot string) Document {
	d := Document{
		Title: r.Title, Source: r.SourceType, Authors: r.Authors,
		HeadingPath: r.HeadingPath, Content: r.Content, Highlights: r.Highlights, Words: words,
		ChunkStart: r.ChunkStart, ChunkEnd: r.ChunkEnd, ChunkCount: r.ChunkCount,
		CanExpand: whyNot == "", WhyNot: whyNot,
	}
	if r.UpdatedAt != nil {
		d.UpdatedAt = *r.UpdatedAt
	}
	if r.Link != nil {
		d.Link = *r.Link
	}
	return d
}

// unit is a text that is rendered by itself: a passage, a chunk, or a part of one that is too large to render at once.
type unit struct {
	id    contentID
	text  string // cleaned for the screen; all offsets refer to it
	spans []wire.Span
	first int // chunks that it belongs to
	last  int
	files bool // its links to files may be opened
}

// contentID is a hash of a text and its highlights.
type contentID [16]byte

// maxUnit is the size of the largest unit in bytes.
const maxUnit = 16 << 10

// unitsOf cleans a text for the screen and splits it into units. It highlights words if spans is empty.
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
