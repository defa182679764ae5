package e2e

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
)

// cost is what the built program needed for a file, or at most for the files of a format.
type cost struct {
	peaks
	bytes, stored    int64
	time             time.Duration
	files, skipped   int
	slowest, largest string
}

// TestEachHostileFile adds each hostile file alone with the built program, within the bounds that docs/security.md and
// docs/library.md list, and logs the most that a file of each format took.
func TestEachHostileFile(t *testing.T) {
	onlySlow(t, "TestHostileFiles")
	const size, bomb, mostStored, mostOwn = 4 << 20, 256 << 20, 128 << 20, 1 << 20
	perFormat := map[string]*cost{}
	for name, data := range filetest.Hostile(1, 1, size, bomb) {
		if strings.HasPrefix(name, "lying-") {
			continue // the files of another format
		}
		got := costOf(t, name, data)
		format := strings.TrimPrefix(filepath.Ext(name), ".")
		most := perFormat[format]
		if most == nil {
			most = &cost{}
			perFormat[format] = most
		}
		if got.time > most.time {
			most.time, most.slowest = got.time, name
		}
		if got.worker > most.worker {
			most.largest = name
		}
		most.own, most.worker = max(most.own, got.own), max(most.worker, got.worker)
		most.stored = max(most.stored, got.stored)
		most.files, most.skipped = most.files+1, most.skipped+got.skipped
		limit, mostWorker := got.limit(), mostWorkerMemory(name)
		if got.time > limit || got.own > mostOwn || got.worker > mostWorker || got.stored > mostStored {
			t.Errorf("%s: %v of %v, %d MB of %d, %d MB of %d in a worker, %d MB stored", name, got.time, limit, got.own>>10, mostOwn>>10,
				got.worker>>10, mostWorker>>10, got.stored>>20)
		}
	}
	for _, format := range slices.Sorted(maps.Keys(perFormat)) {
		c := perFormat[format]
		t.Logf("%-6s %2d files, %2d skipped: %6.2f s (%s), %4d MB, of a worker %4d MB (%s), %4.1f MB stored", format, c.files,
			c.skipped, c.time.Seconds(), c.slowest, c.own>>10, c.worker>>10, c.largest, float64(c.stored)/(1<<20))
	}
}

// limit is how much processor time a file may take: to be read, and to be stored, which takes up to two seconds for each MB
// of the library.
func (c cost) limit() time.Duration {
	return 12*time.Second + time.Duration(c.bytes>>20+c.stored>>19)*time.Second
}

// costOf adds a file to an empty library.
func costOf(t *testing.T, name string, data []byte) cost {
	t.Helper()
	h := newHome(t)
	if strings.HasSuffix(name, ".pdf") {
		h.pdfEngine()
	}
	writeIn(t, filepath.Join(h.dir, "d"), name, data)
	c := h.command(t.Context(), "add", "--json", filepath.Join(h.dir, "d"))
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	memory, err := runWatched(c)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &stderr)
	}
	got := cost{peaks: memory, bytes: int64(len(data)), time: c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
	var state struct{ Library struct{ Bytes int64 } }
	decode(t, h.must("status", "--json"), &state)
	got.stored = state.Library.Bytes
	got.skipped = strings.Count(stdout.String(), `"type":"skipped"`)
	return got
}
