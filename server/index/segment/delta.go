package segment

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sort"

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

// Add adds other, sign times.
func (d *Delta) Add(other Delta, sign int64) {
	d.Stats.Add(other.Stats, sign)
	if d.Terms == nil {
		d.Terms = make(map[string]TermCounts, len(other.Terms))
		d.Surfaces = make(map[string]int64, len(other.Surfaces))
	}
	for term, n := range other.Terms {
		sum := d.Terms[term]
		sum.Add(n, sign)
		d.Terms[term] = sum
	}
	for surface, n := range other.Surfaces {
		d.Surfaces[surface] += sign * n
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
		in.require(len(data) > 0 && data[0] == deltaVersion, "unknown version")
		data = data[1:]
		number := func() (n int64) {
			v, rest := uvarint(in, data)
			in.require(v <= 1<<62, "a number is too large")
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
		in.require(len(data) == 0, "unexpected data at the end")
		*d = read
	})
}

// DeltaOf reads the statistics of documents back out of the segment, for those whose texts are gone. It walks over all
// terms once, so that many documents cost little more than one.
func (r *Reader) DeltaOf(ordinals ...int) (d Delta, err error) {
	err = r.protect(func() {
		chunks := make([][2]int, len(ordinals))
		d = Delta{Terms: make(map[string]TermCounts), Surfaces: make(map[string]int64)}
		those := NewBits(r.Documents())
		for i, ordinal := range slices.Sorted(slices.Values(ordinals)) {
			those.Add(ordinal)
			from, to := r.DocumentChunks(ordinal)
			chunks[i] = [2]int{from, to}
			d.Stats.addDocument(r.TitleLength(ordinal), to-from)
			for chunk := from; chunk < to; chunk++ {
				d.Stats.addTokens(r.BodyLength(chunk), r.HeadingLength(chunk))
			}
		}
		var b Block
		for e := r.terms.from(0); e.next(); {
			term := r.termOf(&e)
			if n := term.countIn(those, chunks, &b); n.Chunks > 0 {
				d.Terms[string(e.key)] = n
			}
		}
		for e := r.surfaces.from(0); e.next(); {
			surface := e.Surface()
			n := d.Terms[surface.Term].Documents
			if n > 0 && surface.lacks() {
				n = int64(surface.CountIn(those))
			}
			if n > 0 {
				d.Surfaces[surface.Surface] = n
			}
		}
	})
	return d, err
}

// countIn counts a term in some documents. chunks are the first one of each and the one behind its last, ascending; b
// is scratch space.
func (t *Term) countIn(those Bits, chunks [][2]int, b *Block) (n TermCounts) {
	owners, last, titled := t.r.Owners(), -1, -1
	for i, seen := 0, 0; ; i++ {
		next := sort.Search(len(chunks), func(k int) bool { return chunks[k][1] > seen })
		if next == len(chunks) {
			return n
		}
		if i = t.BlockOf(uint32(max(seen, chunks[next][0])), i); i >= t.Blocks() {
			return n
		}
		t.Load(i, b)
		for j, chunk := range b.Chunks[:b.N] {
			document := owners.Of(int(chunk))
			if !those.Has(document) {
				continue
			}
			if n.Chunks++; document != last {
				n.Documents, last = n.Documents+1, document
			}
			if b.HasTitles && b.Titles[j] > 0 && document != titled {
				n.Titles, titled = n.Titles+1, document
			}
		}
		seen = int(b.Chunks[b.N-1]) + 1
	}
}
