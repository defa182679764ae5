package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"quarry/internal/guard"
)

const (
	winConnRefused = syscall.Errno(10061) // as Windows numbers them; unused numbers elsewhere
	winConnReset   = syscall.Errno(10054)
)

const tlsRemedy = "if your company inspects encrypted traffic, set QUARRY_CA_BUNDLE or SSL_CERT_FILE to its " +
	"certificate"

// transportError converts a failure to get a response into an Error. ctx is the call's own, with its deadline; limit is
// the call's time limit.
func transportError(ctx context.Context, err error, target *url.URL, route string, limit time.Duration) *Error {
	var known *Error
	if ctx.Err() == nil && errors.As(err, &known) {
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
	var redirect *redirectError
	if errors.As(err, &redirect) {
		return &Error{Kind: Unreachable, Reason: shorten("the server " + redirect.Error()),
			remedy: redirect.remedy(route), cause: err}
	}
	var panicked *guard.PanicError
	if errors.As(err, &panicked) {
		return &Error{Kind: Server, Reason: shorten("internal error: " + panicked.Error()), cause: err}
	}
	if e := tlsError(err, target); e != nil {
		return e
	}
	return networkError(err, target)
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

func tlsError(err error, target *url.URL) *Error {
	e := &Error{Kind: Unreachable, cause: err, remedy: tlsRemedy}
	host := clip(target.Host)
	var (
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		hostname x509.HostnameError
		verify   *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		alert    tls.AlertError
	)
	switch {
	case errors.As(err, &unknown):
		e.Reason = "the certificate of " + host + " is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.Reason = "the certificate of " + host + " has expired or is not valid yet"
		e.remedy = "check this machine's clock; if it is right, the server's administrator must renew the certificate"
	case errors.As(err, &hostname):
		e.Reason = "the certificate of " + host + " is for another host name"
		e.remedy = "set server_url to the host name in the certificate"
	case errors.As(err, &verify) || errors.As(err, &invalid):
		e.Reason = "the certificate of " + host + " is not valid: " + shorten(err.Error())
	case errors.As(err, &record) || strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		e.Reason = host + " does not speak HTTPS on this port"
		e.remedy = "set server_url to http://… or to the port that speaks HTTPS"
	case errors.As(err, &alert) || strings.Contains(err.Error(), "TLS handshake"):
		e.Reason = "TLS handshake with " + host + " failed: " + shorten(err.Error())
	default:
		return nil
	}
	return e
}

func networkError(err error, target *url.URL) *Error {
	e := &Error{Kind: Unreachable, cause: err}
	host := clip(target.Host)
	var (
		dns  *net.DNSError
		op   *net.OpError
		wait net.Error
	)
	proxied := errors.As(err, &op) && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks"))
	switch {
	case proxied:
		e.Reason = "cannot connect to the proxy: " + shorten(op.Err.Error())
		e.remedy = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Reason = "unknown host " + clip(dns.Name)
		e.remedy = "check the spelling of server_url, and the VPN if the name is internal"
	case errors.As(err, &dns):
		e.Reason = "cannot look up " + clip(dns.Name) + ": " + shorten(dns.Err)
		e.remedy = "check the network and the VPN"
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, winConnRefused):
		e.Reason = host + " refused the connection"
		e.remedy = "check the host and port of server_url, and that the server is running"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, winConnReset) || strings.Contains(err.Error(), "server closed idle connection"):
		e.Reason = host + " closed the connection without a response"
		e.remedy = "try again; if it fails again, check the server and the proxies in front of it"
	case op == nil && errors.Is(err, context.DeadlineExceeded): // only net/http's own limit on proxies
		e.Reason = "the proxy did not respond in time"
		e.remedy = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	case errors.As(err, &wait) && wait.Timeout():
		e.Reason = fmt.Sprintf("%s did not accept the connection within %s", host, dialTimeout)
	default:
		e.Reason = shorten(err.Error())
	}
	return e
}

// tokenError returns the error of a token that cannot be read or sent.
func tokenError(err error) *Error {
	return &Error{Kind: Auth, Reason: shorten(fmt.Sprintf("get the token: %v", err)), cause: err,
		remedy: "store the token again with quarry configure, or correct the profile's token_command"}
}

// checkToken rejects text that cannot be sent in a header, or that is a whole file.
func checkToken(token string) error {
	const longest = 512
	if len(token) > longest {
		return fmt.Errorf("the token is longer than %d characters", longest)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return errors.New("the token contains spaces, line breaks or invalid characters")
		}
	}
	return nil
}

// setToken sets both headers: Onyx reads its own first, proxies the standard one.
func setToken(header http.Header, token string) {
	header.Set("Authorization", "Bearer "+token)
	header.Set("X-Onyx-Authorization", "Bearer "+token)
}
