package documents

import (
	"reflect"
	"testing"

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
