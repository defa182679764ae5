// Package segment is the file format of the index: immutable segments, each with the documents of a few batches or of
// merged segments, sorted by document id.
//
// A file is a header, sections, a table of checksums and a footer:
//
//	header    magic, format version, analyser version
//	sections  each at a multiple of 8 bytes; see the section constants
//	checksums CRC-32C of every 64 KB block of what precedes the table
//	footer    statistics, the table of sections, where the checksums are; its own CRC-32C, its length, magic
//
// Numbers are little endian; "uvarint" is encoding/binary's. Opening reads the footer alone; a block is checked when it
// is first touched.
package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"quarry/internal/guard"
)

// ErrDamaged: a segment cannot be read as it was written. The error that wraps it names the segment.
var ErrDamaged = errors.New("the search index is damaged")

// FormatVersion is the version of the file format that this package writes. It reads earlier ones, too.
const FormatVersion = 4

const (
	formatFirst = 1
	// formatPlaced: the values of terms and surfaces are shorter, and columns may have a shape.
	formatPlaced = 2
	// formatWords: terms and surfaces are one dictionary, blocks have no bounds, and tails are shorter.
	formatWords = 3
	// formatPatched: blocks may have exceptions and a width for first positions, keys shorter lengths, and surfaces no
	// sets, as their forms say where they stand.
	formatPatched = 4
)

const (
	magic          = "QRYSEG\r\n"
	headerSize     = 16 // magic, format version u32, analyser version u32
	checksumBlock  = 64 << 10
	trailerSize    = 16 // footer length u32, CRC-32C of the footer u32, magic
	padding        = 8  // zero bytes after a section, so that eight bytes can be loaded anywhere in it
	maxFooterBytes = 1 << 16
)

// section identifies a part of the file. Numbers are never used again for something else.
type section uint32

const (
	sectionDocuments    section = iota + 1 // dictionary of document ids; the ordinal is the document's
	sectionFirstChunks                     // column: a document's first chunk; one more at the end
	sectionBodyLengths                     // column: tokens of a chunk's text
	sectionHeadLengths                     // column: tokens of a chunk's headings
	sectionTitleLengths                    // column: tokens of a document's title and path
	sectionSeconds                         // column: Unix seconds of the update, offset by secondsBias; 0 undated
	sectionNanoseconds                     // column: the rest of the same time
	sectionTitles                          // bytes of all titles
	sectionTitleEnds                       // column: where a title ends in sectionTitles
	sectionValues                          // dictionary of facet values
	sectionFacetEnds                       // column: where a document's facets end in sectionFacets
	sectionFacets                          // column: ordinals of facet values, document by document
	sectionFilters                         // dictionary of filter keys → document set in sectionSets
	sectionSets                            // document sets of filters, before formatPatched of surfaces, too
	sectionTerms                           // dictionary of words, see words.go
	sectionPostings                        // see postings.go
	sectionPositions                       // positions of the postings
	sectionSurfaces                        // before formatWords: dictionary of surfaces
	sectionPrints                          // column: fingerprints of chunks; analysers before 2 wrote none
	sectionForms                           // before formatWords: column of surfaces, their forms; see forms.go
	sectionLast
)

// secondsBias moves the years −292e9…+292e9 to positive numbers and leaves 0 for "undated".
const secondsBias = 1 << 62

// Stats are sums over the documents of a segment, or of a set of segments.
type Stats struct {
	Documents, Chunks int64
	// BodyTokens and HeadingTokens are summed over chunks.
	BodyTokens, HeadingTokens int64
	// TitleTokens is summed over documents, ChunkTitleTokens over chunks, each with its document's title.
	TitleTokens, ChunkTitleTokens int64
}

// Add adds other, sign times.
func (s *Stats) Add(other Stats, sign int64) {
	added := other.fields()
	for i, field := range s.fields() {
		*field += sign * *added[i]
	}
}

// addDocument adds a document but for the tokens of its chunks.
func (s *Stats) addDocument(titleTokens uint32, chunks int) {
	s.Documents++
	s.Chunks += int64(chunks)
	s.TitleTokens += int64(titleTokens)
	s.ChunkTitleTokens += int64(titleTokens) * int64(chunks)
}

// addTokens adds the tokens of a chunk.
func (s *Stats) addTokens(body, headings uint32) {
	s.BodyTokens += int64(body)
	s.HeadingTokens += int64(headings)
}

func (s *Stats) fields() []*int64 {
	return []*int64{
		&s.Documents, &s.Chunks, &s.BodyTokens, &s.HeadingTokens, &s.TitleTokens, &s.ChunkTitleTokens,
	}
}

// statsSlots leaves room for sums that later versions may add.
const statsSlots = 16

// Checksum is the CRC-32C of pieces of data, one after the other.
func Checksum(pieces ...[]byte) (sum uint32) {
	for _, piece := range pieces {
		sum = crc32.Update(sum, castagnoli, piece)
	}
	return sum
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// extent is where a section lies in the file.
type extent struct{ offset, length int }

// assemble lays the sections out in one file.
func assemble(analyser uint32, stats Stats, sections map[section][]byte) []byte {
	size := headerSize
	for _, data := range sections {
		size += len(data) + 2*padding
	}
	out := make([]byte, 0, size+size/checksumBlock*4+4096)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, FormatVersion)
	out = binary.LittleEndian.AppendUint32(out, analyser)
	var table []uint64
	for id := section(1); id < sectionLast; id++ {
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
		table = append(table, uint64(id), uint64(len(out)), uint64(len(sections[id])))
		out = append(out, sections[id]...)
		out = append(out, make([]byte, padding)...)
		delete(sections, id) // what was copied can be collected
	}
	content := len(out)
	out = AppendChecksums(out)
	checksums := Checksum(out[content:])
	return appendFooter(out, content, checksums, stats, table)
}

func appendFooter(out []byte, content int, checksums uint32, stats Stats, table []uint64) []byte {
	numbers := make([]uint64, statsSlots)
	for i, field := range stats.fields() {
		numbers[i] = uint64(*field)
	}
	numbers = append(append(numbers, uint64(content), uint64(checksums)), table...)
	start := len(out)
	out, _ = binary.Append(out, binary.LittleEndian, numbers) // numbers are no error
	length, sum := uint32(len(out)-start), Checksum(out[start:])
	out = binary.LittleEndian.AppendUint32(out, length)
	out = binary.LittleEndian.AppendUint32(out, sum)
	return append(out, magic...)
}

// footer is what opening a segment reads.
type footer struct {
	format    uint32
	stats     Stats
	content   int // bytes before the checksums
	checksums []byte
	extents   [sectionLast]extent
}

// readFooter checks and reads the footer of a file.
func (r *Reader) readFooter(data []byte) {
	f := &r.footer
	r.require(len(data) >= headerSize+trailerSize, "the file is too short")
	trailer := data[len(data)-trailerSize:]
	r.require(string(data[:len(magic)]) == magic && string(trailer[8:]) == magic, "it is cut off or not a segment")
	f.format = binary.LittleEndian.Uint32(data[8:])
	if f.format < formatFirst || f.format > FormatVersion {
		panic(r.damaged(fmt.Sprintf("unknown format version %d", f.format)))
	}
	length := int(binary.LittleEndian.Uint32(trailer))
	r.require(length >= (statsSlots+2)*8 && length <= min(maxFooterBytes, len(data)-headerSize-trailerSize),
		"the footer's length is wrong")
	start := len(data) - trailerSize - length
	raw, numbers := data[start:start+length], make([]uint64, length/8)
	r.require(Checksum(raw) == binary.LittleEndian.Uint32(trailer[4:]), "the footer's checksum is wrong")
	_, _ = binary.Decode(raw, binary.LittleEndian, numbers) // it has as many
	for i, field := range f.stats.fields() {
		*field = int64(numbers[i])
		r.require(*field >= 0, "a statistic is negative")
	}
	r.require(numbers[statsSlots] <= uint64(start), "the content's length is wrong")
	f.content = int(numbers[statsSlots])
	f.checksums = data[f.content:start]
	r.require(len(f.checksums) == ChecksumBytes(f.content) &&
		uint64(Checksum(f.checksums)) == numbers[statsSlots+1], "the checksums are damaged")
	r.readTable(numbers[statsSlots+2:])
}

// readTable reads the table of sections. Sections that this version does not know are passed over.
func (r *Reader) readTable(table []uint64) {
	f, seen := &r.footer, 0
	for ; len(table) >= 3; table = table[3:] {
		id, offset, length := table[0], table[1], table[2]
		if offset > uint64(f.content) || length > uint64(f.content)-offset {
			panic(r.damaged(fmt.Sprintf("section %d is outside of the file", id)))
		}
		if id >= 1 && id < uint64(sectionLast) {
			f.extents[id] = extent{int(offset), int(length)}
		}
		if id >= 1 && id <= uint64(sectionSurfaces) {
			seen++
		}
	}
	r.require(seen >= int(sectionSurfaces), "a section is missing")
}

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

// damage is raised as a panic inside of the package where a segment turns out to be unreadable, and becomes an error in
// Protect.
type damage struct{ name, what string }

func (d *damage) Error() string { return fmt.Sprintf("%v: %s: %s", ErrDamaged, d.name, d.what) }

func (d *damage) Unwrap() error { return ErrDamaged }

// Protect runs f, which reads segments, and returns the error that it was aborted with. Failures caused by a damaged
// file, or by one that was cut off while it was mapped, are returned as an error that wraps ErrDamaged; name says which
// segment was being read.
func Protect(name func() string, f func()) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		switch cause := recover().(type) {
		case nil:
		case *damage:
			err = cause
		case runtime.Error:
			err = &damage{name(), cause.Error()}
		default:
			panic(cause)
		}
	}()
	return guard.Ended(f)
}

// protect is Protect for what reads this segment alone.
func (r *Reader) protect(f func()) error { return Protect(r.Name, f) }

// NameOf returns the name of the segment that err says is damaged; empty: it says nothing of one.
func NameOf(err error) string {
	var d *damage
	if errors.As(err, &d) {
		return d.name
	}
	return ""
}
