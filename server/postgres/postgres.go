// Package postgres opens the databases of stores on a PostgreSQL server, for several server processes on one or more
// machines. All stores share one pool of connections and one schema, "quarry" unless the address has a search_path.
package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"quarry/server/fault"
	"quarry/server/sqldb"
)

const (
	defaultSchema = "quarry"
	// defaultConnections of a process leave room for several in PostgreSQL's own bound of 100.
	defaultConnections = 10
	minConnections     = 2 // a migration uses one beside that which has its lock
	connectTimeout     = 5 * time.Second
	idleTime           = 5 * time.Minute
	lifetime           = 30 * time.Minute // so that connections follow a name to another server
)

// Pool has the connections to one database. It is safe for concurrent use.
type Pool struct {
	db       *sql.DB
	schema   string
	address  string // without user and password, for messages
	readOnly bool

	counted   atomic.Int64 // requests, by Take
	preparing sync.Mutex
	prepared  bool
}

// Open returns a pool for the address of a database, "postgres://user:password@host/name". It does not connect. The
// address may have libpq's parameters, search_path, and pool_max_conns; what is missing comes from libpq's environment
// variables and files. Without an sslmode, servers on other machines must have a valid certificate for their name. With
// readOnly nothing is written or migrated. Errors do not contain the password.
func Open(address string, readOnly bool) (*Pool, error) {
	config, connections, err := parse(address)
	if err != nil {
		return nil, err
	}
	p := &Pool{schema: config.RuntimeParams["search_path"], address: describe(config), readOnly: readOnly}
	if readOnly {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	p.db = sql.OpenDB(connector{stdlib.GetConnector(*config), p})
	p.db.SetMaxOpenConns(connections)
	p.db.SetMaxIdleConns(connections)
	p.db.SetConnMaxIdleTime(idleTime)
	p.db.SetConnMaxLifetime(lifetime)
	return p, nil
}

// Close closes the connections.
func (p *Pool) Close() error {
	if err := p.db.Close(); err != nil {
		return fmt.Errorf("close the connections to %s: %w", p.address, err)
	}
	return nil
}

// String returns the address without user and password.
func (p *Pool) String() string { return p.address }

// parse returns the settings of an address, and the most connections.
func parse(address string) (config *pgx.ConnConfig, connections int, err error) {
	given, err := url.Parse(address)
	if err != nil { // its text has the address
		return nil, 0, errors.New("directory.url is not a valid address")
	}
	parameters := given.Query()
	connections = defaultConnections
	if text := parameters.Get("pool_max_conns"); text != "" {
		if connections, err = strconv.Atoi(text); err != nil || connections < minConnections {
			return nil, 0, fmt.Errorf("directory.url: pool_max_conns is a number of at least %d", minConnections)
		}
		parameters.Del("pool_max_conns")
	}
	host := cmp.Or(given.Hostname(), parameters.Get("host"))
	if parameters.Get("sslmode") == "" && !isLocal(host) {
		parameters.Set("sslmode", "verify-full")
	}
	given.RawQuery = parameters.Encode()
	if config, err = pgx.ParseConfig(given.String()); err != nil {
		return nil, 0, fmt.Errorf("directory.url: %w", withoutAddress(err))
	}
	for name, value := range map[string]string{
		"application_name": "quarry", "search_path": defaultSchema, "lock_timeout": "10s", "statement_timeout": "60s",
		"idle_in_transaction_session_timeout": "60s",
		// The server notices soon that a machine has gone, and ends its locks and leases.
		"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4",
	} {
		config.RuntimeParams[name] = cmp.Or(config.RuntimeParams[name], value)
	}
	if strings.ContainsAny(config.RuntimeParams["search_path"], `,"$`) {
		return nil, 0, errors.New("directory.url: search_path names one schema")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	return config, connections, nil
}

// withoutAddress returns the reason of a failure to parse an address, which may quote the password.
func withoutAddress(err error) error {
	var failure *pgconn.ParseConfigError
	var quoting *url.Error
	if errors.As(err, &failure) && failure.Unwrap() != nil && !errors.As(err, &quoting) {
		return failure.Unwrap()
	}
	return errors.New("not a valid address")
}

// isLocal reports whether a host is this machine, where traffic needs no encryption.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || ip != nil && ip.IsLoopback()
}

func describe(config *pgx.ConnConfig) string {
	if strings.HasPrefix(config.Host, "/") {
		return config.Database + " on " + config.Host
	}
	return config.Database + " on " + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// DB is a store's database, a sqldb.DB. Its Close does nothing: the connections are the pool's.
type DB struct {
	pool    *Pool
	store   string
	scope   string // "": one for the whole store
	newest  int    // migration that the program knows
	waiting chan struct{}
}

// Store returns the database of a store, and migrates its tables first. Migrations has goose's SQL files at its root.
// Errors: those of sqldb.DB, and fault.ErrOlder if a pool for reading needs a migration.
func (p *Pool) Store(ctx context.Context, store string, migrations fs.FS) (*DB, error) {
	newest, err := p.migrate(ctx, store, migrations)
	if err != nil {
		return nil, err
	}
	return &DB{pool: p, store: store, newest: newest, waiting: make(chan struct{}, 1)}, nil
}

// For returns the database for a part of the store that nothing else changes, such as a tenant's: its Updates wait only
// for each other, and its Version is its own.
func (db *DB) For(scope string) *DB {
	part := *db
	part.scope, part.waiting = scope, make(chan struct{}, 1)
	return &part
}

// Pool implements sqldb.DB.
func (db *DB) Pool() *sql.DB { return db.pool.db }

// ReadOnly implements sqldb.DB.
func (db *DB) ReadOnly() bool { return db.pool.readOnly }

// InMemory implements sqldb.DB.
func (db *DB) InMemory() bool { return false }

// Close implements sqldb.DB.
func (db *DB) Close() error { return nil }

// Version implements sqldb.DB, with one question to the server.
func (db *DB) Version(ctx context.Context) (version sqldb.Version, ok bool) {
	err := db.pool.db.QueryRowContext(ctx, "SELECT changes FROM store_changes WHERE store = ? AND scope = ?",
		db.store, db.scope).
		Scan(&version.Number)
	return version, err == nil || errors.Is(err, sql.ErrNoRows)
}

// connectError explains why there is no connection, and what to do.
func (p *Pool) connectError(err error) error {
	reason, remedy := "", ""
	var (
		answer      *pgconn.PgError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		name        *net.DNSError
		dial        *net.OpError
	)
	switch {
	case errors.As(err, &answer):
		reason, remedy = answer.Message, cmp.Or(remedyOf(answer.Code), "look in the log of PostgreSQL")
	case errors.As(err, &certificate), errors.As(err, &authority):
		reason, remedy = rootOf(err).Error(),
			"use the name in the certificate, or name its authority with sslrootcert in directory.url"
	case errors.As(err, &record), strings.Contains(err.Error(), "server refused TLS connection"):
		reason, remedy = "the server does not use TLS", "enable TLS there, or set sslmode in directory.url"
	case errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err):
		reason, remedy = "no answer in time", "check the host and port of directory.url and the firewall"
	case errors.As(err, &name):
		reason, remedy = "the host "+strconv.Quote(name.Name)+" is unknown", "correct the host of directory.url"
	case errors.As(err, &dial):
		reason, remedy = dial.Err.Error(), "start PostgreSQL, or correct the host and port of directory.url"
	default:
		reason, remedy = rootOf(err).Error(), "check directory.url"
	}
	return &fault.Repairable{Doing: "connect to " + p.address, Reason: reason, Remedy: remedy,
		Causes: []error{fault.ErrUnavailable, err}}
}

// rootOf returns the innermost error, whose text has no settings of the connection.
func rootOf(err error) error {
	for {
		within := errors.Unwrap(err)
		if within == nil {
			return err
		}
		err = within
	}
}

// remedyOf returns what to do about a failure with an SQLSTATE; empty if its administrator can do nothing.
func remedyOf(state string) string {
	switch state {
	case "28P01", "28000":
		return "correct the user and password of directory.url, or pg_hba.conf"
	case "3D000":
		return "create the database, or correct its name in directory.url"
	case "53300":
		return "raise max_connections, or lower pool_max_conns in directory.url"
	case "57P03":
		return "try again when PostgreSQL has started"
	case "42501":
		return "GRANT CREATE ON DATABASE, or create the schema for the user of directory.url"
	case "25006":
		return "use the primary server: directory.url names a read-only replica"
	case "53100":
		return "free space on the disk of PostgreSQL"
	}
	return ""
}

// explain adds what the administrator of the server can do about an error, and its meaning.
func (p *Pool) explain(err error) error {
	var answer *pgconn.PgError
	var explained *fault.Repairable
	if errors.As(err, &answer) && !errors.As(err, &explained) {
		if remedy := remedyOf(answer.Code); remedy != "" {
			err = &fault.Repairable{Doing: "use " + p.address, Reason: answer.Message, Remedy: remedy,
				Causes: []error{err}}
		}
	}
	return sqldb.Explain(err)
}
