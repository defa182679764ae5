package segments

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

const (
	salvageSuffix = ".salvage" // of the database that is made of what can be read
	damagedSuffix = ".damaged" // of the copy that is kept of the damaged database
	salvageTries  = 3
	// maxSalvaged rows are read of a table without numbered rows: damaged pages may lead in circles.
	maxSalvaged = 10_000_000
	// namedLost documents of a lost library are named in the error.
	namedLost = 10
)

// salvageTable is a table whose rows are copied.
type salvageTable struct {
	name, columns string
	// backwards is the descending order of the table's key. Empty: the first column is the key, a whole number. Rows of
	// such tables can be read behind a damaged page; of others what comes before the first and after the last damaged
	// page is.
	backwards string
}

// salvageTables are in the order in which rows refer to each other. The sets of documents are made again from these.
func salvageTables() []salvageTable {
	return []salvageTable{
		{"dictionaries", "id, body", ""},
		{"dictionary_copies", "id, body", ""},
		{"documents", documents.Columns, ""},
		{"additions", "document, at", ""},
		{"chunks", "key, body", ""},
		{"cursors", "key, value", "key DESC"},
		{"hashes", "hash, document", "hash DESC, document DESC"},
		{"segments", "id, name, documents, bytes, deletes", ""},
		{"deletes", "segment, number, since, bitmap, delta", "segment DESC, number DESC"},
		{"embedding_models", "id, name, dimensions, current", ""},
		{"embeddings", "row, model, hash, vector", ""},
		{"vector_files", "segment, name, model, bytes", ""},
		{"refused_texts", "model, hash", "model DESC, hash DESC"},
	}
}

// salvage replaces a database with damaged pages by one that contains all rows that can be read. A copy of the damaged
// one is kept beside it. A crash leaves the old one or the new one.
func (x *Index) salvage(ctx context.Context) error {
	path := x.db.Path()
	if path == "" {
		return fmt.Errorf("repair the library in memory: %w", fault.ErrDamaged)
	}
	x.repairs.Lock()
	defer x.repairs.Unlock()
	x.Log.Warn("the database is damaged; keeping what can be read", "database", path)
	var err error
	for range salvageTries {
		if err = x.trySalvage(ctx, path); !errors.Is(err, documents.ErrOvertaken) {
			break
		}
	}
	x.states.forget()
	if err != nil {
		return fmt.Errorf("repair the database: %w", err)
	}
	return nil
}

func (x *Index) trySalvage(ctx context.Context, path string) error {
	made := path + salvageSuffix
	if err := removeDatabase(made); err != nil {
		return err
	}
	defer removeDatabase(made)
	before, ok := x.db.Version(ctx)
	if !ok {
		return fmt.Errorf("read the version of %s: %w", path, fault.ErrDamaged)
	}
	readable, err := sqlite.Open(ctx, databaseAt(made))
	if err != nil {
		return err
	}
	if err := errors.Join(x.fillSalvage(ctx, readable), readable.Close()); err != nil {
		return err
	}
	return x.db.Replace(ctx, made, func() error {
		if after, _ := x.db.Version(ctx); after != before { // another connection has committed
			return documents.ErrOvertaken
		}
		return nil
	})
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an unfinished repair: %w", err)
		}
	}
	return nil
}

// fillSalvage copies all rows that can be read to a new database.
func (x *Index) fillSalvage(ctx context.Context, made *sqlite.DB) error {
	kept := x.db.Path() + damagedSuffix
	if err := removeDatabase(kept); err != nil {
		return err
	}
	damaged, err := x.db.CopyDamaged(ctx, kept, made)
	if err != nil {
		return err
	}
	defer func() { _ = damaged.Close() }()
	tx, err := damaged.BeginTx(ctx, nil)
	if err != nil {
		return sqldb.Explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	from := sqldb.Source{Context: ctx, Querier: tx}
	return sqldb.UpdateWhole(ctx, made, func(to *sqldb.Tx) {
		unlisted := false
		for _, table := range salvageTables() {
			lost, err := table.copy(from, to)
			if err != nil {
				to.Fail(fmt.Errorf("copy table %s: %w", table.name, err))
			}
			unlisted = unlisted || lost && table.name == "segments"
		}
		if unlisted {
			to.Fail(x.nameUnlisted(to))
		}
		to.Fail(x.completeSalvage(from, to))
	})
}

// completeSalvage fills the tables that are made of others.
func (x *Index) completeSalvage(from sqldb.Source, to *sqldb.Tx) error {
	if m, err := documents.ReadState(from); err == nil {
		to.Exec("UPDATE meta SET store = ?, generation = ?, manifest = ?", m.Store, m.Generation+1, m.Manifest+1)
	}
	to.Exec("UPDATE meta SET " + counted)
	return x.Reader(to.Source()).EachRow(func(row *documents.Row) error {
		for _, name := range row.Sets {
			to.Exec("INSERT OR IGNORE INTO document_sets (document, name) VALUES (?, ?)", row.Number, name)
		}
		return nil
	}, "ORDER BY row")
}

// nameUnlisted looks into segments that the manifest has lost for documents that are lost, too. Some of them may have
// been removed before: that is not known any more.
func (x *Index) nameUnlisted(to *sqldb.Tx) error {
	files, err := x.unnamed(to.Source())
	if err != nil {
		return err
	}
	for name := range files {
		opened, err := x.states.pool.acquire(name)
		if err != nil {
			continue // damaged, or no segment
		}
		for ordinal := range opened.reader.Documents() {
			id, err := opened.reader.DocumentID(ordinal)
			if err != nil {
				break
			}
			documents.InsertLost(to, id)
		}
		x.states.pool.drop(opened)
	}
	return nil
}

// copy copies the rows that can be read and that the table takes; lost: there were others.
func (t salvageTable) copy(from sqldb.Source, to *sqldb.Tx) (lost bool, err error) {
	store := func(values []any) error {
		_, err := to.ExecContext(from, "INSERT OR IGNORE INTO "+t.name+" ("+t.columns+") VALUES "+
			sqldb.Places(len(values)), values...)
		lost = lost || err != nil // a row that the table does not take is damaged
		return from.Err()
	}
	if t.backwards == "" {
		unread, err := t.copyNumbered(from, store)
		return lost || unread, err
	}
	all := "SELECT " + t.columns + " FROM " + t.name
	if err = t.read(from, store, all); !documents.Unreadable(err) {
		return lost, err
	}
	if err = t.read(from, store, all+" ORDER BY "+t.backwards); documents.Unreadable(err) {
		err = nil
	}
	return true, err
}

// copyNumbered continues after each row or page that cannot be read.
func (t salvageTable) copyNumbered(from sqldb.Source, store func([]any) error) (lost bool, err error) {
	after, more := int64(math.MinInt64), true
	key, _, _ := strings.Cut(t.columns, ",")
	for more {
		err := t.read(from, func(values []any) error {
			number, ok := values[0].(int64)
			if !ok || number <= after {
				return documents.ErrOrder
			}
			after = number
			return store(values)
		}, "SELECT "+t.columns+" FROM "+t.name+" WHERE "+key+" > ? ORDER BY "+key, after)
		if err == nil || !documents.Unreadable(err) {
			return lost, err
		}
		lost = true
		if after, more, err = t.behind(from, key, after); err != nil {
			return true, err
		}
	}
	return lost, nil
}

// behind returns a key behind the first row after a key that cannot be read. Keys on a page that cannot be read are not
// known, so it searches in growing steps, then bisects.
func (t salvageTable) behind(from sqldb.Source, key string, after int64) (next int64, more bool, err error) {
	sound := func(after int64) bool {
		readErr := from.Get([]any{&next},
			"SELECT "+key+" FROM "+t.name+" WHERE "+key+" > ? ORDER BY "+key+" LIMIT 1", after)
		more = readErr == nil && next > after
		none := errors.Is(readErr, sql.ErrNoRows)
		if readErr != nil && !none && !documents.Unreadable(readErr) {
			err = cmp.Or(err, readErr)
		}
		return more || none || err != nil
	}
	if sound(after) {
		return next, more, err // its key can be read, the row cannot
	}
	after = max(after, 0)
	step := int64(1)
	for after <= math.MaxInt64-step && !sound(after+step) {
		if step *= 2; step < 0 {
			return 0, false, err
		}
	}
	if after > math.MaxInt64-step {
		return 0, false, err
	}
	passed := sort.Search(int(step), func(n int) bool { return sound(after + int64(n)) })
	return after + int64(passed), true, err
}

// read yields the values of the rows of a query for all columns.
func (t salvageTable) read(from sqldb.Source, yield func([]any) error, query string, args ...any) error {
	values := make([]any, strings.Count(t.columns, ",")+1)
	pointers := make([]any, len(values))
	for i := range values {
		pointers[i] = &values[i]
	}
	seen := 0
	return from.Each(func(row *sql.Rows) error {
		if err := row.Scan(pointers...); err != nil {
			return err
		}
		if seen++; seen > maxSalvaged {
			return documents.ErrOrder
		}
		return yield(values)
	}, query, args...)
}

// refuseLoss returns fault.ErrLost when the database is missing or empty although there are segments: an empty library
// in its place would hide that everything is lost. It names some of the documents that are still indexed.
func refuseLoss(dir string) error {
	info, err := os.Stat(filepath.Join(dir, databaseName))
	if err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // opening reports the error
	}
	paths, err := fs.Glob(os.DirFS(dir), segmentsFolder+"/*"+segmentSuffix) // dir may have the characters of a pattern
	if err != nil || len(paths) == 0 {
		return nil
	}
	var some []string
	count := 0
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			continue
		}
		reader, err := segment.Open(path, data)
		if err != nil {
			continue // vectors, or damaged
		}
		count += reader.Documents()
		for n := 0; n < reader.Documents() && len(some) < namedLost; n++ {
			if id, err := reader.DocumentID(n); err == nil {
				some = append(some, id)
			}
		}
	}
	return fmt.Errorf("%w: %s; %d documents were in it, among them %s", fault.ErrLost,
		filepath.Join(dir, databaseName), count, strings.Join(some, ", "))
}
