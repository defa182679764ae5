package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/testkit/contracttest"
)

func recordedExpectations(additions bool) contracttest.Expectations {
	persona := 7
	want := contracttest.Expectations{
		Query: "roll back", NoMatch: contracttest.RecordedNoMatch, Source: "confluence", PersonaID: &persona,
		DocumentSet: "Engineering handbook", Tag: "te", Document: contracttest.RecordedDocument, Additions: additions,
		Ingestion:      &wire.IngestionRequest{Document: wire.IngestionDocument{ID: "hr-001", Source: "ingestion_api"}},
		IngestionQuery: "laptop", Question: contracttest.RecordedQuestion, Failing: contracttest.RecordedFailure, FailingAs: client.RateLimited,
		Unanswered: contracttest.RecordedWithoutModel,
	}
	if additions {
		want.Tokens, want.LibraryPath, want.LibraryQuery = true, "/home/jo/notes", "notes"
	}
	return want
}

func token(value string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, nil }
}

func makeClient(t *testing.T, options client.Options) *client.Client {
	t.Helper()
	options.Profile = "acme"
	c, err := client.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRecorded(t *testing.T) {
	for name, additions := range map[string]bool{"bare Onyx": false, "with additions": true} {
		t.Run(name, func(t *testing.T) {
			handler := contracttest.Recorded(os.DirFS("../client/testdata"), additions)
			server := httptest.NewServer(http.StripPrefix("/api", handler))
			defer server.Close()
			want := recordedExpectations(additions)
			over := func(secret string) func(t *testing.T) *client.Client {
				return func(t *testing.T) *client.Client {
					return makeClient(t, client.Options{BaseURL: server.URL, APIPrefix: "/api", Token: token(secret)})
				}
			}
			want.Refused = over("onyx_pat_unknown")
			t.Run("over HTTP", func(t *testing.T) { contracttest.Run(t, over(contracttest.RecordedToken), want) })

			want.Refused = nil
			t.Run("in process", func(t *testing.T) {
				handler := contracttest.Recorded(os.DirFS("../client/testdata"), additions)
				contracttest.Run(t, func(t *testing.T) *client.Client {
					return makeClient(t, client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(handler),
						Token: token(contracttest.RecordedToken)})
				}, want)
			})
		})
	}
}

func TestNullFields(t *testing.T) {
	for answer, want := range map[string][]string{
		`{"results":[{"link":null,"updated_at":null,"citation_id":null}]}`: nil,
		`{"llm_facing_text":"{\"updated_at\":null,\"authors\":null}"}`:     nil,
		`{"results":[{"content":"it says \"a\":null"}]}`:                   nil,
		`{"results":null,"facets":{"tags":[null]}}`:                        {"results", "tags[]"},
	} {
		if got := contracttest.NullFields(t, []byte(answer)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}
