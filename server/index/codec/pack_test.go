package codec

import (
	"reflect"
	"strings"
	"testing"

	"quarry/server/index"
)

func TestPackedChunksComeBack(t *testing.T) {
	p := NewPacker()
	tests := [][]index.Chunk{
		{{}},
		{{Text: "short"}, {Text: "", Link: "https://x.example"}},
		{{Text: strings.Repeat("long text ", 5000), Headings: []string{"A", "", "C"}}, {Text: "next"}},
	}
	for _, want := range tests {
		groups, err := p.PackChunks(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		var got []index.Chunk
		for _, group := range groups {
			if group.First != len(got) {
				t.Errorf("a group begins at %d, want %d", group.First, len(got))
			}
			chunks, err := p.UnpackChunks(group.Body)
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
	p := NewPacker()
	whole := index.Document{ID: "a", Path: []string{"docs"}, Authors: []index.Person{{Name: "Jo", Email: "jo@acme.example"}}, Secondary: 1,
		Metadata: []index.Field{{Key: "team", Values: []string{"infra"}}}, Sets: []string{"handbook"}, Access: []string{"PUBLIC"},
		Outline: []index.Heading{{Level: 1, Text: "Top"}}, Positions: []index.Position{{End: 5, FirstLine: 1, LastLine: 2}},
		Chunks: []index.Chunk{{Text: strings.Repeat("long text ", 20), Headings: []string{"Top"}, Link: "#top"}, {}}}
	detail, err := p.PackDetail(&whole)
	if err != nil {
		f.Fatal(err)
	}
	groups, err := p.PackChunks(f.Context(), whole.Chunks)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(detail)
	f.Add(groups[0].Body)
	f.Add([]byte{})
	f.Add([]byte{packedZstd})
	f.Add([]byte{packedRaw, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{7, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		var document index.Document
		_ = p.UnpackDetail(data, &document)
		chunks, err := p.UnpackChunks(data)
		if err != nil {
			return
		}
		var again []index.Chunk
		groups, err := p.PackChunks(t.Context(), chunks)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			some, err := p.UnpackChunks(group.Body)
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
