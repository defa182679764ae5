package segment

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Blocks is a file whose content is followed by the CRC-32C of every 64 KB of it. A block is checked when it is first
// touched.
type Blocks struct {
	name     string
	data     []byte
	content  int
	sums     []byte
	verified []atomic.Uint64 // one bit per block whose checksum was found right
}

// AppendChecksums appends the checksums of a file's content.
func AppendChecksums(content []byte) []byte {
	out, size := content, len(content)
	for from := 0; from < size; from += checksumBlock {
		block := out[from:min(size, from+checksumBlock)]
		out = binary.LittleEndian.AppendUint32(out, Checksum(block))
	}
	return out
}

// ChecksumBytes is the length of the checksums of a content.
func ChecksumBytes(content int) int { return 4 * ((content + checksumBlock - 1) / checksumBlock) }

// NewBlocks reads the content of data, which may be a mapped file; sums are the checksums of the content. name is what
// errors call the file.
func NewBlocks(name string, data []byte, content int, sums []byte) *Blocks {
	return &Blocks{name: name, data: data, content: content, sums: sums,
		verified: make([]atomic.Uint64, (content/checksumBlock+64)/64)}
}

// Bytes returns part of the content. It must be called within Protect: damage is raised as a panic.
func (b *Blocks) Bytes(offset, length int) []byte {
	if length == 0 {
		return nil
	}
	for block := offset / checksumBlock; block <= (offset+length-1)/checksumBlock; block++ {
		if b.verified[block/64].Load()&(1<<(block%64)) == 0 {
			b.verify(block)
		}
	}
	return b.data[offset : offset+length]
}

func (b *Blocks) verify(block int) {
	from := block * checksumBlock
	data := b.data[from:min(from+checksumBlock, b.content)]
	if Checksum(data) != binary.LittleEndian.Uint32(b.sums[4*block:]) {
		panic(&damage{b.name, fmt.Sprintf("wrong checksum at byte %d", from)})
	}
	b.verified[block/64].Or(1 << (block % 64))
}

// Damage is the error of a file that cannot be read as it was written; it wraps ErrDamaged. Within Protect it may be
// raised as a panic.
func Damage(name, what string) error { return &damage{name, what} }
