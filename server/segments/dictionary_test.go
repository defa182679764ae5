package segments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quarry/server/documents"
	"quarry/server/index"
)

// withDictionary is a closed library with short texts that are packed with a dictionary.
func withDictionary(t *testing.T) (dir string, all model) {
	t.Helper()
	dir, all = t.TempDir(), make(model)
	random := rand.New(rand.NewPCG(3, 3))
	x := open(t, Options{Dir: dir})
	x.Sample = 4 << 10
	for range 3 {
		var batch index.Batch
		for range 40 {
			batch.Upsert = append(batch.Upsert, document(fmt.Sprint("doc", len(all)+len(batch.Upsert)), words(random, 60)))
		}
		write(t, x, batch)
		all.apply(batch)
	}
	packed := 0
	if x.Newest(t.Context()).Get([]any{&packed},
		"SELECT count(*) FROM chunks WHERE hex(substr(body, 7, 1)) = '03'"); packed != len(all) {
		t.Fatalf("%d of %d texts are packed with a dictionary", packed, len(all))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, all
}

func TestTextsAreReadWithTheirDictionary(t *testing.T) {
	dir, all := withDictionary(t)
	all.compare(t, open(t, Options{Dir: dir, ReadOnly: true}))
	for _, table := range documents.DictionaryTables() {
		for name, damage := range map[string]string{
			"lost": "DELETE FROM " + table, "damaged": "UPDATE " + table + " SET body = zeroblob(length(body))",
		} {
			execSQL(t, dir, damage)
			x := open(t, Options{Dir: dir})
			all.compare(t, x)
			for run, want := range []int{2, 0} { // the dictionary, and the list of names
				found, err := x.Check(t.Context(), index.CheckOptions{Repair: true}, nil)
				if err != nil || len(found) != want || want > 0 && !found[0].Repaired {
					t.Errorf("%s %s, check %d found %+v, %v", table, name, run, found, err)
				}
			}
			all.compare(t, x)
		}
	}
}

// TestALostDictionaryIsFound: without it and its copy all texts count as damaged, until they are stored again.
func TestALostDictionaryIsFound(t *testing.T) {
	dir, all := withDictionary(t)
	for _, table := range documents.DictionaryTables() {
		execSQL(t, dir, "DELETE FROM "+table)
	}
	x := open(t, Options{Dir: dir})
	x.Sample = 4 << 10
	found, err := x.Check(t.Context(), index.CheckOptions{}, nil)
	if err != nil || len(found) != len(all) {
		t.Fatalf("the check found %d of %d, %v", len(found), len(all), err)
	}
	put(t, x, all.documents()...)
	all.compare(t, x)
	if found, err = x.Check(t.Context(), index.CheckOptions{}, nil); err != nil || len(found) > 0 {
		t.Errorf("after storing them again the check found %+v, %v", found, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	all.compare(t, open(t, Options{Dir: dir}))
}

// TestTheDictionaryIsMadeOfStoredTexts: also of those that came one at a time.
func TestTheDictionaryIsMadeOfStoredTexts(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	random := rand.New(rand.NewPCG(4, 4))
	var batch index.Batch
	for n := range documents.SampleDocuments {
		batch.Upsert = append(batch.Upsert, document(fmt.Sprint("doc", n), words(random, 3)))
	}
	write(t, x, batch)
	if !x.Packer.Undecided() {
		t.Fatal("there is a dictionary of too little text")
	}
	x.Sample = 8 << 10
	put(t, x, document("last", words(random, 3)))
	if x.Packer.Undecided() {
		t.Error("there is no dictionary of the stored texts")
	}
}

// TestAdditionsOfOlderVersions: they have a row for each document.
func TestAdditionsOfOlderVersions(t *testing.T) {
	dir := t.TempDir()
	now := time.UnixMicro(30)
	x := open(t, Options{Dir: dir, Now: func() time.Time { return now }})
	put(t, x, document("a", "one"), document("b", "two"), document("c", "three"))
	execSQL(t, dir, "DELETE FROM additions")
	for row, at := range []int{10, 20} {
		execSQL(t, dir, "INSERT INTO additions VALUES (?, ?)", row+2, at)
	}
	put(t, x, document("d", "four"))
	s := snapshotOf(t, x).(*snapshot)
	for since, want := range map[int64][]string{5: {"b", "c", "d"}, 10: {"c", "d"}, 20: {"d"}, 30: {}} {
		filter, err := s.Resolve(context.Background(), index.Filter{AddedSince: time.UnixMicro(since)})
		if slices.Sort(filter.Among); err != nil || !slices.Equal(filter.Among, want) {
			t.Errorf("since %d: %v, %v, want %v", since, filter.Among, err, want)
		}
	}
}
