package segment

import (
	"encoding/binary"
	"time"

	"quarry/server/index"
)

// documentInfo is what a segment stores of a document besides its words.
type documentInfo struct {
	id, title   string
	updated     time.Time
	titleLength uint32
	values      []uint32 // ordinals of facet values, ascending
	chunks      int
}

// writer writes a segment: facet values first, all documents with their chunks, then filters, terms and surfaces, each
// in order.
type writer struct {
	analyser int // version of the rules by which words were found
	stats    Stats

	ids     dictionaryWriter
	columns [sectionLast][]uint64 // of the sections that are columns
	titles  []byte

	chunkDocuments []uint32 // the document of every chunk
	values         dictionaryWriter
	filters        dictionaryWriter
	sets           []byte
	postings       postingsWriter
	terms          []writtenTerm
	listed         int // terms that words has
	words          dictionaryWriter
	place          places // of the postings of the next term that is listed
	scratch, value []byte
}

func newWriter(analyser int) *writer {
	w := &writer{analyser: analyser}
	w.append(sectionTitleEnds, 0)
	w.append(sectionFacetEnds, 0)
	return w
}

func (w *writer) append(column section, values ...uint64) {
	w.columns[column] = append(w.columns[column], values...)
}

func (w *writer) documents() int { return len(w.columns[sectionFirstChunks]) }
func (w *writer) chunks() int    { return len(w.columns[sectionBodyLengths]) }

// document appends a document; its chunks follow by chunk.
func (w *writer) document(d documentInfo) {
	w.ids.add(d.id, nil)
	w.append(sectionFirstChunks, uint64(w.chunks()))
	w.append(sectionTitleLengths, uint64(d.titleLength))
	w.titles = append(w.titles, d.title...)
	w.append(sectionTitleEnds, uint64(len(w.titles)))
	seconds, nanoseconds := uint64(0), uint64(0)
	if !d.updated.IsZero() {
		seconds, nanoseconds = SecondsOf(d.updated), uint64(d.updated.Nanosecond())
	}
	w.append(sectionSeconds, seconds)
	w.append(sectionNanoseconds, nanoseconds)
	for _, value := range d.values {
		w.append(sectionFacets, uint64(value))
	}
	w.append(sectionFacetEnds, uint64(len(w.columns[sectionFacets])))
	w.stats.addDocument(d.titleLength, d.chunks)
}

// chunk appends a chunk of the last document.
func (w *writer) chunk(body, headings uint32, print index.Fingerprint) {
	w.chunkDocuments = append(w.chunkDocuments, uint32(w.documents()-1))
	w.append(sectionBodyLengths, uint64(body))
	w.append(sectionHeadLengths, uint64(headings))
	w.append(sectionPrints, uint64(print))
	w.stats.addTokens(body, headings)
}

// filter appends a filter key with its documents.
func (w *writer) filter(key string, documents []uint32) {
	offset := len(w.sets)
	w.sets = appendSet(w.sets, documents, w.documents())
	location := binary.AppendUvarint(nil, uint64(offset))
	w.filters.add(key, binary.AppendUvarint(location, uint64(len(w.sets)-offset)))
}

// term appends a term with its postings.
func (w *writer) term(term string, l *list) {
	documents, titles, last := 0, 0, -1
	for i, chunk := range l.chunks {
		if document := int(w.chunkDocuments[chunk]); document != last {
			last = document
			documents++
			if l.titles[i] > 0 {
				titles++
			}
		}
	}
	postingsSize, positionsSize := w.postings.add(l)
	w.terms = append(w.terms, writtenTerm{term: term, chunks: uint32(len(l.chunks)), documents: uint32(documents),
		titles: uint32(titles), postingsSize: uint32(postingsSize), positionsSize: uint32(positionsSize)})
}

// finish returns the file.
func (w *writer) finish() []byte {
	w.termsBefore("")
	w.append(sectionFirstChunks, uint64(w.chunks()))
	sections := map[section][]byte{
		sectionDocuments: w.ids.finish(),
		sectionTitles:    w.titles,
		sectionValues:    w.values.finish(),
		sectionFilters:   w.filters.finish(),
		sectionSets:      w.sets,
		sectionTerms:     w.words.finish(),
		sectionPostings:  w.postings.postings,
		sectionPositions: w.postings.positions,
		sectionSurfaces:  nil,
		sectionForms:     nil,
	}
	for id := section(1); id < sectionLast; id++ {
		if _, other := sections[id]; !other {
			sections[id] = encodeColumn(w.columns[id], shapeOf(id))
		}
	}
	return assemble(uint32(w.analyser), w.stats, sections)
}
