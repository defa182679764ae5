package segments

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"quarry/internal/testkit/indextest"
	"quarry/internal/testkit/postgrestest"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/lexical"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

// openStore opens a store in a folder of its own.
func openStore(t *testing.T, dir string) *documents.Store {
	t.Helper()
	store, err := documents.Open(t.Context(), documents.Options{Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

var allAccess = index.Filter{Access: index.Access{All: true}}

func pageOf(id, text string) index.Document {
	return index.Document{ID: id, Source: "file", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: text}}}
}

func putPages(t *testing.T, x interface {
	Write(context.Context, index.Batch) (index.Written, error)
}, documents ...index.Document) index.Written {
	t.Helper()
	written, err := x.Write(t.Context(), index.Batch{Upsert: documents})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// openLocal opens what one of several processes has open.
func openLocal(t *testing.T, shared, own string) *Local {
	t.Helper()
	return NewLocal(t.Context(), openStore(t, shared), own, nil)
}

// TestConformanceOnPostgres does the same with the documents on a PostgreSQL server.
func TestConformanceOnPostgres(t *testing.T) {
	postgrestest.Address(t, "") // skips without a server
	indextest.Run(t, indextest.Params(lexical.DefaultParams()), func(t *testing.T) index.Index {
		address := postgrestest.Address(t, t.TempDir())
		store, err := documents.Open(t.Context(), documents.Options{Database: address, Tenant: "default"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := documents.Drop(context.Background(), address, "default"); err != nil {
				t.Error(err)
			}
		})
		return NewLocal(t.Context(), store, t.TempDir(), nil)
	})
}

func TestConformanceOfFollower(t *testing.T) {
	indextest.Run(t, indextest.Params(lexical.DefaultParams()), func(t *testing.T) index.Index {
		return openLocal(t, t.TempDir(), t.TempDir())
	})
}

// foundIn returns the ids of the documents that a new snapshot finds.
func foundIn(t *testing.T, x index.Index, filter index.Filter, text string) (ids []string) {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	result, err := s.Search(t.Context(), index.Query{Text: text, Limit: 10, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range result.Hits {
		ids = append(ids, hit.DocumentID)
	}
	slices.Sort(ids)
	return ids
}

func expectFound(t *testing.T, x index.Index, filter index.Filter, text string, want ...string) {
	t.Helper()
	if got := foundIn(t, x, filter, text); !slices.Equal(got, want) {
		t.Errorf("%q finds %q, want %q", text, got, want)
	}
}

// TestProcessesShare: what one process changes, the next search of another finds, also when its index is new or lost.
func TestProcessesShare(t *testing.T) {
	store, own := t.TempDir(), t.TempDir()
	before := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := before
	docs, err := documents.Open(t.Context(), documents.Options{Dir: store, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	a := NewLocal(t.Context(), docs, t.TempDir(), nil)
	defer func() { _ = a.Close() }()
	b := openLocal(t, store, own)
	putPages(t, a, pageOf("one", "walrus"), pageOf("two", "walrus"))
	now = time.Now()
	putPages(t, a, pageOf("three", "walrus"))
	expectFound(t, b, allAccess, "walrus", "one", "three", "two")
	if _, err := b.Write(t.Context(), index.Batch{Delete: []string{"one"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := b.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "two", Access: []string{"group:a"}}}); n != 1 || err != nil {
		t.Fatalf("changed %d, %v", n, err)
	}
	public := index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}}
	expectFound(t, a, public, "walrus", "three")
	expectFound(t, a, allAccess, "walrus", "three", "two")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{own, t.TempDir()} {
		c := openLocal(t, store, dir)
		expectFound(t, c, allAccess, "walrus", "three", "two")
		recent := allAccess
		recent.AddedSince = before
		expectFound(t, c, recent, "walrus", "three")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoredStore: an index that has changes which the store lacks, because a backup was restored, is built again.
func TestRestoredStore(t *testing.T) {
	store, own := t.TempDir(), t.TempDir()
	x := openLocal(t, store, own)
	putPages(t, x, pageOf("kept", "walrus"))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	backup, err := os.ReadFile(filepath.Join(store, "documents.db"))
	if err != nil {
		t.Fatal(err)
	}
	x = openLocal(t, store, own)
	putPages(t, x, pageOf("lost", "walrus"))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, "documents.db"), backup, 0o600); err != nil {
		t.Fatal(err)
	}
	x = openLocal(t, store, own)
	defer func() { _ = x.Close() }()
	expectFound(t, x, allAccess, "walrus", "kept")
}

// expectNearest checks which documents are nearest to a vector.
func expectNearest(t *testing.T, x index.Index, want ...string) {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hits, err := s.Nearest(t.Context(), index.Vector{Model: "m", Values: []float32{1, 0}}, index.Query{Limit: 5, Filter: allAccess})
	var got []string
	for _, hit := range hits {
		got = append(got, hit.DocumentID)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("nearest: %q, want %q (%v)", got, want, err)
	}
}

// loseVectors cuts off a file of vectors of an index in a folder, which has no other copy of them.
func loseVectors(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, indexPrefix+"*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(found[0], databaseName), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name, copies := "", 0
	err = db.Reader.QueryRowContext(t.Context(),
		"SELECT max(name), (SELECT count(*) FROM embeddings) FROM vector_files").Scan(&name, &copies)
	if err == nil {
		err = os.Truncate((&diskFiles{folder: filepath.Join(found[0], segmentsFolder)}).path(name), 10)
	}
	if err != nil || copies != 0 {
		t.Fatalf("the index has %d vectors beside its files, %v", copies, err)
	}
}

// TestVectorsAreShared: a text that one process has embedded, or whose refusal it knows, is not sent again. The vectors
// are in the store and in the files alone, which are made again from there.
func TestVectorsAreShared(t *testing.T) {
	store, asked := t.TempDir(), 0
	ask := func(_ context.Context, texts []string) ([][]float32, error) {
		vectors := make([][]float32, len(texts))
		for i, text := range texts {
			if asked++; text != "refused" {
				vectors[i] = []float32{1, 0}
			}
		}
		return vectors, nil
	}
	for _, dir := range []string{t.TempDir(), t.TempDir()} {
		x := openLocal(t, store, dir)
		putPages(t, x, pageOf("a", "walrus"), pageOf("b", "refused"))
		if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: ask}); err != nil {
			t.Fatal(err)
		}
		expectNearest(t, x, "a")
		if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "a", Access: []string{dir}}}); err != nil {
			t.Fatal(err)
		}
		expectNearest(t, x, "a")
		closeLocal(t, x)
		loseVectors(t, dir)
		x = openLocal(t, store, dir)
		expectNearest(t, x, "a") // again from the store
		closeLocal(t, x)
	}
	if asked != 2 {
		t.Errorf("the model was sent %d texts, want 2", asked)
	}
}

// TestVectorsOfOneModelStay: an index that has the vectors of another model removes those of the one before from the
// store, which has texts' vectors once for all.
func TestVectorsOfOneModelStay(t *testing.T) {
	x := openLocal(t, t.TempDir(), t.TempDir())
	defer closeLocal(t, x)
	putPages(t, x, pageOf("a", "walrus"), pageOf("b", "walrus"), pageOf("c", "refused"))
	for before, model := range []string{"m", "n"} {
		ask := func(_ context.Context, texts []string) ([][]float32, error) {
			vectors := make([][]float32, len(texts))
			for i, text := range texts {
				if text != "refused" {
					vectors[i] = append(make([]float32, before), 1)
				}
			}
			return vectors, nil
		}
		if err := x.Embed(t.Context(), index.Embedding{Model: model, Vectors: ask}); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"embeddings", "embedding_models", "refused_texts"} {
			n := 0
			if x.Newest(t.Context()).Get([]any{&n}, "SELECT count(*) FROM "+table); n != 1 {
				t.Errorf("%d rows of %s, want 1", n, table)
			}
		}
		if now, err := x.State(t.Context()); now.Model != model || err != nil {
			t.Errorf("the state is %+v, %v", now, err)
		}
	}
}

// TestOneLayout: a library, a store in a file and one in PostgreSQL have the same tables of documents and vectors.
func TestOneLayout(t *testing.T) {
	library := open(t, Options{Dir: t.TempDir()})
	columns := func(db sqldb.DB, query, table string) []string {
		t.Helper()
		names := sqldb.ColumnOf[string](sqldb.Shared(t.Context(), db.Pool()), query, table)
		if len(names) == 0 {
			t.Fatalf("%s has no columns", table)
		}
		return names
	}
	const inFile = "SELECT name || ' ' || pk FROM pragma_table_info(?) ORDER BY name"
	file := openStore(t, t.TempDir())
	defer func() { _ = file.Close() }()
	tables := []string{"meta", "documents", "document_sets", "chunks", "dictionaries", "dictionary_copies", "additions", "cursors",
		"hashes", "embedding_models", "embeddings", "refused_texts"}
	for _, table := range tables {
		if got, want := columns(file.DB, inFile, table), columns(library.DB, inFile, table); !slices.Equal(got, want) {
			t.Errorf("%s has the columns %q in a file, want %q", table, got, want)
		}
	}
	t.Run("PostgreSQL", func(t *testing.T) {
		address := postgrestest.Address(t, t.TempDir())
		defer func() { _ = documents.Drop(context.Background(), address, "layout") }()
		server, err := documents.Open(t.Context(), documents.Options{Database: address, Tenant: "layout"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		const onServer = `SELECT a.attname || ' ' || coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)
			FROM pg_attribute AS a LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
			WHERE a.attrelid = CAST(? AS regclass) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attname COLLATE "C"`
		for _, table := range tables {
			if got, want := columns(server.DB, onServer, table), columns(library.DB, inFile, table); !slices.Equal(got, want) {
				t.Errorf("%s has the columns %q on a server, want %q", table, got, want)
			}
		}
	})
}

// TestChangesInParts: an index that follows in parts has the statistics of a new one, also for documents that were
// changed again between the parts.
func TestChangesInParts(t *testing.T) {
	store := t.TempDir()
	x, late := openLocal(t, store, t.TempDir()), openLocal(t, store, t.TempDir())
	defer closeLocal(t, x)
	defer closeLocal(t, late)
	putPages(t, x, pageOf("twice", "walrus walrus"), pageOf("rights", "walrus seal"), pageOf("still", "walrus"))
	expectFound(t, late, allAccess, "walrus", "rights", "still", "twice")
	late.background.Close()
	many := make([]index.Document, followAtOnce)
	for n := range many {
		many[n] = pageOf(fmt.Sprint("other", n), "otter")
	}
	putPages(t, x, pageOf("twice", "otter"), pageOf("rights", "otter"))
	putPages(t, x, many...)
	putPages(t, x, pageOf("twice", "walrus seal seal"))
	if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "rights", Access: []string{"group:one"}}}); err != nil {
		t.Fatal(err)
	}
	whole := openLocal(t, store, t.TempDir())
	defer closeLocal(t, whole)
	for _, text := range []string{"walrus", "seal", "otter"} {
		if got, want := scores(t, late, text), scores(t, whole, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: an index that followed in parts finds %v, a new one %v", text, got, want)
		}
	}
}

// scores returns the best documents of a search with their scores.
func scores(t *testing.T, x index.Index, text string) map[string]float64 {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	result, err := s.Search(t.Context(), index.Query{Text: text, Limit: 10, Filter: allAccess})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, hit := range result.Hits {
		found[hit.DocumentID] = hit.Score
	}
	return found
}
