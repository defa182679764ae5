package client

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestRemedies: what a server, a proxy or the way to them says, and what helps.
func TestRemedies(t *testing.T) {
	const scopes = `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"This token's scopes do not permit this endpoint."}`
	for _, test := range []struct {
		status     int
		body, path string
		kind       Kind
		remedy     string
	}{
		{403, scopes, "/search", Auth, "a token with the scope read:search, or one without restricted"},
		{403, scopes, "/persona", Auth, "scope read:search"},
		{403, scopes, "/persona/7", Auth, "scope read:search"},
		{403, scopes, "/document/chunks", Auth, "scope read:search"},
		{403, scopes, "/manage/document-set", Auth, "scope read:search"},
		{403, scopes, "/chat/send-chat-message", Auth, "scope write:chat"},
		{403, scopes, "/chat/get-user-chat-sessions", Auth, "scope read:chat"},
		{403, scopes, "/user/pats", Auth, "no scope includes /user/pats"},
		{401, `{"error_code":"TOKEN_EXPIRED","detail":"The token has expired."}`, "/search", Auth, "create a new token"},
		{403, `{"detail":"Access denied. User is not authenticated."}`, "/search", Auth, "complete, not expired, and from this server"},
		{403, `{"error_code":"ADMIN_ONLY","detail":"Admins only."}`, "/manage/admin/user-group", Auth, "administrator"},
		{400, `{"message":"No default LLM model found"}`, "/search", BadRequest, "set a default language model"},
		{400, `{"message":"No default LLM model found"}`, "/chat/send-chat-message", BadRequest, "quarry search needs none"},
		{502, `{"error_code":"LLM_PROVIDER_ERROR","detail":"overloaded"}`, "/chat/send-chat-message", Server, "language model"},
		{404, `{"detail":"Not Found"}`, "/search", NotAvailable, "api_prefix"},
		{404, "", "/search", NotAvailable, "api_prefix"},
		{404, "<html><title>404</title>", "/search", NotAvailable, "api_prefix"},
		{200, "<html><title>Sign in</title>", "/search", General, "api_prefix"},
		{502, "<html><title>502</title>", "/search", Server, "behind the proxy"},
		{413, "<html><title>413</title>", "/search", General, "shorten the query"},
		{429, "<html><title>429</title>", "/search", RateLimited, "try again in 37s"},
		{404, `{"detail":"Document not found"}`, "/document/chunks", NotAvailable, "name or id"},
		{407, "", "/search", Unreachable, "HTTPS_PROXY"},
		{403, `{"error":"destination_blocked","message":"blocked"}`, "/search", Unreachable, "allow the server's address in the proxy"},
		{413, "", "/search", General, "shorten the query"},
		{501, `{"detail":"DISABLE_VECTOR_DB is set"}`, "/search", Server, "cannot search as it is set up"},
		{429, "", "/search", RateLimited, "try again in 37s"},
		{504, "", "/search", Timeout, "--timeout"},
	} {
		header := http.Header{"Retry-After": {"37"}}
		e := statusError(test.status, header, []byte(test.body), time.Now())
		e.Path = test.path
		if e.Kind != test.kind || !strings.Contains(e.Remedy(), test.remedy) {
			t.Errorf("%d %s of %s: %s, %q", test.status, test.body, test.path, e.Kind, e.Remedy())
		}
	}
	address := &url.URL{Scheme: "https", Host: "onyx.acme.example"}
	for _, test := range []struct {
		err    error
		remedy string
	}{
		{x509.UnknownAuthorityError{}, "set QUARRY_CA_BUNDLE to the PEM file"},
		{x509.CertificateInvalidError{Reason: x509.Expired}, "this machine's clock"},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, "host name in the certificate"},
	} {
		if e := transportError(t.Context(), fmt.Errorf("tls: %w", test.err), address, "/search", time.Second); e.Kind != Unreachable || !strings.Contains(e.Remedy(), test.remedy) {
			t.Errorf("%v: %s, %q", test.err, e.Kind, e.Remedy())
		}
	}
}

// TestEveryRemedyIsReached: no row hides a later one.
func TestEveryRemedyIsReached(t *testing.T) {
	for isLocal, rows := range map[bool][]remedyRow{false: serverRemedies(), true: libraryRemedies()} {
		for i, row := range rows {
			e := &Error{Kind: row.kind, Status: row.status, Code: row.code, Path: row.path, Reason: row.says, Local: isLocal}
			if strings.HasPrefix(row.code, "_") {
				e.Code = "USER" + row.code
			}
			if got := e.Remedy(); got != e.complete(row.hint) || strings.Contains(got, "{") {
				t.Errorf("row %d, %q: %q", i, row.hint, got)
			}
		}
	}
}
