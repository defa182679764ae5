package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
)

// sealedGroup is the value of a row of the table chunks: the number of chunks and the packed chunks.
func sealedGroup(g codec.Group, row int64, hash []byte) []byte {
	return seal(append(binary.AppendUvarint(nil, uint64(g.Count)), g.Body...), groupKey(chunkKey(row, g.First), hash))
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
	if width <= 0 || n > codec.MaxChunks {
		return nil, 0, codec.ErrPacked
	}
	return data[width:], int(n), nil
}

// unpackGroup returns the chunks of a row of the table chunks.
func unpackGroup(p *codec.Packer, value []byte, key int64, hash []byte) ([]index.Chunk, error) {
	packed, _, err := openGroup(value, key, hash)
	if err != nil {
		return nil, err
	}
	return p.UnpackChunks(packed)
}

// A sealed value is the byte sealed, the CRC-32C of a key and the data, and the data. The key names what the data
// belongs to, so that intact data in the wrong place is found, too. Values written before there were seals begin with
// another byte, or are shorter.
const (
	sealed    = 2
	sealBytes = 1 + crc32.Size
)

func seal(data, key []byte) []byte {
	out := append(make([]byte, 0, sealBytes+len(data)), sealed)
	out = binary.LittleEndian.AppendUint32(out, segment.Checksum(key, data))
	return append(out, data...)
}

// isSealed reports whether a value has a seal.
func isSealed(value []byte) bool { return len(value) >= sealBytes && value[0] == sealed }

// unseal returns the data of a sealed value. Errors: codec.ErrPacked.
func unseal(value, key []byte) ([]byte, error) {
	if !isSealed(value) || segment.Checksum(key, value[sealBytes:]) != binary.LittleEndian.Uint32(value[1:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", codec.ErrPacked)
	}
	return value[sealBytes:], nil
}

// unsealOld is unseal for a value that may have no seal yet.
func unsealOld(value, key []byte) ([]byte, error) {
	if !isSealed(value) {
		return value, nil
	}
	return unseal(value, key)
}

// unreadable reports whether an error means that stored data is damaged, and not that reading it failed. database/sql
// has no type for a value that does not fit the variable it is read into.
func unreadable(err error) bool {
	return errors.Is(err, codec.ErrPacked) || errors.Is(err, fault.ErrDamaged) ||
		err != nil && strings.Contains(err.Error(), "sql: Scan error")
}

// documentKey is the key of the seal of a document's detail: all other columns of its row.
func documentKey(s *documents.Row) []byte {
	return codec.Columns(append(make([]byte, 0, 256), s.Hash...), &s.Document, s.ChunkCount)
}

// groupKey is the key of the seal of a group of chunks: its place, and the half of the document's hash that stands for
// the chunks.
func groupKey(key int64, hash []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+codec.HashBytes), uint64(key)),
		hash[min(codec.HashBytes, len(hash)):]...)
}

// deletesKey is the key of the seals of a record of deletes.
func deletesKey(segment, number int64, column byte) []byte {
	return append(binary.AppendVarint(binary.AppendVarint(nil, segment), number), column)
}
