package embedded

import (
	"encoding/binary"
	"hash"
	"strings"
	"unicode/utf8"

	"quarry/server/index"
)

// codec is applied to the fields of a document in a fixed order: cleaner makes them valid, digest hashes them, encoder
// writes them and decoder reads what encoder wrote.
type codec interface {
	text(*string)
	number(*int)
	flag(*bool)
	// length handles the length of a list. A decoder returns the one it read, the others return n.
	length(n int) int
}

// identity applies a codec to the text columns of a document's row.
func identity(c codec, d *index.Document) {
	for _, field := range []*string{&d.ID, &d.Source, &d.Title, &d.Link, &d.Type, &d.Origin} {
		c.text(field)
	}
}

// detail applies a codec to what is stored of a document beside its columns and chunks.
func detail(c codec, d *index.Document) {
	list(c, &d.Path, c.text)
	list(c, &d.Sets, c.text)
	list(c, &d.Access, c.text)
	list(c, &d.Authors, func(person *index.Person) {
		c.text(&person.Name)
		c.text(&person.Email)
	})
	list(c, &d.Metadata, func(field *index.Field) {
		c.text(&field.Key)
		list(c, &field.Values, c.text)
		c.flag(&field.List)
	})
	list(c, &d.Outline, func(heading *index.Heading) {
		c.number(&heading.Level)
		c.number(&heading.Chunk)
		c.text(&heading.Text)
	})
}

func chunkFields(c codec, chunk *index.Chunk) {
	list(c, &chunk.Headings, c.text)
	c.text(&chunk.Link)
	c.text(&chunk.Text)
}

func list[T any](c codec, values *[]T, field func(*T)) {
	switch c := c.(type) {
	case cleaner:
		*values = append([]T(nil), *values...) // the caller's list stays as it is
	case *decoder:
		for n := c.length(0); n > 0 && !c.broken; n-- {
			*values = append(*values, *new(T))
			field(&(*values)[len(*values)-1])
		}
		return
	}
	c.length(len(*values))
	for i := range *values {
		field(&(*values)[i])
	}
}

// cleaner replaces what is not valid UTF-8.
type cleaner struct{}

func (cleaner) text(value *string) { *value = strings.ToValidUTF8(*value, string(utf8.RuneError)) }
func (cleaner) number(*int)        {}
func (cleaner) flag(*bool)         {}
func (cleaner) length(n int) int   { return n }

// digest hashes values with their lengths, so that two different documents never give the same bytes.
type digest struct{ hash.Hash }

func (d digest) int64(value int64) {
	var buffer [binary.MaxVarintLen64]byte
	_, _ = d.Write(buffer[:binary.PutVarint(buffer[:], value)])
}

func (d digest) text(value *string) {
	d.int64(int64(len(*value)))
	_, _ = d.Write([]byte(*value))
}

func (d digest) number(value *int) { d.int64(int64(*value)) }

func (d digest) flag(value *bool) {
	if *value {
		d.int64(1)
		return
	}
	d.int64(0)
}

func (d digest) length(n int) int {
	d.int64(int64(n))
	return n
}

// encoder writes values: lengths as uvarints, numbers as varints, texts behind their lengths, flags as one byte.
type encoder struct{ data []byte }

func (e *encoder) text(value *string) { e.data = append(appendLength(e.data, len(*value)), *value...) }
func (e *encoder) number(value *int)  { e.data = binary.AppendVarint(e.data, int64(*value)) }

func (e *encoder) flag(value *bool) {
	if *value {
		e.data = append(e.data, 1)
		return
	}
	e.data = append(e.data, 0)
}

func (e *encoder) length(n int) int {
	e.data = appendLength(e.data, n)
	return n
}

func appendLength(data []byte, n int) []byte { return binary.AppendUvarint(data, uint64(n)) }

// decoder reads what an encoder wrote. What cannot be read is zero, and broken is set.
type decoder struct {
	data   []byte
	broken bool
}

// advance passes over a number of width bytes, which is not positive if it could not be read.
func (d *decoder) advance(width int, valid bool) bool {
	if width <= 0 || !valid {
		d.data, d.broken = nil, true
		return false
	}
	d.data = d.data[width:]
	return true
}

func (d *decoder) text(value *string) {
	n := d.length(0)
	*value, d.data = string(d.data[:n]), d.data[n:]
}

func (d *decoder) number(value *int) {
	if n, width := binary.Varint(d.data); d.advance(width, true) {
		*value = int(n)
	}
}

func (d *decoder) flag(value *bool) {
	if n, width := binary.Uvarint(d.data); d.advance(width, true) {
		*value = n != 0
	}
}

// length reads a number that cannot exceed what is left, as everything that is counted takes at least a byte.
func (d *decoder) length(int) int {
	n, width := binary.Uvarint(d.data)
	if !d.advance(width, n <= uint64(len(d.data)-max(0, width))) {
		return 0
	}
	return int(n)
}
