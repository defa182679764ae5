package ingest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"quarry/server/index"
)

// threadMessage is a message of a thread or chat. The blocks cover its body, which ends with an empty line.
type threadMessage struct {
	at      time.Time // zero: unknown
	authors []index.Person
	link    string
	body    string
	blocks  []block
}

// threadDocument completes the document of messages: each below its author and time, and, where they are sections, with
// these as heading. Passages link to the message with which they begin.
func (r *fileReader) threadDocument(doc index.Document, messages []threadMessage, sections bool) index.Document {
	var out strings.Builder
	var blocks []block
	var starts []int
	for _, m := range messages {
		start := out.Len()
		starts = append(starts, start)
		title := "Unknown sender"
		if len(m.authors) > 0 {
			title = cmp.Or(m.authors[0].Name, m.authors[0].Email, title)
		}
		out.WriteString("**" + title + "**")
		if !m.at.IsZero() {
			at := " · " + m.at.UTC().Format("2006-01-02 15:04")
			title += at
			out.WriteString(at)
		}
		out.WriteString("\n\n")
		head := block{Kind: kindProse, Start: start, End: out.Len()}
		shift(m.blocks, out.Len())
		out.WriteString(m.body)
		if sections {
			head.Kind, head.Level, head.Title = kindHeading, 1, title
			blocks = append(append(blocks, head), m.blocks...)
		} else {
			blocks = append(blocks,
				block{Kind: kindContainer, Start: start, End: out.Len(), Children: append([]block{head}, m.blocks...)})
		}
		for _, author := range m.authors {
			doc.Authors = addPerson(doc.Authors, author)
		}
		if !m.at.IsZero() {
			if doc.CreatedAt.IsZero() {
				doc.CreatedAt = m.at
			}
			doc.UpdatedAt = m.at
		}
	}
	made := chunked(out.String(), blocks, doc.Title, doc.Link)
	doc.Chunks, doc.Outline = made.chunks, made.outline
	for i := range min(len(doc.Outline), len(messages)) { // one a message, if they are sections
		doc.Outline[i].Link = messages[i].link
	}
	for i := range doc.Chunks {
		at, _ := slices.BinarySearch(starts, made.places[i].Start+1)
		doc.Chunks[i].Link = messages[max(0, at-1)].link
	}
	r.limit(&doc)
	return doc
}

// withoutHeadings turns headings into prose: those of a message do not structure the conversation.
func withoutHeadings(blocks []block) {
	for i := range blocks {
		if blocks[i].Kind == kindHeading {
			blocks[i].Kind = kindProse
		}
		withoutHeadings(blocks[i].Children)
	}
}
