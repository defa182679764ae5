// Package directory stores tenants, users, groups, tokens, connectors, agents and document sets in one SQLite file. It
// stores no documents.
package directory

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"quarry/server/index"
	"quarry/server/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Directory is an open directory. Its methods may be called from several goroutines, and several processes may have
// the same file open.
type Directory struct {
	db       *sqlite.DB
	readOnly bool
	absent   bool
	now      func() time.Time
	recent   *lru.Cache[versioned, any]
	noting   sync.Map // ids of tokens whose use is being recorded: only one request at a time waits for the writer
}

// Option is an option of Open.
type Option func(*Directory)

// WithClock sets the clock by which tokens expire; the default is time.Now.
func WithClock(now func() time.Time) Option { return func(d *Directory) { d.now = now } }

// Open opens the directory in the file at path, which it creates or migrates if necessary; without a path it is in memory.
// Read-only, the file must exist and is not changed. Errors are those of sqlite.Open.
func Open(ctx context.Context, path string, readOnly bool, options ...Option) (*Directory, error) {
	d := &Directory{now: time.Now, absent: readOnly && path == ""}
	for _, option := range options {
		option(d)
	}
	schema, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read the directory's migrations: %w", err)
	}
	// The migrations of a directory in memory must be able to write.
	d.db, err = sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: readOnly && path != "", Migrations: schema})
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	d.readOnly = readOnly || d.db.ReadOnly()
	d.recent, err = lru.New[versioned, any](maxCached)
	return d, err
}

// IsAbsent reports whether the directory is an empty stand-in for one that does not exist.
func (d *Directory) IsAbsent() bool { return d.absent }

// Close releases the file.
func (d *Directory) Close() error {
	if err := d.db.Close(); err != nil {
		return fmt.Errorf("close the directory: %w", err)
	}
	return nil
}

// write runs change in one transaction. Errors are those of sqlite.DB.Update.
func (d *Directory) write(ctx context.Context, what string, change func(*sql.Tx) error) error {
	if d.readOnly {
		return fmt.Errorf("%s: %w", what, index.ErrReadOnly)
	}
	if err := d.db.Update(ctx, change); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// change runs one statement as write does. The error is otherwise if the statement changes nothing.
func (d *Directory) change(ctx context.Context, what string, otherwise error, query string, args ...any) error {
	return d.write(ctx, what, func(tx *sql.Tx) error { return sqlite.Exec(ctx, tx, otherwise, query, args...) })
}

// checkText returns an error for text that is empty, too long or not printable.
func checkText(what, text string, most int) error {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return refuse("%s may not contain control characters", what)
	case strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || invisible(r) }) == "":
		return refuse("%s may not be empty", what)
	case strings.ContainsFunc(text, hidden):
		return refuse("%s may not contain invisible characters", what)
	case n > most:
		return refuse("%s may have at most %d characters, this has %d", what, most, n)
	}
	return nil
}

// hidden reports whether a character is invisible and not needed for emoji or some scripts.
func hidden(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return unicode.Is(unicode.Cf, r) && r != joiner && r != nonJoiner
}

// quote quotes a value, shortened.
func quote(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
