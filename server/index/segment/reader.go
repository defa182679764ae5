package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"

	"quarry/client/field"
	"quarry/server/index"
)

// Reader reads a segment; safe for concurrent use. Methods that return no error read the segment too: they must be
// called within Protect.
type Reader struct {
	name    string
	data    []byte
	footer  footer
	version int
	blocks  *Blocks

	documents, values, filters, terms, surfaces dictionary

	derived sync.Map // what Derived computed

	loaded func() *columns
}

// columns are those that every search needs, checked once.
type columns [sectionLast]Column

// Open reads the footer of a segment. data, which may be a mapped file, must stay as it is as long as the Reader is
// used. name is what errors call the segment.
func Open(name string, data []byte) (*Reader, error) {
	r := &Reader{name: name, data: data}
	r.loaded = sync.OnceValue(r.load)
	err := r.protect(func() {
		r.readFooter(data)
		r.version = int(binary.LittleEndian.Uint32(data[12:]))
		r.blocks = NewBlocks(name, data, r.footer.content, r.footer.checksums)
		stats := r.footer.stats
		r.require(stats.Documents <= math.MaxInt32 && stats.Chunks <= math.MaxInt32, "it has too many documents")
		r.documents = r.dictionary(sectionDocuments)
		r.values = r.dictionary(sectionValues)
		r.filters = r.dictionary(sectionFilters)
		r.terms = r.dictionary(sectionTerms)
		switch {
		case r.footer.format >= formatWords:
			r.surfaces = r.terms
			r.terms.layout, r.surfaces.layout = layoutTerms, layoutSurfaces
		case r.footer.format == formatPlaced:
			r.terms.layout = layoutPlaced
			fallthrough
		default:
			r.surfaces = r.dictionary(sectionSurfaces)
		}
		r.require(r.documents.count == int(stats.Documents), "the number of documents is wrong")
	})
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return r, nil
}

// Name returns the name passed to Open.
func (r *Reader) Name() string { return r.name }

// Size is that of its data in bytes.
func (r *Reader) Size() int { return len(r.data) }

// Documents is the number of documents, deleted ones included.
func (r *Reader) Documents() int { return int(r.footer.stats.Documents) }

// Chunks is the number of chunks.
func (r *Reader) Chunks() int { return int(r.footer.stats.Chunks) }

// Stats are those of all documents, deleted ones included.
func (r *Reader) Stats() Stats { return r.footer.stats }

// Format is the version of the file format.
func (r *Reader) Format() int { return int(r.footer.format) }

// AnalyserVersion is the version of the analyser that made the segment.
func (r *Reader) AnalyserVersion() int { return r.version }

// Verify checks every block of the segment.
func (r *Reader) Verify() error {
	return r.protect(func() { r.bytes(0, r.footer.content) })
}

func (r *Reader) damaged(what string) *damage { return &damage{r.name, what} }

// require panics with what is damaged unless that holds. Conditions of several parts that are checked often stand in an
// if instead, which takes fewer instructions.
func (r *Reader) require(holds bool, what string) {
	if !holds {
		panic(&damage{r.name, what})
	}
}

// bytes returns part of the file, checking the blocks that it touches for the first time.
func (r *Reader) bytes(offset, length int) []byte { return r.blocks.Bytes(offset, length) }

// part returns a piece of a section, and up to padding bytes more that follow it in the file.
func (r *Reader) part(id section, offset, length uint64) []byte {
	e := r.footer.extents[id]
	if offset > uint64(e.length) || length > uint64(e.length)-offset {
		panic(r.damaged("data outside of its section"))
	}
	from := e.offset + int(offset)
	return r.bytes(from, min(int(length)+padding, r.footer.content-from))
}

// load reads the columns.
func (r *Reader) load() *columns {
	documents, chunks := r.Documents(), r.Chunks()
	read := new(columns)
	for id, length := range map[section]int{
		sectionFirstChunks: documents + 1, sectionBodyLengths: chunks, sectionHeadLengths: chunks,
		sectionTitleLengths: documents, sectionSeconds: documents, sectionNanoseconds: documents,
		sectionTitleEnds: documents + 1, sectionFacetEnds: documents + 1, sectionFacets: -1,
	} {
		read[id] = r.column(id, length)
	}
	if r.footer.extents[sectionPrints].length > 0 {
		read[sectionPrints] = r.column(sectionPrints, chunks)
	}
	return read
}

// DocumentID returns the id of a document; ordinals ascend with ids.
func (r *Reader) DocumentID(ordinal int) (id string, err error) {
	err = r.protect(func() { id = r.ID(ordinal) })
	return id, err
}

// ID is DocumentID within Protect.
func (r *Reader) ID(ordinal int) string {
	var buffer [128]byte // most ids fit
	return string(r.documents.appendKey(buffer[:0], ordinal))
}

// Find looks a document up by its id.
func (r *Reader) Find(id string) (ordinal int, ok bool, err error) {
	err = r.protect(func() { ordinal, ok = r.Lookup(id) })
	return ordinal, ok, err
}

// DocumentChunks returns the range of a document's chunks, from ≤ chunk < to.
func (r *Reader) DocumentChunks(ordinal int) (from, to int) {
	c := r.loaded()[sectionFirstChunks]
	from, to = int(c.At(ordinal)), int(c.At(ordinal+1))
	if from > to || to > r.Chunks() {
		panic(r.damaged("a document's chunks are out of order"))
	}
	return from, to
}

// BodyLength, HeadingLength and TitleLength are numbers of tokens, of chunks and of a document.
func (r *Reader) BodyLength(chunk int) uint32 {
	return uint32(r.loaded()[sectionBodyLengths].At(chunk))
}

// HeadingLength is the number of tokens of a chunk's headings.
func (r *Reader) HeadingLength(chunk int) uint32 {
	return uint32(r.loaded()[sectionHeadLengths].At(chunk))
}

// Fingerprint is that of a chunk's text; 0 in segments of old analysers.
func (r *Reader) Fingerprint(chunk int) index.Fingerprint {
	return index.Fingerprint(r.loaded()[sectionPrints].At(chunk))
}

// TitleLength is the number of tokens of a document's title and path.
func (r *Reader) TitleLength(ordinal int) uint32 {
	return uint32(r.loaded()[sectionTitleLengths].At(ordinal))
}

// Updated is when a document was updated; zero if it is undated.
func (r *Reader) Updated(ordinal int) time.Time {
	c := r.loaded()
	seconds := c[sectionSeconds].At(ordinal)
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds-secondsBias), int64(c[sectionNanoseconds].At(ordinal))).UTC()
}

// Derived returns what compute returned when it was first called for a segment and key; for tables that cost more to
// compute than to keep.
func Derived[T any](r *Reader, key any, compute func() T) T {
	known, ok := r.derived.Load(key)
	if !ok {
		known, _ = r.derived.LoadOrStore(key, compute())
	}
	value, _ := known.(T)
	return value
}

// Owners contains the document of every chunk; nil where every document has exactly one chunk.
type Owners []uint32

// Of returns the document of a chunk.
func (o Owners) Of(chunk int) int {
	if o == nil {
		return chunk
	}
	return int(o[chunk])
}

// Owners returns the document of every chunk.
func (r *Reader) Owners() Owners {
	type key struct{}
	return Derived(r, key{}, func() Owners {
		documents, chunks := r.Documents(), r.Chunks()
		owners := make(Owners, chunks)
		identity := documents == chunks
		for d := range documents {
			from, to := r.DocumentChunks(d)
			identity = identity && from == d && to == d+1
			for chunk := from; chunk < to; chunk++ {
				owners[chunk] = uint32(d)
			}
		}
		if identity {
			return nil
		}
		return owners
	})
}

// FieldRange returns the ordinals, from ≤ ordinal < to, of the facet values of a field.
func (r *Reader) FieldRange(field FacetField) (from, to int) {
	at := func(field FacetField) int {
		e, ok := r.values.seek([]byte{byte(field)})
		if !ok {
			return r.values.count
		}
		return e.ordinal()
	}
	return at(field), at(field + 1)
}

// Seconds says of every document when it was updated, in a form that compares like the time, without the fraction of
// the second; 0 if it is undated.
func (r *Reader) Seconds() Column { return r.loaded()[sectionSeconds] }

// Nanoseconds is the rest of the times in Seconds.
func (r *Reader) Nanoseconds() Column { return r.loaded()[sectionNanoseconds] }

// WholeSeconds reports whether no document has a fraction of a second in its time.
func (r *Reader) WholeSeconds() bool { return r.loaded()[sectionNanoseconds].width == 0 }

// SecondsOf is a time in the form of Seconds.
func SecondsOf(t time.Time) uint64 { return uint64(t.Unix() + secondsBias) }

// TitleSize is the length of a document's title in bytes.
func (r *Reader) TitleSize(ordinal int) int {
	ends := r.loaded()[sectionTitleEnds]
	return int(ends.At(ordinal+1) - ends.At(ordinal))
}

// Title is a document's title.
func (r *Reader) Title(ordinal int) string {
	ends := r.loaded()[sectionTitleEnds]
	from, to := ends.At(ordinal), ends.At(ordinal+1)
	r.require(from <= to, "titles are out of order")
	return string(r.part(sectionTitles, from, to-from)[:to-from])
}

// Facets returns the range of a document's facets in FacetValues.
func (r *Reader) Facets(ordinal int) (from, to int) {
	ends := r.loaded()[sectionFacetEnds]
	return int(ends.At(ordinal)), int(ends.At(ordinal + 1))
}

// FacetEnds says where in FacetValues the facets of a document begin and, as those of the next, where they end.
func (r *Reader) FacetEnds() Column { return r.loaded()[sectionFacetEnds] }

// FacetValues contains the ordinals of facet values, document after document.
func (r *Reader) FacetValues() Column { return r.loaded()[sectionFacets] }

// Values is the number of facet values.
func (r *Reader) Values() int { return r.values.count }

// EachValue calls yield with every facet value, by ordinal.
func (r *Reader) EachValue(yield func(ordinal int, value FacetValue)) {
	for e := r.values.from(0); e.next(); {
		yield(e.ordinal(), decodeValue(r, e.key))
	}
}

// Filter returns the documents that have a filter key.
func (r *Reader) Filter(kind FilterKind, value string) (Set, bool) {
	return r.filter(filterKey(kind, value))
}

// FieldFilter returns the documents that a filter's value of a field means.
func (r *Reader) FieldFilter(id field.ID, value string) (Set, bool) {
	return r.filter(fieldKey(id, index.KeyOf(id, value)))
}

// EachFilter calls yield with the stored key of each filter by a field, which is valid until the next one, and the
// documents that it finds.
func (r *Reader) EachFilter(id field.ID, yield func(key []byte, documents Set)) {
	prefix := []byte(filterKey(FilterOf(id), ""))
	for e, ok := r.filters.seek(prefix); ok && bytes.HasPrefix(e.key, prefix); ok = e.next() {
		yield(e.key[len(prefix):], r.setAt(e.value))
	}
}

func (r *Reader) filter(key string) (Set, bool) {
	e, ok := r.filters.find(key)
	if !ok {
		return Set{}, false
	}
	return r.setAt(e.value), true
}

// setAt returns the set of documents that a dictionary's value points to.
func (r *Reader) setAt(location []byte) Set { return r.setOf(location, r.Documents()) }

// setOf returns a set of numbers below n.
func (r *Reader) setOf(location []byte, n int) Set {
	offset, rest := uvarint(r, location)
	length, _ := uvarint(r, rest)
	s := Set{r: r, n: n, data: r.part(sectionSets, offset, length)[:length]}
	if s.bitmap() && int(length) != 1+8*((n+63)/64) {
		panic(r.damaged("a set has a wrong length"))
	}
	return s
}

// Lookup is Find within Protect.
func (r *Reader) Lookup(id string) (ordinal int, ok bool) {
	e, ok := r.documents.find(id)
	return e.ordinal(), ok
}
