package embedded

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

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
	clean := cleaner{}
	identity(clean, &document)
	document.CreatedAt = fromMicros(micros(document.CreatedAt))
	document.UpdatedAt = fromMicros(micros(document.UpdatedAt))
	detail(clean, &document)
	list(clean, &document.Chunks, func(chunk *index.Chunk) {
		chunkFields(clean, chunk)
		chunk.Damaged = false
	})
	return document
}

// micros returns a date as it is stored; nil for an unknown one.
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
	identity(head, document)
	for _, date := range []*int64{micros(document.CreatedAt), micros(document.UpdatedAt)} {
		known := date != nil
		if head.flag(&known); known {
			head.int64(*date)
		}
	}
	head.flag(&document.Hidden)
	detail(head, document)
	body := digest{sha256.New()}
	body.length(len(document.Chunks))
	for i := range document.Chunks {
		chunk := &document.Chunks[i]
		body.text(&chunk.Text)
		body.text(&chunk.Link)
		list(body, &chunk.Headings, body.text)
	}
	return append(head.Sum(nil)[:hashBytes:hashBytes], body.Sum(nil)[:hashBytes]...)
}

// sameChunks reports whether the chunks of two documents are equal, given their hashes.
func sameChunks(a, b []byte) bool {
	return len(a) == 2*hashBytes && len(b) == 2*hashBytes && bytes.Equal(a[hashBytes:], b[hashBytes:])
}
