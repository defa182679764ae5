package llm

import (
	"context"
	"errors"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"quarry/internal/testkit/llmtest"
)

func TestWhichModelIsAsked(t *testing.T) {
	t.Parallel()
	config := Config{Default: "local/tuned", Providers: map[string]Provider{
		"local":  {BaseURL: "http://127.0.0.1:1", Models: []string{"small", "large"}},
		"hosted": {BaseURL: "http://127.0.0.1:1", Models: []string{"org/fast"}},
		"empty":  {BaseURL: "http://127.0.0.1:1"},
	}}
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		provider, model, want string
		err                   error
	}{
		{"", "", "local/tuned", nil},
		{"local", "", "local/tuned", nil},
		{"local", "large", "local/large", nil},
		{"local", "tuned", "local/tuned", nil},
		{"hosted", "", "hosted/org/fast", nil},
		{"hosted", "org/fast", "hosted/org/fast", nil},
		{"hosted", "small", "", ErrUnknown},
		{"local", "huge", "", ErrUnknown},
		{"other", "", "", ErrUnknown},
		{"", "small", "", ErrUnknown},
		{"empty", "", "", ErrUnknown},
		{"empty", "any", "", ErrUnknown},
	} {
		chat, err := p.Chat(c.provider, c.model)
		if !errors.Is(err, c.err) || (err == nil && chat.Name() != c.want) {
			t.Errorf("Chat(%q, %q): %v, %v", c.provider, c.model, chat, err)
		}
	}
	if p.Default() != "local/tuned" {
		t.Errorf("the default is %q", p.Default())
	}
	if _, ok := p.Embedder(); ok {
		t.Error("there is an embedder")
	}
}

func TestWithoutModels(t *testing.T) {
	t.Parallel()
	empty, err := New(Config{Providers: map[string]Provider{"a": {BaseURL: "http://127.0.0.1:1", Models: []string{"m"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Providers{nil, empty} {
		if _, err := p.Chat("", ""); !errors.Is(err, ErrNone) {
			t.Errorf("no default: %v", err)
		}
		if _, err := p.Chat("b", "m"); !errors.Is(err, ErrUnknown) {
			t.Errorf("unknown: %v", err)
		}
		if _, ok := p.Embedder(); ok || p.Default() != "" || p.DailyTokens() != 0 {
			t.Error("there is something")
		}
	}
}

func TestWhatCannotBeConfigured(t *testing.T) {
	t.Parallel()
	local := map[string]Provider{"local": {BaseURL: "http://127.0.0.1:1"}}
	for _, config := range []Config{
		{Default: "other", Providers: local},
		{Default: "local", Providers: local},
		{Providers: map[string]Provider{"local": {}}},
		{Embedding: Embedding{BaseURL: "http://127.0.0.1:1"}},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}

func TestAReplyAndWhatItCost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer llmtest.Answer
		want   Reply
	}{
		"told":     {llmtest.Text(goodText), Reply{Text: goodText, Usage: Usage{1, 8, 5}}},
		"not told": {llmtest.WithoutUsage(goodText), Reply{Text: goodText, Usage: Usage{1, 11, 7}}}, // a quarter of the bytes of each text
		"thinking": {llmtest.WithoutUsage("\n<think>Hm.</think>\n\n" + goodText), Reply{Text: goodText, Usage: Usage{1, 11, 12}}},
		"absurd": {llmtest.Raw(200, "application/json", `{"choices":[{"message":{"content":"Yes"}}],
			"usage":{"prompt_tokens":-5,"completion_tokens":99999999999}}`), Reply{Text: "Yes", Usage: Usage{1, 11, 1}}},
		"after a failure": {failingOnce(llmtest.Text(goodText)), Reply{Text: goodText, Usage: Usage{2, 8, 5}}},
	} {
		server, p := scripted(t, nil)
		server.On(llmtest.Any(), c.answer)
		reply, err := chatOf(t, p).Complete(context.Background(), question)
		if err != nil || reply != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, reply, err, c.want)
		}
		if name == "absurd" {
			continue
		}
		server, p = scripted(t, nil)
		server.On(llmtest.Any(), c.answer)
		if name == "after a failure" {
			server, p = scripted(t, nil)
			server.On(llmtest.Any(), llmtest.Status(502, ""), llmtest.Text(goodText))
		}
		got := ""
		reply, err = chatOf(t, p).Stream(context.Background(), question, func(s string) error { got += s; return nil })
		if err != nil || reply != c.want || got != goodText {
			t.Errorf("%s, streamed: %+v, %q, %v, want %+v", name, reply, got, err, c.want)
		}
	}
}

func failingOnce(next llmtest.Answer) llmtest.Answer {
	failed := false
	return func(w http.ResponseWriter, r *http.Request, asked llmtest.Request) {
		if !failed {
			failed = true
			llmtest.Status(502, "")(w, r, asked)
			return
		}
		next(w, r, asked)
	}
}

// TestCallsThatFailCostWhatWasSent: a server that hung has read the prompt; one that refused has not.
func TestCallsThatFailCostWhatWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			answer llmtest.Answer
			want   Usage
		}{
			"hangs":   {llmtest.Hang(), Usage{1, 11, 0}},
			"garbage": {llmtest.Garbage(), Usage{1, 11, 0}},
			"refuses": {llmtest.Status(401, "no"), Usage{1, 0, 0}},
			"breaks":  {llmtest.Status(500, "no"), Usage{2, 0, 0}},
		} {
			server, p := inMemory(t, nil)
			server.On(llmtest.Any(), c.answer)
			if reply, err := chatOf(t, p).Complete(context.Background(), question); err == nil || reply != (Reply{Usage: c.want}) {
				t.Errorf("%s: %+v, %v, want %+v", name, reply, err, c.want)
			}
		}
	})
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	server, p := scripted(t, nil)
	server.On(llmtest.Any(), well())
	request := question
	request.MaxTokens = 50
	if _, err := chatOf(t, p).Complete(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	sent := server.Requests()[0]
	if sent.Model != "small" || sent.MaxTokens != 50 || sent.Temperature > 0.02 || sent.Stream ||
		len(sent.Messages) != 2 || sent.Messages[1] != (llmtest.Message{Role: "user", Content: "How do I roll back?"}) {
		t.Errorf("sent %+v", sent)
	}
}

// TestWhatAModelDoesNotTake has a server that refuses parameters, one after the other, in the words of known servers.
func TestWhatAModelDoesNotTake(t *testing.T) {
	t.Parallel()
	picky := func(w http.ResponseWriter, r *http.Request, asked llmtest.Request) {
		switch {
		case asked.MaxTokens > 0:
			llmtest.Status(400, "Unsupported parameter: 'max_tokens' is not supported with this model. "+
				"Use 'max_completion_tokens' instead.")(w, r, asked)
		case asked.Temperature != 0:
			llmtest.Status(400, "Unsupported value: 'temperature' does not support 0.01 with this model.")(w, r, asked)
		case asked.StreamOptions.IncludeUsage:
			llmtest.Status(422, "stream_options: extra fields not permitted")(w, r, asked)
		default:
			well()(w, r, asked)
		}
	}
	server, p := scripted(t, nil)
	server.On(llmtest.Any(), picky)
	request := question
	request.MaxTokens = 50
	chat := chatOf(t, p)
	for _, want := range []int{4, 1} { // what was learnt is kept
		before := len(server.Requests())
		reply, err := chat.Stream(context.Background(), request, func(string) error { return nil })
		if err != nil || reply.Text != goodText {
			t.Fatalf("%+v, %v", reply, err)
		}
		if n := len(server.Requests()) - before; n != want {
			t.Errorf("%d requests, want %d", n, want)
		}
	}
	last := server.Requests()[4]
	if last.MaxCompletionTokens != 50+thinkingRoom {
		t.Errorf("sent %+v", last)
	}
	// A name that the library knows is refused by it, before anything is sent.
	server, p = scripted(t, func(c *Config) {
		c.Default, c.Providers["local"] = "local", Provider{BaseURL: c.Providers["local"].BaseURL, Models: []string{"o3-mini"}}
	})
	server.On(llmtest.Any(), well())
	if _, err := chatOf(t, p).Complete(context.Background(), request); err != nil || len(server.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(server.Requests()))
	}
	// A server that refuses for the same reason again is believed.
	server, p = scripted(t, nil)
	server.On(llmtest.Any(), llmtest.Status(400, "temperature"))
	if _, err := chatOf(t, p).Complete(context.Background(), request); !errors.Is(err, ErrRefused) || len(server.Requests()) != 2 {
		t.Errorf("%v after %d requests", err, len(server.Requests()))
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	server, p := scripted(t, nil)
	embedder, ok := p.Embedder()
	if !ok || embedder.Name() != "vectors" {
		t.Fatalf("%v, %v", embedder, ok)
	}
	texts := []string{""}
	for i := range 150 {
		texts = append(texts, strings.Repeat("word ", i)+"end")
	}
	vectors, usage, err := embedder.Embed(context.Background(), ForDocuments, texts)
	if err != nil || len(vectors) != len(texts) || usage.Calls != 3 || usage.Prompt != 150*149/2+150 || usage.Completion != 0 {
		t.Fatalf("%d vectors, %+v, %v", len(vectors), usage, err)
	}
	if server.Requests()[0].Input[0] != " " {
		t.Error("an empty text was sent")
	}
	for i, v := range vectors {
		want := llmtest.Vector(texts[i], llmtest.DefaultDimensions)
		dot := 0.0
		for j := range v {
			dot += float64(v[j]) * float64(want[j])
		}
		if math.Abs(dot-1) > 1e-5 {
			t.Fatalf("vector %d is another", i)
		}
	}
	if none, usage, err := embedder.Embed(context.Background(), ForDocuments, nil); len(none) != 0 || usage != (Usage{}) || err != nil {
		t.Errorf("of nothing: %v, %+v, %v", none, usage, err)
	}
	if batch([]string{strings.Repeat("a", batchBytes*2), "b"}) != 1 || batch([]string{strings.Repeat("a", batchBytes), "b"}) != 1 {
		t.Error("batches are not cut by size")
	}
}

func TestVectorsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body := func(data string) llmtest.Answer { return llmtest.Raw(200, "application/json", `{"data":[`+data+`]}`) }
		two := []string{"a", "b"}
		for name, c := range map[string]struct {
			answers []llmtest.Answer
			texts   []string
			want    [][]float32
			err     error
		}{
			"in another order": {list(body(`{"index":1,"embedding":[0,3]},{"index":0,"embedding":[4,0]}`)), two, [][]float32{{1, 0}, {0, 1}}, nil},
			"without numbers":  {list(body(`{"embedding":[0,3]},{"embedding":[4,0]}`)), two, [][]float32{{0, 1}, {1, 0}}, nil},
			"too few":          {list(body(`{"index":0,"embedding":[1]}`)), two, nil, ErrUnusable},
			"none":             {list(body(``)), two, nil, ErrUnusable},
			"twice the same":   {list(body(`{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}`)), two, nil, ErrUnusable},
			"beyond":           {list(body(`{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}`)), two, nil, ErrUnusable},
			"negative":         {list(body(`{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}`)), two, nil, ErrUnusable},
			"ragged":           {list(body(`{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}`)), two, nil, ErrUnusable},
			"empty":            {list(body(`{"embedding":[]},{"embedding":[]}`)), two, nil, ErrUnusable},
			"of length 0":      {list(body(`{"embedding":[0]},{"embedding":[0]}`)), two, nil, ErrUnusable},
			"too great":        {list(body(`{"embedding":[1e39]},{"embedding":[1]}`)), two, nil, ErrUnusable},
			"not numbers":      {list(body(`{"embedding":["x"]},{"embedding":[1]}`)), two, nil, ErrUnusable},
			"too long":         {list(llmtest.Vectors(maxDimensions + 1)), two, nil, ErrUnusable},
			"too large":        {list(llmtest.Vectors(20_000)), make([]string, 64), nil, ErrUnusable},
			"another model":    {list(llmtest.Vectors(8), llmtest.Vectors(9)), make([]string, 65), nil, ErrUnusable},
			"busy":             {list(llmtest.Busy("900")), two, nil, ErrBusy},
			"hanging":          {list(llmtest.Hang()), two, nil, ErrTimeout},
		} {
			server, p := inMemory(t, nil)
			server.OnVectors(c.answers...)
			embedder, _ := p.Embedder()
			got, _, err := embedder.Embed(context.Background(), ForDocuments, c.texts)
			if !errors.Is(err, c.err) || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %v, %v", name, len(got), err)
			}
			noSecret(t, err, server.BaseURL())
		}
	})
}
