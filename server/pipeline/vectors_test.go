package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/wire"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/llm"
)

// meanings is an embedding model that gives every text the same vector, and remembers what it was asked for.
type meanings struct {
	mutex sync.Mutex
	asked []string
	fail  func(ctx context.Context) error
}

func (m *meanings) Name() string { return "nomic" }

// Unrelated: nobody knows.
func (m *meanings) Unrelated() float64 { return -1 }

// Trust: a tenth of a cosine is worth a fifth of the best score by words.
func (m *meanings) Trust(language string) float64 {
	if language == "tlh" {
		return 0
	}
	return 2
}

func (m *meanings) Embed(ctx context.Context, _ llm.Use, texts []string) ([][]float32, llm.Usage, error) {
	m.mutex.Lock()
	m.asked = append(m.asked, strings.Join(texts, "|"))
	m.mutex.Unlock()
	if m.fail != nil {
		if err := m.fail(ctx); err != nil {
			return nil, llm.Usage{Calls: 1}, err
		}
	}
	vectors := make([][]float32, len(texts))
	for i := range texts {
		vectors[i] = []float32{1, 0}
	}
	return vectors, llm.Usage{Calls: 1, Prompt: 7}, nil
}

// vectored is a shelf with vectors.
type vectored struct {
	*shelf
	model string
	near  []index.Hit
	err   error
	mutex sync.Mutex
	texts []string // of the queries that were searched for by vector
}

func (v *vectored) Stats(context.Context) (index.Stats, error) {
	return index.Stats{Chunks: 9, Vectors: 9, VectorModel: v.model}, nil
}

func (v *vectored) Nearest(_ context.Context, vector index.Vector, q index.Query) ([]index.Hit, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.texts = append(v.texts, q.Text)
	if vector.Model != "nomic" || len(vector.Values) != 2 || q.Limit == 0 {
		return nil, fmt.Errorf("asked for %+v, %+v", vector, q)
	}
	return v.near, v.err
}

func withVectors() *vectored {
	return &vectored{shelf: newShelf(), model: "nomic", near: []index.Hit{
		{DocumentID: "b", Chunk: 0, Score: 0.9}, {DocumentID: "a", Chunk: 1, Score: 0.8},
	}}
}

func vectorSearch(text string) Request {
	return Request{Search: wire.SearchRequest{Query: text, Explain: true}, Now: time.Now(), Embedder: &meanings{}}
}

// TestVectorsJoin: the list by vector is fused with that by words, and the answer has the ranks in both.
func TestVectorsJoin(t *testing.T) {
	t.Parallel()
	shelf := withVectors()
	response, err := Run(t.Context(), shelf, vectorSearch("roll back"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ranks := map[string]bool{}
	for _, result := range response.Results {
		for query := range result.Ranks {
			ranks[query] = true
		}
	}
	if !ranks["roll back"] || !ranks["roll back (vectors)"] {
		t.Errorf("ranks for %v", ranks)
	}
	if detail := response.Stages[1].Detail; !strings.Contains(detail, ", 2 by vector; nomic: 1 call, 7 tokens in") {
		t.Errorf("retrieve told %q", detail)
	}
}

// TestByScore: a cosine counts from the last one of the list, as a share of the best score by words.
func TestByScore(t *testing.T) {
	t.Parallel()
	near := func(ids ...string) []index.Hit { // cosines .9, .8 and so on, in a language after a comma
		var list []index.Hit
		for i, id := range ids {
			id, language, _ := strings.Cut(id, ",")
			id, second := strings.CutSuffix(id, "/1")
			list = append(list, index.Hit{DocumentID: id, Score: 0.9 - float64(i)/10, Language: language})
			if second {
				list[i].Chunk = 1
			}
		}
		return list
	}
	words := func(scores ...float64) []index.Hit {
		list := []index.Hit{{DocumentID: "a"}, {DocumentID: "b"}, {DocumentID: "c"}}[:len(scores)]
		for i, score := range scores {
			list[i].Score = score
		}
		return list
	}
	for name, c := range map[string]struct {
		words, near []index.Hit
		want        string
		unrelated   float64
	}{
		"words alone":              {words(10, 5), nil, "a 10.0, b 5.0", -1},
		"one vector has no others": {words(10, 5), near("b"), "a 10.0, b 5.0", -1},
		"the nearer one gains":     {words(10, 7, 6.5), near("c", "b", "x"), "c 10.5, a 10.0, b 9.0, x 0.0", -1},
		"meaning alone":            {words(10, 5), near("x", "y", "b"), "a 10.0, b 5.0, x 4.0, y 2.0", -1},
		"far from the last":        {words(10), near("x", "1", "2", "3", "4", "5"), "a 10.0, x 10.0, 1 8.0, 2 6.0, 3 4.0, 4 2.0, 5 0.0", -1},
		"words and meaning apart":  {words(10, 7), near("b/1", "x"), "a 10.0, b 9.0, b/1 2.0, x 0.0", -1},
		"meaning is the better":    {words(10, 1), near("b/1", "x", "y"), "a 10.0, b/1 5.0, x 2.0, b 1.0, y 0.0", -1},
		"no words":                 {nil, near("x", "y"), "x 0.2, y 0.0", -1},
		"words without a score":    {words(0), near("x", "y"), "x 0.2, a 0.0, y 0.0", -1},
		"a language unknown to it": {words(10), near("x,tlh", "y", "z"), "a 10.0, y 2.0, x 0.0, z 0.0", -1},
		"nothing else is near":     {words(10, 5), near("x", "b", "y"), "a 10.0, b 7.0, x 4.0", 0.8},
		"the other way":            {words(10), []index.Hit{{DocumentID: "x", Score: 0.1}, {DocumentID: "y", Score: -0.1}}, "a 10.0, x 4.0, y 0.0", -1},
	} {
		before := fmt.Sprint(c.words, c.near)
		var got []string
		hits, _ := byScore(c.words, c.near, c.unrelated, (&meanings{}).Trust)
		for _, hit := range hits {
			got = append(got, fmt.Sprintf("%s%s %.1f", hit.DocumentID, []string{"", "/1"}[hit.Chunk], hit.Score))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
		if fmt.Sprint(c.words, c.near) != before {
			t.Errorf("%s: the lists were changed, which the ranks are read from", name)
		}
	}
}

// TestWhenVectorsAreLeftOut: while one types, without vectors in the library, with those of another model, and where a
// query of emoji says nothing.
func TestWhenVectorsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Request, *vectored){
		"instant":       func(r *Request, _ *vectored) { r.Search.Instant = true },
		"another model": func(_ *Request, v *vectored) { v.model = "other" },
		"no embedder":   func(r *Request, _ *vectored) { r.Embedder = nil },
		"switched off for similar passages, too": func(r *Request, _ *vectored) {
			r.Embedder, r.Search.Query, r.Search.SimilarTo = nil, "", "a"
		},
		"no words": func(r *Request, _ *vectored) { r.Search.Query = "😀 ?!" },
	} {
		shelf, request := withVectors(), vectorSearch("roll back")
		model := request.Embedder.(*meanings)
		change(&request, shelf)
		if _, err := Run(t.Context(), shelf, request, nil); err != nil {
			t.Fatal(err)
		}
		if len(model.asked)+len(shelf.texts) > 0 {
			t.Errorf("%s: asked for %q, searched for %q", name, model.asked, shelf.texts)
		}
	}
}

// TestVectorsFailOpen: whatever goes wrong, words find what they find, and a note says so.
func TestVectorsFailOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  func(ctx context.Context) error
		index error
		code  string
	}{
		"late":         {fail: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, code: wire.NoteStageTimeout},
		"fails":        {fail: func(context.Context) error { return errors.New("no") }, code: wire.NoteStageFailed},
		"panics":       {fail: func(context.Context) error { panic("no") }, code: wire.NoteStageFailed},
		"index damage": {index: fault.ErrDamaged, code: wire.NoteStageFailed},
	} {
		synctest.Test(t, func(t *testing.T) {
			shelf, request := withVectors(), vectorSearch("roll back")
			shelf.err = c.index
			request.Embedder = &meanings{fail: c.fail}
			start := time.Now()
			response, err := Run(t.Context(), shelf, request, nil)
			if err != nil || len(response.Results) == 0 {
				t.Fatalf("%s: %v", name, err)
			}
			var codes []string
			for _, note := range response.Notes {
				codes = append(codes, note.Code)
			}
			if !strings.Contains(strings.Join(codes, " "), c.code) {
				t.Errorf("%s: notes %v", name, response.Notes)
			}
			if took := time.Since(start); took > embedDeadline {
				t.Errorf("%s: took %v", name, took)
			}
		})
	}
}

// TestTextsAreReadOnce to find copies, by each caller in each state of the library.
func TestTextsAreReadOnce(t *testing.T) {
	t.Parallel()
	shelf := newShelf()
	shelf.twins, shelf.version = [][]string{{"a", "b"}}, "1"
	request := Request{Search: wire.SearchRequest{Query: "roll", Instant: true}, Now: time.Now(), Cache: NewCache()}
	for _, step := range []struct {
		caller, version string
		read            int
	}{{"jo", "1", 2}, {"jo", "1", 2}, {"kim", "1", 4}, {"jo", "2", 6}, {"kim", "1", 6}} {
		request.Caller, shelf.version = step.caller, step.version
		if _, err := Run(t.Context(), shelf, request, nil); err != nil {
			t.Fatal(err)
		}
		if shelf.whole != step.read {
			t.Errorf("%s in state %s: %d texts were read, want %d", step.caller, step.version, shelf.whole, step.read)
		}
	}
}

// TestVectorsAreRemembered: the same question is embedded once, whatever its filters; the oldest are forgotten.
func TestVectorsAreRemembered(t *testing.T) {
	t.Parallel()
	shelf, request := withVectors(), vectorSearch("roll back")
	request.Cache = NewCache()
	for range 3 {
		if _, err := Run(t.Context(), shelf, request, nil); err != nil {
			t.Fatal(err)
		}
	}
	if asked := request.Embedder.(*meanings).asked; len(asked) != 1 || len(shelf.texts) != 3 {
		t.Errorf("embedded %q, searched %d times", asked, len(shelf.texts))
	}
	for i := range 2 * maxVectors {
		request.Cache.vectors.Add(vectorKey{"", "nomic", fmt.Sprint(i)}, []float32{1})
	}
	if n := request.Cache.vectors.Len(); n != maxVectors {
		t.Errorf("%d vectors are remembered", n)
	}
	if !request.Cache.vectors.Contains(vectorKey{"", "nomic", "600"}) {
		t.Error("the latest is forgotten")
	}
	for _, other := range []vectorKey{{"", "nomic", "roll back"}, {"", "other", "600"}, {"jo", "nomic", "600"}} {
		if request.Cache.vectors.Contains(other) {
			t.Errorf("%+v is remembered", other)
		}
	}
}

// TestSentencesByVector: with a language model its rephrasing is embedded too, and the question while it thinks; keyword
// queries mean their words.
func TestSentencesByVector(t *testing.T) {
	t.Parallel()
	shelf, request := withVectors(), vectorSearch("roll back")
	request.Search.SkipDocumentSelection = true
	said := func(text string) answer {
		return func(context.Context, llm.Request) (llm.Reply, error) { return llm.Reply{Text: text}, nil }
	}
	request.Model = &chat{answers: map[string]answer{
		purposeRephrase: said("how to undo a deploy"), purposeKeywords: said("undo deploy\nrollback"),
		purposeClassify: said("1"),
	}}
	response, err := Run(t.Context(), shelf, request, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := request.Embedder.(*meanings).asked
	if len(asked) != 2 || asked[0] != "roll back" || asked[1] != "how to undo a deploy" {
		t.Errorf("embedded %q", asked)
	}
	if len(shelf.texts) != 2 || !strings.Contains(response.Stages[1].Detail, "4 by vector") {
		t.Errorf("searched by vector for %q: %s", shelf.texts, response.Stages[1].Detail)
	}
}
