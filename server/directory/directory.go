// Package directory stores tenants, users, groups, tokens, connectors, agents and document sets, in one SQLite file or
// in PostgreSQL. It stores no documents.
package directory

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"

	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/postgres"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

//go:embed migrations
var migrations embed.FS

// Directory is an open directory. Its methods may be called from several goroutines, and several processes may have
// the same file or database open.
type Directory struct {
	open   sqldb.Lazy
	counts sqldb.Lazy // of model tokens
	db     sqldb.DB   // what Open opened
	now    func() time.Time
	recent *lru.Cache[cacheKey, versioned]
	noting sync.Map // ids of tokens whose use is being recorded: only one request at a time waits for the writer
}

// Open opens the directory in the file at path, which it creates or migrates if necessary; without a path it is in
// memory. Read-only, the file must exist and is not changed. Tokens expire by now. Errors are those of sqlite.Open.
func Open(ctx context.Context, path string, readOnly bool, now func() time.Time) (*Directory, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: readOnly,
		Migrations: sqldb.Migrations(migrations, "migrations/sqlite")})
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	return opened(db, now), nil
}

// OpenServer opens the directory on a PostgreSQL server, where it creates or migrates its tables if necessary. Errors
// are those of postgres.Pool.Store.
func OpenServer(ctx context.Context, pool *postgres.Pool, now func() time.Time) (*Directory, error) {
	db, err := pool.Store(ctx, "directory", sqldb.Migrations(migrations, "migrations/postgres"))
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	d := opened(db, now)
	d.counts = sqldb.Opened(db.For("model tokens")) // counting changes nothing that is cached
	return d, nil
}

func opened(db sqldb.DB, now func() time.Time) *Directory {
	d := newDirectory(sqldb.Opened(db), now)
	d.db = db
	return d
}

// Lazy returns a directory that is opened when it is used: find opens it, or returns the open one. If there is none,
// find creates one with create, which is set for changes, and otherwise returns an empty read-only one.
func Lazy(find func(ctx context.Context, create bool) (*Directory, error), now func() time.Time) *Directory {
	open := func(of func(*Directory) sqldb.Lazy) sqldb.Lazy {
		return func(ctx context.Context, create bool) (sqldb.DB, error) {
			found, err := find(ctx, create)
			if err != nil {
				return nil, err
			}
			return of(found)(ctx, create)
		}
	}
	d := newDirectory(open(func(d *Directory) sqldb.Lazy { return d.open }), now)
	d.counts = open(func(d *Directory) sqldb.Lazy { return d.counts })
	return d
}

func newDirectory(open sqldb.Lazy, now func() time.Time) *Directory {
	recent, _ := lru.New[cacheKey, versioned](maxCached) // a positive size is no error
	return &Directory{open: open, counts: open, now: now, recent: recent}
}

// IsAbsent reports whether the directory is an empty stand-in for one that does not exist.
func (v View) IsAbsent() (bool, error) {
	db, err := v.open(v.ctx, false)
	return err == nil && db.InMemory() && db.ReadOnly(), err
}

// Close releases the file. On a server it does nothing.
func (d *Directory) Close() error {
	if err := d.db.Close(); err != nil {
		return fmt.Errorf("close the directory: %w", err)
	}
	return nil
}

// View is the directory as somebody uses it, in their tenant, until ctx ends.
type View struct {
	*Directory
	Principal
	ctx context.Context
}

// For returns the directory as somebody uses it until ctx ends.
func (d *Directory) For(ctx context.Context, who Principal) View { return View{d, who, ctx} }

// In returns a tenant of the directory until ctx ends, as nobody in particular uses it.
func (d *Directory) In(ctx context.Context, tenant string) View {
	return d.For(ctx, Principal{Tenant: tenant})
}

// tenantTx is a transaction of a tenant.
type tenantTx struct {
	*sqldb.Tx
	tenant string
}

// update changes the tenant, unless the change is wrong.
func (v View) update(doing string, wrong error, do func(tenantTx)) error {
	if wrong != nil {
		return wrong
	}
	return v.open.Update(v.ctx, doing, func(tx *sqldb.Tx) { do(tenantTx{tx, v.Tenant}) })
}

func (v View) exec(doing string, otherwise error, query string, args ...any) error {
	return v.open.Exec(v.ctx, doing, otherwise, query, args...)
}

// checkText returns an error for text that is empty, too long or not printable.
func checkText(what, value string, most int) error {
	switch n := utf8.RuneCountInString(value); {
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return refuse("%s may not contain control characters", what)
	case strings.TrimFunc(value, func(r rune) bool { return unicode.IsSpace(r) || invisible(r) }) == "":
		return refuse("%s may not be empty", what)
	case strings.ContainsFunc(value, hidden):
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
func quote(value string) string {
	const longest = 60
	return strconv.Quote(text.Shorten(value, longest))
}

// Errors of the directory.
var (
	// ErrUnauthenticated: the token is missing, malformed, unknown, expired or revoked, or its user is inactive. It
	// does not say which.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrNotFound: the thing does not exist, or the caller may not see it. It does not say which.
	ErrNotFound = errors.New("not found")
)

// InputError is an invalid value. Reason is a message for the user.
type InputError struct{ Reason string }

// Error returns the reason.
func (e InputError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return InputError{Reason: fmt.Sprintf(format, args...)}
}

// ExistsError is a name that is in use already. Reason is a message for the user.
type ExistsError struct{ Reason string }

// Error returns the reason.
func (e ExistsError) Error() string { return e.Reason }

func exists(what Kind, name string) error {
	return ExistsError{Reason: fmt.Sprintf("the %s %s exists already", what, quote(name))}
}

// Kind is a kind of thing in a directory.
type Kind string

// The kinds.
const (
	KindUser        Kind = "user"
	KindGroup       Kind = "user group"
	KindConnector   Kind = "connector"
	KindCredential  Kind = "credential"
	KindCCPair      Kind = "connector-credential pair"
	KindDocumentSet Kind = "document set"
	KindAgent       Kind = "agent"
	KindTenant      Kind = "tenant"
	KindToken       Kind = "token"
)

// MissingError is an ErrNotFound that names the missing thing.
type MissingError struct {
	Kind  Kind
	Named string // its id, or its name in quotes
}

// Error returns what is missing.
func (e MissingError) Error() string { return fmt.Sprintf("there is no %s %s", e.Kind, e.Named) }

// Unwrap returns ErrNotFound.
func (e MissingError) Unwrap() error { return ErrNotFound }

func noTenant(tenant string) error { return fmt.Errorf("tenant %s: %w", quote(tenant), ErrNotFound) }

func missing(kind Kind, id any) error { return MissingError{Kind: kind, Named: fmt.Sprint(id)} }

// The maximum number of things of a user. Administrators may have adminFactor times as many.
const (
	MostAgents  = 100
	MostTokens  = 100
	adminFactor = 10
)

// refuseMore fails if a user already has the maximum number of things of a kind. The query counts them by
// user id. Things without an owner are not bounded.
func (tx tenantTx) refuseMore(kind Kind, userID string, most int, query string) {
	role, has := Role(""), 0
	tx.Get([]any{&role}, "SELECT role FROM users WHERE id = ?", userID)
	tx.Get([]any{&has}, query, userID)
	if role == RoleAdmin {
		most *= adminFactor
	}
	if role != "" && has >= most {
		guard.Abort(refuse("a user may have at most %d %ss; remove one first", most, kind))
	}
}

// maxCached bounds the cache of a directory.
const maxCached = 1_000

// versioned is a value that was read at a version of the directory. A change by any process changes the version, so
// that older values are never returned again.
type versioned struct {
	at    sqldb.Version
	value any
}

// cacheKey is the key of a cached value.
type cacheKey struct {
	what, tenant string
	who          string // a user's id or address, or the digest of a token
	admin        bool
}

// cached returns the cached value of a key, or reads it. Callers share the value and must not change it.
func cached[T any](ctx context.Context, d *Directory, key cacheKey, read func() (T, error)) (T, error) {
	db, err := d.open(ctx, false)
	if err != nil {
		return *new(T), err
	}
	at, ok := db.Version(ctx)
	if !ok {
		return read()
	}
	if known, ok := d.recent.Get(key); ok && known.at == at {
		return known.value.(T), nil
	}
	value, err := read()
	if err == nil {
		d.recent.Add(key, versioned{at, value})
	}
	return value, err
}

// cachedFor is cached for what somebody sees. The owner in process asks only once: caching would cost a connection.
func cachedFor[T any](v View, what string, read func() (T, error)) (T, error) {
	if v.Owner {
		return read()
	}
	return cached(v.ctx, v.Directory, cacheKey{what, v.Tenant, v.UserID, v.Admin}, read)
}

// clone returns a principal whose lists are its own.
func (p Principal) clone() Principal {
	p.Permissions, p.Groups = slices.Clone(p.Permissions), slices.Clone(p.Groups)
	p.ExternalGroups = slices.Clone(p.ExternalGroups)
	return p
}

// skeleton is the skeleton of a name by Unicode's UTS 39, in which look-alike letters are the same, regardless of case.
// It is taken after folding case, and before: by the first "Info" looks like "info", by the second like "lnfo".
type skeleton [2]string

func skeletonOf(name string) skeleton {
	visible := strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(name))
	visible = strings.Join(strings.Fields(visible), " ")
	return skeleton{confusable.Skeleton(fold(visible)), fold(confusable.Skeleton(visible))}
}

// looksLike reports whether two names can be confused.
func (s skeleton) looksLike(other skeleton) bool { return s[0] == other[0] || s[1] == other[1] }

// fold folds case. Some letters are the same only in upper case.
func fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// invisible reports whether a character is not visible by itself.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// refuseLookalike fails with an ExistsError if a name looks like one of the names that a query returns.
func (tx tenantTx) refuseLookalike(kind Kind, name, query string, args ...any) {
	wanted := skeletonOf(name)
	for _, known := range sqldb.ColumnOf[string](tx.Source, query, args...) {
		if known == name {
			guard.Abort(exists(kind, name))
		}
		if wanted.looksLike(skeletonOf(known)) {
			guard.Abort(ExistsError{Reason: fmt.Sprintf("%s looks like the %s %s that exists already", quote(name),
				kind, quote(known))})
		}
	}
}

// shownNames returns the shown names of agents whose names look like another one, by id. Only the first agent keeps its
// name: those of administrators come first, then the oldest.
func (v View) shownNames() (map[int]string, error) {
	return cachedFor(v, "names", func() (map[int]string, error) {
		shown, seen := map[int]string{}, [2]map[string]bool{{}, {}}
		show := func(id int, name string) {
			look := skeletonOf(name)
			if seen[0][look[0]] || seen[1][look[1]] {
				shown[id] = fmt.Sprintf("%s (agent %d)", name, id)
				return
			}
			seen[0][look[0]], seen[1][look[1]] = true, true
		}
		show(0, DefaultAgent().Name)
		agents, err := sqldb.List(v.ctx, v.open, "read the names of agents", func(a *Agent) []any {
			return []any{&a.ID, &a.Name}
		}, "SELECT a.id, a.name "+fromVisibleAgents()+" ORDER BY coalesce(u.role = ?4, FALSE) DESC, a.id",
			v.Tenant, v.Admin, v.UserID, string(RoleAdmin))
		for _, a := range agents {
			show(a.ID, a.Name)
		}
		return shown, err
	})
}
