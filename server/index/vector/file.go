// Package vector keeps the vectors of a segment's chunks in an immutable file beside the segment, and finds the nearest
// of them: by codes of one byte per dimension, all of them or, where that takes too long, those whose sign bits are
// near. Codes of two bytes take twice the room, and mistake one in thirty of the ten nearest less; no ranking of judged
// queries gained by them.
//
// A file is a header, sections of fixed order and size, checksums and a footer; numbers are little endian:
//
//	header    magic, format version u32, dimensions u32
//	mean      float32 of every dimension: what sign bits are relative to
//	bits      one bit per dimension and vector, in words of 64: above the mean
//	keys      16 bytes of every vector: identifies its text
//	chunks    u32 of every vector: the chunk of the segment, ascending
//	scales    float32 of every vector: what its codes are multiplied by
//	codes     int8 of every dimension and vector; int16 in version 1
//	checksums as of segments
//	footer    number of vectors, missing, depth; their CRC-32C and that of the checksums, magic
package vector

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"quarry/server/index/segment"
)

const (
	// FormatVersion is the version of the file format that this package writes. It reads version 1 as well.
	FormatVersion = 2
	// MaxDimensions bounds the length of a vector.
	MaxDimensions = 8192
	// KeyBytes is the length of a Key.
	KeyBytes = 16

	magic      = "QRYVEC\r\n"
	headerSize = 16
	footerSize = 3*8 + 2*4 + len(magic)
)

// Key identifies the text of a vector.
type Key [KeyBytes]byte

// Value implements driver.Valuer.
func (k Key) Value() (driver.Value, error) { return k[:], nil }

// layout says where the sections lie.
type layout struct {
	dimensions, count, words                         int
	width                                            int // of a code, in bytes
	mean, bits, keys, chunks, scales, codes, content int
}

func layoutOf(version uint32, dimensions, count int) layout {
	l := layout{dimensions: dimensions, count: count, words: (dimensions + 63) / 64, width: 1}
	if version == 1 {
		l.width = 2
	}
	l.mean = headerSize
	l.bits = (l.mean + 4*dimensions + 7) / 8 * 8
	l.keys = l.bits + 8*l.words*count
	l.chunks = l.keys + KeyBytes*count
	l.scales = l.chunks + 4*count
	l.codes = l.scales + 4*count
	l.content = l.codes + l.width*dimensions*count
	return l
}

// File reads the vectors of one segment; safe for concurrent use. Methods must be called within segment.Protect.
type File struct {
	layout
	name    string
	blocks  *segment.Blocks
	missing int
	depth   int // see calibrate; 0: all are measured
	exact   int // codes that are measured one by one

	loaded func() *columns
}

// columns are small and needed by every search; they are copied out of the file once.
type columns struct {
	mean   []float32
	chunks []uint32
	scales []float32
}

// Open reads the footer of a file. data, which may be mapped, must stay as it is as long as the File is used. name is
// what errors call the file. Errors wrap segment.ErrDamaged.
func Open(name string, data []byte) (*File, error) {
	f := &File{name: name, exact: work()}
	f.loaded = sync.OnceValue(f.load)
	if err := segment.Protect(f.Name, func() { f.open(data) }); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	return f, nil
}

// require panics with what is damaged unless that holds.
func (f *File) require(holds bool, what string) {
	if !holds {
		panic(segment.Damage(f.name, what))
	}
}

func (f *File) open(data []byte) {
	f.require(len(data) >= headerSize+footerSize, "the file is too short")
	footer := data[len(data)-footerSize:]
	f.require(string(data[:len(magic)]) == magic && string(footer[footerSize-len(magic):]) == magic,
		"it is cut off or not a file of vectors")
	version := binary.LittleEndian.Uint32(data[8:])
	f.require(version >= 1 && version <= FormatVersion, fmt.Sprintf("unknown format version %d", version))
	f.require(segment.Checksum(footer[:28]) == binary.LittleEndian.Uint32(footer[28:]),
		"the footer's checksum is wrong")
	const outside = "a number is out of range"
	dimensions := binary.LittleEndian.Uint32(data[12:])
	f.require(dimensions >= 1 && dimensions <= MaxDimensions, outside)
	var numbers [3]int
	for i := range numbers {
		number := binary.LittleEndian.Uint64(footer[8*i:])
		f.require(number <= math.MaxInt32, outside)
		numbers[i] = int(number)
	}
	f.layout, f.missing, f.depth = layoutOf(version, int(dimensions), numbers[0]), numbers[1], numbers[2]
	f.require(len(data) == f.content+segment.ChecksumBytes(f.content)+footerSize, "its length is wrong")
	sums := data[f.content : len(data)-footerSize]
	f.require(segment.Checksum(sums) == binary.LittleEndian.Uint32(footer[24:]), "the checksums are damaged")
	f.blocks = segment.NewBlocks(f.name, data, f.content, sums)
}

// Name returns the name passed to Open.
func (f *File) Name() string { return f.name }

// Len is the number of vectors, deleted ones included.
func (f *File) Len() int { return f.count }

// Dimensions is the length of every vector.
func (f *File) Dimensions() int { return f.dimensions }

// Missing is how many chunks had no vector when the file was written.
func (f *File) Missing() int { return f.missing }

// Verify checks all of the file.
func (f *File) Verify() error {
	return segment.Protect(f.Name, func() {
		f.blocks.Bytes(0, f.content)
		f.loaded()
	})
}

// Chunks are the chunks of the segment that have a vector, ascending.
func (f *File) Chunks() []uint32 { return f.loaded().chunks }

// Key identifies the text of a vector.
func (f *File) Key(i int) (key Key) {
	copy(key[:], f.blocks.Bytes(f.keys+KeyBytes*i, KeyBytes))
	return key
}

// load reads the columns.
func (f *File) load() *columns {
	c := &columns{f.floats(f.mean, f.dimensions), make([]uint32, f.count), f.floats(f.scales, f.count)}
	_, _ = binary.Decode(f.blocks.Bytes(f.chunks, 4*f.count), binary.LittleEndian, c.chunks) // the length is right
	for i := 1; i < f.count; i++ {
		f.require(c.chunks[i] > c.chunks[i-1], "its chunks do not ascend")
	}
	return c
}

func (f *File) floats(offset, count int) []float32 {
	values := make([]float32, count)
	_, _ = binary.Decode(f.blocks.Bytes(offset, 4*count), binary.LittleEndian, values) // the length is right
	return values
}
