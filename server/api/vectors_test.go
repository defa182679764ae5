package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/server/directory"
	"quarry/server/llm"
)

// withVectors gives a world an embedding model and every passage a vector.
func withVectors(w *world, budget int) *llmtest.Server {
	w.t.Helper()
	scripted := llmtest.New()
	w.t.Cleanup(scripted.Close)
	models, err := llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: scripted.BaseURL(), Model: "nomic"},
		Transport: &http.Transport{}})
	w.check(err)
	w.server.Models = models
	w.check(w.server.EmbedAll(w.t.Context(), directory.DefaultTenant, w.documents, nil))
	w.server.Budget = llm.NewBudget(budget, &llmtest.Ledger{}, w.server.Now, func(err error) { w.t.Error(err) })
	return scripted
}

// TestVectorsUnderRights: what is nearest is found by those alone who may see it, within the filters; others are told
// nothing of it. Every search finds something by vector, as nothing is too far.
func TestVectorsUnderRights(t *testing.T) {
	w := newWorld(t)
	withVectors(w, 0)
	const query = `{"query":"zeppelin contract Fridays","explain":true}`
	kim := post[wire.SearchResponse](w, "kim", "/search", query)
	if len(kim.Results) == 0 || kim.Results[0].DocumentID != "file:/legal/contract.md" ||
		kim.Results[0].Ranks["zeppelin contract Fridays (vectors)"] != 1 {
		t.Errorf("Kim found %v", ids(kim))
	}
	jo := w.call(w.public, "jo", http.MethodPost, "/search", query)
	found := ids(decoded[wire.SearchResponse](w, jo))
	if slices.Contains(found, "file:/legal/contract.md") || len(found) == 0 {
		t.Errorf("Jo found %v", found)
	}
	if body := jo.Body.String(); strings.Contains(body, "zebra") || strings.Contains(body, "sharepoint") {
		t.Errorf("Jo is told of it: %s", body)
	}
	filtered := post[wire.SearchResponse](w, "kim", "/search",
		`{"query":"zeppelin contract Fridays","sources":["confluence"],"exclude":["budget"]}`)
	if len(filtered.Results) > 0 {
		t.Errorf("beyond the filters Kim found %v", ids(filtered))
	}
}

// TestVectorsOnTheBill: what a search asks of the embedding model is metered; when the day's budget is used up, words
// are what is left, and the search is not refused.
func TestVectorsOnTheBill(t *testing.T) {
	w := newWorld(t)
	scripted := withVectors(w, 1)
	first := post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy a release"}`)
	if !strings.Contains(w.log.String(), "model_tokens_by.embed_query=3") {
		t.Error("the log does not say what the search cost")
	}
	asked := len(scripted.Requests())
	second := post[wire.SearchResponse](w, "jo", "/search", `{"query":"the release tool"}`)
	if len(first.Notes) > 1 || len(second.Results) == 0 || len(scripted.Requests()) != asked ||
		!slices.ContainsFunc(second.Notes, func(n wire.Note) bool { return n.Code == wire.NoteStageFailed }) {
		t.Errorf("notes %v, then %v; %d results", first.Notes, second.Notes, len(second.Results))
	}
}

// TestNobodyLearnsWhatOthersAsk: an answer does not tell that somebody else has asked the same before.
func TestNobodyLearnsWhatOthersAsk(t *testing.T) {
	w := newWorld(t)
	withVectors(w, 0)
	detail := func(who string) string {
		for _, stage := range post[wire.SearchResponse](w, who, "/search", `{"query":"shall we merge","explain":true}`).Stages {
			if stage.Name == "retrieve" {
				return stage.Detail[strings.Index(stage.Detail, ";")+1:]
			}
		}
		return ""
	}
	first, second := detail("jo"), detail("kim")
	if !strings.Contains(first, "1 call") || first != second {
		t.Errorf("the first to ask is told %q, the second %q", first, second)
	}
	if again := detail("jo"); strings.Contains(again, "1 call") {
		t.Errorf("who asks again is told %q", again)
	}
}
