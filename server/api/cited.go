package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest"
)

// maxLinked bounds the documents that are looked at for one link.
const maxLinked = 50

// cited returns the document that a caller names by its id, its address or a citation, and the passage at the
// citation's line or page: nil if it has none. What the caller may not see is the same 404 as what does not exist.
func (e edge) cited(sent string) (document index.Stored, passage *int, err error) {
	id := e.stored(sent)
	if document, err = stored(e.ctx, e.snapshot, id, e.access); statusOf(err) != http.StatusNotFound {
		return document, nil, err
	}
	address := cmp.Or(messageIn(sent), sent)
	if document, passage, err = e.linked(address, err); statusOf(err) != http.StatusNotFound {
		return document, passage, err
	}
	if !strings.Contains(sent, "://") {
		return e.citedAt(id)
	}
	for _, file := range e.names.Permalinked(sent) {
		if found, passage, fileErr := e.citedAt(file); fileErr == nil {
			return found, passage, nil
		}
	}
	return document, nil, err
}

// citedAt returns the document with an id, which a line or a page may follow, and the passage there.
func (e edge) citedAt(id string) (document index.Stored, passage *int, err error) {
	document, err = stored(e.ctx, e.snapshot, id, e.access)
	if cut := strings.LastIndexAny(id, ":#"); statusOf(err) == http.StatusNotFound && cut > 0 {
		cited, citedErr := stored(e.ctx, e.snapshot, id[:cut], e.access)
		if passage = passageAt(cited, id[cut:]); citedErr == nil && passage != nil {
			return cited, passage, nil
		}
		line, lineErr := strconv.Atoi(id[cut+1:])
		if id[cut] == ':' && lineErr == nil && citedErr == nil && len(cited.Positions) > 0 {
			err = detailed(http.StatusNotFound, fmt.Sprintf("The document has no line %d: it ends at line %d", line,
				cited.Positions[len(cited.Positions)-1].LastLine))
		}
	}
	return document, nil, err
}

// messageIn returns the link of the message that a caller names by its id, as mid:ID, <ID> or bare; else "".
func messageIn(sent string) string {
	id := strings.TrimSuffix(strings.TrimPrefix(sent, "<"), ">")
	if escaped, isAddress := strings.CutPrefix(sent, wire.MessageScheme); isAddress {
		id, _ = url.PathUnescape(escaped)
	}
	if !strings.Contains(id, "@") || strings.ContainsFunc(id, unicode.IsSpace) || strings.Contains(id, "://") {
		return ""
	}
	return wire.MessageScheme + url.PathEscape(id)
}

// linked returns the document that an address belongs to, and the passage that it names, or the error that is given if
// the caller sees none.
func (e edge) linked(address string, absent error) (index.Stored, *int, error) {
	ids, err := e.snapshot.DocumentIDs(e.ctx, index.Selector{Link: address})
	if err != nil {
		return index.Stored{}, nil, err
	}
	inside, err := ingest.CitedIn(e.ctx, e.documents, address)
	if err != nil {
		return index.Stored{}, nil, err
	}
	ids = append(ids, inside...)
	for _, id := range ids[:min(len(ids), maxLinked)] {
		if document, err := stored(e.ctx, e.snapshot, id, e.access); err == nil {
			return document, e.passageBy(document, address), nil
		}
	}
	return index.Stored{}, nil, absent
}

// passageBy returns the first passage of a document that an address leads to; nil if the whole document is meant.
func (e edge) passageBy(document index.Stored, address string) *int {
	if document.Link == address {
		return nil
	}
	leads := func(h index.Heading) bool { return h.Link == address }
	if at := slices.IndexFunc(document.Outline, leads); at >= 0 {
		return &document.Outline[at].Chunk
	}
	chunks, _ := e.readChunks(document.ID, 0, document.ChunkCount)
	if at := slices.IndexFunc(chunks, func(c index.Chunk) bool { return c.Link == address }); at >= 0 {
		return &at
	}
	return nil
}

// passageAt returns the passage of a document at the end of a citation, such as :112 or #page=3; nil if there is none.
func passageAt(document index.Stored, end string) *int {
	if page, isPage := strings.CutPrefix(end, "#page="); isPage {
		at := slices.IndexFunc(document.Outline, func(h index.Heading) bool { return h.Text == "Page "+page })
		if at < 0 {
			return nil
		}
		return &document.Outline[at].Chunk
	}
	line, err := strconv.Atoi(strings.TrimPrefix(end, ":"))
	if err != nil {
		return nil
	}
	// A line between two passages is empty: the passage before it is meant.
	at, found := slices.BinarySearchFunc(document.Positions, line,
		func(p index.Position, line int) int { return p.FirstLine - line })
	if !found {
		at--
	}
	if at < 0 || line > document.Positions[len(document.Positions)-1].LastLine {
		return nil
	}
	return &at
}
