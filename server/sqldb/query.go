package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	driver "modernc.org/sqlite"

	"quarry/client/wire"
)

// Querier is a database, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls scan for each row of a query, until it returns an error. Errors are explained as by Explain.
func Each(ctx context.Context, q Querier, scan func(row *sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return Explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return Explain(err)
		}
	}
	return Explain(rows.Err())
}

// reading and writing begin the errors of statements that run to their end, which are those of documents.
const (
	reading = "read the library"
	writing = "write to the library"
)

// Source is a connection or transaction that others use, too: interrupting a statement would interrupt theirs. So its
// statements run to their end, and the context of who reads, which it is as well, is checked before them and between
// their rows.
type Source struct {
	context.Context
	Querier
}

// Each calls scan for each row of a query, until it returns an error.
func (s Source) Each(scan func(row *sql.Rows) error, query string, args ...any) error {
	if err := s.Err(); err != nil {
		return err
	}
	err := Each(context.WithoutCancel(s.Context), s.Querier, func(row *sql.Rows) error {
		if err := s.Err(); err != nil {
			return err
		}
		return scan(row)
	}, query, args...)
	if err != nil {
		return fmt.Errorf(reading+": %w", err)
	}
	return nil
}

// Get stores the columns of the only row of a query. It returns sql.ErrNoRows if there is none.
func (s Source) Get(columns []any, query string, args ...any) error {
	found := false
	err := s.Each(func(row *sql.Rows) error {
		found = true
		return row.Scan(columns...)
	}, query, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

// RowsOf returns the rows of a query; nil without any. Columns returns where the columns of a row are stored.
func RowsOf[T any](s Source, columns func(*T) []any, query string, args ...any) (list []T, err error) {
	err = s.Each(appendTo(&list, columns), query, args...)
	return list, err
}

// ColumnOf is RowsOf for a single column.
func ColumnOf[T any](s Source, query string, args ...any) ([]T, error) {
	return RowsOf(s, Column[T], query, args...)
}

// MapOf is RowsOf for keys and their values.
func MapOf[K comparable, V any](s Source, query string, args ...any) (map[K]V, error) {
	found := map[K]V{}
	return found, s.Each(func(rows *sql.Rows) error {
		key, value := *new(K), *new(V)
		err := rows.Scan(&key, &value)
		found[key] = value
		return err
	}, query, args...)
}

// Select returns the rows of a query. Columns returns where the columns of a row are stored.
func Select[T any](ctx context.Context, q Querier, columns func(*T) []any, query string, args ...any) ([]T, error) {
	list := []T{}
	err := Each(ctx, q, appendTo(&list, columns), query, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// appendTo scans a row to the end of a list.
func appendTo[T any](list *[]T, columns func(*T) []any) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var row T
		err := rows.Scan(columns(&row)...)
		*list = append(*list, row)
		return err
	}
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
func (open Lazy) Update(ctx context.Context, doing string, change func(*Tx)) error {
	db, err := open(ctx, true)
	if err != nil {
		return err
	}
	err = db.Update(ctx, func(tx *sql.Tx) error { return run(db, &Tx{ctx: ctx, within: ctx, tx: tx}, change) })
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Exec is Update with one statement. The error is otherwise if the statement changes nothing.
func (open Lazy) Exec(ctx context.Context, doing string, otherwise error, query string, args ...any) error {
	return open.Update(ctx, doing, func(tx *Tx) { tx.Change(otherwise, query, args...) })
}

// UpdateWhole runs change in a transaction of a database whose statements run to their end, as those of a Source do.
func UpdateWhole(ctx context.Context, db DB, change func(*Tx)) error {
	return db.Update(ctx, func(tx *sql.Tx) error {
		return run(db, &Tx{ctx: ctx, within: context.WithoutCancel(ctx), tx: tx, doing: writing}, change)
	})
}

func run(db DB, t *Tx, change func(*Tx)) error {
	t.atOnce = rowsAtOnce(db)
	change(t)
	return t.err
}

// Tx is a transaction of Lazy.Update or UpdateWhole. Its first error ends it: the statements that follow are not run
// and leave their destinations as they are, and the update rolls back and returns that error. So a change needs no
// check behind each statement, but must not have effects outside of the transaction.
type Tx struct {
	ctx    context.Context
	within context.Context // of statements
	tx     *sql.Tx
	doing  string // begins the errors of statements; empty: Update's does
	atOnce int    // rows that one statement inserts
	err    error
}

// ready reports whether the next statement may run.
func (t *Tx) ready() bool {
	t.err = cmp.Or(t.err, t.ctx.Err())
	return t.err == nil
}

// note keeps the error of a statement.
func (t *Tx) note(err, otherwise error) {
	if t.err = err; err != nil && err != otherwise && t.doing != "" { //nolint:errorlint // the very one
		t.err = Explain(fmt.Errorf("%s: %w", t.doing, err))
	}
}

// Source returns what also reads outside of transactions that change something.
func (t *Tx) Source() Source { return Source{t.ctx, t} }

// QueryContext implements Querier.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !t.ready() {
		return nil, t.err
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// ExecContext is the counterpart of QueryContext. Its error does not end the transaction.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if !t.ready() {
		return nil, t.err
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// Fail ends the transaction with an error; nil does not.
func (t *Tx) Fail(err error) { t.err = cmp.Or(t.err, err) }

// Exec runs a statement, and returns how many rows it changed.
func (t *Tx) Exec(query string, args ...any) (changed int64) {
	if t.ready() {
		result, err := t.tx.ExecContext(t.within, query, args...)
		if err == nil {
			changed, err = result.RowsAffected()
		}
		t.note(err, nil)
	}
	return changed
}

// Change runs a statement. The error is otherwise if it changes no row.
func (t *Tx) Change(otherwise error, query string, args ...any) {
	if t.Exec(query, args...) == 0 {
		t.Fail(otherwise)
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

// Row stores the columns of the row of a query. If there is no row the error is otherwise, which may be nil.
func (t *Tx) Row(otherwise error, columns []any, query string, args ...any) {
	if t.ready() {
		t.note(Scan(t.tx.QueryRowContext(t.within, query, args...), otherwise, columns...), otherwise)
	}
}

// Texts returns the only column of the rows of a query.
func (t *Tx) Texts(query string, args ...any) (texts []string) {
	if t.ready() {
		var err error
		texts, err = Select(t.within, t.tx, Column[string], query, args...)
		t.note(err, nil)
	}
	return texts
}

// List returns the rows of a query like Select. doing begins its errors.
func List[T any](ctx context.Context, open Lazy, doing string, columns func(*T) []any, query string,
	args ...any) ([]T, error) {
	db, err := open(ctx, false)
	if err != nil {
		return nil, err
	}
	found, err := Select(ctx, db.Pool(), columns, query, args...)
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return found, err
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

// Scan stores the columns of a row. If there is no row it returns otherwise, which may be nil.
func Scan(row *sql.Row, otherwise error, columns ...any) error {
	err := row.Scan(columns...)
	if errors.Is(err, sql.ErrNoRows) {
		return otherwise
	}
	return Explain(err)
}

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
