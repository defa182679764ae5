package segments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqlite"

	"github.com/gofrs/flock"
)

// execute changes the store of an index past its API.
func (l *Local) execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := l.DB.(*sqlite.DB).Writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func closeLocal(t *testing.T, x *Local) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// TestReplacedStore: of a library that took the place of another one, nothing of the other one is found or kept.
func TestReplacedStore(t *testing.T) {
	own := t.TempDir()
	x := openLocal(t, t.TempDir(), own)
	defer closeLocal(t, x)
	putPages(t, x, pageOf("old", "walrus"))
	before, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	x.execute(t, "UPDATE meta SET store = 'another', generation = 0, documents = 0, chunks = 0", "DELETE FROM documents", "DELETE FROM changes", "DELETE FROM chunks")
	expectFound(t, x, allAccess, "walrus")
	putPages(t, x, pageOf("new", "walrus"))
	expectFound(t, x, allAccess, "walrus", "new")
	if stats, err := before.Stats(t.Context()); err != nil || stats.Documents != 1 {
		t.Errorf("an open snapshot has %d documents, %v", stats.Documents, err)
	}
	if found, err := filepath.Glob(filepath.Join(own, indexPrefix+"*")); err != nil || len(found) != 1 || filepath.Base(found[0]) != indexPrefix+"another" {
		t.Errorf("indexes %q, %v", found, err)
	}
}

// TestRestoredMeanwhile: an open index that has changes which the store lacks is emptied and built again.
func TestRestoredMeanwhile(t *testing.T) {
	x := openLocal(t, t.TempDir(), t.TempDir())
	defer closeLocal(t, x)
	putPages(t, x, pageOf("kept", "walrus"))
	putPages(t, x, pageOf("lost", "walrus"))
	lost := "(SELECT row FROM documents WHERE id = 'lost')"
	x.execute(t, "DELETE FROM chunks WHERE key >> 20 = "+lost, "DELETE FROM changes WHERE document = "+lost, "DELETE FROM documents WHERE id = 'lost'",
		"UPDATE meta SET generation = 1, documents = 1, chunks = 1")
	expectFound(t, x, allAccess, "walrus", "kept")
	putPages(t, x, pageOf("other", "walrus"))
	expectFound(t, x, allAccess, "walrus", "kept", "other")
}

// TestDamagedIndex: an index that cannot be opened is built again.
func TestDamagedIndex(t *testing.T) {
	store, own := t.TempDir(), t.TempDir()
	x := openLocal(t, store, own)
	putPages(t, x, pageOf("one", "walrus"))
	closeLocal(t, x)
	found, err := filepath.Glob(filepath.Join(own, indexPrefix+"*", "library.db"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	whole, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, sound := range []int{0, 16 << 10} { // the second one is noticed when it is read
		if err := os.WriteFile(found[0], slices.Concat(whole[:sound], bytes.Repeat([]byte("?"), len(whole)-sound)), 0o600); err != nil {
			t.Fatal(err)
		}
		x = openLocal(t, store, own)
		expectFound(t, x, allAccess, "walrus", "one")
		closeLocal(t, x)
	}
	// Another process builds it again.
	x, other := openLocal(t, store, own), openLocal(t, store, own)
	defer closeLocal(t, x)
	defer closeLocal(t, other)
	if err := other.alone(t.Context(), other.discard); err != nil {
		t.Fatal(err)
	}
	expectFound(t, other, allAccess, "walrus", "one")
	putPages(t, other, pageOf("two", "walrus"))
	expectFound(t, x, allAccess, "walrus", "one", "two")
	putPages(t, x, pageOf("three", "walrus"))
	expectFound(t, other, allAccess, "walrus", "one", "three", "two")
}

// TestTextsAreInTheStoreAlone: the index has no row of a document and no text.
func TestTextsAreInTheStoreAlone(t *testing.T) {
	own := t.TempDir()
	x := openLocal(t, t.TempDir(), own)
	putPages(t, x, pageOf("one", "walrus"), pageOf("two", "walrus"))
	closeLocal(t, x)
	found, err := filepath.Glob(filepath.Join(own, indexPrefix+"*", "library.db"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: found[0], ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for table, want := range map[string]int{"documents": 0, "chunks": 0, "document_sets": 0, "dictionaries": 0, "segments": 1} {
		n := 0
		if err := db.Reader.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d rows, want %d (%v)", table, n, want, err)
		}
	}
}

// TestDamagedSegment: a damaged segment is made again of the store's documents by the search or the change that finds it,
// also where the documents are newer than the index, and where there is room for one view of them.
func TestDamagedSegment(t *testing.T) {
	for _, sound := range []int{0, 16, 200} { // bytes at both ends
		for _, changed := range []string{"nothing", "here", "elsewhere"} {
			store, own := t.TempDir(), t.TempDir()
			x := openLocal(t, store, own)
			putPages(t, x, pageOf("one", "walrus"), pageOf("two", "walrus"), pageOf("gone", "walrus"))
			closeLocal(t, x)
			if changed == "elsewhere" {
				other := openStore(t, store)
				putPages(t, other, pageOf("one", "tusk"), pageOf("three", "walrus"))
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(filepath.Join(own, indexPrefix+"*", "segments", "*.seg"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%q, %v", files, err)
			}
			data, err := os.ReadFile(files[0])
			if err == nil {
				copy(data[sound:], bytes.Repeat([]byte("?"), len(data)-2*sound))
				err = errors.Join(os.Remove(files[0]), os.WriteFile(files[0], data, 0o400))
			}
			if err != nil {
				t.Fatal(err)
			}
			docs, err := documents.Open(t.Context(), documents.Options{Dir: store, Snapshots: 1})
			if err != nil {
				t.Fatal(err)
			}
			x = NewLocal(t.Context(), docs, own, nil)
			if changed == "here" {
				putPages(t, x, pageOf("one", "tusk"), pageOf("three", "walrus"))
			}
			if changed == "nothing" {
				expectFound(t, x, allAccess, "walrus", "gone", "one", "two")
			} else {
				expectFound(t, x, allAccess, "walrus", "gone", "three", "two")
				expectFound(t, x, allAccess, "tusk", "one")
			}
			if _, err := x.Write(t.Context(), index.Batch{Delete: []string{"gone"}}); err != nil {
				t.Error(err)
			}
			if found, err := x.Check(t.Context(), index.CheckOptions{Full: true}, nil); err != nil || len(found) > 0 {
				t.Errorf("%s changed: %v, %v", changed, found, err)
			}
			closeLocal(t, x)
		}
	}
}

// TestDisagreeingIndex: an index that has a document twice is found by a check, and made again.
func TestDisagreeingIndex(t *testing.T) {
	x := openLocal(t, t.TempDir(), t.TempDir())
	defer closeLocal(t, x)
	putPages(t, x, pageOf("one", "walrus"), pageOf("two", "walrus"), pageOf("three", "walrus"), pageOf("four", "walrus"))
	putPages(t, x, pageOf("one", "tusk"))
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(x.segments().dir, "library.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{"DELETE FROM deletes", "UPDATE segments SET deletes = 0", "UPDATE meta SET manifest = manifest + 1"} {
		if _, err := db.Writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{1, 0} {
		found, err := x.Check(t.Context(), index.CheckOptions{Full: true, Repair: true}, nil)
		if err != nil || len(found) != want || want > 0 && !found[0].Repaired {
			t.Errorf("damage: %+v, %v; want %d", found, err, want)
		}
	}
	expectFound(t, x, allAccess, "walrus", "four", "three", "two")
	expectFound(t, x, allAccess, "tusk", "one")
}

// TestProcessesOfOneMachine: processes that share an index and change the same documents all the time, and one with an index of
// its own, end up with what is stored.
func TestProcessesOfOneMachine(t *testing.T) {
	store, own := t.TempDir(), t.TempDir()
	all := []*Local{openLocal(t, store, own), openLocal(t, store, own), openLocal(t, store, t.TempDir())}
	other := flock.New(filepath.Join(own, lockName))
	defer func() { _ = other.Close() }()
	if err := all[0].alone(t.Context(), func() error {
		locked, err := other.TryLock()
		if locked {
			t.Error("two processes apply changes at the same time")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for n, x := range all {
		defer closeLocal(t, x)
		group.Go(func() {
			for round := range 20 {
				id := fmt.Sprint("shared", round%3)
				batch := index.Batch{Upsert: []index.Document{pageOf(id, fmt.Sprint("walrus by ", n, " in ", round))}}
				if round%2 == n%2 {
					batch = index.Batch{Delete: []string{id}}
				}
				if _, err := x.Write(t.Context(), batch); err != nil {
					t.Error(err)
				}
				shown, err := x.Snapshot(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				shown.Close()
			}
		})
	}
	group.Wait()
	stored, err := all[0].Export(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		var ids []string
		for _, d := range stored {
			ids = append(ids, d.ID)
			expectFound(t, x, index.Filter{Access: allAccess.Access, Among: []string{d.ID}}, d.Chunks[0].Text[len("walrus "):], d.ID)
		}
		expectFound(t, x, allAccess, "walrus", ids...)
	}
}

// TestBehind: a search in an index that lacks many documents fails with their number, and the background adds them.
func TestBehind(t *testing.T) {
	store := t.TempDir()
	a := openLocal(t, store, t.TempDir())
	defer closeLocal(t, a)
	var pages []index.Document
	for n := range followAtOnce + 1 {
		pages = append(pages, pageOf(fmt.Sprintf("%04d", n), "walrus"))
	}
	docs := openStore(t, store)
	applied := make(chan struct{}, 1)
	x := NewLocal(t.Context(), docs, t.TempDir(), func() {
		select {
		case applied <- struct{}{}:
		default:
		}
	})
	defer closeLocal(t, x)
	if err := x.CatchUp(t.Context(), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	x.wait = 0
	if err := x.alone(t.Context(), func() error {
		putPages(t, a, pages...)
		_, err := x.Snapshot(t.Context())
		return err
	}); !errors.Is(err, fault.ErrBehind) {
		t.Errorf("searched: %v", err)
	}
	x.background.Wake()
	<-applied
	expectFound(t, x, index.Filter{Access: allAccess.Access, Among: []string{"0000", "1000"}}, "walrus", "0000", "1000")
	fresh := openLocal(t, store, t.TempDir())
	defer closeLocal(t, fresh)
	if err := fresh.CatchUp(t.Context(), func(left, total int) {
		if left > followAtOnce || total != len(pages) {
			t.Errorf("%d of %d are left", left, total)
		}
	}); err != nil {
		t.Fatal(err)
	}
	fresh.wait = 0
	expectFound(t, fresh, index.Filter{Access: allAccess.Access, Among: []string{"0000", "1000"}}, "walrus", "0000", "1000")
}

// TestRemovedOnPostgres: when documents are removed at another server, their index goes, too; new ones of the same tenant are found.
func TestRemovedOnPostgres(t *testing.T) {
	ctx, address, own := t.Context(), postgrestest.Address(t, t.TempDir()), t.TempDir()
	openStore := func(now func() time.Time) *documents.Store {
		t.Helper()
		store, err := documents.Open(ctx, documents.Options{Database: address, Tenant: "acme", Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	x := NewLocal(ctx, openStore(nil), own, nil)
	defer closeLocal(t, x)
	putPages(t, x, pageOf("old", "walrus"))
	drop := func() {
		if err := documents.Drop(context.WithoutCancel(ctx), address, "acme"); err != nil {
			t.Error(err)
		}
	}
	drop()
	if err := x.follow(ctx); err != nil {
		t.Error(err)
	}
	if found, err := filepath.Glob(filepath.Join(own, indexPrefix+"*")); len(found) > 0 || err != nil {
		t.Errorf("left of the index: %q, %v", found, err)
	}
	if _, err := x.Snapshot(ctx); err == nil {
		t.Error("searched documents that were removed")
	}
	y := openStore(func() time.Time { return time.Unix(1, 0) })
	defer drop()
	defer func() { _ = y.Close() }()
	putPages(t, y, pageOf("new", "walrus"))
	expectFound(t, x, allAccess, "walrus", "new")
}
