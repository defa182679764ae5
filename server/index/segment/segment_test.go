package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"quarry/client/field"
	"quarry/server/index"
)

// world makes n documents from a small vocabulary.
func world(seed uint64, n int) []index.Document {
	random := rand.New(rand.NewPCG(seed, 1))
	vocabulary := strings.Fields("alpha beta gamma running runs runner PROJ-123 日本語 getUserName café the of 1,000 x")
	text := func(words int) string {
		var out []string
		for range words {
			out = append(out, vocabulary[random.IntN(len(vocabulary))])
		}
		return strings.Join(out, " ")
	}
	documents := make([]index.Document, 0, n)
	for i := range n {
		d := index.Document{
			ID: fmt.Sprintf("doc-%05d", random.IntN(1_000_000)*10+i%10), Title: text(random.IntN(4)),
			Source: []string{"file", "slack", ""}[random.IntN(3)], Type: []string{"md", "pdf"}[random.IntN(2)],
			Access: []string{"PUBLIC", "group:a"}[:random.IntN(3)], Hidden: random.IntN(9) == 0,
			Authors:  []index.Person{{Name: "Ann Bee", Email: "ann@x.example"}, {Email: "c@x.example"}}[:random.IntN(3)],
			Sets:     []string{"s1", "s2"}[:random.IntN(3)],
			Metadata: []index.Field{{Key: "team", Values: []string{"infra", "web"}}, {Key: "k", Values: []string{""}}},
			Path:     []string{"a", "beta", "gamma"}[:random.IntN(4)],
		}
		if random.IntN(4) > 0 {
			d.UpdatedAt = time.Unix(random.Int64N(2e9)-1e8, random.Int64N(1e9)).UTC()
		}
		for range random.IntN(4) {
			d.Chunks = append(d.Chunks, index.Chunk{Text: text(random.IntN(40)), Headings: []string{text(2)}})
		}
		documents = append(documents, d)
	}
	slices.SortFunc(documents, func(a, b index.Document) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(documents, func(a, b index.Document) bool { return a.ID == b.ID })
}

func build(t testing.TB, documents []index.Document) *Reader {
	t.Helper()
	b := NewBuilder()
	for _, i := range rand.New(rand.NewPCG(7, 7)).Perm(len(documents)) {
		if err := b.Add(documents[i]); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open("test", data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// positionsOf returns where a surface stands in each chunk that has its term.
func positionsOf(s Surface) (all [][]uint32) {
	term, _ := s.r.Term(s.Term)
	var b Block
	for block := range term.Blocks() {
		term.Load(block, &b)
		for i := range b.N {
			all = append(all, term.PositionsOf(&b, i, s.Form, nil))
		}
	}
	return all
}

// dump decodes everything of a segment.
func dump(t testing.TB, r *Reader) (out []string) {
	t.Helper()
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	err := r.protect(func() {
		say("stats %+v", r.Stats())
		var values []FacetValue
		r.EachValue(func(_ int, value FacetValue) { values = append(values, value) })
		for d := range r.Documents() {
			from, to := r.DocumentChunks(d)
			say("doc %s %q %v %d chunks %d-%d", r.ID(d), r.Title(d), r.Updated(d), r.TitleLength(d), from, to)
			for c := from; c < to; c++ {
				say("chunk %d %d", r.BodyLength(c), r.HeadingLength(c))
			}
			first, last := r.Facets(d)
			for f := first; f < last; f++ {
				value, key := values[r.FacetValues().At(f)], ""
				if value.Field == FacetOf(field.Tag) {
					key, value.Value = field.CutPair(value.Value)
				}
				say("facet {Field:%d Key:%s Value:%s}", value.Field, key, value.Value)
			}
		}
		for e := r.filters.from(0); e.next(); {
			say("filter %q %v", e.key, slices.Collect(r.setAt(e.value).each))
		}
		for e := r.terms.from(0); e.next(); {
			term := r.termOf(&e)
			var l list
			term.appendTo(&l, func(chunk uint32) int32 { return int32(chunk) }, nil)
			say("term %q %d %d %d {%v %v %v %v %v}", e.key, term.Chunks, term.Documents, term.Titles, l.chunks, l.body, l.headings,
				l.titles, l.positions)
		}
		for e := r.surfaces.from(0); e.next(); {
			s := e.Surface()
			say("surface %q %q %d %v", e.key, s.Term, s.Documents, slices.Collect(s.each(nil)))
			if s.Form > 0 {
				say("form %d at %v", s.Form, positionsOf(s))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMergeEqualsBuild(t *testing.T) {
	for seed := range uint64(8) {
		documents := world(seed, 40+int(seed)*120)
		random := rand.New(rand.NewPCG(seed, 2))
		parts := make([][]index.Document, 1+random.IntN(4))
		deleted := make([]*roaring.Bitmap, len(parts))
		var live []index.Document
		for _, d := range documents {
			i := random.IntN(len(parts))
			if random.IntN(5) == 0 {
				if deleted[i] == nil {
					deleted[i] = roaring.New()
				}
				deleted[i].Add(uint32(len(parts[i])))
			} else {
				live = append(live, d)
			}
			parts[i] = append(parts[i], d)
		}
		var inputs []Input
		for i, part := range parts {
			inputs = append(inputs, Input{build(t, part), deleted[i]})
		}
		data, remap, err := Merge(context.Background(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := Open("merged", data)
		if err != nil {
			t.Fatal(err)
		}
		got, want := dump(t, merged), dump(t, build(t, live))
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("seed %d: line %d differs (%d and %d lines):\n%.300s\n%.300s", seed, i, len(got), len(want),
					got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			}
		}
		for i, part := range parts {
			for old, d := range part {
				ordinal, ok, err := merged.Find(d.ID)
				if err != nil || ok != (remap[i][old] >= 0) || ok && int32(ordinal) != remap[i][old] {
					t.Fatalf("%s: found %v at %d (%v), remapped to %d", d.ID, ok, ordinal, err, remap[i][old])
				}
			}
		}
	}
}

// TestMergedForms merges small segments, so that most contain one of the surfaces of a term.
func TestMergedForms(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 7))
	words := strings.Fields("reform reforms reformed reformation deploy deploys deployment run running")
	for round := range 300 {
		var inputs []Input
		var live []index.Document
		for range 1 + random.IntN(5) {
			var part []index.Document
			deleted := roaring.New()
			for i := range 1 + random.IntN(3) {
				text := ""
				for range 1 + random.IntN(4) {
					text += words[random.IntN(len(words))] + " "
				}
				document := index.Document{ID: fmt.Sprintf("%d-%d", len(inputs), i), Chunks: []index.Chunk{{Text: text}}}
				if part = append(part, document); random.IntN(4) == 0 {
					deleted.AddInt(i)
				} else {
					live = append(live, document)
				}
			}
			inputs = append(inputs, Input{build(t, part), deleted})
		}
		data, _, err := Merge(context.Background(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := Open("merged", data)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := dump(t, merged), dump(t, build(t, live)); !slices.Equal(got, want) {
			t.Fatalf("round %d: merged\n%s\nbuilt\n%s", round, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestDeltaOfDeletedIsTheDifference(t *testing.T) {
	documents := world(3, 60)
	whole, rest := build(t, documents), build(t, documents[20:])
	var d Delta
	for _, document := range documents[:20] {
		d.Add(DeltaOf(document), 1)
	}
	data, err := d.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Delta
	if err := read.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(read, d) {
		t.Fatalf("round trip: %v", err)
	}
	stats := whole.Stats()
	stats.Add(d.Stats, -1)
	if stats != rest.Stats() {
		t.Errorf("stats: %+v, want %+v", stats, rest.Stats())
	}
	for e := whole.terms.from(0); e.next(); {
		a, n := whole.termOf(&e), d.Terms[string(e.key)]
		b, _ := rest.Term(string(e.key))
		got := TermCounts{int64(a.Chunks) - n.Chunks, int64(a.Documents) - n.Documents, int64(a.Titles) - n.Titles}
		if want := (TermCounts{int64(b.Chunks), int64(b.Documents), int64(b.Titles)}); got != want {
			t.Errorf("%q: %+v, want %+v", e.key, got, want)
		}
	}
}

func TestDeltaCountsSurfaces(t *testing.T) {
	documents := world(4, 60)
	var all Delta
	for _, document := range documents {
		all.Add(DeltaOf(document), 1)
	}
	r := build(t, documents)
	for e := r.surfaces.from(0); e.next(); {
		if s := e.Surface(); int64(s.Documents) != all.Surfaces[s.Surface] {
			t.Errorf("%q: %d, want %d", e.key, all.Surfaces[s.Surface], s.Documents)
		}
	}
}

func TestDeltaIsReadBackOutOfASegment(t *testing.T) {
	documents := append(world(5, 300), index.Document{ID: "~", Title: "a title without chunks"})
	r := build(t, documents)
	for n := 1; n <= len(documents); n *= 3 {
		for some := range slices.Chunk(documents, n) {
			var ordinals []int
			for _, document := range some {
				ordinal, ok, err := r.Find(document.ID)
				if err != nil || !ok {
					t.Fatalf("%s: found %v, %v", document.ID, ok, err)
				}
				ordinals = append(ordinals, ordinal)
			}
			got, err := r.DeltaOf(ordinals...)
			if want := DeltaOf(some...); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d documents from %s on: %+v (%v), want %+v", n, some[0].ID, got, err, want)
			}
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := NewBuilder()
	if err := b.Add(index.Document{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if b.Add(index.Document{ID: "a"}) == nil || b.Add(index.Document{}) == nil {
		t.Error("a second document of the same id or none was taken")
	}
	r := build(t, nil)
	if r.Documents() != 0 || r.Chunks() != 0 {
		t.Errorf("an empty segment holds %d documents", r.Documents())
	}
	if _, _, err := Merge(context.Background(), []Input{{Reader: r}, {Reader: r}}); err != nil {
		t.Errorf("merge of nothing: %v", err)
	}
	same := build(t, []index.Document{{ID: "a"}})
	if _, _, err := Merge(context.Background(), []Input{{Reader: same}, {Reader: same}}); !errors.Is(err, errTwice) {
		t.Errorf("merge of a live document twice: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Merge(ctx, []Input{{Reader: same}}); !errors.Is(err, context.Canceled) {
		t.Errorf("merge when cancelled: %v", err)
	}
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	good := build(t, world(5, 300)).data
	for at := 0; at < len(good); at += 97 {
		data := bytes.Clone(good)
		data[at] ^= 0x10
		r, err := Open("flipped", data)
		if err == nil {
			err = r.Verify()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if name := NameOf(err); name != "flipped" {
			t.Fatalf("byte %d: the error does not name the file: %v", at, err)
		}
	}
	for n := 0; n < len(good); n += min(97, max(1, len(good)-1-n)) {
		if _, err := Open("cut", good[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d: %v", n, err)
		}
	}
}

// repair makes the checksums fit, so that damage reaches the decoders.
func repair(data []byte) {
	f := len(data) - trailerSize
	if f < 0 {
		return
	}
	length := int(binary.LittleEndian.Uint32(data[f:]))
	start := f - length
	if start < 0 || length < statsSlots*8+16 {
		return
	}
	raw := data[start:f]
	content := binary.LittleEndian.Uint64(raw[8*statsSlots:])
	if content <= uint64(start) {
		for i, from := 0, 0; from < int(content) && int(content)+4*i+4 <= start; i, from = i+1, from+checksumBlock {
			block := data[from:min(int(content), from+checksumBlock)]
			binary.LittleEndian.PutUint32(data[int(content)+4*i:], crc32.Checksum(block, castagnoli))
		}
		sums := crc32.Checksum(data[content:start], castagnoli)
		binary.LittleEndian.PutUint64(raw[8*statsSlots+8:], uint64(sums))
	}
	binary.LittleEndian.PutUint32(data[f+4:], crc32.Checksum(raw, castagnoli))
}

func FuzzReader(f *testing.F) {
	good := build(f, world(1, 150)).data
	inputs := [][]byte{good, olderFormat(f, formatPlaced).data, olderFormat(f, formatWords).data}
	for old := range byte(len(inputs)) {
		f.Add(uint32(100), uint32(200), uint32(5000), byte(0xff), true, old)
		f.Add(uint32(len(good)-20), uint32(len(good)-60), uint32(len(good)-90), byte(1), true, old)
		f.Add(uint32(len(good)-20), uint32(1), uint32(2), byte(0x80), false, old)
	}
	f.Fuzz(func(t *testing.T, a, b, c uint32, mask byte, fix bool, old byte) {
		data := bytes.Clone(inputs[int(old)%len(inputs)])
		for _, at := range []uint32{a, b, c} {
			data[int(at)%len(data)] ^= mask
		}
		if fix {
			repair(data)
		}
		r, err := Open("fuzzed", data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		other, err := Open("good", good)
		if err != nil {
			t.Fatal(err)
		}
		all := roaring.New()
		all.AddRange(0, uint64(other.Documents()))
		_, _, err = Merge(context.Background(), []Input{{Reader: r}, {Reader: other, Deleted: all}})
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, errUnordered) && mask != 0 && !fix {
			t.Fatal(err)
		}
		_ = r.protect(func() {
			r.Matching(anyWord{}, func(s Surface) { _ = slices.Collect(s.each(nil)) })
			r.EachValue(func(int, FacetValue) {})
		})
		_, _, _ = r.Find("doc-5")
		_, _ = r.DocumentID(3)
		_ = r.Verify()
	})
}

// anyWord accepts every word.
type anyWord struct{}

func (anyWord) Push(rune) bool               { return true }
func (anyWord) Truncate(int)                 {}
func (anyWord) IsMatch() bool                { return true }
func (anyWord) Least(from rune) (rune, bool) { return from, true }

func FuzzDelta(f *testing.F) {
	d := DeltaOf(world(1, 3)[0])
	data, err := d.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Delta
		if err := d.UnmarshalBinary(data); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

func TestSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		documents := 1 + random.IntN(500)
		share := random.Float64()
		var want []uint32
		for i := range documents {
			if random.Float64() < share {
				want = append(want, uint32(i))
			}
		}
		r := &Reader{footer: footer{stats: Stats{Documents: int64(documents)}}}
		s := Set{r: r, n: documents, data: appendSet(nil, want, documents)}
		var got []uint32
		for i := range s.each {
			got = append(got, uint32(i))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
