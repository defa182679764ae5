package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
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
	transport.MaxIdleConnsPerHost = 32 // as many calls of a model may run
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
	switch {
	case len(via) > maxRedirects:
		return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects), next.URL}
	case first.URL.Scheme == "https" && next.URL.Scheme != "https":
		return &redirectError{"the target is not encrypted", next.URL}
	case !wire.SameOrigin(first.URL.Scheme+"://"+first.URL.Host, next.URL.Scheme+"://"+next.URL.Host):
		return &redirectError{"a token is only sent to its own server", next.URL}
	case next.Method != first.Method:
		return &redirectError{"the redirect would drop the request's body", next.URL}
	}
	return nil
}

// proxyPatience limits reading the reason of a refusing proxy, which net/http does not.
const proxyPatience = 2 * time.Second

// onProxyAnswer is called with a proxy's response to CONNECT. Its error has the proxy's reason; net/http's own has only
// the status text.
func onProxyAnswer(ctx context.Context, proxy *url.URL, connect *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	body := readFor(ctx, io.LimitReader(answer.Body, maxErrorBytes), proxyPatience)
	return proxyRefusal(proxy, connect.Host, answer.StatusCode, answer.Header, body, time.Now())
}

// proxyRefusal returns the error of a proxy that refuses to connect to the server. It has no Status, which is the
// server's.
func proxyRefusal(proxy *url.URL, target string, status int, header http.Header, body []byte, now time.Time) *Error {
	e := &Error{Kind: Unreachable}
	said := ""
	if body = withoutPassword(body, proxy.User); !isHTML(header, body) {
		e.Code, said, _ = readErrorBody(body)
	}
	host, does := clip(target), "refused to connect to"
	e.remedy = "ask the proxy's administrator to allow " + host + ", or check HTTPS_PROXY; if the host needs no " +
		"proxy, add it to NO_PROXY"
	switch {
	case status == http.StatusProxyAuthRequired:
		does, e.remedy = "requires a user name and password to connect to", ""
	case status == http.StatusTooManyRequests:
		e.Kind, e.RetryAfter, e.remedy = RateLimited, wire.RetryAfter(header, now, maxRetryAfter), ""
	case status >= http.StatusInternalServerError:
		does = "could not connect to"
		e.remedy = "check server_url; if this machine reaches the host without the proxy, add it to NO_PROXY; else " +
			"ask the proxy's administrator"
	}
	e.Reason = fmt.Sprintf("the proxy %s %s %s: %d %s", clip(proxy.Host), does, host, status, statusText(status))
	if said != "" && said != e.Code {
		e.Reason = shorten(e.Reason + ": " + said)
	}
	return e
}

// withoutPassword removes the proxy's password from text that the proxy sent.
func withoutPassword(text []byte, user *url.Userinfo) []byte {
	password, _ := user.Password()
	if password == "" {
		return text
	}
	sent := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
	text = bytes.ReplaceAll(text, []byte(sent), []byte("[password]"))
	return bytes.ReplaceAll(text, []byte(password), []byte("[password]"))
}

// readFor returns what can be read within a time. The caller must close a reader that still blocks, as the transport
// does with the connection to a refusing proxy.
func readFor(ctx context.Context, from io.Reader, patience time.Duration) []byte {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reader, writer := io.Pipe()
	end := func(err error) { _ = writer.CloseWithError(err) }
	guard.Go(func() {
		_, err := io.Copy(writer, from)
		end(err)
	}, end)
	defer context.AfterFunc(ctx, guard.Func(func() { end(ctx.Err()) }, end))()
	whole, _ := io.ReadAll(reader)
	return whole
}

const (
	winConnRefused = syscall.Errno(10061) // as Windows numbers them; unused numbers elsewhere
	winConnReset   = syscall.Errno(10054)
)

// transportError converts a failure to get a response into an Error. ctx is the call's own, with its deadline; limit is
// the call's time limit.
func transportError(ctx context.Context, err error, target *url.URL, route string, limit time.Duration) *Error {
	if known, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil {
		// A context's cause may be the error of another call, which is not this one's to complete.
		own := *known
		return &own
	}
	if e := contextError(ctx, err, limit); e != nil {
		return e
	}
	var wrapped *url.Error
	for errors.As(err, &wrapped) { // its text repeats the whole address with all parameters
		err = wrapped.Err
	}
	if redirect, ok := errors.AsType[*redirectError](err); ok {
		return &Error{Kind: Unreachable, Reason: shorten("the server " + redirect.Error()),
			remedy: redirect.remedy(route), cause: err}
	}
	if panicked, ok := errors.AsType[*guard.PanicError](err); ok {
		return &Error{Kind: Server, Reason: shorten("internal error: " + panicked.Error()), cause: err}
	}
	host := clip(target.Host)
	return &Error{Kind: Unreachable, Reason: cmp.Or(tlsProblem(err, host), networkProblem(err, host)), cause: err}
}

// contextError returns an Error for a canceled call or an expired time limit, else nil.
func contextError(ctx context.Context, err error, limit time.Duration) *Error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled) || ctx.Err() == nil && errors.Is(err, context.Canceled):
		return &Error{Kind: Canceled, Reason: "canceled", cause: context.Canceled}
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) && overdue(ctx):
		return &Error{Kind: Timeout, Reason: fmt.Sprintf("no complete response after %s", round(limit)),
			cause: context.DeadlineExceeded}
	}
	return nil
}

// overdue reports whether the call's deadline has passed, rather than that of a step such as a dial, whose error is the
// same. A step may notice the end of the call's time before the context does.
func overdue(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}

func round(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return max(d.Round(time.Millisecond), time.Millisecond)
}

// is reports whether an error of a type is in err's chain.
func is[T error](err error) bool {
	_, found := errors.AsType[T](err)
	return found
}

// tlsProblem says why no encrypted connection was made; "" for another reason.
func tlsProblem(err error, host string) string {
	var invalid x509.CertificateInvalidError
	switch {
	case is[x509.UnknownAuthorityError](err):
		return "the certificate of " + host + " is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of " + host + " has expired or is not valid yet"
	case is[x509.HostnameError](err):
		return "the certificate of " + host + " is for another host name"
	case is[*tls.CertificateVerificationError](err) || is[x509.CertificateInvalidError](err):
		return "the certificate of " + host + " is not valid: " + shorten(err.Error())
	case is[tls.RecordHeaderError](err) || strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		return host + " does not speak HTTPS on this port"
	case is[tls.AlertError](err) || strings.Contains(err.Error(), "TLS handshake"):
		return "TLS handshake with " + host + " failed: " + shorten(err.Error())
	}
	return ""
}

func networkProblem(err error, host string) string {
	var (
		dns  *net.DNSError
		op   *net.OpError
		wait net.Error
	)
	proxied := errors.As(err, &op) && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks"))
	switch {
	case proxied:
		return "cannot connect to the proxy: " + shorten(op.Err.Error())
	case errors.As(err, &dns) && dns.IsNotFound:
		return "unknown host " + clip(dns.Name)
	case errors.As(err, &dns):
		return "cannot look up " + clip(dns.Name) + ": " + shorten(dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, winConnRefused):
		return host + " refused the connection"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, winConnReset) || strings.Contains(err.Error(), "server closed idle connection"):
		return host + " closed the connection without a response"
	case op == nil && errors.Is(err, context.DeadlineExceeded): // only net/http's own limit on proxies
		return "the proxy did not respond in time"
	case errors.As(err, &wait) && wait.Timeout():
		return fmt.Sprintf("%s did not accept the connection within %s", host, dialTimeout)
	}
	return shorten(err.Error())
}

// tokenError returns the error of a token that cannot be read or sent.
func tokenError(err error) *Error {
	return &Error{Kind: Auth, Reason: shorten(fmt.Sprintf("get the token: %v", err)), cause: err}
}

// setToken sets both headers: Onyx reads its own first, proxies the standard one.
func setToken(header http.Header, token string) {
	header.Set("Authorization", "Bearer "+token)
	header.Set("X-Onyx-Authorization", "Bearer "+token)
}
