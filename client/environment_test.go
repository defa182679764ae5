package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// childAddress names the variable that turns the test program into one that makes a call: proxies and certificates are
// read from the environment once per process.
const childAddress = "QUARRY_TEST_CALL"

// childOutcome is what such a program prints.
type childOutcome struct {
	Email, Kind, Reason, Remedy string
	Results                     int
}

func TestMain(m *testing.M) {
	if address := os.Getenv(childAddress); address != "" {
		_ = json.NewEncoder(os.Stdout).Encode(callOnce(address))
		return
	}
	os.Exit(m.Run())
}

func callOnce(address string) (outcome childOutcome) {
	c, err := New(Options{BaseURL: address, Token: fixedToken})
	if err != nil {
		return childOutcome{Reason: err.Error()}
	}
	failed := func(err error) childOutcome {
		e, _ := err.(*Error)
		if e == nil {
			return childOutcome{Reason: err.Error()}
		}
		return childOutcome{Kind: e.Kind.String(), Reason: e.Reason, Remedy: e.Remedy()}
	}
	ctx := WithTimeout(context.Background(), 5*time.Minute)
	me, err := c.Me(ctx)
	if err != nil {
		return failed(err)
	}
	found, err := c.Search(ctx, searchFor("x"))
	if err != nil {
		return failed(err)
	}
	return childOutcome{Email: me.Email, Results: len(found.Results)}
}

// runChild makes the calls in a process of its own, with no proxies or certificates but those given.
func runChild(t *testing.T, address string, environment []string) (outcome childOutcome) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program)
	child.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(setting), "=")
		return strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "SSL_CERT_") || name == "QUARRY_CA_BUNDLE" ||
			name == "REQUEST_METHOD"
	})
	child.Env = append(append(child.Env, childAddress+"="+address, "GORACE=atexit_sleep_ms=0"), environment...)
	child.Stderr = t.Output()
	printed, err := child.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(printed, &outcome); err != nil {
		t.Fatalf("%v: %q", err, printed)
	}
	return outcome
}

// authority is a certificate authority of a company.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string // its certificate, as PEM
}

func newAuthority(t *testing.T, dir string) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Acme " + filepath.Base(dir)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, raw := signed(t, template, nil)
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key, file}
}

// signed makes a certificate; without an authority it signs itself.
func signed(t *testing.T, template *x509.Certificate, by *authority) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return key, raw
}

// Requests to 127.0.0.1 and localhost are never proxied, those to 0.0.0.0 are, and without a proxy they stay here.
const unproxiedHost = "0.0.0.0"

// companyServer is an Onyx whose certificate a company's own authority signed. It gives its port.
func companyServer(t *testing.T, by authority) (port string, handler http.Handler) {
	t.Helper()
	key, raw := signed(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"onyx.acme.example"}, IPAddresses: []net.IP{net.ParseIP(unproxiedHost)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &by)
	handler = routes{"GET /me": string(fixture(t, "onyx/me.json")), "POST /search": string(fixture(t, "onyx/search.json"))}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return portOf(t, server.URL), handler
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Port()
}

func (o childOutcome) succeeded() bool { return o.Email == "jo@acme.example" && o.Results > 0 }

func TestProxiesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	company := newAuthority(t, t.TempDir())
	port, plain := companyServer(t, company)
	named, here := "https://onyx.acme.example", "https://"+unproxiedHost+":"+port
	tests := []struct {
		name, address string
		environment   []string // PROXY stands for the proxy's address
		asked         string   // of the proxy, first; empty: nothing
	}{
		{"HTTPS_PROXY", named, []string{"HTTPS_PROXY=PROXY"}, "CONNECT onyx.acme.example:443"},
		{"small letters", named, []string{"https_proxy=PROXY"}, "CONNECT onyx.acme.example:443"},
		{"without a scheme", named, []string{"HTTPS_PROXY=BARE"}, "CONNECT onyx.acme.example:443"},
		{"address", here, []string{"HTTPS_PROXY=PROXY"}, "CONNECT " + unproxiedHost + ":" + port},
		{"NO_PROXY of others", here, []string{"HTTPS_PROXY=PROXY", "NO_PROXY=git.acme.example,10.0.0.0/8"},
			"CONNECT " + unproxiedHost + ":" + port},
		{"NO_PROXY", here, []string{"HTTPS_PROXY=PROXY", "NO_PROXY=git.acme.example," + unproxiedHost}, ""},
		{"no_proxy of a network", here, []string{"HTTPS_PROXY=PROXY", "no_proxy=0.0.0.0/8"}, ""},
		{"NO_PROXY of all", here, []string{"HTTPS_PROXY=PROXY", "NO_PROXY=*"}, ""},
		{"HTTP_PROXY alone", here, []string{"HTTP_PROXY=PROXY"}, ""},
		{"no settings", here, nil, ""},
		{"HTTP_PROXY and plain HTTP", "http://onyx.acme.example", []string{"HTTP_PROXY=PROXY"},
			"GET http://onyx.acme.example/me"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			proxy := &connectProxy{server: "127.0.0.1:" + port, plain: plain}
			server := httptest.NewServer(proxy)
			defer server.Close()
			bare := strings.TrimPrefix(server.URL, "http://")
			environment := []string{"QUARRY_CA_BUNDLE=" + company.file}
			for _, setting := range test.environment {
				setting = strings.ReplaceAll(setting, "=PROXY", "=http://jo:pass%20word@"+bare)
				environment = append(environment, strings.ReplaceAll(setting, "=BARE", "="+bare))
			}
			if outcome := runChild(t, test.address, environment); !outcome.succeeded() {
				t.Errorf("%+v", outcome)
			}
			asked, logins := proxy.seen()
			switch {
			case test.asked == "" && len(asked) > 0:
				t.Errorf("the proxy was asked %q", asked)
			case test.asked != "" && (len(asked) == 0 || asked[0] != test.asked):
				t.Errorf("the proxy was asked %q, want %q", asked, test.asked)
			case len(logins) > 0 && test.name != "without a scheme" && logins[0] != "Basic am86cGFzcyB3b3Jk":
				t.Errorf("the proxy was given %q", logins)
			}
		})
	}
}

func TestProxyOfTheEnvironmentFails(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(&connectProxy{
		refuse: answering(http.StatusForbidden, "application/json", fixture(t, "onyx/error-403-proxy.json")),
	})
	defer refusing.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for proxy, want := range map[string]string{
		refusing.URL: "The sandbox may not reach this destination.",
		gone.URL:     "cannot connect to the proxy",
	} {
		outcome := runChild(t, "https://onyx.acme.example", []string{"HTTPS_PROXY=" + proxy})
		if outcome.Kind != Unreachable.String() || !strings.Contains(outcome.Reason, want) ||
			!strings.Contains(outcome.Remedy, "NO_PROXY") {
			t.Errorf("%+v", outcome)
		}
	}
}

func TestCertificatesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	companyDir, otherDir := t.TempDir(), t.TempDir()
	company, other := newAuthority(t, companyDir), newAuthority(t, otherDir)
	port, _ := companyServer(t, company)
	const unknown = "an unknown authority"
	tests := []struct {
		name        string
		environment []string
		reason      string // of the failure; empty: none
	}{
		{"none", nil, unknown},
		{"QUARRY_CA_BUNDLE", []string{"QUARRY_CA_BUNDLE=" + company.file}, ""},
		{"SSL_CERT_FILE", []string{"SSL_CERT_FILE=" + company.file}, ""},
		{"SSL_CERT_DIR", []string{"SSL_CERT_DIR=" + otherDir + string(os.PathListSeparator) + companyDir}, ""},
		{"both, found in the file", []string{"QUARRY_CA_BUNDLE=" + other.file, "SSL_CERT_FILE=" + company.file}, ""},
		{"both, found in the bundle", []string{"QUARRY_CA_BUNDLE=" + company.file, "SSL_CERT_FILE=" + other.file}, ""},
		{"another authority's", []string{"QUARRY_CA_BUNDLE=" + other.file, "SSL_CERT_FILE=" + other.file}, unknown},
		{"missing bundle", []string{"QUARRY_CA_BUNDLE=" + filepath.Join(otherDir, "none")}, "QUARRY_CA_BUNDLE"},
		{"missing file", []string{"SSL_CERT_FILE=" + filepath.Join(otherDir, "none")}, unknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			outcome := runChild(t, "https://"+unproxiedHost+":"+port, test.environment)
			if test.reason == "" && !outcome.succeeded() || !strings.Contains(outcome.Reason, test.reason) {
				t.Errorf("%+v", outcome)
			}
		})
	}
}
