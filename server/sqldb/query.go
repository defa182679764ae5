package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	driver "modernc.org/sqlite"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// Querier is a database, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Source is what somebody reads from until the context ends: a database, a connection or a transaction. Its methods
// abort with their errors, see guard.Abort, which are explained as by Explain.
type Source struct {
	context.Context
	Querier
	// doing begins the errors. It is that of a connection or transaction which others use, too: interrupting a
	// statement would interrupt theirs. So its statements run to their end, and the context is checked before them and
	// between their rows. Empty: statements are interrupted.
	doing string
}

// Shared returns a source that others use, too.
func Shared(ctx context.Context, q Querier) Source { return Source{ctx, q, "read the library"} }

// within returns the context of statements.
func (s Source) within() context.Context {
	guard.Check(s.Err())
	if s.doing == "" {
		return s.Context
	}
	return context.WithoutCancel(s.Context)
}

// check aborts if there is an error of a statement.
func (s Source) check(err error) {
	if err == nil {
		return // after each row
	}
	if err = Explain(err); s.doing != "" {
		guard.While(s.doing, err)
	}
	guard.Abort(err)
}

// All yields the rows of a query. Columns returns where the columns of a row are stored.
func All[T any](s Source, columns func(*T) []any, query string, args ...any) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		rows, err := s.QueryContext(s.within(), query, args...)
		s.check(err)
		defer rows.Close()
		for rows.Next() {
			s.check(s.Err())
			row := new(T)
			if s.check(rows.Scan(columns(row)...)); !yield(row) {
				return
			}
		}
		s.check(rows.Err())
	}
}

// Each stores the columns of each row of a query before it yields.
func (s Source) Each(columns []any, query string, args ...any) iter.Seq[*struct{}] {
	return All(s, func(*struct{}) []any { return columns }, query, args...)
}

// Get stores the columns of the only row of a query, and reports whether there is one.
func (s Source) Get(columns []any, query string, args ...any) (found bool) {
	for range s.Each(columns, query, args...) {
		found = true
	}
	return found
}

// Row is Get that aborts with an error, unless that is nil, if there is no row.
func (s Source) Row(otherwise error, columns []any, query string, args ...any) {
	if !s.Get(columns, query, args...) {
		guard.Check(otherwise)
	}
}

// RowsOf returns the rows of a query.
func RowsOf[T any](s Source, columns func(*T) []any, query string, args ...any) []T {
	list := []T{}
	for row := range All(s, columns, query, args...) {
		list = append(list, *row)
	}
	return list
}

// ColumnOf is RowsOf for a single column.
func ColumnOf[T any](s Source, query string, args ...any) []T {
	return RowsOf(s, Column[T], query, args...)
}

// MapOf is RowsOf for keys and their values.
func MapOf[K comparable, V any](s Source, query string, args ...any) map[K]V {
	found, key, value := map[K]V{}, *new(K), *new(V)
	for range s.Each([]any{&key, &value}, query, args...) {
		found[key] = value
	}
	return found
}

// Select is RowsOf for a caller who is not aborted.
func Select[T any](ctx context.Context, q Querier, columns func(*T) []any, query string, args ...any) (list []T,
	err error) {
	defer guard.End(&err)
	return RowsOf(Source{Context: ctx, Querier: q}, columns, query, args...), nil
}

// Lazy opens a database when it is used, or returns the open one. If there is none, it creates one with create, which
// is set for changes, and otherwise returns an empty one.
type Lazy func(ctx context.Context, create bool) (DB, error)

// Opened returns the Lazy of an open database.
func Opened(db DB) Lazy { return func(context.Context, bool) (DB, error) { return db, nil } }

// IfExists returns a Lazy that creates no database for changes of what there is.
func (open Lazy) IfExists() Lazy {
	return func(ctx context.Context, _ bool) (DB, error) { return open(ctx, false) }
}

// Update is DB.Update. doing describes the change for errors.
func (open Lazy) Update(ctx context.Context, doing string, change func(*Tx)) (err error) {
	db, err := open(ctx, true)
	if err != nil {
		return err
	}
	defer guard.EndWhile(doing, &err)
	return update(ctx, db, "", change)
}

// Exec is Update with one statement. The error is otherwise if the statement changes nothing.
func (open Lazy) Exec(ctx context.Context, doing string, otherwise error, query string, args ...any) error {
	return open.Update(ctx, doing, func(tx *Tx) { tx.Change(otherwise, query, args...) })
}

// UpdateWhole runs change in a transaction of a database whose statements run to their end.
func UpdateWhole(ctx context.Context, db DB, change func(*Tx)) error {
	return update(ctx, db, "write to the library", change)
}

func update(ctx context.Context, db DB, doing string, change func(*Tx)) error {
	atOnce := rowsAtOnce(db)
	return db.Update(ctx, func(tx *sql.Tx) error {
		return guard.Ended(func() { change(&Tx{Source{ctx, tx, doing}, tx, atOnce}) })
	})
}

// Tx is a transaction of Lazy.Update or UpdateWhole. Its first error aborts the change, and the update rolls back and
// returns that error. So a change needs no checks, but must not have effects outside of the transaction.
type Tx struct {
	Source
	tx     *sql.Tx
	atOnce int // rows that one statement inserts
}

// Exec runs a statement, and returns how many rows it changed.
func (t *Tx) Exec(query string, args ...any) int64 {
	result, err := t.tx.ExecContext(t.within(), query, args...)
	t.check(err)
	changed, err := result.RowsAffected()
	t.check(err)
	return changed
}

// Change runs a statement. If it changes no row it aborts with an error, unless that is nil.
func (t *Tx) Change(otherwise error, query string, args ...any) {
	if t.Exec(query, args...) == 0 {
		guard.Check(otherwise)
	}
}

// rowsAtOnce is 200 for a server, where a statement of many rows saves round trips and its parameters are bounded, and
// one for a file: to prepare a statement of each number of rows takes longer than to run that of one again.
func rowsAtOnce(db DB) int {
	if _, isFile := db.Pool().Driver().(*driver.Driver); isFile {
		return 1
	}
	return 200
}

// Insert inserts rows. into has the columns, behind follows the values.
func (t *Tx) Insert(into string, rows [][]any, behind string) {
	for some := range slices.Chunk(rows, t.atOnce) {
		one := Places(len(some[0]))
		t.Exec("INSERT INTO "+into+" VALUES "+one+strings.Repeat(", "+one, len(some)-1)+behind,
			slices.Concat(some...)...)
	}
}

// Places returns the list of n parameters.
func Places(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }

// ExecList runs a statement whose parameter is a list, if the list is not empty.
func ExecList[T any](tx *Tx, statement string, values []T) {
	if len(values) > 0 {
		tx.Exec(statement, JSON{V: values})
	}
}

// List returns the rows of a query like Select. doing begins its errors.
func List[T any](ctx context.Context, open Lazy, doing string, columns func(*T) []any, query string,
	args ...any) (list []T, err error) {
	db, err := open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer guard.EndWhile(doing, &err)
	return Select(ctx, db.Pool(), columns, query, args...)
}

// ListByID is List for a query whose first column is an id, by which it groups the rows. Columns returns where the
// others are stored.
func ListByID[T any](ctx context.Context, open Lazy, doing string, columns func(*T) []any, query string, args ...any) (
	map[int][]T, error) {
	type numbered struct {
		id  int
		row T
	}
	rows, err := List(ctx, open, doing, func(n *numbered) []any { return append([]any{&n.id}, columns(&n.row)...) },
		query, args...)
	groups := map[int][]T{}
	for _, n := range rows {
		groups[n.id] = append(groups[n.id], n.row)
	}
	return groups, err
}

// First returns the first of the rows that were found, or otherwise as the error if there is none.
func First[T any](found []T, err, otherwise error) (T, error) {
	if err == nil && len(found) > 0 {
		return found[0], nil
	}
	return *new(T), cmp.Or(err, otherwise)
}

// Column is the columns function of a single column, for Select and the lists.
func Column[T any](value *T) []any { return []any{value} }

// Micros is a time in a column: microseconds since 1970, or NULL for the zero time. Convert a *time.Time to read it.
type Micros time.Time

// Scan implements sql.Scanner.
func (m *Micros) Scan(column any) error {
	var stored sql.NullInt64
	if err := stored.Scan(column); err != nil || !stored.Valid {
		return err
	}
	*m = Micros(time.UnixMicro(stored.Int64).UTC())
	return nil
}

// Value implements driver.Valuer.
func (m Micros) Value() (sqldriver.Value, error) {
	if time.Time(m).IsZero() {
		return nil, nil
	}
	return time.Time(m).UnixMicro(), nil
}

// JSON is a value in a column of JSON text; nil is NULL. To read it, V is a pointer.
type JSON struct{ V any }

// Scan implements sql.Scanner.
func (j JSON) Scan(column any) error {
	var text sql.NullString
	if err := text.Scan(column); err != nil || !text.Valid {
		return err
	}
	if err := wire.Unmarshal([]byte(text.String), j.V); err != nil {
		return fmt.Errorf("read a column of JSON: %w", err)
	}
	return nil
}

// Value implements driver.Valuer.
func (j JSON) Value() (sqldriver.Value, error) {
	text, err := json.Marshal(j.V)
	if err != nil || string(text) == "null" {
		return nil, err
	}
	return string(text), nil
}

// Migrations returns the embedded files of folders, as if they were in one.
func Migrations(files embed.FS, folders ...string) fs.FS { return merged{files, folders} }

type merged struct {
	files   embed.FS
	folders []string
}

// Open implements fs.FS.
func (m merged) Open(name string) (file fs.File, err error) {
	for _, folder := range m.folders {
		if file, err = m.files.Open(path.Join(folder, name)); err == nil {
			break
		}
	}
	return file, err
}

// ReadDir implements fs.ReadDirFS.
func (m merged) ReadDir(name string) (entries []fs.DirEntry, err error) {
	for _, folder := range m.folders {
		more, failure := m.files.ReadDir(path.Join(folder, name))
		entries, err = append(entries, more...), cmp.Or(err, failure)
	}
	return entries, err
}
