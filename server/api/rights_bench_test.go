package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// BenchmarkUnseenAgainstAbsent asks for what is there but out of sight and for what is not there, in turns, and reports
// how much longer the first takes: 1 is alike.
func BenchmarkUnseenAgainstAbsent(b *testing.B) {
	w := newRuleWorld(b, 1, "default")
	defer w.close()
	r := w.tenants[0]
	for i := range 300 {
		w.postDocument(r, fmt.Sprintf("doc-%d", i))
	}
	nobody := asker{}
	var hidden *ruleDocument
	for _, d := range r.documents {
		if !nobody.sees(d) {
			hidden = d
		}
	}
	agent := 0
	for _, g := range r.agents {
		if !nobody.knowsAgent(g) {
			agent = g.id
		}
	}
	if hidden == nil || agent == 0 {
		b.Fatal("nothing is hidden in this world")
	}
	q := inquiry{ruleWorld: w, rules: r}
	handler := q.through(w.server)
	get := func(target string) func(string) *httptest.ResponseRecorder {
		return func(name string) *httptest.ResponseRecorder {
			return w.ask(handler, "", http.MethodGet, fmt.Sprintf(target, url.QueryEscape(name)), "")
		}
	}
	search := func(body string) func(string) *httptest.ResponseRecorder {
		return func(name string) *httptest.ResponseRecorder {
			return w.ask(handler, "", http.MethodPost, "/search", fmt.Sprintf(body, name))
		}
	}
	for _, bench := range []struct {
		name, unseen, absent string
		ask                  func(string) *httptest.ResponseRecorder
	}{
		{"chunks", hidden.id, "doc-x", get("/document/chunks?document_id=%s")},
		{"chunk", hidden.id, "doc-x", get("/document/chunk-info?chunk_id=0&document_id=%s")},
		{"agent", fmt.Sprint(agent), "987654", get("/persona/%s")},
		{"word", hidden.secret, w.word(), search(`{"query":%q}`)},
		{"word among others", hidden.secret, w.word(), search(`{"query":"quokka %s tundra"}`)},
		{"completion", hidden.secret[:6], w.word()[:6], get("/search/suggest?prefix=%s")},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var unseen, absent time.Duration
			for b.Loop() {
				start := time.Now()
				bench.ask(bench.unseen)
				middle := time.Now()
				bench.ask(bench.absent)
				unseen, absent = unseen+middle.Sub(start), absent+time.Since(middle)
			}
			b.ReportMetric(float64(unseen)/float64(absent), "unseen/absent")
		})
	}
}
