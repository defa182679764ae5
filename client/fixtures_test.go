package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/memnet"
)

const testToken = "onyx_pat_0123456789abcdef"

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// serving starts a server and gives a client for it that has a token.
func serving(t testing.TB, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return clientFor(t, Options{BaseURL: server.URL, APIPrefix: "/api", Profile: "acme", Token: fixedToken})
}

// inMemory is serving for a synctest bubble.
func inMemory(t testing.TB, handler http.HandlerFunc) *Client {
	t.Helper()
	server, transport := memnet.Serve(handler)
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return clientFor(t, Options{BaseURL: server.URL, APIPrefix: "/api", Profile: "acme", Token: fixedToken, Transport: transport})
}

func fixedToken(context.Context) (string, error) { return testToken, nil }

func clientFor(t testing.TB, options Options) *Client {
	t.Helper()
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answering is a server that always says the same.
func answering(status int, contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

// extended serves the answers of handler as a server with extensions.
func extended(handler http.HandlerFunc, features ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/version" {
			body, _ := json.Marshal(wire.Version{Quarry: &wire.QuarryVersion{API: 1, Features: features}})
			answering(http.StatusOK, wire.MediaTypeJSON, body)(w, r)
			return
		}
		handler(w, r)
	}
}

func searchFor(query string) wire.SearchRequest { return wire.SearchRequest{Query: query} }

// removeNothing is a small change of the library.
var removeNothing = wire.RemoveRequest{Refs: []string{}}
