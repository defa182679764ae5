package embedded

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/server/index"
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

// hashBytes is the length of each half of a document's hash.
const hashBytes = 16

// canonical is the document as it will be read back: valid UTF-8, dates in UTC and whole microseconds. What is the same
// in this form is stored, hashed and indexed the same.
func canonical(document index.Document) index.Document {
	for _, text := range []*string{&document.ID, &document.Source, &document.Title, &document.Link, &document.Type,
		&document.Origin} {
		*text = valid(*text)
	}
	document.CreatedAt = fromMicros(micros(document.CreatedAt))
	document.UpdatedAt = fromMicros(micros(document.UpdatedAt))
	document.Path, document.Sets = validAll(document.Path), validAll(document.Sets)
	document.Access = validAll(document.Access)
	document.Authors = mapped(document.Authors, func(person index.Person) index.Person {
		return index.Person{Name: valid(person.Name), Email: valid(person.Email)}
	})
	document.Metadata = mapped(document.Metadata, func(field index.Field) index.Field {
		return index.Field{Key: valid(field.Key), Values: validAll(field.Values), List: field.List}
	})
	document.Outline = mapped(document.Outline, func(heading index.Heading) index.Heading {
		return index.Heading{Level: heading.Level, Text: valid(heading.Text), Chunk: heading.Chunk}
	})
	document.Chunks = mapped(document.Chunks, func(chunk index.Chunk) index.Chunk {
		return index.Chunk{Text: valid(chunk.Text), Headings: validAll(chunk.Headings), Link: valid(chunk.Link)}
	})
	return document
}

func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

func validAll(texts []string) []string {
	if !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) }) {
		return texts
	}
	return mapped(texts, valid)
}

func mapped[T any](values []T, change func(T) T) []T {
	if len(values) == 0 {
		return nil
	}
	result := make([]T, len(values))
	for i, value := range values {
		result[i] = change(value)
	}
	return result
}

// micros is how a date is stored; nil for an unknown one.
func micros(date time.Time) *int64 {
	if date.IsZero() {
		return nil
	}
	value := date.UnixMicro()
	return &value
}

func fromMicros(value *int64) time.Time {
	if value == nil {
		return time.Time{}
	}
	return time.UnixMicro(*value).UTC()
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

// hashOf identifies what a document says: the first half everything but its chunks, the second half those.
func hashOf(document *index.Document) []byte {
	head := digest{sha256.New()}
	for _, text := range []string{document.ID, document.Source, document.Title, document.Link, document.Type,
		document.Origin} {
		head.text(text)
	}
	head.date(document.CreatedAt)
	head.date(document.UpdatedAt)
	head.flag(document.Hidden)
	head.texts(document.Path)
	head.texts(document.Sets)
	head.texts(document.Access)
	head.number(len(document.Authors))
	for _, person := range document.Authors {
		head.text(person.Name)
		head.text(person.Email)
	}
	head.number(len(document.Metadata))
	for _, field := range document.Metadata {
		head.text(field.Key)
		head.texts(field.Values)
		head.flag(field.List)
	}
	head.number(len(document.Outline))
	for _, heading := range document.Outline {
		head.number(heading.Level)
		head.number(heading.Chunk)
		head.text(heading.Text)
	}
	body := digest{sha256.New()}
	body.number(len(document.Chunks))
	for i := range document.Chunks {
		body.text(document.Chunks[i].Text)
		body.text(document.Chunks[i].Link)
		body.texts(document.Chunks[i].Headings)
	}
	return append(head.Sum(nil)[:hashBytes:hashBytes], body.Sum(nil)[:hashBytes]...)
}

// sameChunks tells from two hashes whether the chunks of the documents are equal.
func sameChunks(a, b []byte) bool {
	return len(a) == 2*hashBytes && len(b) == 2*hashBytes && bytes.Equal(a[hashBytes:], b[hashBytes:])
}

// digest hashes values with their lengths, so that no two documents run together to the same bytes.
type digest struct{ hash.Hash }

func (d digest) number(value int) {
	var buffer [binary.MaxVarintLen64]byte
	_, _ = d.Write(buffer[:binary.PutVarint(buffer[:], int64(value))])
}

func (d digest) text(value string) {
	d.number(len(value))
	_, _ = d.Write([]byte(value))
}

func (d digest) texts(values []string) {
	d.number(len(values))
	for _, value := range values {
		d.text(value)
	}
}

func (d digest) flag(value bool) {
	if value {
		d.number(1)
		return
	}
	d.number(0)
}

func (d digest) date(value time.Time) {
	stored := micros(value)
	d.flag(stored != nil)
	if stored != nil {
		d.number(int(*stored))
	}
}
