package ingest

import (
	"maps"
	"path"
	"runtime"
	"slices"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/internal/testkit/longtest"
	"quarry/server/index"
	"quarry/server/ingest/markdown"
)

// TestOutputIsCharged reads files in which a few bytes stand for many, in this process, whose memory and time nothing
// else bounds: none gives more text than one may have, and what is allocated on the way follows from that bound.
func TestOutputIsCharged(t *testing.T) {
	size, mostAllocated := longtest.Rounds(64<<10, 1<<20), int64(longtest.Rounds(12, 32)*markdown.MaxBytes) // in all, not at once
	files := filetest.Amplified(size)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		allocated, began := totalAllocated(), time.Now()
		written, err := readAmplified(t, name, files[name])
		allocated = totalAllocated() - allocated
		t.Logf("%s: %d KB of text, %d MB allocated, %v, %v", name, written>>10, allocated>>20, time.Since(began), err)
		if written > markdown.MaxBytes || allocated > mostAllocated {
			t.Errorf("%s: more than its bound", name)
		}
	}
}

// readAmplified returns how much text a file has, or why it is skipped.
func readAmplified(t *testing.T, name string, data []byte) (written int, err error) {
	t.Helper()
	if path.Ext(name) == ".zip" {
		l := newLibrary(t, map[string]string{"d/" + name: string(data)})
		l.add(Options{}, "d")
		for _, doc := range l.idx.documents {
			written += documentBytes(&doc)
		}
		if len(l.idx.documents) == 0 {
			t.Errorf("%s is not read: %q", name, l.events.skipped())
		}
		return written, nil
	}
	f, _ := formatOf(name)
	doc, err := resultOf(newFileReader(t.Context(), nil), f, data, index.Document{ID: name, Origin: name, Type: f.name})
	return documentBytes(&doc), err
}

func totalAllocated() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.TotalAlloc)
}
