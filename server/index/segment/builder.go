package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

// fieldGap separates fields, headings and the segments of a path in the numbering of positions; it exceeds the distance
// at which words count as near.
const fieldGap = 16

// Builder collects documents for one segment. It is not safe for concurrent use.
type Builder struct {
	scanner analysis.Scanner
	stats   Stats

	surfaceNames names
	surfaces     []surfaceEntry
	termNames    names
	terms        []termEntry
	values       names
	filters      names
	documents    []pending
	ids          map[string]struct{}
	forward      []byte // the words of chunk after chunk, see chunk
	extra        int    // bytes of strings in use
	// inLanguage has, by language and the word as it is written, the number of its second term and one more; 0: none.
	// A surface has that of the way in which it was first written, which saves most words the map.
	inLanguage map[*analysis.Language]map[string]uint32
	chunks     uint32 // that were analysed

	work workspace
}

type surfaceEntry struct {
	term, form uint32 // of what its term stands for, as they were met
	documents  uint32
	seen       uint32 // the last document that contains it, plus one
	// second is the number of its second term in a language and one more, where it is written like this.
	second   uint32
	language *analysis.Language
	written  string
	number   uint32 // its form in the segment
}

type termEntry struct {
	chunks, documents, titles uint32
	bytes                     uint64   // of its postings in the forward form
	seenDocument, seenTitle   uint32   // the last document that contains it, plus one
	seenChunk, slot           uint32   // the last chunk that contains it, plus one, and its place in that chunk's slots
	hash                      uint64   // for fingerprints; 0: it is a second term
	surfaces                  uint32   // that were met
	forms                     []uint32 // numbers in the segment of the surfaces that were met; nil: it has one there
}

// pending is a document that was added.
type pending struct {
	documentInfo
	filters      []uint32
	forward      int                 // where its chunks begin
	bodies, head []uint32            // lengths of its chunks
	prints       []index.Fingerprint // of its chunks
}

// workspace is reused from chunk to chunk.
type workspace struct {
	title    []occurrence
	words    []occurrence
	slots    []slot
	grouped  []occurrence
	record   []byte
	position uint32
	language *analysis.Language // of what is scanned; nil: its words have one term each
	second   map[string]uint32  // of Builder.inLanguage
	seconds  int                // words that a scan added, which are not counted as tokens
	sim      index.SimHash
}

type occurrence struct{ term, position, form uint32 }

// slot gathers a term's occurrences in one chunk.
type slot struct {
	term                   uint32
	body, headings, titles uint32
	start, filled          uint32
	forms                  uint32 // any but the first that was met
}

// NewBuilder returns an empty Builder.
func NewBuilder() *Builder {
	return &Builder{
		surfaceNames: newNames(), termNames: newNames(), values: newNames(), filters: newNames(),
		ids:        make(map[string]struct{}),
		inLanguage: make(map[*analysis.Language]map[string]uint32),
	}
}

// maxRemembered bounds the memory of what Reset keeps.
const maxRemembered = 16 << 20

// Reset empties the Builder for another segment. It remembers the terms of words: most of the next documents have them,
// and finding them is most of the work.
func (b *Builder) Reset() {
	kept := *b
	*b = *NewBuilder()
	if kept.Bytes() > maxRemembered {
		return
	}
	b.surfaceNames, b.surfaces, b.termNames, b.terms = kept.surfaceNames, kept.surfaces, kept.termNames, kept.terms
	b.inLanguage, b.work = kept.inLanguage, kept.work
	for i := range b.surfaces {
		b.surfaces[i].documents, b.surfaces[i].seen = 0, 0
	}
	for i := range b.terms {
		b.terms[i] = termEntry{hash: b.terms[i].hash, surfaces: b.terms[i].surfaces}
	}
}

// Of returns the bytes of a segment of one document.
func Of(document *index.Document) ([]byte, error) {
	b := NewBuilder()
	if err := b.Add(*document); err != nil {
		return nil, err
	}
	return b.Build()
}

// Len is the number of documents added.
func (b *Builder) Len() int { return len(b.documents) }

// Bytes estimates the memory in use.
func (b *Builder) Bytes() int {
	return len(b.forward) + b.extra + 64*(len(b.surfaces)+len(b.terms)) +
		512*len(b.documents) + b.surfaceNames.bytes + b.termNames.bytes + b.values.bytes + b.filters.bytes
}

// Add analyses a document. Adding an id twice is an error.
func (b *Builder) Add(document index.Document) error {
	if document.ID == "" {
		return fmt.Errorf("add document: no id")
	}
	if _, exists := b.ids[document.ID]; exists {
		return fmt.Errorf("add document %q: it is there already", document.ID)
	}
	if b.stats.Chunks+int64(len(document.Chunks)) > math.MaxInt32 || len(b.documents) >= math.MaxInt32 {
		return fmt.Errorf("add document %q: the segment is full", document.ID)
	}
	b.ids[document.ID] = struct{}{}
	p := pending{
		documentInfo: documentInfo{
			id: document.ID, title: document.Title, updated: document.UpdatedAt, chunks: len(document.Chunks),
		},
		forward: len(b.forward),
	}
	for _, value := range Values(&document) {
		p.values = append(p.values, b.values.number(value.encode()))
	}
	languages := chunkLanguages(&document)
	for _, key := range filterKeys(&document, languages) {
		p.filters = append(p.filters, b.filters.number(key))
	}
	b.extra += len(document.ID) + len(document.Title) + 8*(len(p.values)+len(p.filters)+len(document.Chunks))
	b.documents = append(b.documents, p)
	b.analyse(&document, languages, &b.documents[len(b.documents)-1])
	return nil
}

// analyse adds the words of a document, whose chunks are in languages.
func (b *Builder) analyse(document *index.Document, languages []string, p *pending) {
	w := &b.work
	w.title, w.position, w.seconds = w.title[:0], 0, 0
	b.setLanguage(document.Language)
	if len(document.Chunks) > 0 { // words are found in chunks: a document without any has none
		for _, text := range document.TitleField() {
			w.title = b.scan(w.title, text)
		}
	}
	p.titleLength = uint32(len(w.title) - w.seconds)
	afterTitle := w.position
	for i := range document.Chunks {
		chunk := &document.Chunks[i]
		w.position, w.seconds = afterTitle, 0
		b.setLanguage(languages[i])
		w.words = append(w.words[:0], w.title...)
		for _, heading := range document.HeadingsField(i) {
			w.words = b.scan(w.words, heading)
		}
		body := len(w.words)
		p.head = append(p.head, uint32(body-len(w.title)-w.seconds))
		w.seconds = 0
		w.words = b.scan(w.words, chunk.Text)
		p.bodies = append(p.bodies, uint32(len(w.words)-body-w.seconds))
		for _, word := range w.words[body:] {
			if hash := b.terms[word.term].hash; hash != 0 {
				w.sim.Add(hash)
			}
		}
		p.prints = append(p.prints, w.sim.Sum())
		b.chunk(len(w.title), body)
		b.stats.addTokens(p.bodies[i], p.head[i])
		b.chunks++
	}
	b.stats.addDocument(p.titleLength, len(document.Chunks))
}

// scan appends the words of text and leaves a gap of positions behind them.
func (b *Builder) scan(words []occurrence, text string) []occurrence {
	w := &b.work
	last := w.position
	document := uint32(len(b.documents))
	b.scanner.Scan(text, func(raw analysis.Raw) {
		id, ok := b.surfaceNames.numbers[string(raw.Surface)]
		if !ok {
			id = b.surface(string(raw.Surface))
		}
		entry := &b.surfaces[id]
		if entry.seen != document {
			entry.seen = document
			entry.documents++
		}
		last = w.position + uint32(raw.Position)
		words = append(words, occurrence{entry.term, last, entry.form})
		if w.second != nil && raw.Kind == analysis.Word {
			if next := b.secondTerm(entry, text[raw.Start:raw.End]); next > 0 {
				words = append(words, occurrence{next - 1, last, 0})
				w.seconds++
			}
		}
		if term := analysis.Definition(text, raw); term != "" {
			words = append(words, occurrence{b.term(term), last, 0})
			w.seconds++
		}
	})
	w.position = last + fieldGap
	return words
}

// surface adds a surface that was not met before.
func (b *Builder) surface(surface string) uint32 {
	term := analysis.Stem(surface)
	id := b.term(term)
	entry := &b.terms[id]
	if entry.hash == 0 {
		entry.hash = index.WordHash(term)
	}
	b.surfaces = append(b.surfaces, surfaceEntry{term: id, form: entry.surfaces})
	entry.surfaces++
	return b.surfaceNames.number(surface)
}

// term returns the number of a term.
func (b *Builder) term(term string) uint32 {
	id := b.termNames.number(term)
	if int(id) == len(b.terms) {
		b.terms = append(b.terms, termEntry{})
	}
	return id
}

// chunk appends the words gathered in the workspace to the forward form: the number of terms u32, and for each its
// number u32, the length of its record u32 and the record: uvarint body << 1 | 1 where it has forms, headings, title,
// the gaps of its positions, and the forms. Words before title are in the title, those before body in headings.
func (b *Builder) chunk(title, body int) {
	w := &b.work
	w.slots = w.slots[:0]
	stamp := b.chunks + 1
	document := uint32(len(b.documents))
	for i, word := range w.words {
		entry := &b.terms[word.term]
		if entry.seenChunk != stamp {
			entry.seenChunk, entry.slot = stamp, uint32(len(w.slots))
			w.slots = append(w.slots, slot{term: word.term})
			entry.chunks++
			if entry.seenDocument != document {
				entry.seenDocument = document
				entry.documents++
			}
		}
		s := &w.slots[entry.slot]
		switch {
		case i < title:
			s.titles++
			if entry.seenTitle != document {
				entry.seenTitle = document
				entry.titles++
			}
		case i < body:
			s.headings++
		default:
			s.body++
		}
	}
	start := uint32(0)
	for i := range w.slots {
		s := &w.slots[i]
		s.start = start
		start += s.body + s.headings + s.titles
	}
	w.grouped = slices.Grow(w.grouped[:0], len(w.words))[:len(w.words)]
	for _, word := range w.words {
		s := &w.slots[b.terms[word.term].slot]
		w.grouped[s.start+s.filled] = word
		s.filled++
		s.forms |= word.form
	}
	if left := cap(b.forward) - len(b.forward); left < 16*len(w.words) { // append grows a large slice by a quarter only
		b.forward = slices.Grow(b.forward, len(b.forward)+16*len(w.words))
	}
	b.forward = binary.LittleEndian.AppendUint32(b.forward, uint32(len(w.slots)))
	for i := range w.slots {
		b.slot(&w.slots[i])
	}
}

// slot appends one term's record to the forward form.
func (b *Builder) slot(s *slot) {
	record := b.work.record[:0]
	words := b.work.grouped[s.start : s.start+s.filled]
	if s.body > maxFrequency || s.headings > maxFrequency || s.titles > maxFrequency {
		words = s.limit(words)
	}
	record = binary.AppendUvarint(record, uint64(s.body)<<1|uint64(min(s.forms, 1)))
	record = binary.AppendUvarint(record, uint64(s.headings))
	record = binary.AppendUvarint(record, uint64(s.titles))
	before := uint32(0)
	for _, word := range words {
		record = binary.AppendUvarint(record, uint64(word.position-before))
		before = word.position
	}
	for i := 0; i < len(words) && s.forms > 0; i++ {
		record = binary.AppendUvarint(record, uint64(words[i].form))
	}
	b.work.record = record
	b.forward = binary.LittleEndian.AppendUint32(b.forward, s.term)
	b.forward = binary.LittleEndian.AppendUint32(b.forward, uint32(len(record)))
	b.forward = append(b.forward, record...)
	b.terms[s.term].bytes += uint64(4 + len(record))
}

// limit cuts the frequencies to maxFrequency and returns the words that remain.
func (s *slot) limit(words []occurrence) []occurrence {
	kept := make([]occurrence, 0, 3*maxFrequency)
	for _, count := range []*uint32{&s.titles, &s.headings, &s.body} {
		field := words[:*count]
		words = words[*count:]
		*count = min(*count, maxFrequency)
		kept = append(kept, field[:*count]...)
	}
	return kept
}

// Build returns the bytes of the segment. The Builder must not be used afterwards, but for Reset.
func (b *Builder) Build() ([]byte, error) { return guard.Result(b.build) }

func (b *Builder) build() []byte {
	slices.SortFunc(b.documents, func(x, y pending) int { return strings.Compare(x.id, y.id) })
	w := newWriter(analysis.Version)
	order := make([]uint32, len(b.values.list))
	for ordinal, value := range b.values.sorted(func(int) bool { return true }) {
		order[value] = uint32(ordinal)
		w.values.add(b.values.list[value], nil)
	}
	for i := range b.documents {
		p := &b.documents[i]
		for j, value := range p.values {
			p.values[j] = order[value]
		}
		slices.Sort(p.values)
		w.document(p.documentInfo)
		for j := range p.bodies {
			w.chunk(p.bodies[j], p.head[j], p.prints[j])
		}
	}
	b.numberForms()
	b.writeFilters(w)
	b.writeTerms(w)
	b.writeSurfaces(w)
	return w.finish()
}

func (b *Builder) writeFilters(w *writer) {
	documents := make([][]uint32, len(b.filters.list))
	for i := range b.documents {
		for _, id := range b.documents[i].filters {
			documents[id] = append(documents[id], uint32(i))
		}
	}
	for _, id := range b.filters.sorted(func(id int) bool { return len(documents[id]) > 0 }) {
		w.filter(b.filters.list[id], documents[id])
	}
}
