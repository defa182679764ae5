package segments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"quarry/internal/guard"
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
func (x *Index) salvage(ctx context.Context) {
	path := x.db.Path()
	if path == "" {
		guard.While("repair the library in memory", fault.ErrDamaged)
	}
	x.repairs.Lock()
	defer x.repairs.Unlock()
	x.Log.Warn("the database is damaged; keeping what can be read", "database", path)
	var err error
	for range salvageTries {
		if err = guard.Ended(func() { x.trySalvage(ctx, path) }); !errors.Is(err, documents.ErrOvertaken) {
			break
		}
	}
	x.states.forget()
	guard.While("repair the database", err)
}

func (x *Index) trySalvage(ctx context.Context, path string) {
	made := path + salvageSuffix
	guard.Check(removeDatabase(made))
	defer removeDatabase(made)
	before, ok := x.db.Version(ctx)
	if !ok {
		guard.While("read the version of "+path, fault.ErrDamaged)
	}
	readable := guard.Must(sqlite.Open(ctx, databaseAt(made)))
	guard.Check(errors.Join(guard.Ended(func() { x.fillSalvage(ctx, readable) }), readable.Close()))
	guard.Check(x.db.Replace(ctx, made, func() error {
		if after, _ := x.db.Version(ctx); after != before { // another connection has committed
			return documents.ErrOvertaken
		}
		return nil
	}))
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
func (x *Index) fillSalvage(ctx context.Context, made *sqlite.DB) {
	kept := x.db.Path() + damagedSuffix
	guard.Check(removeDatabase(kept))
	damaged := guard.Must(x.db.CopyDamaged(ctx, kept, made))
	defer func() { _ = damaged.Close() }()
	tx, err := damaged.BeginTx(ctx, nil)
	guard.Check(sqldb.Explain(err))
	defer func() { _ = tx.Rollback() }()
	from := sqldb.Shared(ctx, tx)
	guard.Check(sqldb.UpdateWhole(ctx, made, func(to *sqldb.Tx) {
		unlisted := false
		for _, table := range salvageTables() {
			lost := false
			guard.While("copy table "+table.name, guard.Ended(func() { lost = table.copy(from, to) }))
			unlisted = unlisted || lost && table.name == "segments"
		}
		if unlisted {
			x.nameUnlisted(to)
		}
		x.completeSalvage(from, to)
	}))
}

// completeSalvage fills the tables that are made of others.
func (x *Index) completeSalvage(from sqldb.Source, to *sqldb.Tx) {
	var m documents.State
	if documents.Damage(func() { m = documents.ReadState(from) }) == nil {
		to.Exec("UPDATE meta SET store = ?, generation = ?, manifest = ?", m.Store, m.Generation+1, m.Manifest+1)
	}
	to.Exec("UPDATE meta SET " + counted)
	for row := range x.Reader(to.Source).EachRow("ORDER BY row") {
		for _, name := range row.Sets {
			to.Exec("INSERT OR IGNORE INTO document_sets (document, name) VALUES (?, ?)", row.Number, name)
		}
	}
}

// nameUnlisted looks into segments that the manifest has lost for documents that are lost, too. Some of them may have
// been removed before: that is not known any more.
func (x *Index) nameUnlisted(to *sqldb.Tx) {
	for name := range x.unnamed(to.Source) {
		opened, err := x.states.pool.acquire(name)
		if err != nil {
			continue // damaged, or no segment
		}
		var ids []string
		for ordinal := range opened.reader.Documents() {
			id, err := opened.reader.DocumentID(ordinal)
			if err != nil {
				break
			}
			ids = append(ids, id)
		}
		x.states.pool.drop(opened)
		documents.InsertLost(to, ids...)
	}
}

// copy copies the rows that can be read and that the table takes; lost: there were others.
func (t salvageTable) copy(from sqldb.Source, to *sqldb.Tx) (lost bool) {
	store := func(values []any) {
		err := guard.Ended(func() {
			to.Exec("INSERT OR IGNORE INTO "+t.name+" ("+t.columns+") VALUES "+sqldb.Places(len(values)), values...)
		})
		lost = lost || err != nil // a row that the table does not take is damaged
		guard.Check(from.Err())
	}
	copied := func(order string) bool {
		return documents.Damage(func() {
			for values := range t.read(from, "SELECT "+t.columns+" FROM "+t.name+order) {
				store(values)
			}
		}) == nil
	}
	if t.backwards == "" {
		return t.copyNumbered(from, store) || lost
	}
	if copied("") {
		return lost
	}
	copied(" ORDER BY " + t.backwards)
	return true
}

// copyNumbered continues after each row or page that cannot be read.
func (t salvageTable) copyNumbered(from sqldb.Source, store func([]any)) (lost bool) {
	after, more := int64(math.MinInt64), true
	key, _, _ := strings.Cut(t.columns, ",")
	behind := " FROM " + t.name + " WHERE " + key + " > ? ORDER BY " + key
	for more && documents.Damage(func() {
		for values := range t.read(from, "SELECT "+t.columns+behind, after) {
			number, ok := values[0].(int64)
			if !ok || number <= after {
				guard.Abort(documents.ErrOrder)
			}
			after = number
			store(values)
		}
	}) != nil {
		lost = true
		after, more = nextKey(from, "SELECT "+key+behind+" LIMIT 1", after)
	}
	return lost
}

// nextKey returns a key behind the first row after a key that cannot be read. query finds the next key. Keys on a page
// that cannot be read are not known, so it searches in growing steps, then bisects.
func nextKey(from sqldb.Source, query string, after int64) (next int64, more bool) {
	sound := func(after int64) bool {
		more = false
		return documents.Damage(func() {
			if from.Get([]any{&next}, query, after) {
				if more = next > after; !more {
					guard.Abort(documents.ErrOrder)
				}
			}
		}) == nil
	}
	if sound(after) {
		return next, more // its key can be read, the row cannot
	}
	after = max(after, 0)
	step := int64(1)
	for after <= math.MaxInt64-step && !sound(after+step) {
		if step *= 2; step < 0 {
			return 0, false
		}
	}
	if after > math.MaxInt64-step {
		return 0, false
	}
	passed := sort.Search(int(step), func(n int) bool { return sound(after + int64(n)) })
	return after + int64(passed), true
}

// read yields the values of the rows of a query for all columns.
func (t salvageTable) read(from sqldb.Source, query string, args ...any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		values := make([]any, strings.Count(t.columns, ",")+1)
		pointers := make([]any, len(values))
		for i := range values {
			pointers[i] = &values[i]
		}
		seen := 0
		for range from.Each(pointers, query, args...) {
			if seen++; seen > maxSalvaged {
				guard.Abort(documents.ErrOrder)
			}
			if !yield(values) {
				return
			}
		}
	}
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
