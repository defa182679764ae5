package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	dialTimeout    = 10 * time.Second
	maxHeaderBytes = 1 << 20
	maxBundleBytes = 16 << 20
)

// NewTransport carries requests to servers: it honours the environment's proxies, and its certificates (see Roots) on
// every system. How long an answer may take is left to the deadline of each call. The error is that of Roots.
func NewTransport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	transport.TLSHandshakeTimeout = dialTimeout
	transport.MaxResponseHeaderBytes = maxHeaderBytes
	transport.MaxIdleConnsPerHost = 8
	transport.OnProxyConnectResponse = onProxyAnswer
	roots, err := Roots()
	if err != nil {
		return nil, err
	}
	if roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return transport, nil
}

// Roots are the authorities whose certificates are trusted, those of QUARRY_CA_BUNDLE among them; nil means the
// system's alone. It fails where QUARRY_CA_BUNDLE names no certificates.
func Roots() (*x509.CertPool, error) { return environmentRoots(os.Getenv, runtime.GOOS) }

// environmentRoots adds the certificates that the environment names to the system's; nil means the system's alone.
// Where Go reads SSL_CERT_FILE and SSL_CERT_DIR itself, they are left to it.
func environmentRoots(getenv func(string) string, system string) (*x509.CertPool, error) {
	var optional []string
	if system == "darwin" || system == "windows" || system == "ios" {
		if file := getenv("SSL_CERT_FILE"); file != "" {
			optional = append(optional, file)
		}
		for _, dir := range filepath.SplitList(getenv("SSL_CERT_DIR")) {
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			optional = append(optional, files...)
		}
	}
	bundle := getenv("QUARRY_CA_BUNDLE")
	if bundle == "" && len(optional) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, file := range optional {
		if pem, err := readBundle(file); err == nil {
			roots.AppendCertsFromPEM(pem)
		}
	}
	if bundle != "" {
		pem, err := readBundle(bundle)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of QUARRY_CA_BUNDLE: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("QUARRY_CA_BUNDLE: %s holds no certificate in PEM form", clip(bundle))
		}
	}
	return roots, nil
}

func readBundle(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxBundleBytes))
}

// redirectError is a redirect that was not followed.
type redirectError struct {
	why    string
	target *url.URL
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirects to %s, which is not followed: %s", clip(bare(e.target)), e.why)
}

// remedy suggests the server URL that would have led to the target at once.
func (e *redirectError) remedy(route string) string {
	server := *e.target
	server.User, server.RawQuery, server.Fragment, server.RawPath = nil, "", "", ""
	path, found := strings.CutSuffix(strings.TrimRight(server.Path, "/"), strings.TrimRight(route, "/"))
	if !found {
		return "check server_url and api_prefix: the server wants this request elsewhere, perhaps to sign in first"
	}
	server.Path = path
	return "if that server is yours, set server_url to " + clip(server.String())
}

// bare is an address without what may be secret in it.
func bare(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}

// checkRedirect follows a redirect only where the token and the request arrive unchanged at the same server.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	fromScheme, fromHost := origin(first.URL)
	toScheme, toHost := origin(next.URL)
	switch {
	case len(via) > maxRedirects:
		return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects), next.URL}
	case fromScheme == "https" && toScheme != "https":
		return &redirectError{"it leaves the encrypted connection", next.URL}
	case fromHost != toHost || fromScheme != toScheme:
		return &redirectError{"a token goes only to the server that it is for", next.URL}
	case next.Method != first.Method:
		return &redirectError{"the request's contents would be lost on the way", next.URL}
	}
	return nil
}
