package client

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

const (
	codeNoAgent   = "PERSONA_NOT_FOUND"
	documentPath  = "/document/"
	modelDown     = "the model's server is not available"
	noModelReason = "No default LLM model"
)

// remedyCase is a failure with a part of its hint that is of this very failure; "" is none.
type remedyCase struct {
	e    Error
	want string
}

func remedyCases() []remedyCase {
	search, ask, read, admin := "/search", askPath, documentPath+"chunks", "/admin/users"
	library := func(code, reason, path string, kind Kind, status int) Error {
		return Error{Kind: kind, Status: status, Code: code, Reason: reason, Path: path, Local: true}
	}
	page := webPage + " instead of a response of the search API"
	return append(namedCases(), []remedyCase{
		{Error{Status: 402, Path: search}, "plan"},
		{Error{Status: 413, Path: search}, "shorten"},
		{Error{Status: 501, Path: search}, "cannot search"},
		{Error{Status: 409, Path: search}, "another name"},
		{Error{Status: 502, Reason: page}, "behind the proxy"},
		{Error{Status: 503, Reason: page}, "behind the proxy"},
		{Error{Status: 504, Reason: page}, "behind the proxy"},
		{Error{Status: 429, Reason: page, RetryAfter: time.Minute}, "1m0s"},
		{Error{Status: 404, Reason: page}, "api_prefix"},
		{Error{Kind: BadRequest, Reason: noModelReason, Path: ask}, "search needs none"},
		{Error{Kind: BadRequest, Reason: noModelReason, Path: search}, "default language model"},
		{Error{Kind: Server, Code: "LLM_PROVIDER_ERROR", Path: ask}, "language model"},
		{Error{Kind: Server, Code: "AUTH_ERROR", Path: ask}, "key of its language model"},
		{Error{Kind: Server, Code: "SERVICE_UNAVAILABLE", Path: ask, Reason: modelDown}, "whether the model's server runs"},
		{Error{Kind: Auth, Reason: "no access to the following document sets", Path: search}, "document sets"},
		{Error{Kind: Auth, Reason: "scopes do not permit", Path: search}, "read:search"},
		{Error{Kind: Auth, Code: "INSUFFICIENT_PERMISSIONS"}, "user with this permission"},
		{Error{Kind: Auth, Code: "ADMIN_ONLY"}, "administrator"},
		{Error{Kind: Auth, Code: "UNAUTHORIZED"}, "user with this permission"},
		{Error{Kind: Auth, Code: "TOKEN_EXPIRED"}, "new token"},
		{Error{Kind: Auth, Status: 401}, "token is complete"},
		{Error{Kind: Auth, Status: 403, Reason: "User is not authenticated"}, "token is complete"},
		{Error{Kind: Auth, Status: 403, Reason: "Unauthorized"}, "token is complete"},
		{Error{Kind: BadRequest, Status: 422, Path: search, Reason: "'loc': ('body', 'sources', 0)"}, "quarry sources"},
		{Error{Kind: BadRequest, Code: "CONTEXT_TOO_LONG", Path: ask}, "new conversation"},
		{Error{Kind: Unreachable}, "server_url"},
		{Error{Kind: RateLimited, RetryAfter: time.Minute}, "1m0s"},
		{Error{Kind: Timeout}, "--timeout"},
		{Error{Kind: Server, Status: 500}, "server's administrator"},
		{Error{Kind: Server, Status: 502}, "server's administrator"},
		{Error{Kind: Server, Status: 503}, "server's administrator"},
		{Error{Kind: NotAvailable, Reason: http.StatusText(http.StatusNotFound)}, "too old"},
		{Error{Kind: NotAvailable, Code: codeNoAgent, Path: search}, "quarry agents"},
		{Error{Kind: NotAvailable, Reason: "Document not found", Path: read}, "document_id"},

		{library(wire.CodeLibraryDamaged, "", "/library/sync", Server, 500), "add your files again"},
		{library(wire.CodeDiskFull, "", "/library/add", Server, 500), "disk space"},
		{library(wire.CodeLibraryNewer, "", search, Server, 500), "newer quarry"},
		{library(wire.CodeNetworkFileSystem, "", search, Server, 500), "local disk"},
		{library(wire.CodeLibraryOlder, "", search, Server, 403), "quarry sync"},
		{library(wire.CodeLibraryReadOnly, "", search, Auth, 403), "permissions"},
		{library(wire.CodeDatabaseFailed, "", search, Server, 503), "database"},
		{library(wire.CodeIndexBehind, "", search, Server, 503), "continues"},
		{library(wire.CodeEngineFailed, "", search, Server, 503), "engine"},
		{library(wire.CodeLibraryBusy, "", search, Server, 503), "other quarry process"},
		{library(wire.CodeLibraryLost, "", search, Server, 500), "backup"},
		{library(wire.CodeLibraryDamaged, "", search, Server, 500), "sync --check"},
		{library(wire.CodeTargetInUse, "", "/library/migrate", Server, 500), "target"},
		{library(wire.CodeLibraryChanging, "", "/library/migrate", Server, 500), "adds documents"},
		{library(wire.CodeCopyDiffers, "", "/library/migrate", Server, 500), "differs"},
		{library(wire.CodeSecretKeyMissing, "", admin, Server, 500), "QUARRY_SECRET_KEY"},
		{library(wire.CodeSecretKeyWrong, "", admin, Server, 500), "used before"},
		{library("DOCUMENT_SET_NOT_FOUND", "", admin, NotAvailable, 404), "quarry admin document-set list"},
		{library("TENANT_NOT_FOUND", "", "/persona", NotAvailable, 404), "quarry admin tenant list"},
		{library("USER_NOT_FOUND", "", "/manage/admin/user-group", NotAvailable, 404), "quarry admin user list"},
		{library("TOKEN_NOT_FOUND", "", "/user/pats/7", NotAvailable, 404), "quarry admin token list"},
		{library("DUPLICATE_RESOURCE", "", admin, BadRequest, 409), "another name"},
		{library("INVALID_INPUT", "no such member of group", "/admin/groups", BadRequest, 400), "group list"},
		{library("INVALID_INPUT", "agent 0 is built in and cannot be removed", admin, BadRequest, 400), "another one"},
		{library("", noModelReason, ask, BadRequest, 400), "llm.default"},
		{library("", `add /b: /a has the short name "a"`, "/library/add", BadRequest, 400), "--name"},
		{library("API_ERROR", "no such provider or model is configured", ask, Server, 0), "llm.providers"},
		{library("AUTH_ERROR", "", ask, Server, 0), "key in llm.providers"},
		{library("BAD_REQUEST", "ollama: the model's server refused the request", ask, Server, 0), "model and its address"},
		{library("SERVICE_UNAVAILABLE", "ollama: "+modelDown, ask, Server, 0), "start the model's server"},
		{library("SERVICE_UNAVAILABLE", "ollama: "+modelDown+" (HTTP 500)", ask, Server, 0), "read the log"},
		{library("API_ERROR", "ollama: unusable answer: it was cut off", ask, Server, 0), "cut off"},
		{library("UNAUTHORIZED", "no access to the following document sets: ['X']", search, Auth, 403), "quarry document-sets"},
		{library(codeNoAgent, "", search, NotAvailable, 404), "quarry agents"},
		{library("", "", "/library/migrate", NotAvailable, 404), "index.engine"},
		{library("NOT_FOUND", "not in the library", "/library/remove", NotAvailable, 404), "quarry status"},
		{library("", "", read, NotAvailable, 404), "document_id"},
		{library("BUDGET_EXCEEDED", "today's budget of model tokens is used up", ask, RateLimited, 0), "llm.budget"},
		{library("RATE_LIMIT", "p: the model's server has a rate limit", ask, RateLimited, 0), "try again later"},
		{library("API_ERROR", "p: unusable answer: it is a web page", ask, Server, 0), "base_url"},
		{library("", "", search, Timeout, 504), "--timeout"},
		{Error{}, ""}, // what is not known
		{Error{Kind: Canceled}, ""},
		{Error{Kind: Server, Status: 200, Reason: "no results"}, ""},
		{Error{Kind: Auth, Status: 403, Reason: "not today"}, ""},
		{Error{Kind: BadRequest, Status: 400, Reason: "num_results: at most 100", Path: search}, ""},
		{Error{Kind: NotAvailable, Status: 404, Reason: "gone", Path: search}, ""},
		{library("", "something", search, Server, 500), ""},
		{library("", "something", search, Auth, 403), ""},
		{library("INVALID_INPUT", "a name may have at most 100 characters", admin, BadRequest, 400), ""},
		{library("", "gone", admin, NotAvailable, 404), ""},
		{library("API_ERROR", "something", ask, Server, 0), ""},
		{library("", "", search, Canceled, 0), ""},
	}...)
}

// namedCases are failures of a name, scope or line that was given.
func namedCases() []remedyCase {
	const beyond = "The document has no line 70: it ends at line 9"
	of := func(kind Kind, status int, reason, path string, local bool) Error {
		return Error{Kind: kind, Status: status, Reason: reason, Path: path, Local: local}
	}
	return []remedyCase{
		{of(NotAvailable, 404, beyond, documentPath+"chunks", false), "another line"},
		{of(BadRequest, 0, "this server cannot list documents without a query", searchPath, false), "words to search for"},
		{of(BadRequest, 0, "this server cannot search for similar passages", searchPath, false), "words of the passage"},
		{of(Auth, 0, "get the token: no", searchPath, false), "quarry configure"},
		{of(Unreachable, 407, "the proxy requires a user name and password", searchPath, false), "HTTPS_PROXY"},
		{of(Unreachable, 0, "the certificate of h has expired or is not valid yet", searchPath, false), "clock"},
		{of(Unreachable, 0, "the certificate of h is for another host name", searchPath, false), "in the certificate"},
		{of(Unreachable, 0, "h does not speak HTTPS on this port", searchPath, false), "http://"},
		{of(Unreachable, 0, "the certificate of h is signed by an unknown authority", searchPath, false), "QUARRY_CA_BUNDLE"},
		{of(Unreachable, 0, "TLS handshake with h failed: alert", searchPath, false), "QUARRY_CA_BUNDLE"},
		{of(Unreachable, 0, "cannot connect to the proxy: no", searchPath, false), "NO_PROXY"},
		{of(Unreachable, 0, "the proxy did not respond in time", searchPath, false), "NO_PROXY"},
		{of(Unreachable, 0, "unknown host h", searchPath, false), "spelling"},
		{of(Unreachable, 0, "cannot look up h: no", searchPath, false), "network and the VPN"},
		{of(Unreachable, 0, "h refused the connection", searchPath, false), "host and port"},
		{of(Unreachable, 0, "h closed the connection without a response", searchPath, false), "try again"},
		{of(Timeout, 0, "no data for 1m0s while waiting for the answer", askPath, false), "search works without one"},
		{of(Server, 200, "the server sent a web page instead of JSON", searchPath, false), "api_prefix (most"},
		{of(Server, 200, "the server sent a response of more than 32 MB", searchPath, false), "less at once"},
		{of(Server, 200, "the server sent an incomplete response: it broke", searchPath, false), "proxies in front"},
		{of(Server, 200, "the server sent a stream that ended early", searchPath, false), "proxies in front"},
		{of(Server, 200, "the server sent an empty response", searchPath, false), "report the error"},
		{of(NotAvailable, 404, beyond, documentPath+"chunks", true), "another line"},
		{of(BadRequest, 400, "a tenant's name is 1 to 63 lower-case letters", "/admin/tenants", true), "acme"},
		{of(BadRequest, 400, `unknown scope "foo"; known are admin`, tokensPath, true), "some of those"},
	}
}

// A hint is of the very failure, and an unknown failure has none. Every row of the tables is for one of the failures.
func TestHintsAreOfTheFailure(t *testing.T) {
	t.Parallel()
	used := map[remedyRow]bool{}
	for _, test := range remedyCases() {
		hint := test.e.Remedy()
		if test.want == "" && hint != "" || !strings.Contains(hint, test.want) || strings.Contains(hint, "{") {
			t.Errorf("%+v\nhint %q, want %q", test.e, hint, test.want)
		}
		if test.e.Local && strings.Contains(hint, "administrator") {
			t.Errorf("a library has no administrator: %q", hint)
		}
		rows := serverRemedies()
		if test.e.Local {
			rows = libraryRemedies()
		}
		for _, row := range rows {
			if row.isFor(&test.e) {
				used[row] = true
				break
			}
		}
	}
	for _, row := range append(serverRemedies(), libraryRemedies()...) {
		if !used[row] {
			t.Errorf("no failure has the hint %+v", row)
		}
	}
}
