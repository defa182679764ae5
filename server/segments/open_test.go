package segments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/fault"
	"quarry/server/index"
)

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), Options{Dir: dir, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a library that is not there: %v, want ErrNotExist", err)
	}
	writer := open(t, Options{Dir: dir})
	put(t, writer, document("a", "walrus"))
	x := open(t, Options{Dir: dir, ReadOnly: true})
	if got := find(t, snapshotOf(t, x), "walrus"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("b")}}); !errors.Is(err,
		fault.ErrReadOnly) {
		t.Errorf("writing: %v, want ErrReadOnly", err)
	}
	if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "a"}}); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("changing access: %v, want ErrReadOnly", err)
	}
	put(t, writer, document("b", "walrus"))
	if got := find(t, snapshotOf(t, x), "walrus"); len(got) != 2 {
		t.Errorf("the read-only one does not see a later commit: %v", got)
	}
}

func TestMemoryLeavesNoFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	x := open(t, Options{})
	for i := range 20 {
		put(t, x, document(fmt.Sprint(i), "text"))
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 0 {
		t.Errorf("files appeared: %v, %v", entries, err)
	}
}

func TestNewerStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	x := open(t, Options{Dir: dir})
	if _, err := x.db.Writer.Exec("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, fault.ErrNewer) {
		t.Errorf("opening: %v, want ErrNewer", err)
	}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a")}}); !errors.Is(err,
		fault.ErrNewer) {
		t.Errorf("writing: %v, want ErrNewer", err)
	}
}

func TestClosedSnapshot(t *testing.T) {
	x := open(t, Options{})
	put(t, x, document("a", "walrus"))
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if _, err := search(s, "walrus"); !errors.Is(err, errClosed) {
		t.Errorf("searching: %v", err)
	}
	if _, err := s.Stats(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("stats: %v", err)
	}
}

func TestSnapshotOutlivesTheContextOfItsCall(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	put(t, x, document("a", "walrus"))
	ctx, cancel := context.WithCancel(t.Context())
	s, err := x.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if found, err := s.Documents(t.Context(), []string{"a"}, everything); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := s.Documents(ctx, []string{"a"}, everything); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}
	if _, err := x.Write(ctx, index.Batch{Upsert: []index.Document{document("b")}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a write that was cancelled: %v", err)
	}
}

func TestStatsOfALibraryOnDisk(t *testing.T) {
	dir := t.TempDir()
	x := open(t, Options{Dir: dir})
	put(t, x, document("a", "walrus"))
	if stats, err := snapshotOf(t, x).Stats(t.Context()); err != nil || stats.Documents != 1 || stats.Bytes == 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		t.Error(err)
	}
}

func TestChunksOfLongDocuments(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	long, other := document("long"), document("other")
	for i := range 200 {
		long.Chunks = append(long.Chunks, index.Chunk{Text: fmt.Sprintf("chunk %d %s", i, strings.Repeat("x", i*40))})
		other.Chunks = append(other.Chunks, index.Chunk{Text: "other"})
	}
	put(t, x, other, long)
	put(t, x, document("after", "text"))
	s := snapshotOf(t, x)
	for _, span := range [][2]int{{0, 0}, {199, 199}, {0, 199}, {50, 60}, {198, 500}, {200, 300}, {7, 6}, {-3, 2}, {101, 101}} {
		got, err := indextest.Chunks(s, "long", span[0], span[1], everything)
		if err != nil {
			t.Fatal(err)
		}
		from, to := max(span[0], 0), min(span[1], 199)
		var want []index.Chunk
		if from <= to {
			want = long.Chunks[from : to+1]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %d chunks, want %d", span, len(got), len(want))
		}
	}
}

// TestALibraryOfAnOlderVersionIsRead: one that may not be written is searched as it is, before and since vectors.
func TestALibraryOfAnOlderVersionIsRead(t *testing.T) {
	for version, changes := range map[int][]string{
		1: {"DROP TABLE refused_texts", "DROP TABLE vector_files", "DROP TABLE embeddings", "DROP TABLE embedding_models"},
		2: {"DROP TABLE refused_texts"},
		5: {"DROP TABLE dictionaries", "DROP TABLE dictionary_copies", "CREATE INDEX documents_by_source ON documents (source)"},
		6: {"CREATE INDEX documents_by_origin ON documents (origin) WHERE origin <> ''"},
		7: {"DROP TABLE hashes"},
	} {
		dir := t.TempDir()
		writer, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		put(t, writer, document("a", "walrus"))
		for _, change := range append(changes, fmt.Sprint("PRAGMA user_version = ", version)) {
			if _, err := writer.db.Writer.Exec(change); err != nil {
				t.Fatal(err)
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		x := open(t, Options{Dir: dir, ReadOnly: true})
		if got := find(t, snapshotOf(t, x), "walrus"); len(got) != 1 {
			t.Errorf("version %d: found %v", version, got)
		}
		if s := stats(t, x); s.Documents != 1 || s.Vectors != 0 {
			t.Errorf("version %d: %+v", version, s)
		}
		if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("b")}}); !errors.Is(err, fault.ErrReadOnly) {
			t.Errorf("version %d: writing: %v, want ErrReadOnly", version, err)
		}
	}
}
