// Package postgrestest gives tests databases on a PostgreSQL server, which QUARRY_POSTGRES names.
package postgrestest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"quarry/server/postgres"
)

// Key is the variable of the environment with the address of a database, whose user may create schemas.
const Key = "QUARRY_POSTGRES"

// Address returns the address of a schema that is removed with the test. The same place, such as a file in a folder of the
// test, has the same schema. Without a server it skips the test.
func Address(t testing.TB, place string) string {
	t.Helper()
	server := os.Getenv(Key)
	if server == "" {
		t.Skipf("not tested with PostgreSQL: %s names no database (make test-scale starts one)", Key)
	}
	digest := sha256.Sum256([]byte(place))
	schema := "quarry_test_" + hex.EncodeToString(digest[:8])
	t.Cleanup(func() {
		db := Connect(t, server)
		defer func() { _ = db.Close() }()
		if _, err := db.Exec("DROP SCHEMA IF EXISTS " + schema + " CASCADE"); err != nil {
			t.Errorf("remove the schema of the test: %v", err)
		}
	})
	address, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not an address", Key)
	}
	parameters := address.Query()
	parameters.Set("search_path", schema)
	address.RawQuery = parameters.Encode()
	return address.String()
}

// Open opens a pool for Address, which is closed with the test.
func Open(t testing.TB, place string, readOnly bool) *postgres.Pool {
	t.Helper()
	pool, err := postgres.Open(Address(t, place), readOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// Connect connects to an address without the product's own layer.
func Connect(t testing.TB, address string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatalf("%s is not an address", Key)
	}
	db := stdlib.OpenDB(*config)
	if err := db.PingContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	return db
}
