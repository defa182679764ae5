package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"quarry/client/wire"
)

// Kind is what a failure means to the program that made the call.
type Kind int

// The kinds of failures. A program's exit code follows from the kind.
const (
	General      Kind = iota
	BadRequest        // the server refused the request's contents
	Auth              // the token is missing, expired, or may not do this
	Unreachable       // no answer from the server at all
	RateLimited       // too many requests; see Error.RetryAfter
	Timeout           // no answer in time
	Server            // the server failed, or answered what cannot be used
	NotAvailable      // the thing asked for, or the route, does not exist there
	Canceled          // the caller gave up
)

var kindNames = [...]string{"general", "bad request", "authentication", "unreachable", "rate limited", "timeout",
	"server error", "not available", "canceled"}

// String names the kind in words.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return kindNames[General]
	}
	return kindNames[k]
}

// Error is the failure of one call. No part of it ever holds a token.
type Error struct {
	Kind Kind
	// Status is the HTTP status, or of a stream's error event the status that its code stands for; 0 without an answer.
	Status int
	// Code is the server's own error code, such as PERSONA_NOT_FOUND; often empty.
	Code string
	// Reason is one line in plain words, the server's own where it gave one: free of control characters, at most 500
	// characters long.
	Reason string
	// Method and Path name the route that was called, without prefix and parameters.
	Method, Path string
	// RetryAfter is how long the server asks to wait; 0 when it did not say.
	RetryAfter time.Duration
	// Local tells that a library in this process failed and no server: routes and statuses then say nothing to a person.
	Local bool

	remedy string
	cause  error
}

// Error says in one line what was called and what went wrong.
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

// Unwrap gives the error below, such as context.Canceled or a failed dial; nil for an answer of the server.
func (e *Error) Unwrap() error { return e.cause }

// Remedy says in one line what the person can do about it.
func (e *Error) Remedy() string {
	if e.Local {
		return e.localRemedy()
	}
	if e.remedy != "" {
		return e.remedy
	}
	switch e.Kind {
	case BadRequest:
		return "change the request as the server's reason says"
	case Auth:
		return e.authRemedy()
	case Unreachable:
		return "check server_url, the network and the VPN"
	case RateLimited:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("try again in %s", e.RetryAfter)
		}
		return "wait a little, then try again"
	case Timeout:
		return "try again, or allow more time with --timeout; a search is faster without query expansion"
	case Server:
		return "try again; if it stays, tell the server's administrator the reason above"
	case NotAvailable:
		return "check the name or id; a server without this route may be too old or need another api_prefix"
	case Canceled:
		return "run it again when you are ready"
	}
	switch e.Status {
	case http.StatusPaymentRequired:
		return "the server's plan does not include this; ask its administrator"
	case http.StatusRequestEntityTooLarge:
		return "send less at once"
	case http.StatusConflict:
		return "something of that name exists already; choose another or remove it first"
	}
	return "see the reason above"
}

// isAdmin reports whether a library in this process refused to administer something.
func (e *Error) isAdmin() bool { return e.Local && strings.HasPrefix(e.Path, "/admin/") }

func (e *Error) localRemedy() string {
	switch e.Code {
	case wire.CodeDiskFull:
		return "free some space and run it again; what was stored before is whole"
	case wire.CodeLibraryNewer:
		return "install the newer quarry that wrote this library, or use another one: QUARRY_HOME or --library DIR"
	case wire.CodeNetworkFileSystem:
		return "keep the library on a local disk: set QUARRY_HOME or --library DIR"
	case wire.CodeLibraryOlder:
		return "run quarry sync and quarry admin token list once where it may be written, without QUARRY_READONLY, or use " +
			"the quarry that wrote it"
	case wire.CodeLibraryReadOnly:
		return "check who may write to the library's folder, or use another one: QUARRY_HOME or --library DIR"
	case wire.CodeLibraryBusy:
		return "wait for the other quarry to finish, then run it again"
	case wire.CodeLibraryLost:
		return "restore the database from a backup, or move the library's folder away and add your files again: quarry add PATH"
	case wire.CodeLibraryDamaged:
		if e.Path != "/library/sync" {
			return "repair the library: quarry sync --check"
		}
		return "move the library's folder away and add your files again; quarry status shows where it is"
	}
	missing, found := strings.CutSuffix(e.Code, "_NOT_FOUND")
	switch {
	case found && e.isAdmin():
		return "see quarry admin " + strings.ToLower(strings.ReplaceAll(missing, "_", "-")) + " list for those that there are"
	case e.isAdmin() && e.Status == http.StatusConflict:
		return "choose another name, or remove that one first"
	case e.Kind == BadRequest:
		return "correct what was given"
	case e.Kind == NotAvailable && strings.HasPrefix(e.Path, "/library"):
		return "quarry status lists what was added"
	case e.Kind == NotAvailable && strings.HasPrefix(e.Path, "/document/"):
		return "give the ref of a result (DOCUMENT_ID#N) or its document_id"
	case e.Kind == NotAvailable:
		return "check the name or id"
	case e.Kind == RateLimited:
		return fmt.Sprintf("raise llm.budget, search without the model by --no-query-expansion --no-document-selection, "+
			"or try again in %s", e.RetryAfter)
	case e.Kind == Timeout:
		return "allow more time with --timeout"
	case e.Kind == Canceled:
		return "run it again when you are ready"
	}
	return "try again; quarry status shows which folder the library is in"
}

func (e *Error) authRemedy() string {
	switch {
	case strings.Contains(e.Reason, "document sets"):
		return "leave these document sets out, or check their names: unknown ones are refused in the same words"
	case strings.Contains(e.Reason, "scopes"):
		return "use a token without restricted scopes, or with the scope that this needs"
	case e.Code == "INSUFFICIENT_PERMISSIONS" || e.Code == "ADMIN_ONLY" || e.Code == "UNAUTHORIZED":
		return "use the token of a person who may do this"
	case e.Code == "TOKEN_EXPIRED" || e.Code == "CREDENTIAL_EXPIRED":
		return "make a new token in the server's settings and store it"
	}
	return "check that the token is whole, not expired, and made on this server"
}

// KindOf is the kind of an error of this package, however deeply wrapped. A bare cancellation or deadline of a context
// has its kind too; any other error is General.
func KindOf(err error) Kind {
	var failure *Error
	switch {
	case errors.As(err, &failure):
		return failure.Kind
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return General
}

// kindOfStatus maps the statuses as Onyx's own command line does.
func kindOfStatus(status int) Kind {
	switch {
	case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
		return BadRequest
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Auth
	case status == http.StatusNotFound:
		return NotAvailable
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return Timeout
	case status >= http.StatusInternalServerError:
		return Server
	}
	return General
}

// statusOfCode is the status that Onyx sends an error code with; an unknown code counts as an internal error.
func statusOfCode(code string) int {
	switch code {
	case "UNAUTHENTICATED", "INVALID_TOKEN", "TOKEN_EXPIRED", "CREDENTIAL_EXPIRED":
		return http.StatusUnauthorized
	case "CSRF_FAILURE", "SESSION_EXPIRED", "SESSION_TERMINATED", "SESSION_UNRECOGNIZED", "UNAUTHORIZED",
		"INSUFFICIENT_PERMISSIONS", "ADMIN_ONLY", "REGISTRATION_DISABLED", "EE_REQUIRED", "SINGLE_TENANT_ONLY",
		"ENV_VAR_GATED", "DEPLOYMENT_UNSUPPORTED", "TRIAL_INVITE_LIMIT_EXCEEDED":
		return http.StatusForbidden
	case "BAD_REQUEST", "VALIDATION_ERROR", "INVALID_INPUT", "MISSING_REQUIRED_FIELD", "QUERY_REJECTED",
		"CONNECTOR_VALIDATION_FAILED", "CREDENTIAL_INVALID":
		return http.StatusBadRequest
	case "CONFLICT", "DUPLICATE_RESOURCE", "SKILL_NAME_CONFLICT":
		return http.StatusConflict
	case "RATE_LIMITED":
		return http.StatusTooManyRequests
	case "SEAT_LIMIT_EXCEEDED", "FEATURE_NOT_AVAILABLE", "SUBSCRIPTION_INACTIVE":
		return http.StatusPaymentRequired
	case "PAYLOAD_TOO_LARGE":
		return http.StatusRequestEntityTooLarge
	case "NOT_IMPLEMENTED":
		return http.StatusNotImplemented
	case "BAD_GATEWAY", "LLM_PROVIDER_ERROR", "HOOK_EXECUTION_FAILED":
		return http.StatusBadGateway
	case "SERVICE_UNAVAILABLE":
		return http.StatusServiceUnavailable
	case "GATEWAY_TIMEOUT":
		return http.StatusGatewayTimeout
	}
	if strings.HasSuffix(code, "NOT_FOUND") {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}
