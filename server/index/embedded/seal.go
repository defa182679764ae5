package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

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

func seal(data, key []byte) []byte {
	out := append(make([]byte, 0, sealBytes+len(data)), sealed)
	out = binary.LittleEndian.AppendUint32(out, segment.Checksum(key, data))
	return append(out, data...)
}

// isSealed reports whether a value has a seal.
func isSealed(value []byte) bool { return len(value) >= sealBytes && value[0] == sealed }

// unseal returns the data of a sealed value. Errors: errPacked.
func unseal(value, key []byte) ([]byte, error) {
	if !isSealed(value) || segment.Checksum(key, value[sealBytes:]) != binary.LittleEndian.Uint32(value[1:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errPacked)
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
	return errors.Is(err, errPacked) || errors.Is(err, index.ErrDamaged) ||
		err != nil && strings.Contains(err.Error(), "sql: Scan error")
}

// errOrder: rows come in an order that they cannot be in. A damaged page that leads back to one before it would be read
// for ever.
var errOrder = fmt.Errorf("%w: its rows are out of order", index.ErrDamaged)

// documentKey is the key of the seal of a document's detail: all other columns of its row.
func documentKey(s *stored) []byte {
	d := &s.document
	key := encoder{append(make([]byte, 0, 256), s.hash...)}
	for _, field := range []*string{&d.ID, &d.Source, &d.Origin, &d.Title, &d.Link, &d.Type} {
		key.text(field)
	}
	for _, date := range []*int64{micros(d.CreatedAt), micros(d.UpdatedAt)} {
		known := date != nil
		if key.flag(&known); known {
			key.data = binary.AppendVarint(key.data, *date)
		}
	}
	key.flag(&d.Hidden)
	key.length(s.chunks)
	return key.data
}

// groupKey is the key of the seal of a group of chunks: its place, and the half of the document's hash that stands for
// the chunks.
func groupKey(key int64, hash []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+hashBytes), uint64(key)),
		hash[min(hashBytes, len(hash)):]...)
}

// deletesKey is the key of the seals of a record of deletes.
func deletesKey(segment, number int64, column byte) []byte {
	return append(binary.AppendVarint(binary.AppendVarint(nil, segment), number), column)
}
