package documents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/postgres"
	"quarry/server/sqldb"
	"quarry/server/sqlite"

	"golang.org/x/sync/semaphore"
)

//go:embed migrations
var migrationFiles embed.FS

// migrations returns those of a database in SQLite: its own, and those that all of them have.
func migrations(of string) fs.FS {
	return sqldb.Migrations(migrationFiles, "migrations/"+of, "migrations/sqlite")
}

// LibraryMigrations returns the migrations of the database of a library.
func LibraryMigrations() fs.FS { return migrations("library") }

// databaseName is the file of a store on one machine.
const databaseName = "documents.db"

// Options are where a store is and how to open it.
type Options struct {
	Dir      string // the folder of the database
	Database string // the address of a PostgreSQL database that is used instead
	Tenant   string // whose documents these are in Database
	ReadOnly bool   // opens an existing store that is not changed
	// Snapshots that may be open at once; 0: any number, and of a PostgreSQL database schemaSnapshots.
	Snapshots int
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: nothing is logged
}

// Store is an open store. Any number of processes may have it open.
type Store struct {
	Tables
	pool      *postgres.Pool      // of the database; nil: a file
	snapshots *semaphore.Weighted // that may be open
}

// Open opens or creates a store. Errors: those of sqlite.Open or postgres.Pool.Store.
func Open(ctx context.Context, options Options) (_ *Store, err error) {
	defer guard.EndWhile("open the documents", &err)
	s := &Store{Tables: NewTables(options.Log, options.Now)}
	s.PackWithDictionaries()
	open := s.openFile
	if options.Database != "" {
		open, options.Snapshots = s.openServer, cmp.Or(options.Snapshots, schemaSnapshots)
	}
	s.snapshots = semaphore.NewWeighted(int64(cmp.Or(options.Snapshots, math.MaxInt)))
	guard.Check(open(ctx, options))
	s.Engine = s.apply
	if err := guard.Ended(func() { s.opened = ReadState(s.Newest(ctx)).Store }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) openFile(ctx context.Context, options Options) error {
	db, err := sqlite.Open(ctx,
		sqlite.Options{Path: filepath.Join(options.Dir, databaseName), ReadOnly: options.ReadOnly,
			Migrations: migrations("store"), PageSize: 16 << 10})
	if err == nil {
		s.DB = db
	}
	return err
}

// openServer opens the documents of a tenant on a server, where each tenant has a schema.
func (s *Store) openServer(ctx context.Context, options Options) (err error) {
	if s.pool, err = openSchema(options.Database, options.Tenant, options.ReadOnly); err != nil {
		return err
	}
	db, err := s.pool.Store(ctx, "documents", sqldb.Migrations(migrationFiles, "migrations/postgres"))
	if err != nil {
		return errors.Join(err, s.pool.Close())
	}
	s.DB, s.Isolation = db, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return nil
}

const (
	// longestSchema is the length to which PostgreSQL cuts names.
	longestSchema = 63
	// schemaConnections of each tenant leave room for many tenants in PostgreSQL's own bound of 100. Snapshots have one
	// each: more wait, so that a snapshot's reader, who needs another for the log, gets it.
	schemaConnections = 10
	schemaSnapshots   = 7
)

// openSchema returns the connections to the schema of a tenant's documents.
func openSchema(address, tenant string, readOnly bool) (*postgres.Pool, error) {
	within, err := inSchema(address, tenant)
	if err != nil {
		return nil, err
	}
	return postgres.Open(within, readOnly)
}

// inSchema returns the address of a database with the schema of a tenant.
func inSchema(address, tenant string) (string, error) {
	given, err := url.Parse(address)
	if err != nil { // its text has the address
		return "", errors.New("directory.url is not a valid address")
	}
	if !regexp.MustCompile(`^[a-z0-9]{1,16}$`).MatchString(tenant) {
		tenant = fmt.Sprintf("%.12x", sha256.Sum256([]byte(tenant)))
	}
	parameters := given.Query()
	schema := cmp.Or(parameters.Get("search_path"), "quarry") + "_documents_" + tenant
	if len(schema) > longestSchema {
		return "", errors.New("directory.url: the search_path is too long")
	}
	parameters.Set("search_path", schema)
	parameters.Set("pool_max_conns", strconv.Itoa(schemaConnections))
	given.RawQuery = parameters.Encode()
	return given.String(), nil
}

// Drop removes the documents of a tenant from a PostgreSQL database.
func Drop(ctx context.Context, database, tenant string) (err error) {
	defer guard.EndWhile("remove the documents", &err)
	pool := guard.Must(openSchema(database, tenant, false))
	return errors.Join(pool.Drop(ctx), pool.Close())
}

// Stat describes the file of a store in a folder; nil if there is none.
func Stat(dir string) (fs.FileInfo, error) { return sqlite.Stat(filepath.Join(dir, databaseName)) }

// Close closes the database.
func (s *Store) Close() error {
	err := s.DB.Close()
	if s.pool != nil {
		err = errors.Join(err, s.pool.Close())
	}
	return err
}

// MayBeReplaced lets other documents take the place of those that were opened: who follows the store begins again.
func (s *Store) MayBeReplaced() { s.opened = "" }

// Replaced reports whether the store was removed, or another one took its place.
func (s *Store) Replaced(ctx context.Context) (bool, error) {
	_, err := s.State(ctx)
	if errors.Is(err, fault.ErrReplaced) {
		return true, nil
	}
	return false, err
}

// Check reads documents and compares them with their checksums. Write stores damaged ones again even if they did not
// change.
func (s *Store) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) (
	found []index.Damage, err error) {
	defer guard.EndWhile("check the documents", &err)
	note := func(damage index.Damage) { found = append(found, damage) }
	if options.Documents != nil {
		s.ExamineNamed(ctx, options.Documents, note)
		return found, nil
	}
	s.ExamineDictionaries(ctx, options.Repair && !s.ReadOnly(), note)
	first, end := s.Reader(s.Newest(ctx)).RowNumbers()
	s.ExamineRows(ctx, first, end, note, func(error) bool { return false }, report)
	return found, nil
}
