package documents

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"quarry/server/index"
	"quarry/server/index/vector"
	"quarry/server/language"
)

// Limits on what one Write takes. A larger one is ErrTooLarge and stores nothing.
const (
	MaxChunks         = 1_000_000 // chunks of one document
	MaxChunkBytes     = 16 << 20  // text of one chunk
	MaxIDBytes        = 16 << 10  // the id of a document
	MaxBatchDocuments = 100_000   // documents that a batch stores or removes
	MaxBatchBytes     = 1 << 30   // text that a batch stores
)

var (
	// ErrTooLarge: a document or batch is beyond the limits of the engine.
	ErrTooLarge = errors.New("too large for one write")
	// ErrNoID: a document without an id.
	ErrNoID = errors.New("a document has no id")
)

// HashBytes is the length of each half of a document's hash. Rows have storedBytes of each, those of older versions
// all: enough to tell a document from what it was before.
const HashBytes, storedBytes = 16, 8

// Canonical is the document as it will be read back: valid UTF-8, dates in UTC and whole microseconds. What is the same
// in this form is stored, hashed and indexed the same.
func Canonical(document index.Document) index.Document {
	clean := cleaner{}
	identity(clean, &document)
	document.CreatedAt = date(document.CreatedAt)
	document.UpdatedAt = date(document.UpdatedAt)
	detail(clean, &document)
	list(clean, &document.Chunks, func(chunk *index.Chunk) {
		chunkFields(clean, chunk)
		chunk.Damaged = false
	})
	setDerived(&document)
	clean.text(&document.Place)
	return document
}

// setDerived sets what follows from the rest of a document that has its chunks: its language, and the place of one that
// no root has, unless they are known. Documents that an older version stored have none.
func setDerived(document *index.Document) {
	setLanguage(document)
	if document.Place == "" {
		document.Place = document.OwnPlace()
	}
}

func setLanguage(document *index.Document) {
	const enough = 4 << 10 // bytes, which are all that is looked at
	if document.Language != "" || len(document.Chunks) == 0 {
		return
	}
	sample := make([]byte, 0, enough+1)
	for i := range document.Chunks {
		text := document.Chunks[i].Text
		sample = append(sample, text[:min(len(text), enough-len(sample))]...)
		if len(sample) == enough {
			break
		}
		sample = append(sample, '\n')
	}
	document.Language = language.Detect(string(sample))
}

// date returns a date as it is stored: in whole microseconds. An unknown one stays zero.
func date(given time.Time) time.Time {
	if given.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(given.UnixMicro()).UTC()
}

// check refuses what does not fit into the store.
func check(document *index.Document) error {
	switch {
	case document.ID == "":
		return ErrNoID
	case len(document.ID) > MaxIDBytes:
		return fmt.Errorf("an id of %d bytes: %w", len(document.ID), ErrTooLarge)
	case len(document.Chunks) > MaxChunks:
		return fmt.Errorf("document %q with %d chunks: %w", document.ID, len(document.Chunks), ErrTooLarge)
	}
	for i := range document.Chunks {
		if len(document.Chunks[i].Text) > MaxChunkBytes {
			return fmt.Errorf("document %q, chunk %d of %d bytes: %w", document.ID, i,
				len(document.Chunks[i].Text), ErrTooLarge)
		}
	}
	return nil
}

// Hash identifies what a document says: the first half everything but its chunks, the second half those.
func Hash(document *index.Document) []byte {
	head := &encoder{hashed: true}
	identity(head, document)
	head.dates(document)
	head.flag(&document.Hidden)
	detail(head, document)
	if secondary := -document.Secondary; secondary < 0 { // no length is negative, so no other document has these bytes
		head.number(&secondary)
	}
	if untitled := -1 - len(document.Authors); document.Untitled { // nor is any this low
		head.number(&untitled)
	}
	if placed := -2 - len(document.Authors); document.Place != document.OwnPlace() { // likewise
		head.number(&placed)
		head.text(&document.Place)
	}
	if document.Permalink != "" { // nor does any length that is not negative follow
		head.text(&document.Permalink)
	}
	if linked := -3 - len(document.Authors); hasLinks(document) {
		head.number(&linked)
		headingLinks(head, document)
	}
	chunks := sha256.New()
	body := &encoder{hashed: true}
	body.length(len(document.Chunks))
	for i := range document.Chunks {
		chunk := &document.Chunks[i]
		body.text(&chunk.Text)
		body.text(&chunk.Link)
		list(body, &chunk.Headings, body.text)
		_, _ = chunks.Write(body.data)
		body.data = body.data[:0]
	}
	_, _ = chunks.Write(body.data)
	sum := sha256.Sum256(head.data)
	return append(sum[:HashBytes:HashBytes], chunks.Sum(nil)[:HashBytes]...)
}

// halves splits a hash.
func halves(hash []byte) (head, chunks []byte) { return hash[:len(hash)/2], hash[len(hash)/2:] }

// sameHalf reports whether halves of hashes are equal, as far as they are stored.
func sameHalf(a, b []byte) bool {
	n := min(len(a), len(b))
	return n >= storedBytes && bytes.Equal(a[:n], b[:n])
}

// sameHead reports whether two documents are equal but for their chunks, given their hashes.
func sameHead(a, b []byte) bool { return sameHalf(a[:len(a)/2], b[:len(b)/2]) }

// sameChunks reports whether the chunks of two documents are equal, given their hashes.
func sameChunks(a, b []byte) bool { return sameHalf(a[len(a)/2:], b[len(b)/2:]) }

// Change is what a write does to one document: put or patch it, or remove it if both are nil.
type Change struct {
	ID      string
	Put     *index.Document
	Patches []index.AccessPatch
	Owns    func(origin string) bool // see index.Batch; nil: any
	Hashed  func(id string) uint32   // see index.Batch.Hash
}

// changeList has at most one change per document.
type changeList struct {
	all    []Change
	places map[string]int
}

// of returns the change of a document, which is valid until the next call; it adds an empty one if there is none.
func (l *changeList) of(id string) *Change {
	at, ok := l.places[id]
	if !ok {
		if l.places == nil {
			l.places = make(map[string]int)
		}
		at = len(l.all)
		l.places[id] = at
		l.all = append(l.all, Change{ID: id})
	}
	return &l.all[at]
}

// accessChanges returns one change per document.
func accessChanges(patches []index.AccessPatch) []Change {
	var changes changeList
	for _, patch := range patches {
		c := changes.of(patch.ID)
		if c.Patches == nil && patch.Origin != "" {
			c.Owns = func(stored string) bool { return stored == patch.Origin }
		}
		c.Patches = append(c.Patches, patch)
	}
	return changes.all
}

// excludes reports whether a document that is stored under an origin belongs to another owner.
func (c *Change) excludes(origin string) bool { return c.Owns != nil && !c.Owns(origin) }

// patched returns a document with its new rights.
func patched(document index.Document, patches []index.AccessPatch) index.Document {
	for _, patch := range patches {
		if patch.Access != nil {
			document.Access = patch.Access
		}
		if patch.Sets != nil {
			document.Sets = patch.Sets
		}
		if patch.Hidden != nil {
			document.Hidden = *patch.Hidden
		}
	}
	return Canonical(document)
}

// changesOf checks a batch and returns one change per document. Errors: ErrTooLarge, ErrNoID.
func changesOf(batch index.Batch) ([]Change, error) {
	if count := len(batch.Upsert) + len(batch.Delete); count > MaxBatchDocuments {
		return nil, fmt.Errorf("%d documents: %w", count, ErrTooLarge)
	}
	var changes changeList
	for _, id := range batch.Delete {
		cleaner{}.text(&id)
		*changes.of(id) = Change{ID: id, Owns: batch.Owns, Hashed: batch.Hash}
	}
	size := 0
	for i := range batch.Upsert {
		document := Canonical(batch.Upsert[i])
		if err := check(&document); err != nil {
			return nil, err
		}
		for _, chunk := range document.Chunks {
			size += len(chunk.Text)
		}
		*changes.of(document.ID) = Change{ID: document.ID, Put: &document, Owns: batch.Owns, Hashed: batch.Hash}
	}
	if size > MaxBatchBytes {
		return nil, fmt.Errorf("%d bytes of text: %w", size, ErrTooLarge)
	}
	return changes.all, nil
}

// appendColumns appends the fields that a row has columns for, and the number of its chunks.
func appendColumns(to *encoder, d *index.Document, chunks int) {
	for _, field := range []*string{&d.ID, &d.Source, &d.Origin, &d.Title, &d.Link, &d.Type} {
		to.text(field)
	}
	to.dates(d)
	to.flag(&d.Hidden)
	to.length(chunks)
}

// selection returns the condition on rows of documents that a selector stands for; empty when it names nothing. The
// names were loaded.
func (n *names) selection(by index.Selector) (where string, args []any) {
	var conditions []string
	add := func(condition string, values ...any) {
		conditions = append(conditions, condition)
		args = append(args, values...)
	}
	if by.All {
		add("TRUE")
	}
	if by.Origin != "" {
		add("(origin IN (?, ?) OR id = ? AND origin = ?)",
			append(columns(by.Origin, n.abbreviate), "file:"+by.Origin, inID)...)
	}
	if by.Posted { // those that begin with "cc_pair:"
		add("(origin = '' OR origin >= 'cc_pair:' AND origin < 'cc_pair;')")
	}
	if by.Source != "" {
		add("source IN (?, ?)", columns(by.Source, n.abbreviate)...)
	}
	if by.Link != "" {
		add("(link IN (?, ?) OR id = ? AND link = ?)",
			append(columns(by.Link, n.abbreviateLink), strings.Replace(by.Link, "file://", "file:", 1), inID)...)
	}
	if by.Set != "" {
		add("row IN (SELECT document FROM document_sets WHERE name = ?)", by.Set)
	}
	return strings.Join(conditions, " AND "), args
}

// EmbeddedText returns the text of a chunk below its title and headings, which is what the model embeds.
func EmbeddedText(d *index.Document, chunk int) string {
	c := &d.Chunks[chunk]
	head := d.Title
	if len(c.Headings) > 0 {
		head = strings.TrimSpace(head + "\n" + strings.Join(c.Headings, " > "))
	}
	return strings.TrimSpace(head + "\n\n" + c.Text)
}

// KeyOf identifies the vector of a text.
func KeyOf(text string) (key vector.Key) {
	sum := sha256.Sum256([]byte(text))
	copy(key[:], sum[:])
	return key
}

// AppendVector appends a vector as it is stored: float32, little endian.
func AppendVector(dst []byte, values []float32) []byte {
	dst, _ = binary.Append(dst, binary.LittleEndian, values) // numbers are no error
	return dst
}

// Vector reads what AppendVector wrote.
func Vector(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	_, _ = binary.Decode(data, binary.LittleEndian, values) // the length is right
	return values
}
