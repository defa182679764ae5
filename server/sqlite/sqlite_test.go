package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"quarry/server/fault"
	"quarry/server/sqldb"
)

const firstMigration = "-- +goose Up\nCREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;\n"

func migrations(further ...string) fs.FS {
	files := fstest.MapFS{"00001_notes.sql": {Data: []byte(firstMigration)}}
	for i, text := range further {
		files[fmt.Sprintf("%05d_more.sql", i+2)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	return files
}

func open(t *testing.T, options Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func addNote(db *DB, text string) error {
	return db.Update(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes (text) VALUES (?)", text)
		return err
	})
}

func countNotes(t *testing.T, from interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) int {
	t.Helper()
	count := 0
	if err := from.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM notes").Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

func TestFileKeepsWhatWasCommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a folder? with #marks %41", "data.db")
	first, err := Open(t.Context(), Options{Path: path, Migrations: migrations()})
	if err != nil {
		t.Fatal(err)
	}
	if err := addNote(first, "one"); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := countNotes(t, open(t, Options{Path: path, Migrations: migrations()}).Reader); got != 1 {
		t.Fatalf("%d notes, want 1", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file has mode %v, others can read it", info.Mode())
	}
}

func TestPragmas(t *testing.T) {
	db := open(t, Options{Path: filepath.Join(t.TempDir(), "data.db"), Migrations: migrations()})
	tests := []struct {
		pool   *sql.DB
		pragma string
		want   string
	}{
		{db.Writer, "journal_mode", "wal"},
		{db.Writer, "synchronous", "2"},
		{db.Writer, "foreign_keys", "1"},
		{db.Writer, "busy_timeout", "10000"},
		{db.Writer, "fullfsync", "1"},
		{db.Reader, "query_only", "1"},
		{db.Reader, "journal_mode", "wal"},
		{db.Reader, "busy_timeout", "10000"},
	}
	for _, test := range tests {
		got := ""
		if err := test.pool.QueryRowContext(t.Context(), "PRAGMA "+test.pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != test.want {
			t.Errorf("%s is %s, want %s", test.pragma, got, test.want)
		}
	}
}

func TestPageSize(t *testing.T) {
	db := open(t, Options{Path: filepath.Join(t.TempDir(), "data.db"), Migrations: migrations(), PageSize: 16 << 10})
	size := 0
	if err := db.Writer.QueryRowContext(t.Context(), "PRAGMA page_size").Scan(&size); err != nil || size != 16<<10 {
		t.Errorf("the page size is %d, %v", size, err)
	}
}

func TestReadersSeeOneState(t *testing.T) {
	db := open(t, Options{Path: filepath.Join(t.TempDir(), "data.db"), Migrations: migrations()})
	tx, err := db.Reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	before := countNotes(t, tx)
	if err := addNote(db, "later"); err != nil {
		t.Fatal(err)
	}
	if got := countNotes(t, tx); got != before {
		t.Errorf("the open transaction sees %d notes, want %d", got, before)
	}
	if got := countNotes(t, db.Reader); got != before+1 {
		t.Errorf("a new reader sees %d notes, want %d", got, before+1)
	}
	if _, err := db.Reader.Exec("INSERT INTO notes (text) VALUES ('x')"); !errors.Is(sqldb.Explain(err), fault.ErrReadOnly) {
		t.Errorf("writing through a reader: %v, want ErrReadOnly", err)
	}
}

func TestMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	db := open(t, Options{Migrations: migrations()})
	other := open(t, Options{Migrations: migrations()})
	if err := addNote(db, "one"); err != nil {
		t.Fatal(err)
	}
	if got := countNotes(t, db.Reader); got != 1 {
		t.Errorf("%d notes, want 1", got)
	}
	if got := countNotes(t, other.Reader); got != 0 {
		t.Errorf("another database in memory sees %d notes", got)
	}
	if !db.InMemory() {
		t.Error("it should know that it is in memory")
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 0 {
		t.Errorf("files appeared: %v", entries)
	}
}

func TestCopyStaysAsItIs(t *testing.T) {
	db := open(t, Options{Migrations: migrations()})
	if err := addNote(db, "one"); err != nil {
		t.Fatal(err)
	}
	source, err := db.Writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	frozen, err := db.Copy(t.Context(), source)
	if err := errors.Join(err, source.Close()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Close() }()
	tx, err := frozen.Reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	countNotes(t, tx)
	if err := addNote(db, "two"); err != nil {
		t.Fatalf("a reader of the copy held up the writer: %v", err)
	}
	if got := countNotes(t, tx); got != 1 {
		t.Errorf("the copy has %d notes, want 1", got)
	}
	if err := addNote(frozen, "three"); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("writing to a copy: %v, want ErrReadOnly", err)
	}
}

func TestMigratesStepByStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	old, err := Open(t.Context(), Options{Path: path, Migrations: migrations()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if err := addNote(old, "one"); err != nil {
		t.Fatal(err)
	}
	second := migrations("ALTER TABLE notes ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';\n")
	db := open(t, Options{Path: path, Migrations: second})
	mood := ""
	if err := db.Reader.QueryRow("SELECT mood FROM notes").Scan(&mood); err != nil || mood != "calm" {
		t.Fatalf("mood %q, %v", mood, err)
	}
	if err := addNote(old, "two"); !errors.Is(err, fault.ErrNewer) {
		t.Errorf("the older program, still open, writes: %v, want ErrNewer", err)
	}
	if _, err := Open(t.Context(), Options{Path: path, Migrations: migrations()}); !errors.Is(err, fault.ErrNewer) {
		t.Errorf("an older program opens it: %v, want ErrNewer", err)
	}
}

func TestSecondOpenDoesNotMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	open(t, Options{Path: path, Migrations: migrations()})
	// A migration that cannot be parsed shows whether anything but its name is looked at.
	broken := fstest.MapFS{"00001_notes.sql": {Data: []byte("not a migration")}}
	open(t, Options{Path: path, Migrations: broken})
}

// TestMigrationNotedByGooseAlone: a crash may have come between goose's note and user_version.
func TestMigrationNotedByGooseAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	second := "INSERT INTO notes (text) VALUES ('by migration');\n"
	db := open(t, Options{Path: path, Migrations: migrations(second)})
	if _, err := db.Writer.Exec("PRAGMA user_version = 0"); err != nil {
		t.Fatal(err)
	}
	if got := countNotes(t, open(t, Options{Path: path, Migrations: migrations(second, second)}).Reader); got != 2 {
		t.Errorf("%d notes, want one of each migration", got)
	}
}

func TestBadMigrations(t *testing.T) {
	tests := map[string]fs.FS{
		"none":       fstest.MapFS{},
		"no number":  fstest.MapFS{"notes.sql": {Data: []byte(firstMigration)}},
		"bad syntax": fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABEL x;\n")}},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "data.db"), Migrations: files})
			if err == nil {
				_ = db.Close()
				t.Fatal("opened")
			}
		})
	}
}

func TestManyStartTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	steps := migrations("INSERT INTO notes (text) VALUES ('by migration');\n")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			db, err := Open(context.Background(), Options{Path: path, Migrations: steps})
			if err != nil {
				t.Error(err)
				return
			}
			if err := addNote(db, "hello"); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := countNotes(t, open(t, Options{Path: path, Migrations: steps}).Reader); got != 9 {
		t.Errorf("%d notes, want 8 and the migration's one", got)
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if _, err := Open(t.Context(), Options{Path: path, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing file opened read-only: %v, want ErrNotExist", err)
	}
	writer := open(t, Options{Path: path, Migrations: migrations()})
	reader := open(t, Options{Path: path, Migrations: migrations(), ReadOnly: true})
	if err := addNote(writer, "one"); err != nil {
		t.Fatal(err)
	}
	if got := countNotes(t, reader.Reader); got != 1 {
		t.Errorf("the read-only one sees %d notes, want what was just committed", got)
	}
	if err := addNote(reader, "two"); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("writing: %v, want ErrReadOnly", err)
	}
	if !reader.ReadOnly() || writer.ReadOnly() {
		t.Error("ReadOnly tells the wrong thing")
	}
	more := migrations("UPDATE notes SET text = '';\n")
	if _, err := Open(t.Context(), Options{Path: path, Migrations: more, ReadOnly: true}); !errors.Is(err,
		fault.ErrReadOnly) {
		t.Errorf("a migration is due but read-only: %v, want ErrReadOnly", err)
	}
}

func TestFolderWithoutRights(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("rights do not bind the superuser")
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "data.db")
	first, err := Open(t.Context(), Options{Path: path, Migrations: migrations()})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
	db := open(t, Options{Path: path, Migrations: migrations()})
	if !db.ReadOnly() {
		t.Error("it should be read-only")
	}
	countNotes(t, db.Reader)
}

func TestLogThatCannotBeFoldedIn(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("rights do not bind the superuser")
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "data.db")
	db := open(t, Options{Path: path, Migrations: migrations()})
	if err := addNote(db, "one"); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "data.db") // as after a crash
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, data, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(copied), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(copied), 0o700) })
	_, err := Open(t.Context(), Options{Path: copied, Migrations: migrations()})
	if !errors.Is(err, fault.ErrReadOnly) || !strings.Contains(err.Error(), "write-ahead log") {
		t.Errorf("got %v, want ErrReadOnly and why", err)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	first := open(t, Options{Path: path, Migrations: migrations()})
	second := open(t, Options{Path: path, Migrations: migrations(), BusyTimeout: time.Millisecond})
	tx, err := first.Writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := addNote(second, "x"); !errors.Is(err, fault.ErrBusy) {
		t.Errorf("writing beside a writer: %v, want ErrBusy", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := addNote(second, "x"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// TestACommitInMemoryWaitsForReaders as long as the database is patient, and not for a tenth of a second: there is no
// write-ahead log, so a reader that a busy machine holds up would undo what was written.
func TestACommitInMemoryWaitsForReaders(t *testing.T) {
	db := open(t, Options{Migrations: migrations(), BusyTimeout: 7 * time.Second})
	err := db.Update(t.Context(), func(tx *sql.Tx) error {
		var wait int
		err := tx.QueryRow("PRAGMA busy_timeout").Scan(&wait)
		if err == nil && wait != 7000 {
			err = fmt.Errorf("a commit waits for %d ms", wait)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// leaving is a context that ends when it is asked for the third time whether it did.
type leaving struct {
	context.Context
	asked *atomic.Int32
}

func (l leaving) Done() <-chan struct{} { return nil }

func (l leaving) Err() error {
	if l.asked.Add(1) < 3 {
		return nil
	}
	return context.Canceled
}

// TestAWriteEndsWithItsContext, and not with the patience of the database, while another process holds the lock.
func TestAWriteEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	first := open(t, Options{Path: path, Migrations: migrations()})
	second := open(t, Options{Path: path, Migrations: migrations(), BusyTimeout: time.Hour})
	tx, err := first.Writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = second.Update(leaving{t.Context(), new(atomic.Int32)}, func(*sql.Tx) error { return errors.New("beside a writer") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := addNote(second, "x"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	db := open(t, Options{Migrations: migrations()})
	refusal := errors.New("changed my mind")
	err := db.Update(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO notes (text) VALUES ('x')"); err != nil {
			return err
		}
		return refusal
	})
	if !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if got := countNotes(t, db.Reader); got != 0 {
		t.Errorf("%d notes stayed", got)
	}
}

func TestNotADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is a letter to the editor. ", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: path, Migrations: migrations()}); !errors.Is(err, fault.ErrDamaged) {
		t.Errorf("got %v, want fault.ErrDamaged", err)
	}
}

func TestDiskFull(t *testing.T) {
	db := open(t, Options{Path: filepath.Join(t.TempDir(), "data.db"), Migrations: migrations()})
	if _, err := db.Writer.Exec("PRAGMA max_page_count = 10"); err != nil {
		t.Fatal(err)
	}
	if err := addNote(db, strings.Repeat("long ", 100_000)); !errors.Is(err, fault.ErrDiskFull) {
		t.Errorf("got %v, want fault.ErrDiskFull", err)
	}
	if err := addNote(db, "short"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestExplain(t *testing.T) {
	if err := sqldb.Explain(fmt.Errorf("write x: %w", syscall.ENOSPC)); !errors.Is(err, fault.ErrDiskFull) {
		t.Errorf("got %v", err)
	}
	plain := errors.New("plain")
	if err := sqldb.Explain(plain); err != plain {
		t.Errorf("got %v", err)
	}
	if err := sqldb.Explain(nil); err != nil {
		t.Errorf("got %v", err)
	}
}
