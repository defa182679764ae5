package quality

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/internal/testkit/longtest"
	"quarry/server/llm"
)

// nonsense is a language model that answers every call alike.
type nonsense struct{ reply string }

// RoundTrip implements http.RoundTripper.
func (n *nonsense) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	body, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]string{
		"role": "assistant", "content": n.reply}}}})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(body))), Request: r}, err
}

// TestAModelIsNoWorseThanNone: whatever a model makes of the questions of a judged set, ranking loses at most 0.02. The
// long form also asks short ones.
func TestAModelIsNoWorseThanNone(t *testing.T) {
	data := os.Getenv("QUARRY_DATA")
	if data == "" {
		t.Skip("QUARRY_DATA does not name the folder of the judged sets")
	}
	names := []string{"cacm"}
	if longtest.Enabled() {
		names = append(names, "handbook-sourcegraph")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			set, err := load(filepath.Join(data, "qrels", name))
			if err != nil {
				t.Fatal(err)
			}
			set.queries = set.queries[:min(len(set.queries), 150)]
			set.noWorseThanNone(t)
		})
	}
}

func (set *Set) noWorseThanNone(t *testing.T) {
	model := &nonsense{}
	models, err := llm.New(llm.Config{Default: "bad/small", Transport: model,
		Providers: map[string]llm.Provider{"bad": {BaseURL: "http://models.invalid/v1", Models: []string{"small"}}}})
	if err != nil {
		t.Fatal(err)
	}
	quarry := &Quarry{Models: models}
	defer func() {
		if err := quarry.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := quarry.Add(t.Context(), t.TempDir(), set); err != nil {
		t.Fatal(err)
	}
	none, err := set.rank(t.Context(), set.queries, func(ctx context.Context, query string) ([]string, error) {
		return quarry.Answer(ctx, query, ndcgDepth, false)
	})
	if err != nil {
		t.Fatal(err)
	}
	next := map[string]string{} // another question
	for i, q := range set.queries {
		next[q.Text] = set.queries[(i+1)%len(set.queries)].Text
	}
	for name, rewrite := range map[string]func(query string) string{
		"a constant":                 func(string) string { return "OK" },
		"a refusal":                  func(string) string { return "I cannot help with that request" },
		"a frequent word":            func(string) string { return "computer\nprogram\nsystem" },
		"another question":           func(query string) string { return next[query] },
		"the first word, and others": func(query string) string { return firstWord(query) + " " + next[query] },
		"half of each":               func(query string) string { return half(query) + " " + half(next[query]) },
		"a word at a time":           func(query string) string { return strings.Join(strings.Fields(query), "\n") },
	} {
		found, err := set.rank(t.Context(), set.queries, func(ctx context.Context, query string) ([]string, error) {
			model.reply = rewrite(query)
			return quarry.Answer(ctx, query, ndcgDepth, true)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: nDCG@10 %.4f, without a model %.4f", name, found.ndcg, none.ndcg)
		if found.ndcg < none.ndcg-0.02 {
			t.Errorf("%s: nDCG@10 %.4f, without a model %.4f", name, found.ndcg, none.ndcg)
		}
	}
}

func firstWord(query string) string { return strings.Fields(query)[0] }

func half(query string) string {
	words := strings.Fields(query)
	return strings.Join(words[:(len(words)+1)/2], " ")
}
