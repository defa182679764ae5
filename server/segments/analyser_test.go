package segments

import (
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// analyserOffset is where a segment file says which analyser made it.
const analyserOffset = 12

// TestSegmentsOfAnOlderAnalyserAreRebuilt makes segments look older, while they keep on being searched.
func TestSegmentsOfAnOlderAnalyserAreRebuilt(t *testing.T) {
	dir, m := damagedLibrary(t)
	for _, path := range segmentPaths(t, dir) {
		makeOlder(t, path)
	}
	x := open(t, Options{Dir: dir, policy: eager()})
	first := snapshotOf(t, x)
	find(t, first, "word1")
	x.worker.loop.Wait()
	find(t, first, "word1")
	current := x.currentState(t.Context())
	defer x.states.drop(current)
	for _, p := range current.parts {
		if stale(p) {
			t.Errorf("segment %s is still of analyser %d", p.name, p.segment.reader.AnalyserVersion())
		}
	}
	m.compare(t, x)
	batch := randomBatch(rand.New(rand.NewPCG(2, 2)), 20)
	write(t, x, batch)
	m.apply(batch)
	m.compare(t, x)
}

// TestSegmentsOfAnOlderFormatAreRewritten: what merges write has the format of this version. The second segment has the
// analyser of this version, too.
func TestSegmentsOfAnOlderFormatAreRewritten(t *testing.T) {
	for _, name := range []string{"format2.seg.gz", "format3.seg.gz"} {
		parts := []*part{olderSegment(t, name), partOf(t, segmentOf(t, document("a", "text")))}
		if picked := defaultMergePolicy().pick(parts); !slices.Equal(picked, parts[:1]) {
			t.Errorf("%s: picked %v", name, picked)
		}
		if picked := defaultMergePolicy().pick(parts[1:]); picked != nil {
			t.Errorf("picked %v of this version", picked)
		}
	}
}

func olderSegment(t *testing.T, name string) *part {
	t.Helper()
	file, err := os.Open("../index/segment/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return partOf(t, data)
}

func partOf(t *testing.T, data []byte) *part {
	t.Helper()
	reader, err := segment.Open("a segment", data)
	if err != nil {
		t.Fatal(err)
	}
	return &part{documents: reader.Documents(), bytes: int64(len(data)), segment: &openFile[*segment.Reader]{reader: reader}}
}

func segmentOf(t *testing.T, document index.Document) []byte {
	t.Helper()
	data, err := segment.Of(&document)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func makeOlder(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if binary.LittleEndian.Uint32(data[analyserOffset:]) != analysis.Version {
		t.Fatalf("%s does not say its analyser at byte %d", filepath.Base(path), analyserOffset)
	}
	binary.LittleEndian.PutUint32(data[analyserOffset:], analysis.Version-1)
	sign(data)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// sign renews the checksums of a segment whose first block was changed: of the block, of the table of checksums, and of
// the footer, which lies before the last 16 bytes and tells where the table begins.
func sign(data []byte) {
	const trailer, block, statistics = 16, 64 << 10, 16 * 8
	table := crc32.MakeTable(crc32.Castagnoli)
	end := len(data) - trailer
	length := int(binary.LittleEndian.Uint32(data[end:]))
	footer := data[end-length : end]
	content := int(binary.LittleEndian.Uint64(footer[statistics:]))
	first := crc32.Checksum(data[:min(block, content)], table)
	binary.LittleEndian.PutUint32(data[content:], first)
	sums := crc32.Checksum(data[content:end-length], table)
	binary.LittleEndian.PutUint64(footer[statistics+8:], uint64(sums))
	binary.LittleEndian.PutUint32(data[end+4:], crc32.Checksum(footer, table))
}
