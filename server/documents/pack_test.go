package documents

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"quarry/server/index"
)

func TestPackedChunksComeBack(t *testing.T) {
	for name, p := range map[string]*Packer{"plain": NewPacker(nil), "with a dictionary": packerWithDictionary(t)} {
		t.Run(name, func(t *testing.T) { testPackedChunks(t, p) })
	}
}

func testPackedChunks(t *testing.T, p *Packer) {
	tests := [][]index.Chunk{
		{{}},
		{{Text: "short"}, {Text: "", Link: "https://x.example"}},
		{{Text: strings.Repeat("long text ", 5000), Headings: []string{"A", "", "C"}}, {Text: "next"}},
	}
	for _, want := range tests {
		groups := p.PackChunks(t.Context(), want)
		var got []index.Chunk
		for _, group := range groups {
			if group.First != len(got) {
				t.Errorf("a group begins at %d, want %d", group.First, len(got))
			}
			chunks, err := p.unpackChunks(group.Body, 0, group.Count)
			if err != nil {
				t.Fatal(err)
			}
			for first := -1; first <= group.Count; first++ {
				for last := first - 1; last <= group.Count; last++ {
					some, err := p.unpackChunks(group.Body, first, last)
					want := chunks[max(first, 0):max(first, 0, min(last+1, group.Count))]
					if err != nil || len(some) != len(want) || len(want) > 0 && !reflect.DeepEqual(some, want) {
						t.Errorf("chunks %d to %d of %d: %+v, %v", first, last, group.Count, some, err)
					}
				}
			}
			got = append(got, chunks...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// packerWithDictionary packs with a dictionary of random words.
func packerWithDictionary(t testing.TB) *Packer {
	t.Helper()
	var taken samples
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		text := ""
		for range 50 {
			text += fmt.Sprint(" word", random.IntN(40))
		}
		taken.add(t.Context(), &index.Document{Chunks: []index.Chunk{{Text: text}}})
	}
	p := NewPacker(func(id uint32) ([]byte, error) {
		if id != smallestDictionary {
			return nil, ErrPacked
		}
		return taken.dictionary(id, taken.bytes)
	})
	if err := p.use(smallestDictionary); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOptionalDetailsComeBack: each field may be there without those before it, and changes what the document says.
func TestOptionalDetailsComeBack(t *testing.T) {
	p := packerWithDictionary(t)
	plain := index.Document{ID: "a", Authors: []index.Person{{Name: "Jo"}}, Outline: []index.Heading{{Level: 1, Text: "Jo"}}}
	for name, change := range map[string]func(*index.Document){
		"none":      func(*index.Document) {},
		"positions": func(d *index.Document) { d.Positions = []index.Position{{End: 5, FirstLine: 1, LastLine: 2}} },
		"secondary": func(d *index.Document) { d.Secondary = 1 },
		"language":  func(d *index.Document) { d.Language = "de" },
		"untitled":  func(d *index.Document) { d.Untitled = true },
		"links":     func(d *index.Document) { d.Outline = []index.Heading{{Level: 1, Text: "Jo", Link: "mid:a@x"}} },
		"all":       func(d *index.Document) { d.Secondary, d.Language, d.Untitled = 1, "de", true },
	} {
		document, got := plain, index.Document{ID: "a"}
		change(&document)
		detail, _ := p.packDetail(&document)
		if _, err := p.unpackDetail(detail, nil, &got); err != nil || !reflect.DeepEqual(Canonical(got), Canonical(document)) {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, document)
		}
		differs := document.Secondary > 0 || document.Untitled || hasLinks(&document)
		if same := bytes.Equal(Hash(&document), Hash(&plain)); same == differs {
			t.Errorf("%s: the hash is the same: %v", name, same)
		}
	}
}

// TestFieldsOfNewerVersions: what follows the last optional field is passed over.
func TestFieldsOfNewerVersions(t *testing.T) {
	p := NewPacker(nil)
	document, got := index.Document{ID: "a", Permalink: "https://wiki.example.com/a"}, index.Document{ID: "a"}
	detail, _ := p.packDetail(&document)
	data, err := p.Unpack(detail)
	if err != nil {
		t.Fatal(err)
	}
	if detail, err = p.Pack(append(data, "\x05newer"...)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.unpackDetail(detail, nil, &got); err != nil || !reflect.DeepEqual(got, document) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzUnpack(f *testing.F) {
	p := packerWithDictionary(f)
	whole := index.Document{ID: "a", Path: []string{"docs"}, Authors: []index.Person{{Name: "Jo", Email: "jo@acme.example"}}, Secondary: 1,
		Metadata: []index.Field{{Key: "team", Values: []string{"infra"}}}, Sets: []string{"handbook"}, Access: []string{"PUBLIC"},
		Outline: []index.Heading{{Level: 1, Text: "Top"}}, Positions: []index.Position{{End: 5, FirstLine: 1, LastLine: 2}},
		Chunks: []index.Chunk{{Text: strings.Repeat("long text ", 20), Headings: []string{"Top"}, Link: "#top"}, {}}}
	detail, _ := p.packDetail(&whole)
	groups := p.PackChunks(f.Context(), whole.Chunks)
	f.Add(detail)
	f.Add(groups[0].Body)
	f.Add([]byte{})
	f.Add([]byte{packedZstd})
	f.Add([]byte{packedDictionary})
	f.Add([]byte{packedDictionary, 0x60, 0, 1, 2, 0, 1, 0, 0})
	f.Add([]byte{packedRaw, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{7, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		var document index.Document
		_, _ = p.unpackDetail(data, nil, &document)
		chunks, err := p.unpackChunks(data, 0, math.MaxInt)
		if err != nil {
			return
		}
		var again []index.Chunk
		groups := p.PackChunks(t.Context(), chunks)
		for _, group := range groups {
			some, err := p.unpackChunks(group.Body, 0, group.Count)
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, some...)
		}
		if !reflect.DeepEqual(again, chunks) {
			t.Errorf("got %+v, want %+v", again, chunks)
		}
	})
}
