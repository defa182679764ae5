package client

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"quarry/client/wire"
)

func benchAnswer(b *testing.B) []byte {
	b.Helper()
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
	body, err := json.Marshal(response)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

func BenchmarkSearchInProcess(b *testing.B) {
	body := benchAnswer(b)
	c := clientFor(b, Options{BaseURL: InProcessURL, Local: true, Profile: "local",
		Transport: InProcess(answering(http.StatusOK, wire.MediaTypeJSON, body))})
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := c.Search(b.Context(), searchFor("x")); err != nil {
			b.Fatal(err)
		}
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
