// Package documents stores documents, in SQLite or PostgreSQL. A batch is turned into changes, which are compared with
// what is stored (Reader.Plan); what changes is packed, sealed and stored (Tables). Snapshots read it (Reads), and
// checks examine it (Reader.Examine). On one machine the tables are in the database of the index. A Store has a
// database of its own, for several server processes, and is the log of its changes: what searches it, package weaviate
// or the segments of each machine, follows the log, and can be built from it again at any time.
package documents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/server/index"
)

// codec is applied to the fields of a document in a fixed order: cleaner makes them valid, encoder writes them, to be
// stored or hashed, and decoder reads what encoder wrote.
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

// positions applies a codec to the positions of a document's chunks, each as its distance from the one before.
func positions(c codec, d *index.Document) {
	var last, gap index.Position
	list(c, &d.Positions, func(p *index.Position) {
		gap = index.Position{Start: p.Start - last.End, End: p.End - p.Start, FirstLine: p.FirstLine - last.LastLine,
			LastLine: p.LastLine - p.FirstLine}
		for _, number := range []*int{&gap.Start, &gap.End, &gap.FirstLine, &gap.LastLine} {
			c.number(number)
		}
		if _, reads := c.(*decoder); reads {
			p.Start, p.FirstLine = last.End+gap.Start, last.LastLine+gap.FirstLine
			p.End, p.LastLine = p.Start+gap.End, p.FirstLine+gap.LastLine
		}
		last = *p
	})
}

func chunkFields(c codec, chunk *index.Chunk) {
	list(c, &chunk.Headings, c.text)
	c.text(&chunk.Link)
	c.text(&chunk.Text)
}

// mostAhead bounds the memory that a number which was read is trusted with.
const mostAhead = 64

func list[T any](c codec, values *[]T, field func(*T)) {
	switch c := c.(type) {
	case cleaner:
		*values = append([]T(nil), *values...) // the caller's list stays as it is
	case *decoder:
		n := c.length(0)
		c.items += n
		*values = slices.Grow(*values, min(n, mostAhead))
		for ; n > 0 && !c.broken; n-- {
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

// encoder writes values: lengths as uvarints, numbers as varints, texts behind their lengths, flags as one byte. So two
// different documents never give the same bytes.
type encoder struct {
	data   []byte
	hashed bool // the bytes are hashed: lengths are varints, too

	// names are what texts are written by: 0 stands for the next one that is used, other lengths are one more.
	names *names
	used  []*name
}

func (e *encoder) text(value *string) {
	length := len(*value)
	if e.names != nil {
		if found := e.names.of(*value); found != nil {
			e.used = append(e.used, found)
			e.length(0)
			return
		}
		length++
	}
	e.length(length)
	e.data = append(e.data, *value...)
}

func (e *encoder) number(value *int) { e.data = binary.AppendVarint(e.data, int64(*value)) }

func (e *encoder) flag(value *bool) {
	if *value {
		e.length(1)
		return
	}
	e.length(0)
}

func (e *encoder) length(n int) int {
	if e.hashed {
		e.data = binary.AppendVarint(e.data, int64(n))
	} else {
		e.data = appendLength(e.data, n)
	}
	return n
}

// dates writes when a document was made and changed.
func (e *encoder) dates(d *index.Document) {
	for _, date := range []time.Time{d.CreatedAt, d.UpdatedAt} {
		known := !date.IsZero()
		if e.flag(&known); known {
			e.data = binary.AppendVarint(e.data, date.UnixMicro())
		}
	}
}

func appendLength(data []byte, n int) []byte { return binary.AppendUvarint(data, uint64(n)) }

// decoder reads what an encoder wrote. What cannot be read is zero, and broken is set.
type decoder struct {
	data   []byte
	whole  string // ends with data: texts are parts of it, as one allocation is faster; empty: each is a copy
	broken bool
	items  int  // of lists
	named  bool // texts are written by names, of which names are the next ones
	names  []*name
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
	above := 0 // the length of the text: 0 is the next name
	if d.named {
		above = 1
	}
	n := d.upTo(above) - above
	if n < 0 {
		if len(d.names) == 0 {
			d.data, d.broken = nil, true
			return
		}
		*value, d.names = d.names[0].text, d.names[1:]
		return
	}
	if at := len(d.whole) - len(d.data); d.whole != "" {
		*value = d.whole[at : at+n]
	} else {
		*value = string(d.data[:n])
	}
	d.data = d.data[n:]
}

// passChunk passes over what chunkFields reads.
func (d *decoder) passChunk() {
	for texts := d.length(0) + 2; texts > 0; texts-- {
		d.data = d.data[d.length(0):]
	}
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
func (d *decoder) length(int) int { return d.upTo(0) }

// upTo reads a number that is at most as much above what is left.
func (d *decoder) upTo(above int) int {
	n, width := binary.Uvarint(d.data)
	if !d.advance(width, n <= uint64(above+len(d.data)-max(0, width))) {
		return 0
	}
	return int(n)
}

// The first byte of a packed value says what follows.
const (
	packedRaw        = 0
	packedZstd       = 1
	packedDictionary = 3 // a frame without its first four bytes, which are the same in all; it names its dictionary
	packedNames      = 4 // the number of names, theirs less firstName, and another packed value
)

const (
	// minCompress is the length below which compression does not pay; with a dictionary it does sooner.
	minCompress           = 64
	minCompressDictionary = 32
	// groupBytes of text are packed together: enough to shrink well, little enough to read one chunk fast.
	groupBytes = 8 << 10
	// MaxUnpacked bounds the memory that a damaged or hostile store can ask for; nothing larger is packed.
	MaxUnpacked = 64 << 20
)

// ErrPacked: a packed value cannot be read.
var ErrPacked = errors.New("a stored value is damaged")

// frameMagic is what every zstd frame begins with.
const frameMagic = "\x28\xb5\x2f\xfd"

// Packer compresses what is stored.
type Packer struct {
	plain   *compressor
	current atomic.Pointer[compressor]      // packs new values; nil: plain does
	stored  func(id uint32) ([]byte, error) // reads a dictionary; nil: there are none
	names   names
	recent  *recent

	mutex sync.Mutex
	known map[uint32]*compressor // by dictionary
}

// NewPacker returns a Packer, which is safe for concurrent use. stored reads a dictionary and returns ErrPacked if it
// cannot be read; nil: there are none.
func NewPacker(stored func(id uint32) ([]byte, error)) *Packer {
	return &Packer{plain: newCompressor(nil), stored: stored, recent: newRecent()}
}

// Pack packs a value that is kept whole.
func (p *Packer) Pack(data []byte) ([]byte, error) {
	if current := p.current.Load(); current != nil {
		return p.packWith(current, data)
	}
	return p.packWith(p.plain, data)
}

func (p *Packer) packWith(c *compressor, data []byte) ([]byte, error) {
	if len(data) > MaxUnpacked {
		return nil, fmt.Errorf("%d bytes to be kept together: %w", len(data), ErrTooLarge)
	}
	if c == p.plain && len(data) >= minCompress || c != p.plain && len(data) >= minCompressDictionary {
		encoder, err := c.encoder()
		if err != nil {
			return nil, fmt.Errorf("start compressing: %w", err)
		}
		packed := encoder.EncodeAll(data, append(make([]byte, 0, len(data)/2+16), packedZstd))
		if c != p.plain {
			packed = packed[len(frameMagic):]
			packed[0] = packedDictionary
		}
		if len(packed) <= len(data) {
			return packed, nil
		}
	}
	return append(append(make([]byte, 0, len(data)+1), packedRaw), data...), nil
}

// frameOf returns the frame of a value that is packed with a dictionary, in the memory of a slice if it suffices.
func frameOf(packed, to []byte) []byte { return append(append(to[:0], frameMagic...), packed[1:]...) }

// Unpack returns the value that was packed. Errors: ErrPacked.
func (p *Packer) Unpack(packed []byte) ([]byte, error) { return p.unpack(new(memory), packed) }

// memory is used for one value after another: a search unpacks thirty of them, and copies their texts.
type memory struct{ frame, data []byte }

var memories = sync.Pool{New: func() any { return new(memory) }}

// decode calls read with a decoder of the value that was packed. Errors: ErrPacked, if read finds it broken, too.
func (p *Packer) decode(packed []byte, read func(*decoder)) error {
	used, _ := memories.Get().(*memory)
	data, err := p.unpack(used, packed)
	if max(cap(used.frame), cap(used.data)) <= 8*groupBytes {
		defer memories.Put(used)
	}
	if err != nil {
		return err
	}
	from := decoder{data: data}
	if read(&from); from.broken {
		return ErrPacked
	}
	return nil
}

// unpack is Unpack into the data of memory, unless the value is raw.
func (p *Packer) unpack(used *memory, packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, ErrPacked
	}
	c, frame := p.plain, packed[1:]
	switch {
	case packed[0] == packedRaw && len(packed) <= MaxUnpacked+1:
		return packed[1:], nil
	case packed[0] == packedDictionary:
		used.frame = frameOf(packed, used.frame)
		frame = used.frame
		id, err := dictionaryOf(frame)
		if err != nil {
			return nil, err
		}
		if c, err = p.compressor(id); err != nil {
			return nil, err
		}
	case packed[0] != packedZstd:
		return nil, ErrPacked
	}
	decoder, err := c.decoder()
	if err != nil {
		return nil, fmt.Errorf("start decompressing: %w", err)
	}
	if used.data, err = decoder.DecodeAll(frame, used.data[:0]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPacked, err)
	}
	return used.data, nil
}

// Group has neighbouring chunks of a document, which shrink more together.
type Group struct {
	First int // number of the first chunk
	Count int
	Body  []byte
}

// PackChunks packs the chunks of a document in groups of about groupBytes.
func (p *Packer) PackChunks(ctx context.Context, chunks []index.Chunk) (groups []Group) {
	groupChunks(ctx, chunks, func(first, count int, data []byte) {
		body, err := p.Pack(data)
		guard.Check(err)
		groups = append(groups, Group{first, count, body})
	})
	return groups
}

// groupChunks yields the chunks of a document in groups of about groupBytes. data is valid until the next one.
func groupChunks(ctx context.Context, chunks []index.Chunk, yield func(first, count int, data []byte)) {
	var group encoder
	for first := 0; first < len(chunks); {
		guard.Check(ctx.Err())
		group.data = group.data[:0]
		next := first
		for next < len(chunks) && (next == first || len(group.data)+len(chunks[next].Text) <= groupBytes) {
			chunkFields(&group, &chunks[next])
			next++
		}
		yield(first, next-first, group.data)
		first = next
	}
}

// unpackChunks returns the chunks first to last, of those that there are, of a packed group.
func (p *Packer) unpackChunks(packed []byte, first, last int) (chunks []index.Chunk, err error) {
	err = p.decode(packed, func(from *decoder) {
		for n := 0; len(from.data) > 0; n++ {
			if n < first || n > last {
				from.passChunk()
				continue
			}
			chunks = append(chunks, index.Chunk{})
			chunkFields(from, &chunks[len(chunks)-1])
		}
	})
	if err != nil {
		return nil, err
	}
	return chunks, nil
}

// Unread returns n chunks, none if n is negative. They are marked as damaged until they are read.
func Unread(n int) []index.Chunk {
	return slices.Repeat([]index.Chunk{{Damaged: true}}, max(0, n))
}

// Damaged returns the numbers of the chunks that could not be read. The first of chunks has the number from.
func Damaged(chunks []index.Chunk, from int) (numbers []int) {
	for i := range chunks {
		if chunks[i].Damaged {
			numbers = append(numbers, from+i)
		}
	}
	return numbers
}
