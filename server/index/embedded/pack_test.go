package embedded

import (
	"reflect"
	"strings"
	"testing"

	"quarry/server/index"
)

func TestPackedChunksComeBack(t *testing.T) {
	p := newPacker()
	tests := [][]index.Chunk{
		{{}},
		{{Text: "short"}, {Text: "", Link: "https://x.example"}},
		{{Text: strings.Repeat("long text ", 5000), Headings: []string{"A", "", "C"}}, {Text: "next"}},
	}
	for _, want := range tests {
		groups, err := p.packChunks(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		var got []index.Chunk
		for _, group := range groups {
			if group.first != len(got) {
				t.Errorf("a group begins at %d, want %d", group.first, len(got))
			}
			chunks, err := p.unpackChunks(group.body)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, chunks...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	p := newPacker()
	whole := wholly()
	detail, err := p.packDetail(&whole)
	if err != nil {
		f.Fatal(err)
	}
	groups, err := p.packChunks(f.Context(), whole.Chunks)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(detail)
	f.Add(groups[0].body)
	f.Add([]byte{})
	f.Add([]byte{packedZstd})
	f.Add([]byte{packedRaw, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{7, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		var document index.Document
		_ = p.unpackDetail(data, &document)
		chunks, err := p.unpackChunks(data)
		if err != nil {
			return
		}
		var again []index.Chunk
		groups, err := p.packChunks(t.Context(), chunks)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			some, err := p.unpackChunks(group.body)
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
