package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"quarry/server/index"
)

// TermCounts are how many chunks, documents and titles hold a term.
type TermCounts struct{ Chunks, Documents, Titles int64 }

// Delta holds the exact statistics of deleted documents: what has to be subtracted from those of their segments. The zero
// Delta is empty.
type Delta struct {
	Stats Stats
	Terms map[string]TermCounts
}

// DeltaOf analyses a document that was deleted.
func DeltaOf(document index.Document) Delta {
	b := NewBuilder()
	if document.ID == "" {
		document.ID = "?"
	}
	if err := b.Add(document); err != nil { // only a second document can fail
		return Delta{}
	}
	d := Delta{Stats: b.stats, Terms: make(map[string]TermCounts, len(b.termIDs))}
	for term, id := range b.termIDs {
		entry := b.terms[id]
		d.Terms[term] = TermCounts{int64(entry.chunks), int64(entry.documents), int64(entry.titles)}
	}
	return d
}

// Add adds other to d.
func (d *Delta) Add(other Delta) {
	d.Stats.Add(other.Stats, 1)
	if d.Terms == nil {
		d.Terms = make(map[string]TermCounts, len(other.Terms))
	}
	for term, n := range other.Terms {
		have := d.Terms[term]
		d.Terms[term] = TermCounts{have.Chunks + n.Chunks, have.Documents + n.Documents, have.Titles + n.Titles}
	}
}

const deltaVersion = 1

// MarshalBinary implements encoding.BinaryMarshaler: version u8, six uvarint sums, the number of terms, and the terms in
// order, each with the length that it shares with the one before, the length of its rest, the rest, and its three counts.
func (d Delta) MarshalBinary() ([]byte, error) {
	out := []byte{deltaVersion}
	for _, field := range d.Stats.fields() {
		if *field < 0 {
			return nil, errors.New("encode deleted statistics: a sum is negative")
		}
		out = binary.AppendUvarint(out, uint64(*field))
	}
	terms := make([]string, 0, len(d.Terms))
	for term := range d.Terms {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	out = binary.AppendUvarint(out, uint64(len(terms)))
	before := ""
	for _, term := range terms {
		shared := 0
		for shared < len(term) && shared < len(before) && term[shared] == before[shared] {
			shared++
		}
		out = binary.AppendUvarint(out, uint64(shared))
		out = binary.AppendUvarint(out, uint64(len(term)-shared))
		out = append(out, term[shared:]...)
		n := d.Terms[term]
		for _, v := range []int64{n.Chunks, n.Documents, n.Titles} {
			out = binary.AppendUvarint(out, uint64(v))
		}
		before = term
	}
	return out, nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *Delta) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != deltaVersion {
		return fmt.Errorf("read deleted statistics: %w: unknown version", ErrDamaged)
	}
	rest, broken := data[1:], false
	number := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > 1<<62 {
			broken, rest = true, nil
			return 0
		}
		rest = rest[n:]
		return v
	}
	read := Delta{Terms: make(map[string]TermCounts)}
	for _, field := range read.Stats.fields() {
		*field = int64(number())
	}
	term := ""
	for range number() {
		shared, length := number(), number()
		if broken || shared > uint64(len(term)) || length > uint64(len(rest)) {
			return fmt.Errorf("read deleted statistics: %w: a term is cut off", ErrDamaged)
		}
		term = term[:shared] + string(rest[:length])
		rest = rest[length:]
		read.Terms[term] = TermCounts{int64(number()), int64(number()), int64(number())}
	}
	if broken || len(rest) > 0 {
		return fmt.Errorf("read deleted statistics: %w: it ends in the wrong place", ErrDamaged)
	}
	*d = read
	return nil
}
