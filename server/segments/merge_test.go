package segments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/internal/testkit/longtest"
	"quarry/server/index"

	"github.com/RoaringBitmap/roaring/v2"
)

// eager merges whenever there are three segments, so that tests see many merges.
func eager() *mergePolicy {
	policy := mergePolicy{fanOut: 3, floor: 4 << 10, largest: 1 << 20, deletedPart: 0.3}
	return &policy
}

func segmentsOf(t testing.TB, x *Index) []*part {
	t.Helper()
	return readManifest(x.Newest(context.Background()))
}

func TestMergesKeepWhatIsStored(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range longtest.Rounds(1, 8) {
				random := rand.New(rand.NewPCG(uint64(seed), 1))
				if dir != "" {
					dir = t.TempDir()
				}
				x := open(t, Options{Dir: dir, policy: eager()})
				m := make(model)
				for step := range 60 {
					batch := randomBatch(random, 25)
					write(t, x, batch)
					m.apply(batch)
					if step%20 == 19 {
						m.compare(t, x)
					}
				}
				x.worker.loop.Wait()
				m.compare(t, x)
				if parts := segmentsOf(t, x); len(parts) > 6 {
					t.Errorf("seed %d: %d segments are left", seed, len(parts))
				}
			}
		})
	}
}

// TestSnapshotsAreWhole writes groups of documents that always change together, and looks for torn ones.
func TestSnapshotsAreWhole(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			writer := open(t, Options{Dir: dir, policy: eager()})
			reader := writer
			if dir != "" {
				reader = open(t, Options{Dir: dir, ReadOnly: true}) // as another process would
			}
			put(t, writer, group(0)...)
			stop := make(chan struct{})
			var readers sync.WaitGroup
			for range 2 {
				readers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							if err := lookForTorn(reader); err != nil {
								t.Error(err)
								return
							}
						}
					}
				})
			}
			for version := 1; version <= 20; version++ {
				put(t, writer, append(group(version), document("other"+strconv.Itoa(version%7), "noise "+
					strings.Repeat("x", version)))...)
			}
			close(stop)
			readers.Wait()
		})
	}
}

const groupSize = 5

func group(version int) []index.Document {
	var documents []index.Document
	for i := range groupSize {
		documents = append(documents, document(fmt.Sprintf("member%d", i), fmt.Sprintf("together version%d", version)))
	}
	return documents
}

func lookForTorn(x *Index) error {
	s, err := x.Snapshot(context.Background())
	if err != nil {
		return err
	}
	defer s.Close()
	ids, err := search(s, "together")
	if err != nil {
		return err
	}
	if len(ids) != groupSize {
		return fmt.Errorf("found %d of %d: %v", len(ids), groupSize, ids)
	}
	var texts []string
	for _, id := range ids {
		chunks, err := indextest.Chunks(s, id, 0, 0, everything)
		if err != nil {
			return err
		}
		texts = append(texts, chunks[0].Text)
	}
	if slices.Sort(texts); texts[0] != texts[len(texts)-1] {
		return fmt.Errorf("a torn state: %v", texts)
	}
	// The word of that version is found in the same snapshot, in all of them.
	version := strings.Fields(texts[0])[1]
	if ids, err = search(s, version); err != nil || len(ids) != groupSize {
		return fmt.Errorf("%s is found in %v, %w", version, ids, err)
	}
	return nil
}

func TestWritersTakeTurns(t *testing.T) {
	dir := t.TempDir()
	const writers, rounds = 4, 15
	var group sync.WaitGroup
	for w := range writers {
		x := open(t, Options{Dir: dir, policy: eager()})
		group.Go(func() {
			for round := range rounds {
				// One document of its own, and one that all of them change.
				own := document(fmt.Sprintf("own%d-%d", w, round), "own word1")
				shared := document("shared", fmt.Sprintf("shared writer%d round%d", w, round))
				if _, err := x.Write(context.Background(), index.Batch{
					Upsert: []index.Document{own, shared},
					Delete: []string{fmt.Sprintf("own%d-%d", w, round-3)},
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	x := open(t, Options{Dir: dir})
	if got := find(t, snapshotOf(t, x), "shared"); len(got) != 1 {
		t.Errorf("the shared document is found as %v", got)
	}
	if got := find(t, snapshotOf(t, x), "own"); len(got) != 3*writers {
		t.Errorf("found %d of the writers' own documents, want %d", len(got), 3*writers)
	}
	m := make(model)
	s := snapshotOf(t, x)
	ids, err := s.DocumentIDs(t.Context(), index.Selector{Source: "file"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Documents(t.Context(), ids, everything)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		if d.Chunks, err = indextest.Chunks(s, d.ID, 0, 9, everything); err != nil {
			t.Fatal(err)
		}
		m[d.ID] = d.Document
	}
	m.compare(t, x)
}

func TestAccessChangesBesideWrites(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	put(t, first, document("a", "version0"))
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 30 {
			d := document("a", fmt.Sprintf("version%d", i+1))
			d.Access = []string{"PUBLIC", "group:x"}
			if _, err := first.Write(context.Background(), index.Batch{Upsert: []index.Document{d}}); err != nil {
				t.Error(err)
			}
		}
	})
	group.Go(func() {
		for i := range 30 {
			patch := index.AccessPatch{ID: "a", Access: []string{"PUBLIC", fmt.Sprintf("group:%d", i)}}
			if _, err := second.UpdateAccess(context.Background(), []index.AccessPatch{patch}); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if got := find(t, snapshotOf(t, second), "version30"); len(got) != 1 {
		t.Errorf("a change of access brought an older text back: version30 is found in %v", got)
	}
}

// TestDeletesDuringAMerge deletes documents between the making of a merged segment and its naming.
func TestDeletesDuringAMerge(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir(), policy: &mergePolicy{fanOut: 1000, largest: 1 << 30, deletedPart: 1}})
	x.worker.stop()
	m := make(model)
	random := rand.New(rand.NewPCG(7, 7))
	for range 10 {
		batch := randomBatch(random, 30)
		write(t, x, batch)
		m.apply(batch)
	}
	current := x.currentState(t.Context())
	defer x.states.drop(current)
	made := x.merge(t.Context(), current.parts)
	for range 5 {
		batch := randomBatch(random, 30)
		write(t, x, batch)
		m.apply(batch)
	}
	if err := x.Change(t.Context(), made.swap); err != nil {
		t.Fatal(err)
	}
	m.compare(t, x)
	if err := x.Change(t.Context(), made.swap); err == nil {
		t.Error("segments that are gone were replaced again")
	}
}

func TestManyDeletesAreFolded(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir(), policy: &mergePolicy{fanOut: 1000, largest: 1 << 30, deletedPart: 1}})
	m := make(model)
	var first index.Batch
	for i := range 60 {
		first.Upsert = append(first.Upsert, document(fmt.Sprintf("doc%d", i), fmt.Sprintf("word%d word1", i%9)))
	}
	write(t, x, first)
	m.apply(first)
	for i := range 40 {
		batch := index.Batch{Delete: []string{fmt.Sprintf("doc%d", i)}}
		write(t, x, batch)
		m.apply(batch)
	}
	count := 0
	if err := x.db.Reader.QueryRow("SELECT COUNT(*) FROM deletes").Scan(&count); err != nil {
		t.Fatal(err)
	}
	if count > foldDeletes {
		t.Errorf("%d records of deletes", count)
	}
	m.compare(t, x)
}

// TestLittleIsMergedWhenAProcessEnds, into one segment; what was there before stays.
func TestLittleIsMergedWhenAProcessEnds(t *testing.T) {
	dir, m, random := t.TempDir(), make(model), rand.New(rand.NewPCG(4, 4))
	for want, batches := range [][]index.Batch{
		1: {randomBatch(random, 20), randomBatch(random, 20), randomBatch(random, 20)},
		2: {{Upsert: []index.Document{document("one more", "word1")}}},
	} {
		x, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, batch := range batches {
			write(t, x, batch)
			m.apply(batch)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = open(t, Options{Dir: dir})
		if parts := segmentsOf(t, x); len(parts) != want {
			t.Errorf("%d segments, want %d", len(parts), want)
		}
		m.compare(t, x)
	}
}

// sized are segments of sizes.
func sized(t *testing.T, sizes ...int64) (parts []*part) {
	t.Helper()
	x := open(t, Options{})
	put(t, x, document("a", "text"))
	current := x.currentState(t.Context())
	t.Cleanup(func() { x.states.drop(current) })
	for i, size := range sizes {
		parts = append(parts, &part{id: int64(i), documents: 10, bytes: size, segment: current.parts[0].segment})
	}
	return parts
}

func TestRestOfSmallSegments(t *testing.T) {
	policy := mergePolicy{rest: 1000}
	for _, test := range []struct {
		name         string
		added        int64
		sizes, taken []int64
	}{
		{"all that is little", 1000, []int64{500, 300, 200}, []int64{200, 300, 500}},
		{"no more than was added", 600, []int64{500, 300, 200}, []int64{200, 300}},
		{"a quarter of what is much", 8000, []int64{900, 700, 6400}, []int64{700, 900}},
		{"eight times as much at most", 1 << 30, []int64{3000, 5000, 9000, 4000}, []int64{3000, 4000}},
		{"nothing for what is little beside it", 1000, []int64{10, 900}, nil},
		{"the largest of them pays", 1000, []int64{10, 400, 500}, []int64{10, 400, 500}},
		{"one", 1000, []int64{10}, nil},
		{"no segments", 1000, nil, nil},
	} {
		var taken []int64
		for _, p := range policy.pickRest(sized(t, test.sizes...), test.added) {
			taken = append(taken, p.bytes)
		}
		if !slices.Equal(taken, test.taken) {
			t.Errorf("%s: took %v, want %v", test.name, taken, test.taken)
		}
	}
}

func TestPolicy(t *testing.T) {
	policy := mergePolicy{fanOut: 3, floor: 100, largest: 10_000, deletedPart: 0.3}
	deleted := func(p *part, count uint64) {
		p.deleted = roaring.New()
		p.deleted.AddRange(0, count)
	}
	few := sized(t, 50, 60)
	full := sized(t, 50, 5000, 60, 250, 70)
	large := sized(t, 6000, 6000, 6000)
	mixed := sized(t, 4000, 4500, 4900, 4950)
	emptied := sized(t, 50, 60)
	deleted(emptied[1], 10)
	thinned := sized(t, 50, 60)
	deleted(thinned[0], 4)
	tests := []struct {
		name  string
		parts []*part
		want  []int64
	}{
		{"too few", few, nil},
		{"one tier is full", full, []int64{0, 2, 4}},
		{"large ones stay", large, nil},
		{"no larger than allowed", mixed, []int64{0, 1}},
		{"nothing left in one", emptied, []int64{1}},
		{"many deleted", thinned, []int64{0}},
		{"none", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			work := policy.pick(test.parts)
			var got []int64
			for _, p := range work {
				got = append(got, p.id)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("picked %v, want %v", got, test.want)
			}
		})
	}
}
