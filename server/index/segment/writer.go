package segment

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"quarry/server/index/analysis"
)

// about is what a segment holds of a document besides its words.
type about struct {
	id, title   string
	updated     time.Time
	titleLength uint32
	values      []uint32 // facet values, by the caller's numbers
	chunks      int
}

// writer writes a segment: all documents with their chunks first, then facet values, filters, terms and surfaces, each in
// order.
type writer struct {
	stats Stats

	ids         dictionaryWriter
	firstChunks []uint32
	bodies      []uint32
	headings    []uint32
	titleWidths []uint32
	seconds     []uint64
	nanoseconds []uint32
	titles      []byte
	titleEnds   []uint64
	facetEnds   []uint32
	facets      []uint32

	chunkDocuments []uint32 // the document of every chunk
	values         dictionaryWriter
	filters        dictionaryWriter
	sets           []byte
	terms          dictionaryWriter
	postings       postingsWriter
	surfaces       dictionaryWriter
	scratch        []byte
	termDocuments  map[string]uint32 // how many documents hold a term, where they are more than one
}

func newWriter() *writer {
	return &writer{titleEnds: []uint64{0}, facetEnds: []uint32{0}, termDocuments: make(map[string]uint32)}
}

// document appends a document; its chunks follow by chunk.
func (w *writer) document(d about) error {
	if err := w.ids.add(d.id, nil); err != nil {
		return fmt.Errorf("document %q: %w", d.id, err)
	}
	w.firstChunks = append(w.firstChunks, uint32(len(w.bodies)))
	w.titleWidths = append(w.titleWidths, d.titleLength)
	w.titles = append(w.titles, d.title...)
	w.titleEnds = append(w.titleEnds, uint64(len(w.titles)))
	seconds, nanoseconds := uint64(0), uint32(0)
	if !d.updated.IsZero() {
		seconds, nanoseconds = uint64(d.updated.Unix()+secondsBias), uint32(d.updated.Nanosecond())
	}
	w.seconds = append(w.seconds, seconds)
	w.nanoseconds = append(w.nanoseconds, nanoseconds)
	w.facets = append(w.facets, d.values...)
	w.facetEnds = append(w.facetEnds, uint32(len(w.facets)))
	w.stats.Documents++
	w.stats.Chunks += int64(d.chunks)
	w.stats.TitleTokens += int64(d.titleLength)
	w.stats.ChunkTitleTokens += int64(d.titleLength) * int64(d.chunks)
	return nil
}

// chunk appends a chunk of the last document.
func (w *writer) chunk(body, headings uint32) {
	w.chunkDocuments = append(w.chunkDocuments, uint32(len(w.firstChunks)-1))
	w.bodies = append(w.bodies, body)
	w.headings = append(w.headings, headings)
	w.stats.BodyTokens += int64(body)
	w.stats.HeadingTokens += int64(headings)
}

// value appends a facet value; renumber maps the numbers given in about to the order of these calls.
func (w *writer) value(key string) error { return w.values.add(key, nil) }

// filter appends a filter key with its documents.
func (w *writer) filter(key string, documents []uint32) error {
	return w.filters.add(key, w.set(nil, documents))
}

// set stores a document set and appends its location to dst.
func (w *writer) set(dst []byte, documents []uint32) []byte {
	offset := len(w.sets)
	w.sets = appendSet(w.sets, documents, len(w.firstChunks))
	dst = binary.AppendUvarint(dst, uint64(offset))
	return binary.AppendUvarint(dst, uint64(len(w.sets)-offset))
}

// term appends a term with its postings.
func (w *writer) term(term string, l *list) error {
	rec := record{chunks: uint64(len(l.chunks))}
	last := -1
	for i, chunk := range l.chunks {
		if document := int(w.chunkDocuments[chunk]); document != last {
			last = document
			rec.documents++
			if l.titles[i] > 0 {
				rec.titles++
			}
		}
	}
	if rec.documents > 1 {
		w.termDocuments[term] = uint32(rec.documents)
	}
	w.postings.lengths = w.bodies
	postings, postingsSize, positions, positionsSize := w.postings.add(l)
	rec.postings, rec.postingsSize = uint64(postings), uint64(postingsSize)
	rec.positions, rec.positionsSize = uint64(positions), uint64(positionsSize)
	w.scratch = rec.append(w.scratch[:0])
	return w.terms.add(term, w.scratch)
}

// surface appends a surface of a term with its documents. Where they are all of the term's, they are not written again.
func (w *writer) surface(surface, term string, documents []uint32) error {
	value := appendSurface(w.scratch[:0], surface, term, len(documents))
	ofTerm := max(1, w.termDocuments[term])
	if len(documents) != int(ofTerm) {
		value = w.set(value, documents)
	}
	w.scratch = value
	return w.surfaces.add(surface, value)
}

// finish returns the file. order[i] is the ordinal of the facet value that about called i.
func (w *writer) finish(order []uint32) []byte {
	for d := range w.seconds {
		facets := w.facets[w.facetEnds[d]:w.facetEnds[d+1]]
		for i, value := range facets {
			facets[i] = order[value]
		}
		slices.Sort(facets)
	}
	w.firstChunks = append(w.firstChunks, uint32(len(w.bodies)))
	return assemble(analysis.Version, w.stats, map[section][]byte{
		sectionDocuments:    w.ids.finish(),
		sectionFirstChunks:  encodeColumn(w.firstChunks),
		sectionBodyLengths:  encodeColumn(w.bodies),
		sectionHeadLengths:  encodeColumn(w.headings),
		sectionTitleLengths: encodeColumn(w.titleWidths),
		sectionSeconds:      encodeColumn(w.seconds),
		sectionNanoseconds:  encodeColumn(w.nanoseconds),
		sectionTitles:       w.titles,
		sectionTitleEnds:    encodeColumn(w.titleEnds),
		sectionValues:       w.values.finish(),
		sectionFacetEnds:    encodeColumn(w.facetEnds),
		sectionFacets:       encodeColumn(w.facets),
		sectionFilters:      w.filters.finish(),
		sectionSets:         w.sets,
		sectionTerms:        w.terms.finish(),
		sectionPostings:     w.postings.postings,
		sectionPositions:    w.postings.positions,
		sectionSurfaces:     w.surfaces.finish(),
	})
}
