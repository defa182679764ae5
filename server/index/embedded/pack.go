package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"quarry/server/index"

	"github.com/klauspost/compress/zstd"
)

// The first byte of a packed value says what follows.
const (
	packedRaw  = 0
	packedZstd = 1
)

const (
	// minCompress is the length below which compression does not pay.
	minCompress = 64
	// groupBytes of text are packed together: enough to shrink well, little enough to read one chunk fast.
	groupBytes = 8 << 10
	// maxUnpacked bounds the memory that a damaged or hostile store can ask for; nothing larger is packed.
	maxUnpacked = 64 << 20
)

var errPacked = errors.New("a stored value is damaged")

// packer compresses what is stored. Its tables are made at the first use: a start that reads nothing pays nothing.
type packer struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

func newPacker() *packer {
	return &packer{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
				zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderLowmem(true))
		}),
	}
}

func (p *packer) pack(data []byte) ([]byte, error) {
	if len(data) > maxUnpacked {
		return nil, fmt.Errorf("%d bytes to be kept together: %w", len(data), ErrTooLarge)
	}
	if len(data) >= minCompress {
		encoder, err := p.encoder()
		if err != nil {
			return nil, fmt.Errorf("start compressing: %w", err)
		}
		packed := encoder.EncodeAll(data, append(make([]byte, 0, len(data)/2+16), packedZstd))
		if len(packed) <= len(data) {
			return packed, nil
		}
	}
	return append(append(make([]byte, 0, len(data)+1), packedRaw), data...), nil
}

func (p *packer) unpack(packed []byte) ([]byte, error) {
	switch {
	case len(packed) == 0:
		return nil, errPacked
	case packed[0] == packedRaw && len(packed) <= maxUnpacked+1:
		return packed[1:], nil
	case packed[0] != packedZstd:
		return nil, errPacked
	}
	decoder, err := p.decoder()
	if err != nil {
		return nil, fmt.Errorf("start decompressing: %w", err)
	}
	data, err := decoder.DecodeAll(packed[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	return data, nil
}

// packedGroup is a row of the table chunks: neighbouring chunks of a document, which shrink more together.
type packedGroup struct {
	first int // number of the first chunk
	count int
	body  []byte
}

// sealed is the value of the row: the number of chunks and the packed chunks.
func (g packedGroup) sealed(row int64, hash []byte) []byte {
	return seal(append(appendNumber(nil, g.count), g.body...), groupKey(chunkKey(row, g.first), hash))
}

// packChunks packs the chunks of a document in groups of about groupBytes.
func (p *packer) packChunks(ctx context.Context, chunks []index.Chunk) ([]packedGroup, error) {
	var groups []packedGroup
	var data []byte
	for first := 0; first < len(chunks); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data = data[:0]
		next := first
		for next < len(chunks) && (next == first || len(data)+len(chunks[next].Text) <= groupBytes) {
			data = appendChunk(data, &chunks[next])
			next++
		}
		body, err := p.pack(data)
		if err != nil {
			return nil, err
		}
		groups = append(groups, packedGroup{first, next - first, body})
		first = next
	}
	return groups, nil
}

func appendChunk(data []byte, chunk *index.Chunk) []byte {
	return appendText(appendText(appendTexts(data, chunk.Headings), chunk.Link), chunk.Text)
}

// openGroup checks the seal of a row of the table chunks. count is -1 in a row without a seal.
func openGroup(value []byte, key int64, hash []byte) (packed []byte, count int, err error) {
	if !isSealed(value) {
		return value, -1, nil
	}
	data, err := unseal(value, groupKey(key, hash))
	if err != nil {
		return nil, 0, err
	}
	n, width := binary.Uvarint(data)
	if width <= 0 || n > MaxChunks {
		return nil, 0, errPacked
	}
	return data[width:], int(n), nil
}

// unpackGroup returns the chunks of a row of the table chunks.
func (p *packer) unpackGroup(value []byte, key int64, hash []byte) ([]index.Chunk, error) {
	packed, _, err := openGroup(value, key, hash)
	if err != nil {
		return nil, err
	}
	return p.unpackChunks(packed)
}

// unpackChunks returns the chunks of a packed group.
func (p *packer) unpackChunks(packed []byte) ([]index.Chunk, error) {
	data, err := p.unpack(packed)
	if err != nil {
		return nil, err
	}
	var chunks []index.Chunk
	for from := (values{data: data}); len(from.data) > 0; {
		chunk := index.Chunk{Headings: from.texts(), Link: from.text(), Text: from.text()}
		if from.broken {
			return nil, errPacked
		}
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

// packDetail packs what is stored of a document beside its columns and chunks.
func (p *packer) packDetail(document *index.Document) ([]byte, error) {
	data := appendTexts(nil, document.Path)
	data = appendTexts(data, document.Sets)
	data = appendTexts(data, document.Access)
	data = appendNumber(data, len(document.Authors))
	for _, person := range document.Authors {
		data = appendText(appendText(data, person.Name), person.Email)
	}
	data = appendNumber(data, len(document.Metadata))
	for _, field := range document.Metadata {
		data = appendTexts(appendText(data, field.Key), field.Values)
		data = appendFlag(data, field.List)
	}
	data = appendNumber(data, len(document.Outline))
	for _, heading := range document.Outline {
		data = binary.AppendVarint(binary.AppendVarint(data, int64(heading.Level)), int64(heading.Chunk))
		data = appendText(data, heading.Text)
	}
	return p.pack(data)
}

func (p *packer) unpackDetail(packed []byte, document *index.Document) error {
	data, err := p.unpack(packed)
	if err != nil {
		return err
	}
	from := values{data: data}
	document.Path, document.Sets, document.Access = from.texts(), from.texts(), from.texts()
	for n := from.count(); n > 0 && !from.broken; n-- {
		document.Authors = append(document.Authors, index.Person{Name: from.text(), Email: from.text()})
	}
	for n := from.count(); n > 0 && !from.broken; n-- {
		document.Metadata = append(document.Metadata,
			index.Field{Key: from.text(), Values: from.texts(), List: from.count() != 0})
	}
	for n := from.count(); n > 0 && !from.broken; n-- {
		document.Outline = append(document.Outline,
			index.Heading{Level: from.number(), Chunk: from.number(), Text: from.text()})
	}
	if from.broken || len(from.data) > 0 {
		return errPacked
	}
	return nil
}

func appendNumber(data []byte, value int) []byte { return binary.AppendUvarint(data, uint64(value)) }

func appendFlag(data []byte, value bool) []byte {
	if value {
		return append(data, 1)
	}
	return append(data, 0)
}

func appendText(data []byte, text string) []byte {
	return append(appendNumber(data, len(text)), text...)
}

func appendTexts(data []byte, texts []string) []byte {
	data = appendNumber(data, len(texts))
	for _, text := range texts {
		data = appendText(data, text)
	}
	return data
}

// values reads what the append functions wrote, in the same order. What cannot be read is zero, and broken is set.
type values struct {
	data   []byte
	broken bool
}

// count reads a number that cannot exceed what is left, as everything that is counted takes at least a byte.
func (v *values) count() int {
	value, width := binary.Uvarint(v.data)
	if width <= 0 || value > uint64(len(v.data)) {
		v.data, v.broken = nil, true
		return 0
	}
	v.data = v.data[width:]
	return int(value)
}

func (v *values) number() int {
	value, width := binary.Varint(v.data)
	if width <= 0 {
		v.data, v.broken = nil, true
		return 0
	}
	v.data = v.data[width:]
	return int(value)
}

func (v *values) text() string {
	length := v.count()
	if length > len(v.data) {
		v.data, v.broken = nil, true
		return ""
	}
	text := string(v.data[:length])
	v.data = v.data[length:]
	return text
}

func (v *values) texts() []string {
	var texts []string
	for n := v.count(); n > 0 && !v.broken; n-- {
		texts = append(texts, v.text())
	}
	return texts
}
