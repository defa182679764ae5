package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Kind classifies an Error.
type Kind int

// The kinds of failures. A program's exit code follows from the kind.
const (
	General      Kind = iota
	BadRequest        // the server rejected the request's contents
	Auth              // authentication failed, or the token lacks permission
	Unreachable       // no response from the server
	RateLimited       // too many requests; see Error.RetryAfter
	Timeout           // no response in time
	Server            // the server failed, or its response cannot be used
	NotAvailable      // the requested object or route does not exist
	Canceled          // the caller canceled the call
)

var kindNames = [...]string{"general", "bad request", "authentication", "unreachable", "rate limited", "timeout",
	"server error", "not available", "canceled"}

// String returns the name of the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return kindNames[General]
	}
	return kindNames[k]
}

// Error is the failure of one call. It never contains a token.
type Error struct {
	Kind Kind
	// Status is the HTTP status, or the one that matches the code of a stream's error event; 0 without a response.
	Status int
	// Code is the server's own error code, such as PERSONA_NOT_FOUND; often empty.
	Code string
	// Reason is one line of at most 500 characters without control characters, the server's own if it sent one.
	Reason string
	// Method and Path name the route that was called, without prefix and parameters.
	Method, Path string
	// RetryAfter is the wait that the server asks for, or 0.
	RetryAfter time.Duration
	// Local is set for a library in this process, whose routes and statuses users do not know.
	Local bool

	remedy string
	cause  error
}

// Error returns the route and the reason in one line.
func (e *Error) Error() string {
	if e.Local {
		return e.Reason
	}
	var b strings.Builder
	if e.Path != "" {
		fmt.Fprintf(&b, "%s %s: ", e.Method, e.Path)
	}
	if e.Status != 0 && e.Status/100 != 2 {
		fmt.Fprintf(&b, "HTTP %d: ", e.Status)
	}
	b.WriteString(e.Reason)
	if e.Code != "" && e.Code != e.Reason {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	return b.String()
}

// Unwrap returns the cause, such as context.Canceled or a failed dial; nil for a response of the server.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the Error in err's chain. A bare context.Canceled or DeadlineExceeded has a kind too; any
// other error is General.
func KindOf(err error) Kind {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Kind
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return General
}

// kindOfStatus maps HTTP statuses as Onyx's own CLI does.
func kindOfStatus(status int) Kind {
	kinds := map[int]Kind{
		http.StatusBadRequest: BadRequest, http.StatusUnprocessableEntity: BadRequest,
		http.StatusUnauthorized: Auth, http.StatusForbidden: Auth,
		http.StatusNotFound: NotAvailable, http.StatusTooManyRequests: RateLimited,
		http.StatusRequestTimeout: Timeout, http.StatusGatewayTimeout: Timeout,
	}
	if kind, known := kinds[status]; known || status < http.StatusInternalServerError {
		return kind
	}
	return Server
}

const (
	maxReasonRunes = 500
	maxErrorBytes  = 64 << 10
	maxRetryAfter  = 24 * time.Hour
)

const webPage = "received a web page" // in the reason of one that arrives with a failure

// htmlRemedy is the usual solution then.
const htmlRemedy = "check server_url and api_prefix (most deployments need /api), and whether a proxy or sign-in " +
	"page intercepts the request"

// proxyBlocked is the code of a sandbox's proxy that lets no request pass to a server.
const proxyBlocked = "destination_blocked"

// statusError returns the error of a response with a failure status.
func statusError(status int, header http.Header, body []byte, now time.Time) *Error {
	e := &Error{Kind: kindOfStatus(status), Status: status, RetryAfter: wire.RetryAfter(header, now, maxRetryAfter)}
	if status == http.StatusProxyAuthRequired { // from a proxy: the server was never reached
		e.Kind, e.Reason = Unreachable, "the proxy requires a user name and password"
		return e
	}
	if isHTML(header, body) {
		e.Reason = fmt.Sprintf("%s instead of a response of the search API (%s)", webPage, statusText(status))
		return e
	}
	if e.Code, e.Reason, e.remedy = readErrorBody(body); e.Code == proxyBlocked && e.remedy != "" {
		e.Kind = Unreachable // whatever the token is
	}
	e.Reason = cmp.Or(e.Reason, statusText(status))
	return e
}

func statusText(status int) string {
	return cmp.Or(http.StatusText(status), "status "+strconv.Itoa(status))
}

// errorBody has the keys of all known error envelopes.
type errorBody struct {
	ErrorCode json.RawMessage `json:"error_code"`
	Detail    json.RawMessage `json:"detail"`
	Message   json.RawMessage `json:"message"`
	Error     json.RawMessage `json:"error"`
}

// readErrorBody finds the code and the reason in any envelope: {error_code, detail}, {detail}, {status_code, message,
// data}, {message}, a proxy's {error, message}, and a framework's list of details. Text that is not JSON is the reason
// itself.
func readErrorBody(body []byte) (code, reason, remedy string) {
	var b errorBody
	if wire.Unmarshal(body, &b) != nil {
		if plain := strings.TrimSpace(string(body)); !strings.HasPrefix(plain, "{") && !strings.HasPrefix(plain, "[") {
			return "", shorten(plain), ""
		}
		return "", "", ""
	}
	code = shorten(wire.Reason(b.ErrorCode))
	reason = cmp.Or(shorten(wire.Reason(b.Detail)), shorten(wire.Reason(b.Message)),
		shorten(wire.Reason(b.Error)), code)
	if code == "" && b.Detail == nil && b.Message != nil {
		if code = shorten(wire.Reason(b.Error)); code != "" {
			remedy = "a proxy sent this response, not the server: allow the server's address in the proxy"
		}
	}
	return code, reason, remedy
}

// shorten makes foreign text a clean line of at most maxReasonRunes characters.
func shorten(foreign string) string {
	const roughly = maxReasonRunes * utf8.UTFMax * 4 // bytes, so that not all of a long text is cleaned
	return text.Shorten(text.OneLine(sanitizeLine(text.Clip(foreign, roughly))), maxReasonRunes-1)
}

// isHTML reports whether a response is a web page, by its media type or its first bytes.
func isHTML(header http.Header, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(header.Get("Content-Type"))), "text/html") {
		return true
	}
	start := strings.TrimPrefix(string(body[:min(len(body), 256)]), "\ufeff")
	start = strings.ToLower(strings.TrimSpace(start))
	return strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html")
}

// isAdmin reports whether the error is of an administration route of a library in this process.
func (e *Error) isAdmin() bool {
	return e.Local && slices.ContainsFunc([]string{"/admin/", "/manage/", "/persona", tokensPath},
		func(path string) bool { return strings.HasPrefix(e.Path, path) })
}
