package client

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"quarry/client/wire"
)

func benchResponse() *wire.SearchResponse {
	response := wire.SearchResponse{Stages: []wire.Stage{}}
	for range 10 {
		response.Results = append(response.Results, wire.SearchResult{
			Title: "Runbook: rolling back a release", SourceType: "confluence", DocumentID: "c:1", Ref: "c:1#2",
			Content:    strings.Repeat("Roll back when the error budget — of the day — is spent.\n", 40),
			Highlights: []wire.Span{{0, 4}, {5, 9}, {700, 710}}, BestPassage: wire.Span{600, 900},
			Metadata: map[string]wire.Metadata{"team": wire.One("infra")}, Authors: []string{"Kim Lee"},
		})
	}
	wire.FillEmpty(&response)
	return &response
}

// BenchmarkSearchInProcess is what an answer costs on its way from the handler to the caller, as JSON and as a value.
func BenchmarkSearchInProcess(b *testing.B) {
	for name, handler := range map[string]http.HandlerFunc{
		"json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", wire.MediaTypeJSON)
			_ = json.NewEncoder(w).Encode(benchResponse())
		},
		"value": func(w http.ResponseWriter, _ *http.Request) { answerValue(w, http.StatusOK, benchResponse()) },
	} {
		b.Run(name, func(b *testing.B) {
			c := clientFor(b, Options{BaseURL: InProcessURL, Local: true, Profile: "local", Transport: InProcess(handler)})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Search(b.Context(), searchFor("x")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSanitize(b *testing.B) {
	text := strings.Repeat("Roll back when the error budget — of the day — is spent.\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Sanitize(text) != text {
			b.Fatal("changed")
		}
	}
}

func BenchmarkParseQuery(b *testing.B) {
	for b.Loop() {
		ParseQuery(`roll "back now" -x source:slack,github since:2026-01-01 tag:team=infra the deploy`, noon)
	}
}
