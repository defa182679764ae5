package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"quarry/internal/guard"
)

// A dictionary maps sorted keys to values. Keys are front coded in blocks of dictionaryBlock entries:
//
//	entry    u8 bytes shared with the key before (0 for the first of a block) << 4 | length of the rest, each 15 if it
//	         is more, and uvarint what it is more; before formatPatched both uvarint; the rest, uvarint length of
//	         the value, the value
//	section  blocks, u32 offset of every block, u32 number of entries
const dictionaryBlock = 32

// long is the least length that does not fit into half a byte.
const long = 15

type dictionaryWriter struct {
	out     []byte
	offsets []uint32
	last    []byte
	count   int
}

var (
	errUnordered = errors.New("the keys of a dictionary are not in order")
	errTooLarge  = errors.New("a section exceeds 4 GB")
)

// add appends an entry; keys must ascend. It may abort what writes the segment.
func (w *dictionaryWriter) add(key string, value []byte) {
	shared := 0
	if w.count%dictionaryBlock == 0 {
		if uint64(len(w.out)) > math.MaxUint32 {
			guard.Abort(errTooLarge)
		}
		w.offsets = append(w.offsets, uint32(len(w.out)))
	} else {
		shared = sharedPrefix(key, w.last)
	}
	if w.count > 0 && key <= string(w.last) {
		guard.Abort(fmt.Errorf("%q: %w", key, errUnordered))
	}
	rest := len(key) - shared
	w.out = append(w.out, byte(min(shared, long)<<4|min(rest, long)))
	for _, length := range []int{shared, rest} {
		if length >= long {
			w.out = binary.AppendUvarint(w.out, uint64(length-long))
		}
	}
	w.out = append(w.out, key[shared:]...)
	w.out = binary.AppendUvarint(w.out, uint64(len(value)))
	w.out = append(w.out, value...)
	w.last = append(w.last[:0], key...)
	w.count++
}

// finish returns the section.
func (w *dictionaryWriter) finish() []byte {
	for _, offset := range w.offsets {
		w.out = binary.LittleEndian.AppendUint32(w.out, offset)
	}
	return binary.LittleEndian.AppendUint32(w.out, uint32(w.count))
}

// dictionary reads a dictionary section.
type dictionary struct {
	r      *Reader
	layout layout
	extent extent
	count  int
	blocks int
	ends   int  // where the blocks end in the section
	halves bool // two lengths are in one byte, since formatPatched
	// starts are the beginnings of the first keys of blocks that were looked at, others 0: a search in them stays in
	// the processor's cache.
	starts []atomic.Uint64
}

func (r *Reader) dictionary(id section) dictionary {
	e := r.footer.extents[id]
	r.require(e.length >= 4, "a dictionary is too short")
	count := int(binary.LittleEndian.Uint32(r.bytes(e.offset+e.length-4, 4)))
	blocks := (count + dictionaryBlock - 1) / dictionaryBlock
	r.require(blocks <= (e.length-4)/4, "a dictionary is cut off")
	return dictionary{r: r, extent: e, count: count, blocks: blocks, ends: e.length - 4 - 4*blocks,
		halves: r.footer.format >= formatPatched, starts: make([]atomic.Uint64, blocks)}
}

// block returns the bytes of a block.
func (d *dictionary) block(i int) []byte {
	offsets := d.r.bytes(d.extent.offset+d.ends+4*i, 8)
	from, to := int(binary.LittleEndian.Uint32(offsets)), int(binary.LittleEndian.Uint32(offsets[4:]))
	if i == d.blocks-1 { // behind its offset is the number of entries
		to = d.ends
	}
	if from > to || to > d.ends {
		panic(d.r.damaged("a dictionary's blocks are out of order"))
	}
	return d.r.bytes(d.extent.offset+from, to-from)
}

// first returns the first key of a block.
func (d *dictionary) first(block int) []byte {
	data := d.block(block)
	at := d.entry(data, 0)
	return data[at.key:at.keyEnd]
}

// entries walks over the entries of a dictionary.
type entries struct {
	d     *dictionary
	rest  []byte
	block int // the next block to load
	left  int // entries left in the dictionary
	key   []byte
	value []byte
	places
	// shared is how many bytes the key has in common with the one before it.
	shared int

	first bool   // of its block
	has   bool   // it is what is read of a dictionary of words
	count uint64 // of a term, see words.go
}

// from returns entries that begin with the block.
func (d *dictionary) from(block int) entries {
	return entries{d: d, block: block, left: max(0, d.count-block*dictionaryBlock)}
}

// next moves on to the next entry, of words to the next one of the kind that is read.
func (e *entries) next() bool {
	for e.step() {
		if e.has {
			return true
		}
	}
	return false
}

// step moves on to the next entry of any kind.
func (e *entries) step() bool {
	if e.left <= 0 {
		return false
	}
	if e.first = len(e.rest) == 0; e.first {
		e.d.r.require(e.block < e.d.blocks, "a dictionary ends early")
		e.rest = e.d.block(e.block)
		e.block++
	}
	at := e.d.entry(e.rest, len(e.key))
	e.key = append(e.key[:at.shared], e.rest[at.key:at.keyEnd]...)
	e.value, e.rest = e.rest[at.value:at.end], e.rest[at.end:]
	e.shared = at.shared
	e.left--
	switch e.has = true; e.d.layout {
	case layoutPlain:
	case layoutPlaced:
		e.value = e.move(e.d.r, e.value, e.first)
		e.postingsSize, e.value = uvarint(e.d.r, e.value)
		e.positionsSize, e.value = uvarint(e.d.r, e.value)
	case layoutTerms:
		e.readTerm()
	case layoutSurfaces:
		e.has = kindOf(e.value) != wordTerm
	}
	return true
}

// entry is where the parts of an entry lie, and how many bytes of the key before it has.
type entry struct{ shared, key, keyEnd, value, end int }

// entry reads where the parts of the next entry lie. The key before has length bytes.
func (d *dictionary) entry(data []byte, length int) (at entry) {
	if d.halves && len(data) > 2 { // all lengths take two bytes, as in most entries
		at = entry{shared: int(data[0] >> 4), key: 1, keyEnd: 1 + int(data[0]&long)}
		if at.shared < min(long, length+1) && at.keyEnd <= long && at.keyEnd < len(data) && data[at.keyEnd] < 0x80 {
			at.value = at.keyEnd + 1
			if at.end = at.value + int(data[at.keyEnd]); at.end <= len(data) {
				return at
			}
		}
	}
	shared, added, rest := d.lengths(data)
	if shared > uint64(length) || added > uint64(len(rest)) {
		panic(d.r.damaged("a dictionary's key is too long"))
	}
	at.shared, at.key = int(shared), len(data)-len(rest)
	at.keyEnd = at.key + int(added)
	size, rest := uvarint(d.r, rest[added:])
	d.r.require(size <= uint64(len(rest)), "a dictionary's value is too long")
	at.value = len(data) - len(rest)
	at.end = at.value + int(size)
	return at
}

// lengths reads how many bytes a key shares with the one before it, how many it adds, and returns what follows.
func (d *dictionary) lengths(data []byte) (shared, added uint64, rest []byte) {
	if !d.halves {
		shared, rest = uvarint(d.r, data)
		added, rest = uvarint(d.r, rest)
		return shared, added, rest
	}
	shared, added, rest = uint64(data[0]>>4), uint64(data[0]&long), data[1:]
	for _, length := range []*uint64{&shared, &added} {
		if *length == long {
			var more uint64
			more, rest = uvarint(d.r, rest)
			*length += more
		}
	}
	return shared, added, rest
}

// places are where the postings and positions of a term lie in their sections. They follow each other in the order of
// terms, so that a value has their lengths, and only the first one of a block where they begin: uvarint postings and
// positions, in front of the lengths of both.
type places struct{ postings, postingsSize, positions, positionsSize uint64 }

// move moves on to where the postings and positions of the next term begin, and returns what follows in its value.
func (p *places) move(r *Reader, value []byte, first bool) []byte {
	if first {
		p.postings, value = uvarint(r, value)
		p.positions, value = uvarint(r, value)
		return value
	}
	p.postings += p.postingsSize
	p.positions += p.positionsSize
	return value
}

// ordinal is that of the current entry.
func (e *entries) ordinal() int { return e.d.count - e.left - 1 }

// seek returns entries whose current one is the first with a key not less than key.
func (d *dictionary) seek(key []byte) (entries, bool) {
	start := keyStart(key)
	behind := sort.Search(d.blocks, func(i int) bool { return d.isBehind(i, key, start) })
	e := d.from(max(0, behind-1))
	for e.next() {
		if bytes.Compare(e.key, key) >= 0 {
			return e, true
		}
	}
	return e, false
}

// isBehind reports whether a block begins behind a key with a start.
func (d *dictionary) isBehind(block int, key []byte, start uint64) bool {
	first := d.starts[block].Load()
	if first == 0 {
		first = keyStart(d.first(block))
		d.starts[block].Store(first)
	}
	return first > start || first == start && bytes.Compare(d.first(block), key) > 0
}

// keyStart returns the first bytes of a key as a number; of two keys, the lesser one has no greater number.
func keyStart[K string | []byte](key K) uint64 {
	var start [8]byte
	copy(start[:], key)
	return binary.BigEndian.Uint64(start[:])
}

// find looks a key up.
func (d *dictionary) find(key string) (entries, bool) {
	e, ok := d.seek([]byte(key))
	return e, ok && string(e.key) == key
}

// appendKey appends the key of the entry with the ordinal to an empty slice.
func (d *dictionary) appendKey(key []byte, ordinal int) []byte {
	if ordinal < 0 || ordinal >= d.count {
		panic(d.r.damaged("an entry is outside of its dictionary"))
	}
	rest := d.block(ordinal / dictionaryBlock)
	for range ordinal%dictionaryBlock + 1 {
		at := d.entry(rest, len(key))
		key = append(key[:at.shared], rest[at.key:at.keyEnd]...)
		rest = rest[at.end:]
	}
	return key
}

// Cursor is a place in the dictionary of one of several segments.
type Cursor struct {
	Input int
	entries
}

// union walks over the keys with a prefix in the dictionaries of several segments, in order, and calls yield with the
// cursors at each key. reading is called with the number of the segment that is read next.
func union(dictionaries []*dictionary, prefix []byte, reading func(input int), yield func(at []*Cursor)) {
	open := make([]*Cursor, 0, len(dictionaries))
	for i, d := range dictionaries {
		reading(i)
		if e, ok := d.seek(prefix); ok && bytes.HasPrefix(e.key, prefix) {
			open = append(open, &Cursor{i, e})
		}
	}
	var at []*Cursor
	for len(open) > 0 {
		at = at[:0]
		for _, c := range open {
			order := -1
			if len(at) > 0 {
				order = bytes.Compare(c.key, at[0].key)
			}
			if order < 0 {
				at = at[:0]
			}
			if order <= 0 {
				at = append(at, c)
			}
		}
		yield(at)
		ended := false
		for _, c := range at {
			reading(c.Input)
			if !c.next() || !bytes.HasPrefix(c.key, prefix) {
				c.d, ended = nil, true
			}
		}
		if ended {
			open = slices.DeleteFunc(open, func(c *Cursor) bool { return c.d == nil })
		}
	}
}

// sharedPrefix is the number of bytes with which both begin.
func sharedPrefix[A, B string | []byte](a A, b B) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// uvarint reads a number and returns what follows it.
func uvarint(r *Reader, data []byte) (uint64, []byte) {
	if len(data) > 0 && data[0] < 0x80 {
		return uint64(data[0]), data[1:]
	}
	v, n := binary.Uvarint(data)
	r.require(n > 0, "a number is cut off")
	return v, data[n:]
}
