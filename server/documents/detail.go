package documents

import (
	"encoding/binary"
	"slices"
	"strings"

	"quarry/internal/guard"
	"quarry/server/index"
)

// optional are the fields of a detail that older versions did not store, in the order in which versions added them.
// Those behind the last one that a document has are not stored.
func optional(c codec, d *index.Document) []optionalField {
	return []optionalField{
		{len(d.Positions) > 0, func() { positions(c, d) }},
		{d.Secondary > 0, func() { c.number(&d.Secondary) }},
		{d.Language != "", func() { c.text(&d.Language) }},
		{d.Untitled, func() { c.flag(&d.Untitled) }},
		{d.Place != "", func() { c.text(&d.Place) }},
		{d.Permalink != "", func() { c.text(&d.Permalink) }},
		{hasLinks(d), func() { headingLinks(c, d) }},
	}
}

func hasLinks(d *index.Document) bool {
	return slices.ContainsFunc(d.Outline, func(h index.Heading) bool { return h.Link != "" })
}

// headingLinks applies a codec to the links of a document's headings.
func headingLinks(c codec, d *index.Document) {
	for i := range d.Outline {
		c.text(&d.Outline[i].Link)
	}
}

type optionalField struct {
	has   bool
	apply func()
}

// sealDetail sets the detail of a row, whose other columns are set: what is stored of the document beside them and its
// chunks.
func (p *Packer) sealDetail(row *Row) {
	packed, used := p.packDetail(&row.Document)
	short := p.names.abbreviate
	row.names = used
	row.short = [...]string{short(row.Source), short(row.Origin), short(row.Type), p.names.abbreviateLink(row.Link)}
	if file, ok := fileOf(row.ID); ok && file == row.Origin {
		row.short[1] = row.Origin // it is left to the id
		if row.Link == "file://"+file {
			row.short[3] = row.Link
		}
	} else if strings.HasPrefix(row.Origin, "cc_pair:") {
		row.short[1] = row.Origin // documents are selected by how it begins
	}
	row.Detail = Seal(packed, p.sealKey(row))
}

// packDetail returns what is stored beside columns and chunks, and the names in it.
func (p *Packer) packDetail(document *index.Document) (packed []byte, used []*name) {
	to := encoder{names: &p.names}
	if wholeDetail(&to, document); len(to.used) == 0 {
		to = encoder{}
		wholeDetail(&to, document)
		return guard.Must(p.Pack(to.data)), nil
	}
	packed = appendLength([]byte{packedNames}, len(to.used))
	for _, one := range to.used {
		packed = appendLength(packed, int(one.number-firstName))
	}
	return append(packed, guard.Must(p.Pack(to.data))...), to.used
}

// wholeDetail writes the detail of a document.
func wholeDetail(to *encoder, document *index.Document) {
	detail(to, document)
	fields := optional(to, document)
	for len(fields) > 0 && !fields[len(fields)-1].has {
		fields = fields[:len(fields)-1]
	}
	for _, field := range fields {
		field.apply()
	}
}

// namesIn returns the names of a packed detail, and the packed value behind. It aborts with ErrPacked.
func (p *Packer) namesIn(packed []byte) (found []*name, rest []byte) {
	if len(packed) == 0 || packed[0] != packedNames {
		return nil, packed
	}
	from := decoder{data: packed[1:]}
	n := from.length(0)
	for found = make([]*name, 0, min(n, mostAhead)); len(found) < n; {
		number, width := binary.Uvarint(from.data)
		if !from.advance(width, number < endNames-firstName) {
			guard.Abort(ErrPacked)
		}
		found = append(found, p.names.name(firstName+uint32(number)))
	}
	return found, from.data
}

// unpackDetail reads what packDetail wrote into a document; size is about what it takes in memory. Errors: ErrPacked.
func (p *Packer) unpackDetail(packed []byte, used []*name, document *index.Document) (size int, err error) {
	err = p.decode(packed, func(from *decoder) {
		from.whole, from.named, from.names = string(from.data), used != nil, used
		detail(from, document)
		for _, field := range optional(from, document) {
			if len(from.data) > 0 {
				field.apply()
			}
		} // what follows is of a newer version
		size = len(from.whole) + itemBytes*from.items
	})
	document.Secondary = min(max(document.Secondary, 0), len(document.Authors))
	return size, err
}

// sharedLink begins the stored link of a chunk in the place of its document's, or one that begins with it.
const sharedLink = "\x01"

// shortLinks returns the chunks of a document as they are packed: without its link at the beginning of theirs.
func shortLinks(d *index.Document) []index.Chunk {
	chunks := slices.Clone(d.Chunks)
	for i := range chunks {
		link := &chunks[i].Link
		rest, ok := strings.CutPrefix(*link, d.Link)
		switch {
		case strings.HasPrefix(*link, sharedLink):
			*link = sharedLink + *link
		case ok && d.Link != "" && !strings.HasPrefix(rest, sharedLink):
			*link = sharedLink + rest
		}
	}
	return chunks
}

// expandLinks undoes shortLinks.
func expandLinks(chunks []index.Chunk, link string) {
	for i := range chunks {
		if rest, ok := strings.CutPrefix(chunks[i].Link, sharedLink); ok && strings.HasPrefix(rest, sharedLink) {
			chunks[i].Link = rest
		} else if ok {
			chunks[i].Link = link + rest
		}
	}
}
