package segments

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/indextest"
	"quarry/internal/testkit/longtest"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
)

// worn is a library on disk with everything that can be damaged: long and short texts, deleted documents, vectors.
type worn struct {
	dir     string
	model   model
	meaning *meaning
	fresh   *Index // made of the same documents
}

func wornLibrary(t testing.TB) worn {
	t.Helper()
	w := worn{dir: t.TempDir(), model: make(model), meaning: newMeaning(8, ""), fresh: open(t, Options{})}
	random := rand.New(rand.NewPCG(11, 11))
	x, err := Open(t.Context(), Options{Dir: w.dir, policy: &mergePolicy{fanOut: 1000, largest: 1 << 30, deletedPart: 1}})
	if err != nil {
		t.Fatal(err)
	}
	x.Sample = 4 << 10
	for round := range 4 {
		var batch index.Batch
		for n := range 10 {
			d := document(fmt.Sprintf("doc%d", (round*8+n)%36), words(random, 3))
			d.Origin, d.Title = "/files/"+d.ID, words(random, 2)
			for range random.IntN(5) {
				d.Chunks = append(d.Chunks, index.Chunk{Text: words(random, 1+random.IntN(400))})
			}
			batch.Upsert = append(batch.Upsert, d)
		}
		batch.Delete = []string{fmt.Sprint("doc", round)}
		batch.Upsert = slices.DeleteFunc(batch.Upsert, func(d index.Document) bool { return d.ID == batch.Delete[0] })
		batch.Cursors = map[string]string{fmt.Sprint("key", round): "value"}
		write(t, x, batch)
		w.model.apply(batch)
	}
	w.meaning.embedAll(t, x, "m")
	put(t, w.fresh, w.model.documents()...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// copied is the library in another folder.
func (w worn) copied(t testing.TB) worn {
	t.Helper()
	into := t.TempDir()
	if err := os.CopyFS(into, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	w.dir = into
	return w
}

func (w worn) path(name string) string { return filepath.Join(w.dir, name) }

// files are the paths of segments or of vectors.
func (w worn) files(t testing.TB, magic string) (paths []string) {
	t.Helper()
	for _, path := range segmentPaths(t.(*testing.T), w.dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(data, []byte(magic)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// expectRest fails unless what a library answers is what it answered when it was whole, or less and says so.
func (w worn) expectRest(t testing.TB, x *Index) {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		if !errors.Is(err, fault.ErrDamaged) {
			t.Fatalf("the error does not say that the library is damaged: %v", err)
		}
		return
	}
	defer s.Close()
	var missing []string
	vector := index.Vector{Model: "m", Values: w.meaning.of("question")}
	query := index.Query{Text: "word1 word9", Limit: 1000, Count: true, Filter: index.Filter{Access: everything}}
	result, err := s.Search(t.Context(), query)
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	near, err := s.Nearest(t.Context(), vector, query)
	if err != nil {
		t.Fatalf("nearest: %v", err)
	}
	for _, hit := range append(result.Hits, near...) {
		if d, ok := w.model[hit.DocumentID]; !ok || hit.Chunk >= len(d.Chunks) {
			t.Errorf("found %q, chunk %d, which does not exist", hit.DocumentID, hit.Chunk)
		}
	}
	chunks := 0
	for _, d := range w.model {
		chunks += len(d.Chunks)
	}
	// A passage whose stored vector is damaged, too, is counted as one without, and gets another.
	if now, err := s.Stats(t.Context()); len(near) < min(chunks, query.Limit) && (err != nil || now.Vectors >= chunks) {
		missing = append(missing, "vectors")
	}
	var ranges []index.Range
	for id, want := range w.model {
		missing = append(missing, w.lacks(t, s, id, want)...)
		ranges = append(ranges, index.Range{DocumentID: id, To: documents.MaxChunks})
	}
	texts, err := s.Texts(t.Context(), ranges, everything)
	for i, r := range ranges { // SQLite passes over a damaged inner page from one document to the next, not to one alone
		want := w.model[r.DocumentID].Chunks
		if err != nil || len(texts[i]) > len(want) {
			t.Fatalf("%s with others: %.300v (%v)", r.DocumentID, texts[i], err)
		}
		for n, chunk := range want {
			if n >= len(texts[i]) || texts[i][n].Damaged {
				missing = append(missing, fmt.Sprintf("chunk %d of %s with others", n, r.DocumentID))
			} else if !reflect.DeepEqual(texts[i][n], chunk) {
				t.Errorf("%s with others: %.300v, want %.300v", r.DocumentID, texts[i][n], chunk)
			}
		}
	}
	if len(missing) > 0 && len(s.Damage()) == 0 {
		t.Errorf("%d answers are missing and nothing says so: %.200q", len(missing), missing)
	}
}

// lacks returns what is not answered of a document, and fails when something else is.
func (w worn) lacks(t testing.TB, s index.Snapshot, id string, want index.Document) (missing []string) {
	t.Helper()
	found, err := s.Documents(t.Context(), []string{id}, everything)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	if len(found) == 0 || found[0].Damaged {
		return []string{id}
	}
	got := found[0].Document
	got.Chunks, err = indextest.Chunks(s, id, 0, documents.MaxChunks, everything)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	want = documents.Canonical(want)
	for i := range got.Chunks {
		if i < len(want.Chunks) && got.Chunks[i].Damaged {
			missing = append(missing, fmt.Sprintf("%s#%d", id, i))
			got.Chunks[i] = want.Chunks[i]
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %.300v\nwant %.300v", id, got, want)
	}
	return missing
}

// restore checks and repairs a library, stores again what is named, and fails unless it is as it was.
func (w worn) restore(t testing.TB, x *Index) []index.Damage {
	t.Helper()
	found, err := x.Check(t.Context(), index.CheckOptions{Full: true, Repair: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var batch index.Batch
	for _, damage := range found {
		switch damage.Kind {
		case index.DamagedDocument, index.DamagedText:
			if d, ok := w.model[damage.ID]; ok {
				batch.Upsert = append(batch.Upsert, d)
			} else {
				batch.Delete = append(batch.Delete, damage.ID)
			}
		default:
			if !damage.Repaired {
				t.Errorf("not repaired: %+v", damage)
			}
		}
	}
	write(t, x, batch)
	w.meaning.embedAll(t, x, "m")
	again, err := x.Check(t.Context(), index.CheckOptions{Full: true}, nil)
	if err != nil || len(again) > 0 {
		t.Errorf("after the repair: %+v, %v", again, err)
	}
	w.model.compareWith(t, x, w.fresh)
	if s := stats(t, x); s.Vectors != s.Chunks {
		t.Errorf("%d of %d chunks have vectors", s.Vectors, s.Chunks)
	}
	return found
}

func alter(t testing.TB, path string, how func(data []byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, how(data), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	whole := wornLibrary(t)
	flip := func(data []byte) []byte { data[len(data)/2] ^= 4; return data }
	half := func(data []byte) []byte { return data[:len(data)/2] }
	each := func(magic string, how func([]byte) []byte) func(*testing.T, worn) {
		return func(t *testing.T, w worn) {
			for _, path := range w.files(t, magic) {
				alter(t, path, how)
			}
		}
	}
	remove := func(magic string) func(*testing.T, worn) {
		return func(t *testing.T, w worn) {
			for _, path := range w.files(t, magic) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	swap := func(magic string) func(*testing.T, worn) {
		return func(t *testing.T, w worn) {
			paths := w.files(t, magic)
			if err := errors.Join(os.Rename(paths[0], w.path("x")), os.Rename(paths[1], paths[0]),
				os.Rename(w.path("x"), paths[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	statement := func(text string, args ...any) func(*testing.T, worn) {
		return func(t *testing.T, w worn) { execSQL(t, w.dir, text, args...) }
	}
	nth := func(n int) string {
		return fmt.Sprintf("(SELECT row FROM documents ORDER BY row LIMIT 1 OFFSET %d)", n)
	}
	tests := map[string]struct {
		damage func(*testing.T, worn)
		kinds  []string // that the check finds; nil: any
	}{
		"nothing":                    {func(*testing.T, worn) {}, []string{}},
		"segments flipped":           {each("QRYSEG", flip), []string{index.DamagedSegment}},
		"segments cut off":           {each("QRYSEG", half), []string{index.DamagedSegment}},
		"segments empty":             {each("QRYSEG", func([]byte) []byte { return nil }), []string{index.DamagedSegment}},
		"segments missing":           {remove("QRYSEG"), []string{index.DamagedSegment}},
		"segments swapped":           {swap("QRYSEG"), []string{index.DamagedSegment}},
		"vectors flipped":            {each("QRYVEC", flip), []string{index.DamagedVectors}},
		"vectors cut off":            {each("QRYVEC", half), []string{index.DamagedVectors}},
		"vectors empty":              {each("QRYVEC", func([]byte) []byte { return nil }), []string{index.DamagedVectors}},
		"vectors missing":            {remove("QRYVEC"), []string{index.DamagedVectors}},
		"vectors swapped":            {swap("QRYVEC"), []string{index.DamagedVectors}},
		"a vector for a segment":     {func(t *testing.T, w worn) { swapKinds(t, w) }, nil},
		"bitmaps flipped":            {statement("UPDATE deletes SET bitmap = cast(substr(bitmap, 1, length(bitmap) - 1) || x'05' AS BLOB)"), []string{index.DamagedSegment}},
		"deletes gone":               {statement("DELETE FROM deletes"), []string{index.DamagedSegment}},
		"texts garbled":              {statement("UPDATE chunks SET body = cast(substr(body, 1, length(body) - 3) || x'000000' AS BLOB) WHERE key >> 20 IN (" + nth(5) + ", " + nth(20) + ")"), []string{index.DamagedText}},
		"texts of each other":        {statement("UPDATE chunks SET body = (SELECT body FROM chunks c WHERE c.key = " + nth(20) + " << 20) WHERE key = " + nth(21) + " << 20"), []string{index.DamagedText}},
		"texts gone":                 {statement("DELETE FROM chunks WHERE key >> 20 IN (" + nth(7) + ", " + nth(8) + ")"), []string{index.DamagedText}},
		"a title changed":            {statement("UPDATE documents SET title = 'other' WHERE row = " + nth(12)), []string{index.DamagedDocument}},
		"rights changed":             {statement("UPDATE documents SET hidden = 1 WHERE row = " + nth(12)), []string{index.DamagedDocument}},
		"a number of chunks changed": {statement("UPDATE documents SET chunks = chunks - 1 WHERE chunks > 2 AND row < 20"), nil},
		"an id changed":              {statement("UPDATE documents SET id = 'nobody' WHERE row = " + nth(12)), nil},
		"a detail garbled":           {statement("UPDATE documents SET detail = zeroblob(20) WHERE row = " + nth(12)), []string{index.DamagedDocument}},
		"rows gone":                  {statement("DELETE FROM documents WHERE row BETWEEN " + nth(12) + " AND " + nth(15)), nil},
		"the manifest empty":         {statement("DELETE FROM segments"), []string{index.DamagedSegment}},
		"counters changed":           {statement("UPDATE meta SET documents = 1, chunks = 3"), []string{index.DamagedDatabase}},
		"text and index": {func(t *testing.T, w worn) {
			statement("UPDATE chunks SET body = zeroblob(9) WHERE key >> 20 IN ("+nth(5)+", "+nth(20)+")")(t, w)
			each("QRYSEG", flip)(t, w)
		}, []string{index.DamagedText, index.DamagedText, index.DamagedSegment}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := whole.copied(t)
			test.damage(t, w)
			reader := open(t, Options{Dir: w.dir, ReadOnly: true})
			w.expectRest(t, reader)
			if found, err := reader.Check(t.Context(), index.CheckOptions{Full: true, Repair: true}, nil); err != nil ||
				(len(found) == 0) != (name == "nothing") {
				t.Errorf("a check that may not write finds %+v, %v", found, err)
			}
			x := open(t, Options{Dir: w.copied(t).dir})
			w.expectRest(t, x)
			x = open(t, Options{Dir: w.dir})
			var kinds []string
			for _, damage := range w.restore(t, x) {
				kinds = append(kinds, damage.Kind)
			}
			slices.Sort(kinds)
			kinds = slices.Compact(kinds)
			if slices.Sort(test.kinds); test.kinds != nil && !slices.Equal(kinds, slices.Compact(test.kinds)) {
				t.Errorf("the check found %q, want %q", kinds, test.kinds)
			}
		})
	}
}

func swapKinds(t *testing.T, w worn) {
	segment, vectors := w.files(t, "QRYSEG")[0], w.files(t, "QRYVEC")[0]
	data, err := os.ReadFile(vectors)
	if err != nil {
		t.Fatal(err)
	}
	alter(t, segment, func([]byte) []byte { return data })
}

// TestEveryFlippedByteOfTheDatabaseIsFound flips bytes all over the database, and cuts it off.
func TestEveryFlippedByteOfTheDatabaseIsFound(t *testing.T) {
	whole := wornLibrary(t)
	info, err := os.Stat(whole.path(databaseName))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(6, 6))
	for round := range longtest.Rounds(6, 400) {
		w := whole.copied(t)
		alter(t, w.path(databaseName), func(data []byte) []byte {
			if round%6 == 5 {
				return data[:pageSize+random.IntN(len(data)-pageSize)]
			}
			for range 1 + random.IntN(3) {
				data[100+random.IntN(int(info.Size())-100)] ^= byte(1 + random.IntN(255))
			}
			return data
		})
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			x, err := Open(t.Context(), Options{Dir: w.dir, Log: testLog(t)})
			if err != nil {
				if !errors.Is(err, fault.ErrDamaged) {
					t.Errorf("opening: %v", err)
				}
				return
			}
			w.expectRest(t, x)
			w.restore(t, x)
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALostDatabaseIsNoEmptyLibrary(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := wornLibrary(t)
			if err := damage(w.path(databaseName)); err != nil {
				t.Fatal(err)
			}
			folder := w.dir + "[a" // no pattern
			if err := os.Rename(w.dir, folder); err != nil {
				t.Fatal(err)
			}
			w.dir = folder
			if x, err := Open(t.Context(), Options{Dir: w.dir}); !errors.Is(err, fault.ErrLost) || !strings.Contains(err.Error(), "doc") {
				t.Errorf("opened %v, %v, want ErrLost", x, err)
			}
			if _, err := os.Stat(w.path(databaseName)); name == "missing" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a database was made: %v", err)
			}
		})
	}
}

// TestRightsOfDamagedDocuments: what is known of a damaged document is only for those who may see it.
func TestRightsOfDamagedDocuments(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	private := document("private", "walrus")
	private.Access = []string{"user_email:jo@acme.example"}
	put(t, x, private)
	if _, err := x.db.Writer.Exec("UPDATE documents SET title = 'other'"); err != nil {
		t.Fatal(err)
	}
	for _, terms := range [][]string{nil, {"PUBLIC"}, private.Access} {
		s := snapshotOf(t, x)
		access := index.Access{Terms: terms}
		found, err := s.Documents(t.Context(), []string{"private"}, access)
		if err != nil || len(found) == 1 != slices.Equal(terms, private.Access) {
			t.Errorf("%q: %+v, %v", terms, found, err)
		}
		chunks, err := indextest.Chunks(s, "private", 0, 9, access)
		if err != nil || len(chunks) > 0 || len(s.Damage()) != len(found) {
			t.Errorf("%q: %v, %v; damage %+v", terms, chunks, err, s.Damage())
		}
	}
}

// TestPatchesKeepWhatIsDamaged: new rights of a document do not make its damaged text look whole.
func TestPatchesKeepWhatIsDamaged(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	put(t, x, document("a", strings.Repeat("walrus ", 2000), strings.Repeat("penguin ", 2000)))
	if _, err := x.db.Writer.Exec("UPDATE chunks SET body = zeroblob(30) WHERE key & 1"); err != nil {
		t.Fatal(err)
	}
	if n, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "a", Access: []string{"nobody"}}}); n != 1 || err != nil {
		t.Fatalf("changed %d, %v", n, err)
	}
	s := snapshotOf(t, x)
	chunks, err := indextest.Chunks(s, "a", 0, 9, everything)
	if err != nil || len(chunks) != 2 || chunks[0].Damaged || !chunks[1].Damaged {
		t.Errorf("read %.80v, %v", chunks, err)
	}
	if found, err := x.Check(t.Context(), index.CheckOptions{Documents: []string{"a"}}, nil); err != nil || len(found) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := s.Documents(t.Context(), []string{"a"}, index.Access{Terms: []string{"PUBLIC"}}); err != nil {
		t.Error(err)
	}
}

// TestLargeLibrariesAreCheckedInParts: each check goes on where the last one ended.
func TestLargeLibrariesAreCheckedInParts(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	put(t, x, document("a", "one"), document("b", "two"))
	// The numbers of rows are what counts.
	if _, err := x.db.Writer.Exec(fmt.Sprintf("UPDATE documents SET row = row + %d WHERE id = 'b'", checkedRows)); err != nil {
		t.Fatal(err)
	}
	var found []int
	for range 3 {
		damage, err := x.Check(t.Context(), index.CheckOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, len(damage))
	}
	if want := []int{0, 1, 0}; !slices.Equal(found, want) { // b's chunk is not where its row is
		t.Errorf("found %v, want %v", found, want)
	}
}

// TestKilledRepairsLoseNothing kills a repair at any moment: the next one ends it.
func TestKilledRepairsLoseNothing(t *testing.T) {
	rounds := longtest.Rounds(2, 60)
	whole := wornLibrary(t)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for round := range rounds {
		w := whole.copied(t)
		alter(t, w.files(t, "QRYSEG")[0], func(data []byte) []byte { data[len(data)/2] ^= 4; return data })
		alter(t, w.path(databaseName), func(data []byte) []byte {
			if round%2 == 0 {
				return data[:len(data)-2*pageSize]
			}
			copy(data[len(data)/2:], make([]byte, pageSize))
			return data
		})
		repair, output, _, _ := process(t, "repair", w.dir)
		if !output.Scan() {
			t.Fatal("the repair did not begin")
		}
		kill := time.AfterFunc(time.Duration(random.IntN(40_000))*time.Microsecond, func() { _ = repair.Process.Kill() })
		_ = repair.Wait() // it may have been faster
		kill.Stop()
		w.restore(t, open(t, Options{Dir: w.dir}))
	}
}
