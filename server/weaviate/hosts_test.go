package weaviate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"quarry/server/index"
)

// certificate makes a certificate for a name or an address, and the file that names it as an authority.
func certificate(t *testing.T, host string, until time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// startTLS serves the faults with certificates.
func (f *faulty) startTLS(t *testing.T, rest, rpc tls.Certificate) Cluster {
	t.Helper()
	f.calls, f.documents = map[string]int{}, map[string]bool{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{rpc}, MinVersion: tls.VersionTLS12})))
	pb.RegisterWeaviateServer(server, f)
	go func() { _ = server.Serve(listener) }()
	web := httptest.NewUnstartedServer(f)
	web.TLS = &tls.Config{Certificates: []tls.Certificate{rest}, MinVersion: tls.VersionTLS12}
	web.StartTLS()
	t.Cleanup(func() { server.Stop(); web.Close() })
	return Cluster{Hosts: []string{web.Listener.Addr().String()}, GRPC: listener.Addr().(*net.TCPAddr).Port, TLS: true, Replication: 1}
}

// TestTLS: certificates and names are verified, and an error says what to do.
func TestTLS(t *testing.T) {
	soon := time.Now().Add(time.Hour)
	right, authority := certificate(t, "127.0.0.1", soon)
	named, other := certificate(t, "w1.example.com", soon)
	old, expired := certificate(t, "127.0.0.1", time.Now().Add(-time.Hour))
	for name, c := range map[string]struct {
		with   tls.Certificate
		change func(*Cluster)
		want   string // empty: it works
	}{
		"trusted":       {right, func(c *Cluster) { c.CA = authority }, ""},
		"system's":      {right, func(*Cluster) {}, "index.weaviate.ca"},
		"another's":     {right, func(c *Cluster) { c.CA = other }, "index.weaviate.ca"},
		"another name":  {named, func(c *Cluster) { c.CA = other }, "use a host name of the certificate"},
		"expired":       {old, func(c *Cluster) { c.CA = expired }, "renew the certificate"},
		"without TLS":   {right, func(c *Cluster) { c.TLS = false }, "use weaviates://"},
		"no such file":  {right, func(c *Cluster) { c.CA = "/nowhere.pem" }, "no such file"},
		"no PEM there":  {right, func(c *Cluster) { c.CA = os.Args[0] }, "has none"},
		"plain servers": {right, func(c *Cluster) { *c = (&faulty{}).start(t); c.TLS = true }, "use weaviate:// in"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := (&faulty{}).startTLS(t, c.with, c.with)
			c.change(&cluster)
			x, err := openAt(t, cluster)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			put(t, x, document("a", "PUBLIC"))
			if got, err := search(t, x, index.Access{All: true}); err != nil || !slices.Equal(got, []string{"a"}) {
				t.Errorf("found %q, %v", got, err)
			}
		})
	}
	cluster := (&faulty{}).startTLS(t, right, named) // gRPC is verified, too
	cluster.CA = authority
	x, err := openAt(t, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := search(t, x, index.Access{All: true}); err == nil || !strings.Contains(err.Error(), "x509: ") {
		t.Errorf("found %q, %v", got, err)
	}
}

// TestWrongKey: the key is sent, and an error says which setting it is.
func TestWrongKey(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer wrong-one" {
			t.Errorf("the key is %q", r.Header.Get("Authorization"))
		}
		http.Error(w, `{"error":[{"message":"unauthorized: invalid api key"}]}`, http.StatusUnauthorized)
	}))
	defer web.Close()
	_, err := openAt(t, Cluster{Hosts: []string{web.Listener.Addr().String()}, GRPC: 1, Key: "wrong-one", Replication: 1})
	if err == nil || !strings.Contains(err.Error(), "set index.weaviate.key") || strings.Contains(err.Error(), "wrong-one") {
		t.Error(err)
	}
}

// TestHosts: a host that is dead, hangs or refuses is passed over; all dead is an error with the reason, until one is back.
func TestHosts(t *testing.T) {
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer refusing.Close()
	f := &faulty{}
	live := f.start(t)
	const dead = "127.0.0.1:1"
	for _, first := range []string{dead, refusing.Listener.Addr().String(), hanging.Addr().String()} {
		c := live
		c.Hosts = append([]string{first}, live.Hosts...)
		x, err := openAt(t, c)
		if err != nil {
			t.Fatal(err)
		}
		put(t, x, document("a", "PUBLIC"))
		if got, err := search(t, x, index.Access{All: true}); err != nil || !slices.Equal(got, []string{"a"}) {
			t.Errorf("found %q, %v", got, err)
		}
		if got := x.Problem(t.Context()); !strings.Contains(got, first+": ") || strings.Contains(got, live.Hosts[0]) {
			t.Errorf("problem %q", got)
		}
	}
	c := live
	c.Hosts = []string{dead}
	x, err := openAt(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("b", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	if got, err := search(t, x, index.Access{All: true}); err == nil || !strings.Contains(err.Error(), "connection refused; start Weaviate") {
		t.Errorf("found %q, %v", got, err)
	}
}
