package documents

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"testing"

	"quarry/internal/guard"
	"quarry/server/index"
)

// TestLinksComeBack: those of chunks are stored by that of their document, whatever they look like.
func TestLinksComeBack(t *testing.T) {
	for _, link := range []string{"", "https://x.test/a", "\x01"} {
		d := index.Document{Link: link}
		for _, chunk := range []string{"", "#top", link, link + "#top", link + "\x01", "\x01", "\x01\x01#top", "https://x.test/", "https://x.test/a\x01"} {
			d.Chunks = append(d.Chunks, index.Chunk{Text: "text", Link: chunk})
		}
		short := shortLinks(&d)
		if link != "" && (short[3].Link != "\x01#top" && link != "\x01" || reflect.DeepEqual(short, d.Chunks)) {
			t.Errorf("%q: stored %+v", link, short)
		}
		if expandLinks(short, link); !reflect.DeepEqual(short, d.Chunks) {
			t.Errorf("%q: read %+v, want %+v", link, short, d.Chunks)
		}
	}
}

// TestHashesOfRows: half of a hash is stored, but for a document whose chunks stay as an older version sealed them.
func TestHashesOfRows(t *testing.T) {
	whole := Hash(&index.Document{ID: "a", Chunks: []index.Chunk{{Text: "text"}}})
	other := Hash(&index.Document{ID: "a", Title: "another", Chunks: []index.Chunk{{Text: "text"}}})
	short := (&Item{Hash: whole}).storedHash()
	if len(short) != HashBytes || !sameHead(short, whole) || !sameChunks(short, whole) || sameHead(short, other) || !sameChunks(short, other) {
		t.Errorf("stored %x of %x", short, whole)
	}
	for _, old := range [][]byte{whole, short} {
		stored := (&Item{Hash: other, SameText: true, Old: &Row{Hash: old}}).storedHash()
		if _, chunks := halves(stored); len(stored) != len(old) || !bytes.Equal(chunks, old[len(old)/2:]) || !sameHead(stored, other) {
			t.Errorf("%x: stored %x", old, stored)
		}
	}
	if sameHead(whole, nil) || sameChunks([]byte{1, 2}, []byte{1, 2}) {
		t.Error("a hash that is damaged is that of a document")
	}
}

// TestDamagedListOfNames: what a damaged length says that follows takes no memory before it is read.
func TestDamagedListOfNames(t *testing.T) {
	damaged := append(appendLength([]byte{packedNames}, 1<<20), make([]byte, 1<<20)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := guard.Ended(func() { NewPacker(nil).namesIn(damaged) })
	if runtime.ReadMemStats(&after); !errors.Is(err, ErrPacked) || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%d bytes were allocated, %v", after.TotalAlloc-before.TotalAlloc, err)
	}
}
