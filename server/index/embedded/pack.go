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
	// maxUnpacked bounds the memory that a damaged or hostile store can ask for.
	maxUnpacked = 256 << 20
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
	case packed[0] == packedRaw:
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
	body  []byte
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
		groups = append(groups, packedGroup{first, body})
		first = next
	}
	return groups, nil
}

func appendChunk(data []byte, chunk *index.Chunk) []byte {
	data = binary.AppendUvarint(data, uint64(len(chunk.Headings)))
	for _, heading := range chunk.Headings {
		data = appendText(data, heading)
	}
	return appendText(appendText(data, chunk.Link), chunk.Text)
}

// unpackChunks is the reverse of what packChunks does for one group.
func (p *packer) unpackChunks(packed []byte) ([]index.Chunk, error) {
	data, err := p.unpack(packed)
	if err != nil {
		return nil, err
	}
	var chunks []index.Chunk
	for len(data) > 0 {
		chunk, rest, ok := cutChunk(data)
		if !ok {
			return nil, errPacked
		}
		chunks, data = append(chunks, chunk), rest
	}
	return chunks, nil
}

func cutChunk(data []byte) (chunk index.Chunk, rest []byte, ok bool) {
	count, width := binary.Uvarint(data)
	if width <= 0 || count > uint64(len(data)) {
		return chunk, nil, false
	}
	data = data[width:]
	for range count {
		heading := ""
		if heading, data, ok = cutText(data); !ok {
			return chunk, nil, false
		}
		chunk.Headings = append(chunk.Headings, heading)
	}
	if chunk.Link, data, ok = cutText(data); !ok {
		return chunk, nil, false
	}
	chunk.Text, data, ok = cutText(data)
	return chunk, data, ok
}

func appendText(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

func cutText(data []byte) (text string, rest []byte, ok bool) {
	length, width := binary.Uvarint(data)
	if width <= 0 || length > uint64(len(data)-width) {
		return "", nil, false
	}
	end := width + int(length)
	return string(data[width:end]), data[end:], true
}
