package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestErrorFixtures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, code, reason, remedy string
		status                     int
		kind                       Kind
	}{
		{"400-valueerror", "", "No default LLM model found", "default language model", 400, BadRequest},
		{"401-expired", "TOKEN_EXPIRED", "The token has expired.", "create a new token", 401, Auth},
		{"402-tier", "FEATURE_NOT_AVAILABLE", "This feature is not available on your plan.", "plan", 402, General},
		{"403-document-sets", "INSUFFICIENT_PERMISSIONS",
			"You do not have access to the following document sets: ['Legal']", "names of the document sets", 403, Auth},
		{"403-me", "", "Unauthorized", "check that the token", 403, Auth},
		{"403-proxy", "destination_blocked", "The sandbox may not reach this destination.", "proxy", 403, Unreachable},
		{"403-scope", "INSUFFICIENT_PERMISSIONS", "This token's scopes do not permit this endpoint.", "scope", 403, Auth},
		{"403-token", "", "Access denied. User is not authenticated.", "check that the token", 403, Auth},
		{"404-document", "", "Document not found", "", 404, NotAvailable},
		{"404-persona", "PERSONA_NOT_FOUND", "Persona with id 77 not found", "quarry agents", 404, NotAvailable},
		{"413", "PAYLOAD_TOO_LARGE", "The request is too large.", "send less", 413, General},
		{"422-source", "", "1 validation error: {'type': 'enum', 'loc': ('body', 'sources', 0), 'msg': " +
			"\"Input should be 'ingestion_api', 'slack', 'web'\", 'input': 'slak'}", "quarry sources", 422, BadRequest},
		{"429", "RATE_LIMITED", "Rate limit exceeded. Try again later.", "try again in 37s", 429, RateLimited},
		{"500", "", "semantic query rephrase returned an empty answer", "try again", 500, Server},
		{"501", "", "This feature requires a vector database (DISABLE_VECTOR_DB is set).", "ask its administrator", 501, Server},
		{"504", "GATEWAY_TIMEOUT", "The search engine did not answer in time.", "--timeout", 504, Timeout},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			body := fixture(t, "onyx/error-"+test.file+".json")
			c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "37")
				}
				answering(test.status, "application/json", body)(w, nil)
			})
			_, err := c.Search(t.Context(), searchFor("x"))
			e := asError(t, err)
			if e.Status != test.status || e.Kind != test.kind || e.Code != test.code || e.Reason != test.reason {
				t.Errorf("got %+v", e)
			}
			if e.Method != http.MethodPost || e.Path != "/search" || !strings.Contains(e.Remedy(), test.remedy) {
				t.Errorf("%s %s, remedy %q", e.Method, e.Path, e.Remedy())
			}
			if !strings.HasPrefix(e.Error(), fmt.Sprintf("POST /search: HTTP %d: %s", test.status, test.reason)) {
				t.Errorf("error text %q", e.Error())
			}
		})
	}
}

func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("not an *Error: %v", err)
	}
	if e.Reason == "" || strings.Contains(e.Remedy(), "\n") || strings.Contains(e.Error(), "\n") {
		t.Errorf("reason %q, remedy %q", e.Reason, e.Remedy())
	}
	if strings.Contains(e.Error()+e.Remedy(), testToken) {
		t.Error("the token is told")
	}
	return e
}

func TestErrorHTML(t *testing.T) {
	t.Parallel()
	page := fixture(t, "onyx/error-502-proxy.html")
	tests := []struct {
		name, contentType string
		status            int
		body              []byte
		kind              Kind
		remedy            string
	}{
		{"bad gateway", "text/html", 502, page, Server, "behind the proxy"},
		{"not found", "text/html; charset=utf-8", 404, page, NotAvailable, "api_prefix"},
		{"sign-in", "text/html", 200, []byte("<html>sign in</html>"), Server, "api_prefix"},
		{"empty page", "text/html", 200, nil, Server, "api_prefix"},
		{"mislabelled", "application/json", 200, []byte("\ufeff \n<!DOCTYPE html><html>"), Server, "api_prefix"},
		{"mislabelled error", "text/plain", 403, []byte("<HTML><body>no"), Auth, "api_prefix"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, answering(test.status, test.contentType, test.body))
			for call, do := range everyCall(c) {
				e := asError(t, do(t.Context()))
				if e.Kind != test.kind || !strings.Contains(e.Remedy(), test.remedy) || !strings.Contains(e.Reason, "web page") {
					t.Errorf("%s: kind %s, %v; %s", call, e.Kind, e, e.Remedy())
				}
			}
		})
	}
}

// everyCall is a few calls of every sort: whole answer, list, stream, stream of the library.
func everyCall(c *Client) map[string]func(ctx context.Context) error {
	return map[string]func(context.Context) error{
		"search": func(ctx context.Context) error { _, err := c.Search(ctx, searchFor("x")); return err },
		"raw":    func(ctx context.Context) error { _, _, err := c.SearchRaw(ctx, searchFor("x")); return err },
		"stream": func(ctx context.Context) error { _, err := c.SearchStream(ctx, searchFor("x"), nil); return err },
		"ask":    func(ctx context.Context) error { _, err := c.Ask(ctx, wire.ChatRequest{Message: "x"}, nil); return err },
		"me":     func(ctx context.Context) error { _, err := c.Me(ctx); return err },
		"agents": func(ctx context.Context) error { _, err := c.Personas(ctx); return err },
		"size":   func(ctx context.Context) error { _, err := c.DocumentSize(ctx, "a"); return err },
		"sync": func(ctx context.Context) error {
			_, err := c.ChangeLibrary(ctx, removeNothing, nil)
			return err
		},
	}
}

func TestErrorUnusableAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, contentType, body, reason string }{
		{"empty", "application/json", "", "an empty response"},
		{"spaces", "application/json", " \n ", "an empty response"},
		{"half", "application/json", `{"results":[{"title":"a`, "not JSON"},
		{"text", "text/plain", "OK", "not JSON but text/plain"},
		{"null", "application/json", "null", "not JSON (null)"},
		{"number", "application/json", "17", "does not match this request"},
		{"wrong shape", "application/json", `{"results":"many"}`, "in results"},
		{"another answer", "application/json", `{"hello":"world"}`, "no results"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, answering(http.StatusOK, test.contentType, []byte(test.body)))
			_, err := c.Search(t.Context(), searchFor("x"))
			if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, test.reason) {
				t.Errorf("kind %s: %v", e.Kind, e)
			}
		})
	}
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 2000)
	tests := []struct{ name, body, code, reason string }{
		{"framework's list", `{"detail":[{"loc":["body","sources",0],"msg":"bad value"},{"loc":["query"],"msg":"too long"}]}`,
			"", "sources.0: bad value; too long"},
		{"detail object", `{"detail":{"message":"nested"}}`, "", "nested"},
		{"code alone", `{"error_code":"CONFLICT"}`, "CONFLICT", "CONFLICT"},
		{"nested error", `{"error":{"message":"quota"}}`, "", "quota"},
		{"plain text", "upstream connect error", "", "upstream connect error"},
		{"nothing known", `{"a":1}`, "", "Conflict"},
		{"half", `{"detail":"cut o`, "", "Conflict"},
		{"empty", "", "", "Conflict"},
		{"list", "[1,2]", "", "Conflict"},
		{"escapes", "{\"detail\":\"\\u001b[31mred\\u001b[0m\\r\\n\\tnext\\u202e\"}", "", "red next"},
		{"invalid", "bad \xff\xfe", "", "bad \ufffd\ufffd"},
		{"long", `{"detail":"` + long + `"}`, "", strings.Repeat("é", 499) + "…"},
		{"token repeated", `{"detail":"bad token ` + testToken + `"}`, "", "bad token [token]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, answering(http.StatusConflict, "application/json", []byte(test.body)))
			_, err := c.Me(t.Context())
			if e := asError(t, err); e.Kind != General || e.Code != test.code || e.Reason != test.reason {
				t.Errorf("code %q, reason %q", e.Code, e.Reason)
			}
		})
	}
}

func FuzzErrorBody(f *testing.F) {
	f.Add([]byte(`{"error_code":"A","detail":["x",{"msg":"y"}]}`))
	f.Add([]byte(`{"error":"a","message":"b"}`))
	f.Add([]byte("<html>"))
	f.Add([]byte(`{"detail":[[[[[[["deep"]]]]]]]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := statusError(http.StatusTeapot, http.Header{}, body, noon)
		if e.Reason == "" || utf8.RuneCountInString(e.Reason) > maxReasonRunes || hasControl(e.Reason) ||
			strings.ContainsAny(e.Reason+e.Code, "\n\t") || hasControl(e.Code) {
			t.Fatalf("reason %q, code %q", e.Reason, e.Code)
		}
	})
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]Kind{
		400: BadRequest, 422: BadRequest, 401: Auth, 403: Auth, 404: NotAvailable, 429: RateLimited, 408: Timeout,
		504: Timeout, 500: Server, 501: Server, 502: Server, 503: Server, 599: Server, 402: General, 405: General,
		409: General, 413: General, 418: General,
	} {
		if got := kindOfStatus(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
	wrapped := fmt.Errorf("search: %w", &Error{Kind: RateLimited})
	for err, want := range map[error]Kind{
		nil: General, errors.New("x"): General, wrapped: RateLimited, context.Canceled: Canceled,
		fmt.Errorf("x: %w", context.DeadlineExceeded): Timeout,
	} {
		if got := KindOf(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	for kind := General; kind <= Canceled; kind++ {
		if e := (&Error{Kind: kind, Reason: "r"}); kind.String() == "" || e.Error() != "r" {
			t.Errorf("kind %d has no words", kind)
		}
	}
	if Kind(99).String() != General.String() {
		t.Error("an unknown kind is not general")
	}
}

func TestStatusOfCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"TOKEN_EXPIRED": 401, "INSUFFICIENT_PERMISSIONS": 403, "INVALID_INPUT": 400, "DOCUMENT_NOT_FOUND": 404,
		"NOT_FOUND": 404, "CONFLICT": 409, "RATE_LIMITED": 429, "SEAT_LIMIT_EXCEEDED": 402, "PAYLOAD_TOO_LARGE": 413,
		"NOT_IMPLEMENTED": 501, "LLM_PROVIDER_ERROR": 502, "SERVICE_UNAVAILABLE": 503, "GATEWAY_TIMEOUT": 504,
		"INTERNAL_ERROR": 500, "": 500, "NEW": 500,
	} {
		if got := wire.StatusOf(code); got != want {
			t.Errorf("%s is %d, want %d", code, got, want)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("document_id") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		part := bytes.Repeat([]byte(" "), 1<<20)
		for r.Context().Err() == nil {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
	c := serving(t, endless)
	for call, do := range everyCall(c) {
		if e := asError(t, do(t.Context())); e.Kind != Server {
			t.Errorf("%s: %v", call, e)
		}
	}
}
