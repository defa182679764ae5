package documents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

// open opens a store in a folder of its own.
func open(t *testing.T, dir string) *Store {
	t.Helper()
	store, err := Open(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

var everything = index.Filter{Access: index.Access{All: true}}

func page(id, text string) index.Document {
	return index.Document{ID: id, Source: "file", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: text}}}
}

type writer interface {
	Write(ctx context.Context, batch index.Batch) (index.Written, error)
}

func put(t *testing.T, x writer, documents ...index.Document) index.Written {
	t.Helper()
	written, err := x.Write(t.Context(), index.Batch{Upsert: documents})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// overtaken is a write during whose preparation others write.
type overtaken struct {
	Written
	others   func()
	attempts int
}

func (o *overtaken) Prepare(tx sqldb.Source, plan *Plan) {
	if o.attempts++; o.attempts <= 2 {
		o.others()
	}
	o.Written.Prepare(tx, plan)
}

// TestOvertakenWrite: a write that was prepared while another one changed the same document, or while words were counted
// for the first time, is prepared again, at last with the lock.
func TestOvertakenWrite(t *testing.T) {
	x := open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	put(t, x, page("a", "walrus"))
	w := &overtaken{Written: &write{store: x}}
	w.others = func() {
		if w.attempts == 1 {
			put(t, x, page("a", "seal"), page("b", "seal"))
		} else if err := x.CountWords(t.Context()); err != nil {
			t.Error(err)
		}
	}
	changes, err := changesOf(index.Batch{Upsert: []index.Document{page("a", "otter")}})
	if err != nil {
		t.Fatal(err)
	}
	if written, err := x.Apply(t.Context(), changes, nil, w); err != nil || written.Updated != 1 || w.attempts != 3 {
		t.Errorf("%+v after %d attempts, %v", written, w.attempts, err)
	}
	shown, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	counts, err := shown.Counts(t.Context(), []string{"walrus", "seal", "otter"})
	if err != nil || len(counts) != 2 || counts["seal"].Documents != 1 || counts["otter"].Documents != 1 || shown.State.Generation != 4 {
		t.Errorf("words %v at change %d, %v", counts, shown.State.Generation, err)
	}
}

// TestDamage: damaged documents are found and described, nobody sees what cannot be read, and storing them again repairs them.
func TestDamage(t *testing.T) {
	x := open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	whole := page("text", strings.Repeat("walrus ", 40))
	put(t, x, whole, page("detail", "walrus"), page("sound", "walrus"))
	for _, statement := range []string{
		"UPDATE chunks SET body = x'01ff' WHERE key >> 20 = (SELECT row FROM documents WHERE id = 'text')",
		"UPDATE documents SET detail = x'07' WHERE id = 'detail'",
	} {
		if _, err := x.DB.(*sqlite.DB).Writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	texts, err := s.Texts(t.Context(), []index.Range{{DocumentID: "text", To: 9}}, everything.Access)
	if err != nil || len(texts[0]) != 1 || !texts[0][0].Damaged {
		t.Errorf("chunks %v, %v", texts, err)
	}
	if list, err := s.Documents(t.Context(), []string{"detail", "sound"}, everything.Access); err != nil || len(list) != 1 {
		t.Errorf("documents %v, %v", list, err)
	}
	kinds := func(all []index.Damage) (list []string) {
		for _, d := range all {
			list = append(list, d.Kind+" "+d.ID)
		}
		slices.Sort(list)
		return list
	}
	want := []string{"document detail", "text text"}
	if got := kinds(s.Damage()); !slices.Equal(got, want) {
		t.Errorf("the snapshot misses %q, want %q", got, want)
	}
	for _, want := range [][]string{want, nil} {
		damage, err := x.Check(t.Context(), index.CheckOptions{Full: true}, nil)
		if err != nil || !slices.Equal(kinds(damage), want) {
			t.Errorf("found %q, %v, want %q", kinds(damage), err, want)
		}
		if want == nil {
			break
		}
		if written := put(t, x, whole, page("detail", "walrus"), page("sound", "walrus")); written != (index.Written{Updated: 2, Unchanged: 1}) {
			t.Errorf("wrote %+v", written)
		}
	}
}

// TestDamagedTextAndNewRights: rights change without a look at the texts, of which damaged ones stay known; storing the
// document under another title stores its texts again.
func TestDamagedTextAndNewRights(t *testing.T) {
	x := open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	whole := page("text", strings.Repeat("walrus ", 40))
	put(t, x, whole)
	if _, err := x.DB.(*sqlite.DB).Writer.Exec("UPDATE chunks SET body = x'01ff'"); err != nil {
		t.Fatal(err)
	}
	hidden := true
	if n, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "text", Access: []string{"one"}, Hidden: &hidden}}); n != 1 || err != nil {
		t.Fatalf("changed %d, %v", n, err)
	}
	state := func() (index.Stats, []index.Damage) {
		s, err := x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stats, err := s.Stats(t.Context())
		damage, failed := x.Check(t.Context(), index.CheckOptions{Full: true}, nil)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		return stats, damage
	}
	if stats, damage := state(); stats.Chunks != 1 || len(damage) != 1 || damage[0].Kind != index.DamagedText {
		t.Errorf("after new rights: %d chunks, damage %v", stats.Chunks, damage)
	}
	whole.Title = "Walruses"
	put(t, x, whole)
	if stats, damage := state(); stats.Chunks != 1 || damage != nil {
		t.Errorf("after a new title: %d chunks, damage %v", stats.Chunks, damage)
	}
}

// TestSnapshotsLeaveConnections: searches that read the log beside their snapshots do not wait for one another.
func TestSnapshotsLeaveConnections(t *testing.T) {
	address := postgrestest.Address(t, t.TempDir())
	store, err := Open(t.Context(), Options{Database: address, Tenant: "default"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), Drop(context.Background(), address, "default")); err != nil {
			t.Error(err)
		}
	})
	put(t, store, page("one", "The lantern."))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a deadlock
	defer cancel()
	var group errgroup.Group
	for range 4 * schemaConnections {
		group.Go(func() error {
			shown, err := store.Snapshot(ctx)
			if err != nil {
				return err
			}
			defer shown.Close()
			ids, err := store.Unindexed(ctx, "the test", 0, 10)
			if err == nil && len(ids) != 1 {
				err = fmt.Errorf("changed: %v", ids)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// TestForgottenDocuments reads more documents than snapshots keep: those that were kept are still found when they are
// forgotten.
func TestForgottenDocuments(t *testing.T) {
	store := open(t, t.TempDir())
	defer func() { _ = store.Close() }()
	var ids []string
	var batch index.Batch
	const most = recentBytes / rowBytes
	for i := range most + 10 {
		ids = append(ids, fmt.Sprintf("%05d", i))
		batch.Upsert = append(batch.Upsert, page(ids[i], "walrus"))
	}
	if _, err := store.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	shown, err := store.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	for _, some := range [][]string{ids[:most], ids[most-10:], ids[:20], ids} {
		got, err := shown.Documents(t.Context(), some, everything.Access)
		if err != nil || len(got) != len(some) {
			t.Errorf("%d of %d documents, %v", len(got), len(some), err)
		}
	}
}

// TestLostRowNumber stores a document whose row was found by its id, but not the row's number: chunks of row 0 could not
// be read.
func TestLostRowNumber(t *testing.T) {
	x := open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	whole := Canonical(page("a", "walrus"))
	lost := &Plan{Items: []*Item{{Change: Change{ID: whole.ID, Put: &whole}, Old: new(Row), Hash: Hash(&whole)}}}
	err := x.Change(t.Context(), func(tx *sqldb.Tx) { x.put(tx, lost, State{}) })
	if err != nil {
		t.Fatal(err)
	}
	row := int64(0)
	if x.Newest(t.Context()).Get([]any{&row}, "SELECT row FROM documents WHERE id = 'a'"); row < 1 {
		t.Errorf("stored in row %d", row)
	}
}

// TestOlderLayout: texts and details that an older version stored, without seals and with other keys, are read, checked,
// kept and replaced.
func TestOlderLayout(t *testing.T) {
	for name, dialect := range map[string]struct {
		options func(*testing.T) Options
		version []string
	}{
		"SQLite": {func(t *testing.T) Options { return Options{Dir: t.TempDir()} },
			[]string{"DELETE FROM goose_db_version WHERE version_id > 4", "PRAGMA user_version = 4"}},
		"PostgreSQL": {func(t *testing.T) Options {
			address := postgrestest.Address(t, t.TempDir())
			t.Cleanup(func() { _ = Drop(context.Background(), address, "old") })
			return Options{Database: address, Tenant: "old"}
		}, []string{"DELETE FROM documents_migrations WHERE version_id > 4",
			"UPDATE store_schemas SET version = 4 WHERE store = 'documents'"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := dialect.options(t)
			reopen := func(statements ...string) *Store {
				t.Helper()
				x, err := Open(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				err = x.Change(t.Context(), func(tx *sqldb.Tx) {
					for _, statement := range statements {
						tx.Exec(statement)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			long := page("long", strings.Repeat("walrus ", 2000))
			long.Chunks = append(long.Chunks, index.Chunk{Text: "the end"})
			x := reopen()
			put(t, x, page("short", "walrus"), long, page("lost", "walrus")) // too few to share names
			put(t, x, page("gone", "walrus"))
			if _, err := x.Write(t.Context(), index.Batch{Delete: []string{"gone"}}); err != nil {
				t.Fatal(err)
			}
			_ = x.Close()
			x = reopen(append(dialect.version, "ALTER TABLE meta RENAME TO library",
				"ALTER TABLE library RENAME COLUMN generation TO sequence", "ALTER TABLE library DROP COLUMN manifest",
				`CREATE TABLE older_documents AS SELECT row, documents.id, hash, source, origin, title, link, type, created_at, updated_at,
				hidden, chunks, detail, number AS changed, texted, vectors, 7 AS added_at FROM documents JOIN changes ON document = row`,
				"DROP TABLE documents", "ALTER TABLE older_documents RENAME TO documents",
				"CREATE INDEX documents_by_origin ON documents (origin)", "CREATE INDEX documents_by_source ON documents (source)",
				"CREATE TABLE removals AS SELECT id, number AS changed FROM changes WHERE id IS NOT NULL",
				"DROP TABLE changes", "DROP TABLE additions", "ALTER TABLE library ADD COLUMN model TEXT NOT NULL DEFAULT 'm'",
				"DROP TABLE embeddings", "DROP TABLE embedding_models", "DROP TABLE refused_texts",
				"CREATE TABLE embeddings AS SELECT 'm' AS model, substr(hash, 1, 16) AS hash, substr(hash, 1, 8) AS vector FROM documents",
				"DROP TABLE dictionaries", "DROP TABLE dictionary_copies", "DROP TABLE replaced", "DROP TABLE hashes",
				"UPDATE documents SET detail = substr(detail, 6)",
				"CREATE TABLE older AS SELECT key >> 20 AS document, key & 1048575 AS first, 1 AS amount, substr(body, 7) AS body FROM chunks",
				"DROP TABLE chunks", "ALTER TABLE older RENAME TO chunks")...)
			_ = x.Close()
			x = reopen("UPDATE chunks SET body = substr(body, 1, 4) WHERE key >> 20 = (SELECT row FROM documents WHERE id = 'lost')")
			defer func() { _ = x.Close() }()
			if now, err := x.State(t.Context()); now.Model != "m" || now.Documents != 3 || err != nil {
				t.Errorf("the state is %+v, %v", now, err)
			}
			n := 0
			if x.Newest(t.Context()).Get([]any{&n}, `SELECT (SELECT count(*) FROM embeddings)
				+ (SELECT count(*) FROM embedding_models)`); n != 4 {
				t.Errorf("%d rows of vectors, want 3 by one model", n)
			}
			if list, err := x.Export(t.Context(), "", 1); !errors.Is(err, fault.ErrDamaged) && len(list) != 1 {
				t.Errorf("exported %v, %v", list, err)
			}
			if changed, err := x.Unindexed(t.Context(), "new", 1, 9); !slices.Equal(changed, []string{"long", "lost", "gone"}) || err != nil {
				t.Errorf("changed since the first change: %q, %v", changed, err)
			}
			expectDamage := func(want int) {
				t.Helper()
				if found, err := x.Check(t.Context(), index.CheckOptions{}, nil); err != nil || len(found) != want {
					t.Errorf("the check found %+v, %v", found, err)
				}
			}
			expectDamage(1)
			if written := put(t, x, page("short", "walrus"), long, page("lost", "walrus")); written != (index.Written{Updated: 1, Unchanged: 2}) {
				t.Errorf("wrote %+v", written)
			}
			expectDamage(0)
			long.Chunks = long.Chunks[1:]
			if written := put(t, x, long); written.Updated != 1 {
				t.Errorf("wrote %+v", written)
			}
			if n, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "short", Access: []string{"nobody"}}}); n != 1 || err != nil {
				t.Errorf("changed the access of %d, %v", n, err)
			}
			expectDamage(0)
			list, err := x.Export(t.Context(), "", 3)
			if err != nil || len(list) != 3 || list[0].ID != "long" || len(list[0].Chunks) != 1 || list[2].Chunks[0].Text != "walrus" {
				t.Errorf("exported %.200v, %v", list, err)
			}
		})
	}
}

// TestDictionaryOfShortTexts: on both databases short texts are packed with a dictionary, of which either copy is enough.
// What searches read instead of analysing a document is packed without: it takes half the time to unpack.
func TestDictionaryOfShortTexts(t *testing.T) {
	t.Run("file", func(t *testing.T) { testDictionary(t, Options{Dir: t.TempDir()}) })
	t.Run("server", func(t *testing.T) {
		options := Options{Database: postgrestest.Address(t, t.TempDir()), Tenant: "default"}
		defer func() {
			if err := Drop(context.Background(), options.Database, options.Tenant); err != nil {
				t.Error(err)
			}
		}()
		testDictionary(t, options)
	})
}

func testDictionary(t *testing.T, options Options) {
	open := func() *Store {
		s, err := Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		s.Sample = 4 << 10
		return s
	}
	first := open()
	words := []string{" and dreams of mussels and of cold water ", " and wakes when the seals bark ", " while gulls cry overhead ", " "}
	var pages []index.Document
	for n := range 100 {
		pages = append(pages, page(fmt.Sprint("page", n), fmt.Sprint(strings.Repeat("the walrus sleeps on a floe of ice. ", 1+n%3), words[n%4], n, words[n/9%4])))
	}
	put(t, first, pages...)
	if err := errors.Join(first.CountWords(t.Context()), first.Close()); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{"UPDATE dictionaries SET id = id", "DELETE FROM dictionaries", "DELETE FROM dictionary_copies"} {
		s := open()
		if err := s.Change(t.Context(), func(tx *sqldb.Tx) { tx.Exec(damage) }); err != nil {
			t.Fatal(err)
		}
		put(t, s, page("another", damage+" leaves the walrus of page 1 where it sleeps"))
		shown, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range pages {
			if got, err := shown.Texts(t.Context(), []index.Range{{DocumentID: want.ID}}, everything.Access); err != nil || got[0][0].Text != want.Chunks[0].Text {
				t.Fatalf("%s: %v, %v", damage, got, err)
			}
		}
		bodies := sqldb.ColumnOf[[]byte](s.Newest(t.Context()), "SELECT body FROM chunks")
		bodies = slices.DeleteFunc(bodies, func(body []byte) bool { return body[6] != packedDictionary }) // behind seal and count
		if len(bodies) < len(pages) {
			t.Errorf("%d texts are packed with a dictionary", len(bodies))
		}
		analysed := sqldb.ColumnOf[[]byte](s.Newest(t.Context()), "SELECT body FROM analysed")
		if slices.ContainsFunc(analysed, func(body []byte) bool { return body[0] == packedDictionary }) ||
			len(analysed) < len(pages) {
			t.Errorf("%d analysed documents, some packed with a dictionary", len(analysed))
		}
		shown.Close()
		for run, want := range []bool{damage != "UPDATE dictionaries SET id = id", false} {
			found, err := s.Check(t.Context(), index.CheckOptions{Repair: true}, nil)
			repaired := slices.DeleteFunc(slices.Clone(found), func(d index.Damage) bool { return !d.Repaired })
			if err != nil || (len(found) > 0) != want || len(repaired) < len(found) {
				t.Errorf("%s, check %d: %+v, %v", damage, run, found, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
