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

// NewTransport returns a transport that uses the environment's proxies, and its certificates (see Roots) on every
// system. The deadline of each call limits its time. The error is that of Roots.
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

// Roots returns the trusted authorities, including those of QUARRY_CA_BUNDLE; nil means the system's only. It fails if
// QUARRY_CA_BUNDLE is a file without certificates.
func Roots() (*x509.CertPool, error) { return environmentRoots(os.Getenv, runtime.GOOS) }

// environmentRoots adds the environment's certificates to the system's; nil means the system's only. SSL_CERT_FILE and
// SSL_CERT_DIR are left to Go on systems where it reads them itself.
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
			return nil, fmt.Errorf("QUARRY_CA_BUNDLE: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("QUARRY_CA_BUNDLE: %s contains no PEM certificate", clip(bundle))
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

// remedy suggests the server URL that needs no redirect.
func (e *redirectError) remedy(route string) string {
	server := *e.target
	server.User, server.RawQuery, server.Fragment, server.RawPath = nil, "", "", ""
	path, found := strings.CutSuffix(strings.TrimRight(server.Path, "/"), strings.TrimRight(route, "/"))
	if !found {
		return "check server_url and api_prefix: the server redirects this request, perhaps to a sign-in page"
	}
	server.Path = path
	return "if you trust that server, set server_url to " + clip(server.String())
}

// bare returns an address without parts that may be secret.
func bare(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}

// checkRedirect allows redirects to the same server that keep the token and the request.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	fromScheme, fromHost := origin(first.URL)
	toScheme, toHost := origin(next.URL)
	switch {
	case len(via) > maxRedirects:
		return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects), next.URL}
	case fromScheme == "https" && toScheme != "https":
		return &redirectError{"the target is not encrypted", next.URL}
	case fromHost != toHost || fromScheme != toScheme:
		return &redirectError{"a token is only sent to its own server", next.URL}
	case next.Method != first.Method:
		return &redirectError{"the redirect would drop the request's body", next.URL}
	}
	return nil
}
