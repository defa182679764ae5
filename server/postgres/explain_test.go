package postgres

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"quarry/server/fault"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

func TestMeaningOfAnswers(t *testing.T) {
	p := &Pool{address: "quarry on db:5432"}
	for code, want := range map[string]struct {
		meaning error
		remedy  string
	}{
		"25006": {fault.ErrReadOnly, "use the primary server"}, "53100": {fault.ErrDiskFull, "free space"},
		"53300": {fault.ErrUnavailable, "lower pool_max_conns"}, "28P01": {fault.ErrUnavailable, "correct the user and password"},
		"57P03": {fault.ErrUnavailable, "when PostgreSQL has started"}, "42501": {fault.ErrReadOnly, "GRANT CREATE"},
		"3D000": {fault.ErrUnavailable, "create the database"}, "55P03": {fault.ErrBusy, ""}, "40P01": {fault.ErrBusy, ""},
		"42P01": {fault.ErrDamaged, ""}, "XX001": {fault.ErrDamaged, ""}, "57P01": {fault.ErrUnavailable, ""},
	} {
		err := p.explain(fmt.Errorf("write: %w", &pgconn.PgError{Code: code, Message: "because"}))
		if !errors.Is(err, want.meaning) || !strings.Contains(err.Error(), want.remedy) || !strings.Contains(err.Error(), "because") {
			t.Errorf("%s: %v", code, err)
		}
	}
	if err := p.explain(&pgconn.PgError{Code: "23505"}); errors.Is(err, fault.ErrUnavailable) || p.explain(nil) != nil {
		t.Errorf("a violated constraint: %v", err)
	}
}

// TestServersElsewhereAreVerified: without an sslmode the certificate and the name of a server on another machine count.
func TestServersElsewhereAreVerified(t *testing.T) {
	for address, verified := range map[string]bool{
		"postgres://u@db.example.com/q": true, "postgres://u@192.0.2.1/q": true, "postgres://u@db.example.com/q?sslmode=verify-full": true,
		"postgres://u@db.example.com/q?sslmode=require": false, "postgres://u@db.example.com/q?sslmode=disable": false,
		"postgres://u@127.0.0.1/q": false, "postgres://u@localhost/q": false, "postgres:///q?host=/run/postgresql": false,
	} {
		config, _, err := parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.TLSConfig != nil && !config.TLSConfig.InsecureSkipVerify && len(config.Fallbacks) == 0; got != verified {
			t.Errorf("%s: verified %t", address, got)
		}
	}
}

// impostor is a server with a certificate that nobody trusts, or for another name.
func impostor(t *testing.T, certificate tls.Certificate) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				request := make([]byte, 8) // for TLS
				if _, err := io.ReadFull(conn, request); err != nil {
					return
				}
				if _, err := conn.Write([]byte("S")); err != nil {
					return
				}
				_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}}).Handshake()
			}()
		}
	}()
	return listener.Addr().String()
}

func TestCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "db"}, DNSNames: []string{"db.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	address := impostor(t, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	for parameters, want := range map[string]string{
		"sslmode=verify-full":                          "certificate",
		"sslmode=verify-full&sslrootcert=" + authority: "127.0.0.1",
		"sslmode=verify-ca":                            "certificate",
	} {
		pool, err := Open("postgres://u:S3cret-Pa55@"+address+"/q?"+parameters, false)
		if err != nil {
			t.Fatal(err)
		}
		err = pool.db.PingContext(context.Background())
		if !errors.Is(err, fault.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), want) || !strings.Contains(fmt.Sprint(err), "sslrootcert") {
			t.Errorf("%s: %v", parameters, err)
		}
		_ = pool.Close()
	}
}

// lostCommit is a database whose transactions are not committed.
type lostCommit struct{ sqldb.DB }

func (lostCommit) Update(_ context.Context, change func(*sql.Tx) error) error {
	return errors.Join(change(nil), fault.ErrUnavailable)
}

// TestLostCopy: rows whose copy is not committed are not counted.
func TestLostCopy(t *testing.T) {
	from, err := sqlite.Open(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to := Copied{Name: "names", DB: lostCommit{}, Fill: func(context.Context, *sql.Tx, *sql.Tx) int { return 7 }}
	rows, err := to.Replace(t.Context(), Copied{DB: from})
	if rows != 0 || !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("copied %d rows, %v", rows, err)
	}
}
