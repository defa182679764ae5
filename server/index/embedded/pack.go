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
	return seal(append(appendLength(nil, g.count), g.body...), groupKey(chunkKey(row, g.first), hash))
}

// packChunks packs the chunks of a document in groups of about groupBytes.
func (p *packer) packChunks(ctx context.Context, chunks []index.Chunk) ([]packedGroup, error) {
	var groups []packedGroup
	var group encoder
	for first := 0; first < len(chunks); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		group.data = group.data[:0]
		next := first
		for next < len(chunks) && (next == first || len(group.data)+len(chunks[next].Text) <= groupBytes) {
			chunkFields(&group, &chunks[next])
			next++
		}
		body, err := p.pack(group.data)
		if err != nil {
			return nil, err
		}
		groups = append(groups, packedGroup{first, next - first, body})
		first = next
	}
	return groups, nil
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
	for from := (&decoder{data: data}); len(from.data) > 0; {
		var chunk index.Chunk
		if chunkFields(from, &chunk); from.broken {
			return nil, errPacked
		}
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

// packDetail packs what is stored of a document beside its columns and chunks.
func (p *packer) packDetail(document *index.Document) ([]byte, error) {
	var to encoder
	detail(&to, document)
	return p.pack(to.data)
}

func (p *packer) unpackDetail(packed []byte, document *index.Document) error {
	data, err := p.unpack(packed)
	if err != nil {
		return err
	}
	from := &decoder{data: data}
	if detail(from, document); from.broken || len(from.data) > 0 {
		return errPacked
	}
	return nil
}
