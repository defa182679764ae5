package weaviate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"quarry/internal/text"
	"quarry/server/fault"
)

// Error is a failure of a cluster that its administrator can repair. Its text has no key.
type Error struct {
	Doing, Reason, Remedy string
	err                   error
}

// Error says what failed, why, and what to do.
func (e *Error) Error() string { return e.Doing + ": " + e.Reason + "; " + e.Remedy }

// Unwrap returns what the error means, and its cause.
func (e *Error) Unwrap() []error {
	if errors.Is(e.err, context.DeadlineExceeded) { // of one call, not of the request
		return []error{fault.ErrEngineUnavailable}
	}
	return []error{fault.ErrEngineUnavailable, e.err}
}

// httpError is an answer that is not a success.
type httpError struct {
	code   int
	reason string
}

func (e *httpError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("status %d: %s", e.code, e.reason), ": ")
}

// notFound reports whether an answer says that something does not exist.
func notFound(err error) bool {
	var answer *httpError
	return errors.As(err, &answer) && answer.code == http.StatusNotFound
}

// rejected reports whether an answer says that this very call cannot succeed.
func rejected(err error) bool {
	var answer *httpError
	return errors.As(err, &answer) && (answer.code == http.StatusNotFound || answer.code == http.StatusUnprocessableEntity ||
		answer.code == http.StatusBadRequest)
}

// transient reports whether the same call may succeed later, or on another host.
func transient(err error) bool {
	var answer *httpError
	var connection net.Error
	switch {
	case err == nil || untrusted(err) || errors.Is(err, ErrSchema):
		return false
	case errors.As(err, &answer):
		return answer.code >= 500 || answer.code == http.StatusTooManyRequests
	case errors.As(err, &connection), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fault.ErrEngineUnavailable) && !denied(err)
}

// explain makes an error of a call an *Error, with what was done.
func explain(ctx context.Context, doing string, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, ctx.Err()) || status.Code(err) == codes.DeadlineExceeded):
		return ctx.Err() // an earlier failure says more than that time is up
	case errors.As(err, &known), errors.Is(err, ErrSchema), errors.Is(err, fault.ErrUnavailable):
		return err
	}
	reason := reasonOf(err)
	return &Error{Doing: doing, Reason: reason, Remedy: remedyOf(err, reason), err: err}
}

// The failures that time does not repair are known by their texts, as gRPC has no others.
const (
	tlsExpected = "the server does not use TLS"
	tlsNeeded   = "the server uses TLS"
)

// untrusted reports whether a connection failed for TLS.
func untrusted(err error) bool {
	reason := reasonOf(err)
	return strings.HasPrefix(reason, "x509: ") || reason == tlsExpected || reason == tlsNeeded
}

// denied reports whether the API key is not accepted.
func denied(err error) bool {
	var answer *httpError
	if errors.As(err, &answer) {
		return answer.code == http.StatusUnauthorized || answer.code == http.StatusForbidden
	}
	code := status.Code(err)
	return code == codes.Unauthenticated || code == codes.PermissionDenied
}

// reasonOf returns why a call failed, without the address and what was sent.
func reasonOf(err error) string {
	var known *Error
	var answer *httpError
	reason := ""
	if errors.As(err, &known) {
		return known.Reason
	} else if errors.As(err, &answer) {
		reason = answer.Error()
	} else if rpc, ok := status.FromError(err); ok {
		reason = rpc.Message()
	} else {
		for reason = err.Error(); errors.Unwrap(err) != nil; reason = err.Error() {
			err = errors.Unwrap(err)
		}
	}
	for _, known := range []struct{ text, reason string }{
		{"first record does not look like a TLS handshake", tlsExpected}, {"server gave HTTP response to HTTPS client", tlsExpected},
		{"HTTP request to an HTTPS server", tlsNeeded}, {"malformed HTTP response", tlsNeeded},
		{"deadline exceeded", "no answer in time"}, {"i/o timeout", "no answer in time"},
	} {
		if strings.Contains(reason, known.text) {
			return known.reason
		}
	}
	if at := strings.Index(reason, "x509: "); at >= 0 {
		reason = reason[at:]
	} else if at := strings.LastIndex(reason, "desc = "); at >= 0 {
		reason = reason[at+len("desc = "):]
	}
	return text.Shorten(strings.Trim(strings.ToValidUTF8(reason, "\uFFFD"), `"`), maxReason)
}

// remedyOf returns what to do about a failure.
func remedyOf(err error, reason string) string {
	if denied(err) {
		return "set index.weaviate.key to an API key of the cluster"
	}
	for _, known := range []struct{ text, remedy string }{
		{"unknown authority", "name the certificate of its authority with index.weaviate.ca"},
		{"expired", "renew the certificate of Weaviate, or correct the clock"},
		{"x509: ", "use a host name of the certificate in index.engine"},
		{tlsExpected, "use weaviate:// in index.engine, or enable TLS there"},
		{tlsNeeded, "use weaviates:// in index.engine"},
		{"no answer in time", "check the hosts and ports of index.engine and the firewall"},
		{"no such host", "correct the hosts of index.engine"},
		{"connection refused", "start Weaviate, or correct the hosts and ports of index.engine"},
		{"leader", "try again when most nodes of the cluster run"},
		{"status 503", "try again when Weaviate has started"},
	} {
		if strings.Contains(reason, known.text) {
			return known.remedy
		}
	}
	return "look in the log of Weaviate"
}
