package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/field"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

// meaning gives every text a vector of its own, and counts how often each was asked for.
type meaning struct {
	dimensions int
	salt       string
	asked      map[string]int
	fail       func(texts []string) error
}

func newMeaning(dimensions int, salt string) *meaning {
	return &meaning{dimensions: dimensions, salt: salt, asked: make(map[string]int)}
}

func (m *meaning) of(text string) []float32 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(m.salt + text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	v, sum := make([]float32, m.dimensions), 0.0
	for i := range v {
		v[i] = float32(random.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return vector.Unpack(vector.Pack(v)) // as it is stored
}

func (m *meaning) embed(_ context.Context, texts []string) ([][]float32, error) {
	if m.fail != nil {
		if err := m.fail(texts); err != nil {
			return nil, err
		}
	}
	var vectors [][]float32
	for _, text := range texts {
		m.asked[text]++
		vectors = append(vectors, m.of(text))
	}
	return vectors, nil
}

func (m *meaning) embedAll(t testing.TB, x *Index, model string) {
	t.Helper()
	if err := x.Embed(t.Context(), index.Embedding{Model: model, Vectors: m.embed}); err != nil {
		t.Fatal(err)
	}
}

func nearest(t testing.TB, x *Index, model string, values []float32, q index.Query) []index.Hit {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hits, err := s.Nearest(t.Context(), index.Vector{Model: model, Values: values}, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func stats(t testing.TB, x *Index) index.Stats {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// exactly is what Nearest must return of a library whose chunks all have vectors.
func exactly(m *meaning, stored model, values []float32, admits func(d *index.Document) bool, limit,
	perDocument int) (hits []index.Hit) {
	for _, d := range stored {
		if !admits(&d) {
			continue
		}
		for i := range d.Chunks {
			score := 0.0
			for n, x := range m.of(documents.EmbeddedText(&d, i)) {
				score += float64(x) * float64(values[n])
			}
			hits = append(hits, index.Hit{DocumentID: d.ID, Chunk: i, Score: score})
		}
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Chunk, b.Chunk))
	})
	of := make(map[string]int)
	hits = slices.DeleteFunc(hits, func(h index.Hit) bool {
		of[h.DocumentID]++
		return perDocument > 0 && of[h.DocumentID] > perDocument
	})
	return hits[:min(limit, len(hits))]
}

func sameHits(t testing.TB, got, want []index.Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d hits, want %d:\n%v\n%v", len(got), len(want), got, want)
	}
	for i := range got {
		if math.Abs(got[i].Score-want[i].Score) > 1e-4 {
			t.Fatalf("hit %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// TestNearestIsExact changes libraries at random, and compares what is found with a look at every chunk: under filters,
// after deletions and merges, and with vectors by two models.
func TestNearestIsExact(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"disk": {Dir: t.TempDir()}, "memory": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options.Log, options.policy = testLog(t), eager()
			x, err := Open(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			random, stored, means := rand.New(rand.NewPCG(4, 2)), model{}, newMeaning(24, "a")
			current := "a"
			for round := range 60 {
				batch := randomBatch(random, 40)
				for i := range batch.Upsert {
					if random.IntN(3) == 0 {
						batch.Upsert[i].Access = []string{"group:infra"}
					}
				}
				write(t, x, batch)
				stored.apply(batch)
				if round == 35 {
					current, means = "b", newMeaning(12, "b")
				}
				if random.IntN(3) > 0 {
					if round%2 == 0 {
						x.worker.loop.Wait()
					}
					checkNearest(t, x, current, means, stored, random, false)
					continue
				}
				means.embedAll(t, x, current)
				x.worker.loop.Wait()
				checkNearest(t, x, current, means, stored, random, true)
				for text, times := range means.asked {
					if times > 1 {
						t.Fatalf("%q was embedded %d times", text, times)
					}
				}
			}
			if current == "b" && len(nearest(t, x, "a", newMeaning(24, "a").of("x"),
				index.Query{Limit: 3, Filter: index.Filter{Access: index.Access{All: true}}})) > 0 {
				t.Error("vectors by a model that was left are compared")
			}
		})
	}
}

func checkNearest(t *testing.T, x *Index, current string, means *meaning, stored model, random *rand.Rand,
	complete bool) {
	t.Helper()
	for _, c := range []struct {
		filter index.Filter
		admits func(d *index.Document) bool
	}{
		{index.Filter{Access: index.Access{All: true}}, func(*index.Document) bool { return true }},
		{index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}},
			func(d *index.Document) bool { return slices.Contains(d.Access, "PUBLIC") }},
		{index.Filter{Access: index.Access{}}, func(*index.Document) bool { return false }},
		{index.Filter{Access: index.Access{All: true}, Any: field.Keys{field.Source: {"slack"}}},
			func(d *index.Document) bool { return d.Source == "slack" }},
	} {
		q := index.Query{Filter: c.filter, Limit: 1 + random.IntN(20), PerDocument: random.IntN(3)}
		values := means.of(fmt.Sprint("query", random.IntN(1000)))
		got := nearest(t, x, current, values, q)
		if complete {
			sameHits(t, got, exactly(means, stored, values, c.admits, q.Limit, q.PerDocument))
			continue
		}
		everything := exactly(means, stored, values, c.admits, math.MaxInt, 0)
		for _, h := range got {
			if !slices.ContainsFunc(everything, func(o index.Hit) bool {
				return o.DocumentID == h.DocumentID && o.Chunk == h.Chunk && math.Abs(o.Score-h.Score) < 1e-4
			}) {
				t.Fatalf("%v is not there, or not like that", h)
			}
		}
	}
	if s := stats(t, x); complete && s.Vectors != s.Chunks {
		t.Fatalf("%d of %d chunks have vectors", s.Vectors, s.Chunks)
	}
}

func filled(t testing.TB, options Options, count int) (*Index, model) {
	t.Helper()
	options.Log = testLog(t)
	x, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	m := model{}
	for i := range count {
		d := document(fmt.Sprint("doc", i), fmt.Sprint("first text of ", i), fmt.Sprint("second text of ", i))
		batch := index.Batch{Upsert: []index.Document{d}}
		write(t, x, batch)
		m.apply(batch)
	}
	return x, m
}

var anything = index.Query{Limit: 5, Filter: index.Filter{Access: index.Access{All: true}}}

// TestWithoutVectors: a library that never met an embedding model has no files of vectors.
func TestWithoutVectors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, _ := filled(t, Options{Dir: dir, policy: eager()}, 10)
	x.worker.loop.Wait()
	if hits := nearest(t, x, "m", newMeaning(8, "").of("x"), anything); len(hits) > 0 {
		t.Errorf("found %v", hits)
	}
	if s := stats(t, x); s.Vectors != 0 || s.VectorModel != "" {
		t.Errorf("stats: %+v", s)
	}
	files, err := os.ReadDir(filepath.Join(dir, segmentsFolder))
	if err != nil || len(files) != len(segmentsOf(t, x)) {
		t.Errorf("%d files for %d segments, %v", len(files), len(segmentsOf(t, x)), err)
	}
}

// TestRightsKeepVectors: a change of rights alone, after which the documents are indexed anew, needs no model.
func TestRightsKeepVectors(t *testing.T) {
	t.Parallel()
	x, stored := filled(t, Options{Dir: t.TempDir()}, 6)
	means := newMeaning(16, "")
	means.embedAll(t, x, "m")
	if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "doc3", Access: []string{"group:x"}}}); err != nil {
		t.Fatal(err)
	}
	if s := stats(t, x); s.Vectors != 12 {
		t.Errorf("%d of 12 chunks have vectors", s.Vectors)
	}
	q := anything
	q.Filter.Access = index.Access{Terms: []string{"group:x"}}
	want := exactly(means, stored, means.of("q"), func(d *index.Document) bool { return d.ID == "doc3" }, 5, 0)
	sameHits(t, nearest(t, x, "m", means.of("q"), q), want)
}

// TestEmbeddingGoesOn: what a failed pass has stored is searched and not asked for again.
func TestEmbeddingGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, stored := filled(t, Options{Dir: dir}, 0)
	const some = 300
	var batch index.Batch
	for i := range some {
		batch.Upsert = append(batch.Upsert, document(fmt.Sprint("doc", i), fmt.Sprint("text ", i)))
	}
	write(t, x, batch)
	stored.apply(batch)
	means, broken := newMeaning(16, ""), errors.New("the model is gone")
	means.fail = func([]string) error {
		if len(means.asked) > some/3 {
			return broken
		}
		return nil
	}
	if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: means.embed}); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if s := stats(t, x); s.Vectors != len(means.asked) || s.Vectors <= some/3 {
		t.Errorf("%d vectors are searched after the failure", s.Vectors)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), Options{Dir: dir, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	means.fail = nil
	var last index.Embedded
	if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: means.embed, Report: func(so index.Embedded) { last = so }}); err != nil {
		t.Fatal(err)
	}
	if len(means.asked) != some || last != (index.Embedded{Done: some, Total: some}) {
		t.Errorf("%d texts were embedded, told %+v", len(means.asked), last)
	}
	for text, times := range means.asked {
		if times > 1 {
			t.Errorf("%q was embedded %d times", text, times)
		}
	}
	sameHits(t, nearest(t, x, "m", means.of("q"), anything),
		exactly(means, stored, means.of("q"), func(*index.Document) bool { return true }, 5, 0))
}

// What was made for a segment is searched long before the segment is complete, and after a while again.
func TestVectorsAreSearchedEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := open(t, Options{})
		var batch index.Batch // of one segment
		for i := range 10 * documents.FewTexts {
			batch.Upsert = append(batch.Upsert, document(fmt.Sprint("doc", i), fmt.Sprint("text ", i)))
		}
		write(t, x, batch)
		m := newMeaning(16, "")
		var searched []int
		m.fail = func([]string) error {
			time.Sleep(searchedAfter)
			if n := stats(t, x).Vectors; len(searched) == 0 || n > searched[len(searched)-1] {
				searched = append(searched, n)
			}
			return nil
		}
		m.embedAll(t, x, "m")
		if n := stats(t, x).Vectors; n != 10*documents.FewTexts || len(searched) < 3 {
			t.Errorf("%d vectors in the end, before that %v were searched", n, searched)
		}
	})
}

// What is opened while a large segment is embedded does not wait for all of it.
func TestOpenedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := open(t, Options{})
		var batch index.Batch
		for i := range 30 * documents.FewTexts {
			d := document(fmt.Sprint("doc", i), fmt.Sprintf("text %d.", i))
			d.UpdatedAt = time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
			batch.Upsert = append(batch.Upsert, d)
		}
		write(t, x, batch)
		m := newMeaning(16, "")
		var order, opened []string
		m.fail = func(texts []string) error {
			order, opened = append(order, texts...), []string{"doc0"}
			time.Sleep(searchedAfter)
			return nil
		}
		err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: m.embed, Opened: func() []string { return opened }})
		at := slices.IndexFunc(order, func(text string) bool { return strings.Contains(text, "text 0.") })
		if err != nil || len(order) != 30*documents.FewTexts || at < 0 || at > len(order)/2 {
			t.Errorf("the opened document was embedded as number %d of %d: %v", at, len(order), err)
		}
	})
}

// TestUnusableVectors: what does not fit is refused, and nothing is stored.
func TestUnusableVectors(t *testing.T) {
	t.Parallel()
	x, _ := filled(t, Options{}, 2)
	for name, answer := range map[string][][]float32{
		"too few": {{1, 0}}, "none": nil, "of no length": {{}, {}, {}, {}}, "of several lengths": {{1}, {1, 0}, {1}, {1}},
	} {
		err := x.Embed(t.Context(), index.Embedding{Model: "m",
			Vectors: func(context.Context, []string) ([][]float32, error) { return answer, nil }})
		if !errors.Is(err, documents.ErrVectors) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := stats(t, x); s.Vectors != 0 || s.VectorModel != "" {
		t.Errorf("stats: %+v", s)
	}
}

// TestSameModelOtherLength: an endpoint that changes what stands behind a name gives vectors that do not compare.
func TestSameModelOtherLength(t *testing.T) {
	t.Parallel()
	x, stored := filled(t, Options{Dir: t.TempDir()}, 3)
	newMeaning(16, "").embedAll(t, x, "m")
	batch := index.Batch{Upsert: []index.Document{document("new", "a new text")}}
	write(t, x, batch)
	stored.apply(batch)
	means := newMeaning(8, "")
	means.embedAll(t, x, "m")
	sameHits(t, nearest(t, x, "m", means.of("q"), anything),
		exactly(means, stored, means.of("q"), func(*index.Document) bool { return true }, 5, 0))
}

// TestDamagedVectors: files that are cut off, changed or gone are made again from what is stored, without the model.
func TestDamagedVectors(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string, data []byte) error{
		"gone": func(path string, _ []byte) error { return os.Remove(path) },
		"cut": func(path string, data []byte) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, data[:len(data)/2], 0o400))
		},
		"changed": func(path string, data []byte) error {
			data[200] ^= 1
			return errors.Join(os.Remove(path), os.WriteFile(path, data, 0o400))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x, stored := filled(t, Options{Dir: dir}, 4)
			means := newMeaning(16, "")
			means.embedAll(t, x, "m")
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			paths, err := filepath.Glob(filepath.Join(dir, segmentsFolder, "*"))
			if err != nil {
				t.Fatal(err)
			}
			harmed := 0
			for _, path := range paths {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(string(data), "QRYVEC") {
					harmed++
					if err := harm(path, data); err != nil {
						t.Fatal(err)
					}
				}
			}
			if harmed == 0 {
				t.Fatal("there are no files of vectors")
			}
			if x, err = Open(t.Context(), Options{Dir: dir, Log: testLog(t)}); err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			sameHits(t, nearest(t, x, "m", means.of("q"), anything),
				exactly(means, stored, means.of("q"), func(*index.Document) bool { return true }, 5, 0))
			stored.compare(t, x)
			if len(means.asked) != 8 {
				t.Errorf("%d texts were embedded", len(means.asked))
			}
		})
	}
}

// TestFloatVectors: 32-bit floats, with a seal and without, as older versions stored them, are searched without the model.
func TestFloatVectors(t *testing.T) {
	t.Parallel()
	for _, dimensions := range []int{3, 16} { // of three, floats are as long as a sealed vector of today
		dir := t.TempDir()
		x, stored := filled(t, Options{Dir: dir}, 4)
		means := newMeaning(dimensions, "")
		means.embedAll(t, x, "m")
		at := 0
		for text := range means.asked {
			key := documents.KeyOf(text)
			raw := documents.AppendVector(nil, means.of(text))
			if at++; at%2 == 0 {
				raw = documents.Seal(raw, key[:])
			}
			err := x.Change(t.Context(), func(tx *sqldb.Tx) {
				tx.Change(fault.ErrNotFound, "UPDATE embeddings SET vector = ? WHERE hash = ?", raw, key[:])
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range segmentsOf(t, x) {
			if err := x.refreshVectors(t.Context(), p.name); err != nil {
				t.Fatal(err)
			}
		}
		sameHits(t, nearest(t, x, "m", means.of("q"), anything),
			exactly(means, stored, means.of("q"), func(*index.Document) bool { return true }, 5, 0))
		if s := stats(t, x); s.Vectors != 8 || len(means.asked) != 8 {
			t.Errorf("%d vectors, %d texts were embedded", s.Vectors, len(means.asked))
		}
	}
}

// TestRepairRestoresVectors: a segment that is rebuilt has its vectors again.
func TestRepairRestoresVectors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, stored := filled(t, Options{Dir: dir, policy: &mergePolicy{fanOut: 1000, largest: 1 << 30, deletedPart: 1}}, 4)
	means := newMeaning(16, "")
	means.embedAll(t, x, "m")
	name := segmentsOf(t, x)[1].name
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, segmentsFolder, name+segmentSuffix)); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), Options{Dir: dir, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	sameHits(t, nearest(t, x, "m", means.of("q"), anything),
		exactly(means, stored, means.of("q"), func(*index.Document) bool { return true }, 5, 0))
	if s := stats(t, x); s.Vectors != 8 {
		t.Errorf("%d of 8 chunks have vectors", s.Vectors)
	}
}

// TestPhrasesAndExclusions hold for what is found by vector too.
func TestPhrasesAndExclusions(t *testing.T) {
	t.Parallel()
	x, stored := filled(t, Options{}, 8)
	means := newMeaning(16, "")
	means.embedAll(t, x, "m")
	q := anything
	q.Exclude = []string{"5"}
	q.Limit = 100
	sameHits(t, nearest(t, x, "m", means.of("q"), q), exactly(means, stored, means.of("q"),
		func(d *index.Document) bool { return d.ID != "doc5" }, 100, 0))
	q = anything
	q.Phrases = []string{"second text of 3"}
	if hits := nearest(t, x, "m", means.of("q"), q); len(hits) != 1 || hits[0].DocumentID != "doc3" || hits[0].Chunk != 1 {
		t.Errorf("the phrase is in %v", hits)
	}
}

// TestUnneededVectorsGo: the vectors of texts that are gone, and of models that are not used, do not pile up.
func TestUnneededVectorsGo(t *testing.T) {
	t.Parallel()
	x, _ := filled(t, Options{Dir: t.TempDir()}, 0)
	means := newMeaning(4, "")
	for round := range 3 {
		var batch index.Batch
		for i := range 800 {
			batch.Upsert = append(batch.Upsert, document(fmt.Sprint("doc", i), fmt.Sprint("text ", round, " ", i)))
		}
		write(t, x, batch)
		means.embedAll(t, x, "m")
	}
	count := func(model string) (n int) {
		t.Helper()
		row := x.db.Reader.QueryRow(`SELECT COUNT(*) FROM embeddings WHERE model =
			(SELECT id FROM embedding_models WHERE name = ?)`, model)
		if err := row.Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count("m"); n != 800 {
		t.Errorf("%d vectors are stored for 800 texts", n)
	}
	newMeaning(4, "other").embedAll(t, x, "n")
	if count("m") != 0 || count("n") != 800 {
		t.Errorf("%d vectors by the old model, %d by the new one", count("m"), count("n"))
	}
}

// TestEmbeddingBesideWriters: passes, writers, merges and searches at the same time leave every chunk with the vector of
// its own text.
func TestEmbeddingBesideWriters(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), Options{Dir: t.TempDir(), Log: testLog(t), policy: eager()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	means, stored := newMeaning(16, ""), model{}
	means.asked = nil // searches and passes share it
	plain := func(_ context.Context, texts []string) (vectors [][]float32, err error) {
		for _, text := range texts {
			vectors = append(vectors, means.of(text))
		}
		return vectors, nil
	}
	ended := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for {
			if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: plain}); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
		}
	}()
	random := rand.New(rand.NewPCG(9, 9))
	for range 60 {
		batch := randomBatch(random, 50)
		write(t, x, batch)
		stored.apply(batch)
		checkNearest(t, x, "m", means, stored, random, false)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: plain}); err != nil {
		t.Fatal(err)
	}
	x.worker.loop.Wait()
	checkNearest(t, x, "m", means, stored, random, true)
}

// TestRefusedTexts: a text that the model does not take keeps no other from its vector, and is asked for again only when
// it or the model changes.
func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, _ := filled(t, Options{Dir: dir}, 0)
	write(t, x, index.Batch{Upsert: []index.Document{document("a", "good"), document("b", "poison"),
		document("c", "better", "poison of another kind"), document("d", "best")}})
	means := newMeaning(16, "")
	asked := 0
	picky := func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, err := means.embed(ctx, texts)
		for i, text := range texts {
			asked++
			if strings.Contains(text, "poison") {
				vectors[i] = nil
			}
		}
		return vectors, err
	}
	pass := func(model string, wantAsked int, want index.Embedded) {
		t.Helper()
		asked = 0
		var last index.Embedded
		if err := x.Embed(t.Context(), index.Embedding{Model: model, Vectors: picky, Report: func(so index.Embedded) { last = so }}); err != nil {
			t.Fatal(err)
		}
		if asked != wantAsked || last != want {
			t.Errorf("asked for %d texts, told %+v", asked, last)
		}
		if s := stats(t, x); s.Vectors != want.Done || s.Refused != want.Refused || s.VectorModel != model {
			t.Errorf("stats: %+v", s)
		}
	}
	pass("m", 5, index.Embedded{Done: 3, Total: 5, Refused: 2})
	before, err := x.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pass("m", 0, index.Embedded{Done: 3, Total: 5, Refused: 2})
	if after, err := x.Version(t.Context()); err != nil || after != before {
		t.Errorf("a pass without news: version %s, was %s, %v", after, before, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(t.Context(), Options{Dir: dir, Log: testLog(t)}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	write(t, x, index.Batch{Upsert: []index.Document{document("b", "cured"), document("e", "poison in a new place")}})
	pass("m", 2, index.Embedded{Done: 4, Total: 6, Refused: 2})
	pass("n", 6, index.Embedded{Done: 4, Total: 6, Refused: 2})
	write(t, x, index.Batch{Delete: []string{"c", "e"}})
	pass("n", 0, index.Embedded{Done: 3, Total: 3})
	write(t, x, index.Batch{Upsert: []index.Document{document("f", "poison alone in a segment")}})
	pass("n", 1, index.Embedded{Done: 3, Total: 4, Refused: 1})
	pass("n", 0, index.Embedded{Done: 3, Total: 4, Refused: 1})
}

// A pass of embeddings that waits for its model keeps neither searches nor writers waiting, and another pass only as long
// as its caller stays.
func TestEmbeddingKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	x, _ := filled(t, Options{Dir: t.TempDir()}, 3)
	asked, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	means := newMeaning(16, "")
	means.fail = func([]string) error {
		close(asked)
		<-goOn
		return nil
	}
	go func() { done <- x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: means.embed}) }()
	<-asked
	write(t, x, index.Batch{Upsert: []index.Document{document("late", "late text")}})
	if found := stats(t, x); found.Documents != 4 {
		t.Errorf("%d documents", found.Documents)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := x.Embed(gone, index.Embedding{Model: "m", Vectors: means.embed}); !errors.Is(err, context.Canceled) {
		t.Errorf("a second pass whose caller left: %v", err)
	}
	means.fail = nil
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
