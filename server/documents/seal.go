package documents

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// A sealed value is the byte sealed, the CRC-32C of a key and the data, and the data. The key names what the data
// belongs to, so that intact data in the wrong place is found, too. Values written before there were seals begin with
// another byte, or are shorter.
const (
	sealed    = 2
	sealBytes = 1 + crc32.Size
)

// Seal returns a sealed value.
func Seal(data, key []byte) []byte {
	out := append(make([]byte, 0, sealBytes+len(data)), sealed)
	out = binary.LittleEndian.AppendUint32(out, segment.Checksum(key, data))
	return append(out, data...)
}

// isSealed reports whether a value has a seal.
func isSealed(value []byte) bool { return len(value) >= sealBytes && value[0] == sealed }

// Unseal returns the data of a sealed value. Errors: ErrPacked.
func Unseal(value, key []byte) ([]byte, error) {
	if !isSealed(value) || segment.Checksum(key, value[sealBytes:]) != binary.LittleEndian.Uint32(value[1:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrPacked)
	}
	return value[sealBytes:], nil
}

// UnsealOld is Unseal for a value that may have no seal yet.
func UnsealOld(value, key []byte) ([]byte, error) {
	if !isSealed(value) {
		return value, nil
	}
	return Unseal(value, key)
}

// Unreadable reports whether an error means that stored data is damaged, and not that reading it failed. database/sql
// has no type for a value that does not fit the variable it is read into.
func Unreadable(err error) bool {
	return errors.Is(err, ErrPacked) || errors.Is(err, fault.ErrDamaged) ||
		err != nil && strings.Contains(err.Error(), "sql: Scan error")
}

// Damage calls read, and returns the error that it is aborted with if it is Unreadable. Others abort the caller.
func Damage(read func()) error {
	err := guard.Ended(read)
	if !Unreadable(err) {
		guard.Check(err)
	}
	return err
}

// sealKey is the key of the seal of a row's detail: all other columns, and what the lists of its names begin with.
// It aborts with ErrPacked if one is lost.
func (p *Packer) sealKey(row *Row) []byte {
	key, last := encoder{data: append(make([]byte, 0, 512), row.Hash...)}, ""
	appendColumns(&key, &row.Document, row.ChunkCount)
	list := func(list string) {
		if list != last {
			last = list
			key.text(&last)
		}
	}
	for _, used := range row.names {
		list(used.list)
	}
	for _, column := range row.short {
		list(cmp.Or(p.names.expand(&column), last))
	}
	return key.data
}

// unseal checks the seal of a row that was read, and finds its names.
func (p *Packer) unseal(row *Row) {
	value := row.Detail
	row.short, row.Detail = row.shared(), nil
	for _, column := range [...]*string{&row.Source, &row.Origin, &row.Type, &row.Link} {
		p.names.expand(column)
	}
	found, detail := p.namesIn(value[sealBytes:])
	row.names = found
	guard.Must(Unseal(value, p.sealKey(row)))
	row.Detail = detail
}

// A group of chunks has a row of the table chunks. Its key is the number of the document's row, and behind it that of
// the group's first chunk.
const (
	ordinalBits = 20
	ordinalMask = 1<<ordinalBits - 1
)

// chunkKey returns the key of the group that begins with a chunk of the document with a row number.
func chunkKey(row int64, chunk int) int64 { return row<<ordinalBits | int64(chunk)&ordinalMask }

// Sealed returns the group as the table chunks has it, under the row and the hash of its document.
func (g Group) Sealed(row int64, hash []byte) (key int64, body []byte) {
	key = chunkKey(row, g.First)
	return key, Seal(append(binary.AppendUvarint(nil, uint64(g.Count)), g.Body...), groupKey(key, hash))
}

// openGroup checks the seal of a group. count is -1 in a group without a seal.
func openGroup(value []byte, key int64, hash []byte) (packed []byte, count int, err error) {
	if !isSealed(value) {
		return value, -1, nil
	}
	data, err := Unseal(value, groupKey(key, hash))
	if err != nil {
		return nil, 0, err
	}
	n, width := binary.Uvarint(data)
	if width <= 0 || n > MaxChunks {
		return nil, 0, ErrPacked
	}
	return data[width:], int(n), nil
}

// groupKey is the key of the seal of a group of chunks: its place, and the half of the document's hash that stands for
// the chunks.
func groupKey(key int64, hash []byte) []byte {
	_, chunks := halves(hash)
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+HashBytes), uint64(key)), chunks...)
}

// unpackGroup returns the chunks first to last, of those that there are, of a group.
func (p *Packer) unpackGroup(value []byte, key int64, hash []byte, first, last int) ([]index.Chunk, error) {
	packed, _, err := openGroup(value, key, hash)
	if err != nil {
		return nil, err
	}
	return p.unpackChunks(packed, first, last)
}
