package segment

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"quarry/server/index"
)

// TermCounts are how many chunks, documents and titles contain a term.
type TermCounts struct{ Chunks, Documents, Titles int64 }

// Add adds other, sign times.
func (n *TermCounts) Add(other TermCounts, sign int64) {
	n.Chunks += sign * other.Chunks
	n.Documents += sign * other.Documents
	n.Titles += sign * other.Titles
}

// Max returns the larger of each count.
func (n TermCounts) Max(other TermCounts) TermCounts {
	return TermCounts{max(n.Chunks, other.Chunks), max(n.Documents, other.Documents), max(n.Titles, other.Titles)}
}

// Delta contains the exact statistics of deleted documents: what has to be subtracted from those of their segments. The
// zero Delta is empty.
type Delta struct {
	Stats    Stats
	Terms    map[string]TermCounts
	Surfaces map[string]int64 // documents that contain a surface
}

// DeltaOf analyses documents of different ids, such as those that were deleted.
func DeltaOf(documents ...index.Document) Delta {
	b := NewBuilder()
	for _, document := range documents {
		if document.ID == "" {
			document.ID = "?"
		}
		if err := b.Add(document); err != nil { // only a second document can fail
			return Delta{}
		}
	}
	d := Delta{Stats: b.stats, Terms: make(map[string]TermCounts, len(b.terms))}
	for id, entry := range b.terms {
		d.Terms[b.termNames.list[id]] = TermCounts{int64(entry.chunks), int64(entry.documents), int64(entry.titles)}
	}
	d.Surfaces = make(map[string]int64, len(b.surfaces))
	for id, entry := range b.surfaces {
		d.Surfaces[b.surfaceNames.list[id]] = int64(entry.documents)
	}
	return d
}

// Add adds other to d.
func (d *Delta) Add(other Delta) {
	d.Stats.Add(other.Stats, 1)
	if d.Terms == nil {
		d.Terms = make(map[string]TermCounts, len(other.Terms))
		d.Surfaces = make(map[string]int64, len(other.Surfaces))
	}
	for term, n := range other.Terms {
		n.Add(d.Terms[term], 1)
		d.Terms[term] = n
	}
	for surface, n := range other.Surfaces {
		d.Surfaces[surface] += n
	}
}

const deltaVersion = 1

// MarshalBinary implements encoding.BinaryMarshaler: version u8, six uvarint sums, the terms with three counts each,
// the surfaces with one. Strings are in order: uvarint number, then for each uvarint bytes shared with the one before,
// uvarint length of the rest, the rest, uvarint counts.
func (d Delta) MarshalBinary() ([]byte, error) {
	out := []byte{deltaVersion}
	for _, field := range d.Stats.fields() {
		if *field < 0 {
			return nil, errors.New("encode deleted statistics: a sum is negative")
		}
		out = binary.AppendUvarint(out, uint64(*field))
	}
	out = appendCounts(out, d.Terms, func(n TermCounts) []int64 { return []int64{n.Chunks, n.Documents, n.Titles} })
	out = appendCounts(out, d.Surfaces, func(n int64) []int64 { return []int64{n} })
	return out, nil
}

func appendCounts[T any](out []byte, counts map[string]T, numbers func(T) []int64) []byte {
	keys := slices.Sorted(maps.Keys(counts))
	out = binary.AppendUvarint(out, uint64(len(keys)))
	before := ""
	for _, key := range keys {
		shared := sharedPrefix(key, before)
		out = binary.AppendUvarint(out, uint64(shared))
		out = binary.AppendUvarint(out, uint64(len(key)-shared))
		out = append(out, key[shared:]...)
		for _, n := range numbers(counts[key]) {
			out = binary.AppendUvarint(out, uint64(n))
		}
		before = key
	}
	return out
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *Delta) UnmarshalBinary(data []byte) error {
	in := &Reader{name: "deleted statistics"} // what errors are about
	return in.protect(func() {
		if len(data) == 0 || data[0] != deltaVersion {
			panic(in.damaged("unknown version"))
		}
		data = data[1:]
		number := func() (n int64) {
			v, rest := uvarint(in, data)
			if v > 1<<62 {
				panic(in.damaged("a number is too large"))
			}
			data = rest
			return int64(v)
		}
		read := Delta{Terms: make(map[string]TermCounts), Surfaces: make(map[string]int64)}
		for _, field := range read.Stats.fields() {
			*field = number()
		}
		counts := func(yield func(key string)) {
			key := ""
			for range number() {
				shared, length := number(), number()
				key = key[:shared] + string(data[:length])
				data = data[length:]
				yield(key)
			}
		}
		counts(func(term string) { read.Terms[term] = TermCounts{number(), number(), number()} })
		counts(func(surface string) { read.Surfaces[surface] = number() })
		if len(data) > 0 {
			panic(in.damaged("unexpected data at the end"))
		}
		*d = read
	})
}

// DeltaOf reads the statistics of one document back out of the segment, for a document whose text is gone. It walks
// over all terms.
func (r *Reader) DeltaOf(ordinal int) (d Delta, err error) {
	err = r.protect(func() {
		from, to := r.DocumentChunks(ordinal)
		d = Delta{Terms: make(map[string]TermCounts), Surfaces: make(map[string]int64)}
		d.Stats.addDocument(r.TitleLength(ordinal), to-from)
		for chunk := from; chunk < to; chunk++ {
			d.Stats.addTokens(r.BodyLength(chunk), r.HeadingLength(chunk))
		}
		var b Block
		alone := NewBits(r.Documents())
		alone.Add(ordinal)
		for e := r.terms.from(0); e.next(); {
			term := r.termOf(&e)
			if n := term.countIn(uint32(from), uint32(to), &b); n.Chunks > 0 {
				d.Terms[string(e.key)] = n
			}
		}
		for e := r.surfaces.from(0); e.next(); {
			surface := r.surfaceOf(e.key, e.value)
			if _, found := d.Terms[surface.Term]; found && (len(surface.own) == 0 || surface.In(alone)) {
				d.Surfaces[surface.Surface] = 1
			}
		}
	})
	return d, err
}

// countIn counts a term in the chunks from ≤ chunk < to of one document; b is scratch space.
func (t *Term) countIn(from, to uint32, b *Block) (n TermCounts) {
	for i := t.BlockOf(from, 0); i < t.Blocks(); i++ {
		t.Load(i, b)
		for j, chunk := range b.Chunks[:b.N] {
			if chunk >= to {
				return n
			}
			if chunk < from {
				continue
			}
			n.Chunks, n.Documents = n.Chunks+1, 1
			if b.Titles[j] > 0 {
				n.Titles = 1
			}
		}
	}
	return n
}
