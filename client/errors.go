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

// Remedy returns a hint for the user in one line.
func (e *Error) Remedy() string {
	if e.Local {
		return e.localRemedy()
	}
	if e.remedy != "" {
		return e.remedy
	}
	switch e.Kind {
	case BadRequest:
		return "correct the request"
	case Auth:
		return e.authRemedy()
	case Unreachable:
		return "check server_url, the network and the VPN"
	case RateLimited:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("try again in %s", e.RetryAfter)
		}
		return "try again later"
	case Timeout:
		return "try again, or allow more time with --timeout; a search is faster without query expansion"
	case Server:
		return "try again; if it fails again, report the error to the server's administrator"
	case NotAvailable:
		return "check the name or id; if those are right, the server may be too old or need another api_prefix"
	case Canceled:
		return "run the command again"
	}
	switch e.Status {
	case http.StatusPaymentRequired:
		return "the server's plan does not include this; ask its administrator"
	case http.StatusRequestEntityTooLarge:
		return "send less data per request"
	case http.StatusConflict:
		return "choose another name, or remove the existing one first"
	}
	return "run quarry validate-config"
}

// isAdmin reports whether the error is of an administration route of a library in this process.
func (e *Error) isAdmin() bool { return e.Local && strings.HasPrefix(e.Path, "/admin/") }

func (e *Error) localRemedy() string {
	switch e.Code {
	case wire.CodeDiskFull:
		return "free some disk space and run the command again; stored data is intact"
	case wire.CodeLibraryNewer:
		return "install the newer quarry that wrote this library, or use another library: QUARRY_HOME or --library DIR"
	case wire.CodeNetworkFileSystem:
		return "keep the library on a local disk: set QUARRY_HOME or --library DIR"
	case wire.CodeLibraryOlder:
		return "run quarry sync and quarry admin token list once with write access and without QUARRY_READONLY, or use " +
			"the quarry version that wrote it"
	case wire.CodeLibraryReadOnly:
		return "check the permissions of the library's folder, or use another library: QUARRY_HOME or --library DIR"
	case wire.CodeLibraryBusy:
		return "wait for the other quarry process to finish, then try again"
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
		return "list them with quarry admin " + strings.ToLower(strings.ReplaceAll(missing, "_", "-")) + " list"
	case e.isAdmin() && e.Status == http.StatusConflict:
		return "choose another name, or remove that one first"
	case e.Kind == BadRequest:
		return "correct the value"
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
		return "run the command again"
	}
	return "try again; quarry status shows which folder the library is in"
}

func (e *Error) authRemedy() string {
	switch {
	case strings.Contains(e.Reason, "document sets"):
		return "check the names of the document sets (unknown sets give the same error), or leave them out"
	case strings.Contains(e.Reason, "scopes"):
		return "use a token with the required scope, or one without restricted scopes"
	case e.Code == "INSUFFICIENT_PERMISSIONS" || e.Code == "ADMIN_ONLY" || e.Code == "UNAUTHORIZED":
		return "use the token of a user with this permission"
	case e.Code == "TOKEN_EXPIRED" || e.Code == "CREDENTIAL_EXPIRED":
		return "create a new token in the server's settings and store it with quarry configure"
	}
	return "check that the token is complete, not expired, and from this server"
}

// KindOf returns the kind of the Error in err's chain. A bare context.Canceled or DeadlineExceeded has a kind too; any
// other error is General.
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

// kindOfStatus maps HTTP statuses as Onyx's own CLI does.
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

// statusOfCode returns the status that Onyx sends with an error code; an unknown code is an internal error.
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
