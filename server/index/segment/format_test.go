package segment

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"quarry/server/index"
)

// olderFormat is a segment that an older version wrote, of world(5, 250).
func olderFormat(t testing.TB, format uint32) *Reader {
	t.Helper()
	packed, err := os.ReadFile(fmt.Sprintf("testdata/format%d.seg.gz", format))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open("older", data)
	if err != nil {
		t.Fatal(err)
	}
	if r.footer.format != format {
		t.Fatalf("format %d", r.footer.format)
	}
	return r
}

// TestOlderFormatsAreRead compares them with what the older versions read.
func TestOlderFormatsAreRead(t *testing.T) {
	for format, want := range map[uint32]string{
		formatFirst:  "9915b8dae8a62b6e60e02c5fed3b0e0f33b103535c5c3592f00cee537d1cc2c6",
		formatPlaced: "e33ad77cf1e19fb3652649bedfdc47cfed9d1776c00b0807bef1cbdd11050b9b",
		formatWords:  "e33ad77cf1e19fb3652649bedfdc47cfed9d1776c00b0807bef1cbdd11050b9b",
	} {
		older := olderFormat(t, format)
		before := dump(t, older)
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(before, "\n")))); got != want {
			t.Errorf("format %d is read differently: %s", format, got)
		}
		if older.version >= analyserOfForms {
			isMerged(t, older, before)
		} else if _, _, err := Merge(context.Background(), []Input{{Reader: older}}); err == nil {
			t.Errorf("format %d: a segment that does not tell surfaces apart was merged", format)
		}
	}
}

// isMerged checks that a merge of a segment changes nothing of what is read, which is before.
func isMerged(t *testing.T, older *Reader, before []string) {
	t.Helper()
	data, _, err := Merge(context.Background(), []Input{{Reader: older, Deleted: roaring.New()}})
	if err != nil {
		t.Fatal(err)
	}
	merged, err := Open("merged", data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(dump(t, merged), before) {
		t.Error("a merge changed it")
	}
	if merged.AnalyserVersion() != older.AnalyserVersion() {
		t.Errorf("what analyser %d found is said to be of %d", older.AnalyserVersion(), merged.AnalyserVersion())
	}
	if merged.footer.format != FormatVersion || len(data) >= len(older.data) {
		t.Errorf("format %d, %d bytes of %d", merged.footer.format, len(data), len(older.data))
	}
	for _, r := range []*Reader{older, merged} {
		all, even := NewBits(r.Documents()), NewBits(r.Documents())
		all.AddRange(0, r.Documents())
		for i := 0; i < r.Documents(); i += 2 {
			even.Add(i)
		}
		if err := r.protect(func() {
			for e := r.surfaces.from(0); e.next(); {
				s := e.Surface()
				documents := slices.Collect(s.each(nil))
				half := slices.DeleteFunc(slices.Clone(documents), func(d int) bool { return d%2 > 0 })
				if s.CountIn(all) != len(documents) || s.Documents != len(documents) || s.CountIn(even) != len(half) || s.In(even) != (len(half) > 0) {
					t.Errorf("%s, %s: %d of %d and %d of %d", r.Name(), s.Surface, s.CountIn(all), len(documents), s.CountIn(even), len(half))
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestColumns(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for round := range 300 {
		for s, id := range map[shape]section{shapePlain: sectionBodyLengths, shapeAbove: sectionSeconds, shapeRising: sectionTitleEnds} {
			values := make([]uint64, random.IntN(200))
			last := uint64(0)
			for i := range values {
				values[i] = random.Uint64N(1 << (random.IntN(round%60+1) + 1))
				switch {
				case s == shapeAbove && random.IntN(4) > 0:
					values[i] += secondsBias
				case s == shapeRising:
					values[i] = last + values[i]%(1<<30)
					last = values[i]
				}
			}
			data := encodeColumn(values, s)
			r := &Reader{data: data, blocks: NewBlocks("column", data, len(data), AppendChecksums(slices.Clone(data))[len(data):])}
			r.footer.extents[id] = extent{0, len(data)}
			c := r.column(id, len(values))
			low, high := uint64(0), random.Uint64()
			if len(values) > 0 {
				low, high = values[random.IntN(len(values))], values[random.IntN(len(values))]+uint64(random.IntN(2))
			}
			found := NewBits(len(values))
			if s != shapeRising {
				c.Between(low, high, found)
			}
			for i, want := range values {
				if got := c.At(i); got != want {
					t.Fatalf("shape %d, number %d is %d, want %d", s, i, got, want)
				}
				if s != shapeRising && found.Has(i) != (want >= low && want <= high) {
					t.Fatalf("shape %d: %d in %d…%d: %v", s, want, low, high, found.Has(i))
				}
			}
		}
	}
}

// TestBlocksOfNumbers: what is packed is unpacked, with few exceptions, many or none, and damage is found or bounded.
func TestBlocksOfNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	term := &Term{r: &Reader{}}
	for round := range 2000 {
		values := make([]uint32, BlockSize)
		width, wide := random.IntN(33), random.IntN(33)
		for i := range values {
			if values[i] = uint32(random.Uint64N(1 << width)); random.IntN(1+round%40) == 0 {
				values[i] = uint32(random.Uint64N(1 << wide))
			}
			if round%3 == 0 {
				values[i] = max(values[i], 1)
			}
		}
		head, data := appendPatched([]byte("before"), values)
		if plain := packedSize(BlockSize, widthOf(values)); len(data) > len("before")+plain {
			t.Fatalf("%d bytes of %d", len(data), plain)
		}
		padded := append(slices.Clone(data[len("before"):]), "12345678"...)
		var got [BlockSize]uint32
		if rest := term.unpackPatched(&got, padded, head); string(rest) != "12345678" || !slices.Equal(got[:], values) {
			t.Fatalf("head %x: got %v, want %v, then %q", head, got, values, rest)
		}
		padded[random.IntN(len(padded))] ^= byte(1 + random.IntN(255))
		_ = term.r.protect(func() { term.unpackPatched(&got, padded, byte(random.Uint32())) })
	}
}

// TestOpenAllocatesLittle: a search of documents elsewhere opens a segment for each that it reads.
func TestOpenAllocatesLittle(t *testing.T) {
	data, err := Of(&index.Document{ID: "a", Chunks: []index.Chunk{{Text: "some words"}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { _, err = Open("a", data) }); n > 15 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}
