package client

import (
	"cmp"
	"net/http"
	"strings"

	"quarry/client/wire"
)

// remedyRow is a hint, and the errors that it is for: those that agree with all of its other fields. The zero value of
// a field agrees with every error.
type remedyRow struct {
	kind   Kind
	status int
	code   string // or the end of one, after an underscore
	path   string // the beginning of the route
	says   string // a part of the reason
	// hint may contain {scope}, which token the route needs, {wait}, and {kind}, what a code like USER_NOT_FOUND names.
	hint string
}

func (r remedyRow) isFor(e *Error) bool {
	agrees := r.code == e.Code || strings.HasPrefix(r.code, "_") && strings.HasSuffix(e.Code, r.code)
	return (r.kind == General || r.kind == e.Kind) && (r.status == 0 || r.status == e.Status) && (r.code == "" || agrees) &&
		strings.HasPrefix(e.Path, r.path) && strings.Contains(e.Reason, r.says)
}

// Remedy returns a hint for the user in one line: what solves this very failure. It is empty where that is not known,
// and where the reason itself says what to change.
func (e *Error) Remedy() string {
	if e.remedy != "" && !e.Local {
		return e.remedy // of this very failure
	}
	rows := serverRemedies()
	if e.Local {
		rows = libraryRemedies()
	}
	for _, row := range rows {
		if row.isFor(e) {
			return e.complete(row.hint)
		}
	}
	return ""
}

// complete fills in what a hint says of the error.
func (e *Error) complete(hint string) string {
	wait := "later"
	if e.RetryAfter > 0 {
		wait = "in " + e.RetryAfter.String()
	}
	kind := strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(e.Code, "_NOT_FOUND"), "_", "-"))
	return strings.NewReplacer("{scope}", scopeOf(e.Path), "{wait}", wait, "{kind}", kind).Replace(hint)
}

// scopeOf returns what a token needs for a route, in the words of a hint.
func scopeOf(path string) string {
	for _, s := range []struct{ path, scope string }{
		{"/chat/send", "write:chat"}, {"/chat/create", "write:chat"}, {"/chat/stop", "write:chat"}, {"/chat/get", "read:chat"},
		{"/search", "read:search"}, {"/document/", "read:search"}, {"/query/", "read:search"}, {"/persona/", "read:search"},
		{documentSetsPath, "read:search"}, {"/manage/indexed-sources", "read:search"}, {"/manage/connector-status", "read:search"},
	} {
		if strings.HasPrefix(path, s.path) || path == strings.TrimSuffix(s.path, "/") {
			return "with the scope " + s.scope + ", or one without restricted scopes"
		}
	}
	return "without restricted scopes: no scope includes " + cmp.Or(path, "this")
}

// serverRemedies are the hints of errors of a server and of the way to it. The first row that is for an error counts.
func serverRemedies() []remedyRow {
	return []remedyRow{
		{status: http.StatusPaymentRequired, hint: "the server's plan does not include this; ask its administrator"},
		{status: http.StatusRequestEntityTooLarge, hint: "send less: shorten the query, the history or the piped text"},
		{status: http.StatusNotImplemented, hint: "this server cannot search as it is set up: ask its administrator, or use another server"},
		{status: http.StatusConflict, hint: "choose another name, or remove the existing one first"},
		{status: http.StatusBadGateway, says: webPage, hint: noBackend},
		{status: http.StatusServiceUnavailable, says: webPage, hint: noBackend},
		{status: http.StatusGatewayTimeout, says: webPage, hint: noBackend},
		{status: http.StatusTooManyRequests, says: webPage, hint: "try again {wait}"},
		{says: webPage, hint: htmlRemedy},
		{says: noModelReason, path: "/chat/", hint: "ask the server's administrator to set a default language model; quarry search needs none"},
		{says: noModelReason, hint: "ask the server's administrator to set a default language model"},
		{code: "LLM_PROVIDER_ERROR", path: "/chat/", hint: "try again; if it fails again, ask the administrator to check the server's " +
			"language model; quarry search needs none"},
		{kind: Auth, says: "document sets", hint: "check the names of the document sets (unknown sets give the same error), or leave them out"},
		{kind: Auth, says: "scopes", hint: "use a token {scope}"},
		{kind: Auth, code: "INSUFFICIENT_PERMISSIONS", hint: "use the token of a user with this permission"},
		{kind: Auth, code: "ADMIN_ONLY", hint: "use the token of an administrator"},
		{kind: Auth, code: "UNAUTHORIZED", hint: "use the token of a user with this permission"},
		{kind: Auth, code: "_EXPIRED", hint: "create a new token in the server's settings and store it with quarry configure, or set QUARRY_PAT to it"},
		{kind: Auth, status: http.StatusUnauthorized, hint: badToken},
		{kind: Auth, says: "not authenticated", hint: badToken},
		{kind: Auth, says: http.StatusText(http.StatusUnauthorized), hint: badToken},
		{kind: BadRequest, path: searchPath, says: "'sources'", hint: "choose one of the sources: quarry sources"},
		{kind: BadRequest, code: "CONTEXT_TOO_LONG", hint: "start a new conversation, or ask over fewer passages"},
		{kind: Unreachable, hint: "check server_url, the network and the VPN"},
		{kind: RateLimited, hint: "try again {wait}"},
		{kind: Timeout, hint: "try again, or allow more time with --timeout; a search is faster without query expansion"},
		{path: "/chat/", code: "AUTH_ERROR", hint: "ask the server's administrator to check the key of its language model"},
		{path: "/chat/", code: "SERVICE_UNAVAILABLE", says: modelDown,
			hint: "ask the server's administrator whether the model's server runs; quarry search needs none"},
		{kind: Server, status: http.StatusInternalServerError, hint: serverFailed},
		{kind: Server, status: http.StatusBadGateway, hint: serverFailed},
		{kind: Server, status: http.StatusServiceUnavailable, hint: serverFailed},
		{kind: NotAvailable, says: http.StatusText(http.StatusNotFound), hint: "check server_url and api_prefix (most deployments " +
			"need /api); if they are right, the server is too old for this"},
		{code: codeNoAgent, hint: seeAgents},
		{kind: NotAvailable, path: documentPath, says: noLine, hint: giveLine},
		{kind: NotAvailable, path: documentPath, hint: giveRef},
	}
}

// The hints of more than one row.
const (
	badToken     = "check that the token is complete, not expired, and from this server"
	serverFailed = "try again; if it fails again, report the error to the server's administrator"
	// seeAdministered is for names that nothing has.
	seeAdministered = "list them with quarry admin {kind} list"
	seeAgents       = "choose one of the agents: quarry agents"
	giveRef         = "give the ref of a result (DOCUMENT_ID#N) or its document_id"
	giveLine        = "give another line, or none to read the whole document"
)

const (
	codeNoAgent  = "PERSONA_NOT_FOUND"
	documentPath = "/document/"
	noLine       = "has no line"
	modelDown    = "the model's server is not available"
)

// noBackend is the solution when a gateway answers with a page of its own.
const noBackend = "try again; if it fails again, the server behind the proxy is down or overloaded: ask its administrator"

// noModelReason is in the error of a server or library without a language model.
const noModelReason = "No default LLM model"

// libraryRemedies are the hints of errors of a library in this process, which has no server to blame.
func libraryRemedies() []remedyRow {
	return []remedyRow{
		{code: wire.CodeLibraryDamaged, path: "/library/sync", hint: "move the library's folder away and add your files again; " +
			"quarry status shows where it is"},
		{says: "has the short name", hint: "choose another name with --name"},
		{code: wire.CodeDiskFull, hint: "free some disk space and run the command again; stored data is intact"},
		{code: wire.CodeLibraryNewer, hint: "install the newer quarry that wrote this library, or use another library: QUARRY_HOME or --library DIR"},
		{code: wire.CodeNetworkFileSystem, hint: "keep the library on a local disk: set QUARRY_HOME or --library DIR"},
		{code: wire.CodeLibraryOlder, hint: "run quarry sync and quarry admin token list once with write access and without QUARRY_READONLY, " +
			"or use the quarry version that wrote it"},
		{code: wire.CodeLibraryReadOnly, hint: "check the permissions of the library's folder, or use another library: QUARRY_HOME or --library DIR"},
		{code: wire.CodeDatabaseFailed, hint: "repair this, then run quarry status to see whether the database answers"},
		{code: wire.CodeIndexBehind, hint: "run the command again, which continues; quarry serve builds it before it answers"},
		{code: wire.CodeEngineFailed, hint: "repair this, then run quarry status to see whether the engine answers"},
		{code: wire.CodeLibraryBusy, hint: "wait for the other quarry process to finish, then try again"},
		{code: wire.CodeLibraryLost, hint: "restore the database from a backup, or move the library's folder away and add your files again: " +
			"quarry add PATH"},
		{code: wire.CodeLibraryDamaged, hint: "repair the library: quarry sync --check"},
		{code: wire.CodeTargetInUse, hint: "to copy again, remove what is in the target first: documents.db of the library's folder, " +
			"or the schemas quarry… of the database"},
		{code: wire.CodeLibraryChanging, hint: "stop what adds documents, then run the command again, which continues"},
		{code: wire.CodeCopyDiffers, hint: "run the command again, which copies what differs; searches without the setting still find everything"},
		{code: wire.CodeSecretKeyMissing, hint: "make a key with openssl rand -hex 32, keep it, and set QUARRY_SECRET_KEY to it"},
		{code: wire.CodeSecretKeyWrong, hint: "set QUARRY_SECRET_KEY to the key that was used before, or replace the token with --renew, " +
			"which ends the old one"},
		{code: "TENANT_NOT_FOUND", hint: seeAdministered},
		{code: "_NOT_FOUND", path: tokensPath, hint: seeAdministered},
		{code: "_NOT_FOUND", path: "/admin/", hint: seeAdministered},
		{code: "_NOT_FOUND", path: "/manage/", hint: seeAdministered},
		{code: "DUPLICATE_RESOURCE", hint: "choose another name, or remove that one first"},
		{path: "/admin/tenants", says: "a tenant's name", hint: "choose a name like acme-2"},
		{says: "unknown scope", hint: "give some of those, separated by commas, or none for all rights of the user"},
		{path: "/admin/groups", says: "member of group", hint: "list them with quarry admin group list"},
		{says: "cannot be removed", hint: "name another one"},
		{says: noModelReason, hint: "configure a language model: quarry help configuration (llm.default); quarry search needs none"},
		{path: "/chat/", says: "no such provider or model",
			hint: "choose a model of llm.providers, or leave it out: quarry config get llm"},
		{path: "/chat/", code: "AUTH_ERROR", hint: "correct the key in llm.providers: quarry help configuration"},
		{path: "/chat/", code: "BAD_REQUEST", hint: "check the model and its address in llm.providers"},
		{path: "/chat/", says: modelDown + " (HTTP", hint: "try again; if it fails again, read the log of the model's server"},
		{path: "/chat/", code: "SERVICE_UNAVAILABLE", says: modelDown,
			hint: "start the model's server, or correct its base_url in llm.providers; quarry search needs none"},
		{path: "/chat/", says: "it is a web page", hint: "correct base_url in llm.providers"},
		{path: "/chat/", says: "it was cut off",
			hint: "ask again; if the answer is cut off again, set another model as llm.default"},
		{kind: Auth, says: "document sets", hint: "choose one of the document sets: quarry document-sets"},
		{code: codeNoAgent, hint: seeAgents},
		{kind: NotAvailable, path: "/library/migrate", hint: "set index.engine or directory.url: quarry help configuration"},
		{kind: NotAvailable, path: "/library", hint: "quarry status lists what was added"},
		{kind: NotAvailable, path: documentPath, says: noLine, hint: giveLine},
		{kind: NotAvailable, path: documentPath, hint: giveRef},
		{kind: RateLimited, says: "budget",
			hint: "raise llm.budget, search without the model by --no-query-expansion --no-document-selection, or try again {wait}"},
		{kind: RateLimited, hint: "try again {wait}"},
		{kind: Timeout, hint: "allow more time with --timeout"},
	}
}
