package explorer

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

// fromCitation is what the list says of a passage that was cited.
const fromCitation = "a citation"

// longestCitation is how long a pasted citation is at most, in bytes.
const longestCitation = 2000

// citationIn returns what a text cites, to be located; empty if it is no citation.
func citationIn(text string) string {
	if cited, ok := client.Cited(text); ok && len(text) <= longestCitation {
		return cited
	}
	return ""
}

// openCitation opens the passage that the query cites; one that cites nothing here is searched for.
func (m *Model) openCitation(cited string) tea.Cmd {
	c, query := m.client(), m.box.Query()
	return background(m, &m.search.locating, func(ctx context.Context) (wire.SearchResult, error) {
		return locate(ctx, c, cited)
	}, func(result wire.SearchResult, err error) tea.Cmd {
		switch {
		case m.box.Query() != query:
			return nil
		case err != nil:
			return m.searchSubmitted(query)
		}
		m.leavePage()
		m.showFound([]wire.SearchResult{result}, fromCitation)
		m.answer.completed[result.Ref] = true // it is whole
		m.panels, m.focus, m.reader = nil, InReader, m.compare.following
		return nil
	})
}

// locate returns the passage of a citation, or the beginning of the document.
func locate(ctx context.Context, c *client.Client, cited string) (wire.SearchResult, error) {
	refs, fragment := client.Spellings(cited)
	at, err := c.Find(ctx, refs)
	if err != nil {
		return wire.SearchResult{}, err
	}
	if heading := slices.IndexFunc(at.Document.Outline, func(h wire.OutlineHeading) bool {
		return fragment != "" && text.Slug(h.Text) == fragment
	}); heading >= 0 && !at.IsPart {
		at.First = at.Document.Outline[heading].ChunkInd
	}
	found, err := c.Chunks(ctx, at.Document.ID, at.First, at.First, "")
	if err != nil {
		return wire.SearchResult{}, err
	}
	d, number := found.Document, 1
	result := wire.SearchResult{CitationID: &number, DocumentID: d.ID, Ref: d.ID + "#" + strconv.Itoa(at.First),
		Title: d.Title, Link: d.Link, SourceType: d.SourceType, UpdatedAt: d.UpdatedAt, Authors: d.Authors,
		ChunkInd: at.First, ChunkStart: at.First, ChunkEnd: at.First, ChunkCount: d.ChunkCount, Selected: true}
	if at.IsPart {
		result.Citation = cited
	}
	if file := strings.LastIndexByte(cited, ':'); file > 0 && !strings.Contains(cited, "://") {
		result.Place = strings.TrimPrefix(path.Dir(cited[:file]), ".")
	}
	for _, chunk := range found.Chunks {
		result.Content, result.HeadingPath, result.Lines = chunk.Text(), chunk.HeadingPath, chunk.Lines
		if lines := chunk.SpanOfLines(client.CitedLines(cited)); lines[1] > 0 {
			result.Highlights, result.BestPassage = []wire.Span{lines}, lines
		}
	}
	return result, nil
}
