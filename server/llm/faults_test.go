package llm

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/memnet"
)

const secret = "sk-very-secret-key-0123456789"

// scripted starts a server and the models of a configuration with it.
func scripted(t *testing.T, change func(*Config)) (*llmtest.Server, *Providers) {
	t.Helper()
	server := llmtest.New()
	t.Cleanup(server.Close)
	return server, configured(t, server.BaseURL(), change)
}

// inMemory is scripted for a synctest bubble.
func inMemory(t *testing.T, change func(*Config)) (*llmtest.Server, *Providers) {
	t.Helper()
	listener := memnet.Listen()
	server := llmtest.NewOn(listener)
	transport := listener.Transport()
	t.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	return server, configured(t, server.BaseURL(), func(c *Config) {
		c.Transport = transport
		if change != nil {
			change(c)
		}
	})
}

func configured(t *testing.T, address string, change func(*Config)) *Providers {
	t.Helper()
	key := func(context.Context) (string, error) { return secret, nil }
	config := Config{
		Default:   "local/small",
		Providers: map[string]Provider{"local": {BaseURL: address, Models: []string{"small", "large"}, Key: key}},
		Embedding: Embedding{BaseURL: address, Model: "vectors", Key: key},
		Transport: http.DefaultTransport.(*http.Transport).Clone(), // connections of its own, so that a server can be closed
	}
	if change != nil {
		change(&config)
	}
	providers, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return providers
}

func chatOf(t *testing.T, p *Providers) Chat {
	t.Helper()
	chat, err := p.Chat("", "")
	if err != nil {
		t.Fatal(err)
	}
	return chat
}

var question = Request{Purpose: "rephrase", Messages: []wire.Message{
	{Type: RoleSystem, Message: "You rephrase questions."}, {Type: RoleUser, Message: "How do I roll back?"}}}

// noSecret fails if an error tells what it must not.
func noSecret(t *testing.T, err error, address string) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/v1")
	if strings.Contains(text, secret) || strings.Contains(text, host) || strings.Contains(text, "How do I") ||
		strings.ContainsAny(text, "\n\r\x1b\x00") || len([]rune(text)) > 450 {
		t.Errorf("the error tells too much: %q", text)
	}
}

// TestEveryFault asks for a whole reply, for a streamed one and for vectors, of a server that does not answer well.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answers  []llmtest.Answer
		streamed error // what a stream ends with; the same as whole where it is nil
		whole    error // what the other calls end with; nil: they go well
		attempts int   // requests that arrive; 0: one
	}{
		"hangs":                        {answers: list(llmtest.Hang()), whole: ErrTimeout},
		"hangs in the middle":          {answers: list(llmtest.HangAfter("One two three")), whole: ErrTimeout},
		"late":                         {answers: list(llmtest.After(time.Hour, llmtest.Text("Late"))), whole: ErrTimeout},
		"garbage":                      {answers: list(llmtest.Garbage()), whole: ErrUnusable},
		"half":                         {answers: list(llmtest.Half("One two three")), whole: ErrUnusable},
		"ends early":                   {answers: list(llmtest.EndsEarly("One two")), whole: ErrUnusable},
		"nothing":                      {answers: list(llmtest.Raw(200, "application/json", "")), whole: ErrUnusable},
		"an empty object":              {answers: list(llmtest.Raw(200, "application/json", "{}")), whole: ErrUnusable},
		"an empty text":                {answers: list(llmtest.Text("")), whole: ErrUnusable},
		"space":                        {answers: list(llmtest.Text(" \n ")), whole: ErrUnusable},
		"thinking without end":         {answers: list(llmtest.Text("<think> well, I wonder")), whole: ErrUnusable},
		"a page":                       {answers: list(llmtest.Raw(200, "text/html", "<html>sign in</html>")), whole: ErrUnusable},
		"too large":                    {answers: list(llmtest.Large(9 << 20)), whole: ErrUnusable},
		"a large text":                 {answers: list(llmtest.Large(maxReply + 1)), whole: ErrUnusable},
		"broken events":                {answers: list(llmtest.Raw(200, "text/event-stream", "data: {\n\ndata: [DONE]\n\n")), whole: ErrUnusable},
		"no status of success":         {answers: list(llmtest.Raw(204, "application/json", "")), whole: ErrRefused},
		"an error within the events":   {answers: list(llmtest.Raw(200, "text/event-stream", "data: {\"error\":{\"message\":\"no "+secret+"\"}}\n\n")), streamed: ErrUnavailable, whole: ErrUnusable},
		"500 twice":                    {answers: list(llmtest.Status(500, "broken")), whole: ErrUnavailable, attempts: 2},
		"500 once":                     {answers: list(llmtest.Status(500, "broken"), well()), attempts: 2},
		"503 with a page":              {answers: list(llmtest.Raw(503, "text/html", "<h1>"+secret+"</h1>")), whole: ErrUnavailable, attempts: 2},
		"429 at once":                  {answers: list(llmtest.Busy("0"), well()), attempts: 2},
		"429 without a time":           {answers: list(llmtest.Busy(""), well()), attempts: 2},
		"429 twice":                    {answers: list(llmtest.Busy("")), whole: ErrBusy, attempts: 2},
		"429 for longer than there is": {answers: list(llmtest.Busy("3600"), well()), whole: ErrBusy},
		"401 that repeats the key":     {answers: list(llmtest.Status(401, "Incorrect key: "+secret)), whole: ErrRefused},
		"400 of control characters":    {answers: list(llmtest.Status(400, "\x1b[31mred\r\n"+strings.Repeat("long ", 500))), whole: ErrRefused},
		"404":                          {answers: list(llmtest.Status(404, "model not found")), whole: ErrRefused},
	}
	for name, c := range cases {
		if c.streamed == nil {
			c.streamed = c.whole
		}
		calls := map[string]struct {
			do   func(context.Context, *Providers) error
			want error
		}{
			"whole": {func(ctx context.Context, p *Providers) error {
				reply, err := chatOf(t, p).Complete(ctx, question)
				return orWrong(reply.Text == goodText, err)
			}, c.whole},
			"streamed": {func(ctx context.Context, p *Providers) error {
				got := ""
				reply, err := chatOf(t, p).Stream(ctx, question, func(s string) error { got += s; return nil })
				if got != reply.Text {
					t.Errorf("%s: handed over %q, returned %q", name, got, reply.Text)
				}
				return orWrong(reply.Text == goodText, err)
			}, c.streamed},
		}
		for kind, call := range calls {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server, p := inMemory(t, nil)
					server.On(llmtest.Any(), c.answers...)
					err := call.do(context.Background(), p)
					if !errors.Is(err, call.want) {
						t.Fatalf("got %v, want %v", err, call.want)
					}
					noSecret(t, err, server.BaseURL())
					if n := len(server.Requests()); n != max(1, c.attempts) {
						t.Errorf("%d requests arrived, want %d", n, max(1, c.attempts))
					}
				})
			})
		}
	}
}

const goodText = "Roll back with one command."

func well() llmtest.Answer                            { return llmtest.Text(goodText) }
func list(answers ...llmtest.Answer) []llmtest.Answer { return answers }

func orWrong(right bool, err error) error {
	if err == nil && !right {
		return errors.New("the text is wrong")
	}
	return err
}

func TestAStreamThatPausesEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, p := inMemory(t, nil)
		server.On(llmtest.Any(), llmtest.HangAfter("One two "))
		got := ""
		reply, err := chatOf(t, p).Stream(context.Background(), question, func(s string) error { got += s; return nil })
		if !errors.Is(err, ErrTimeout) || got != "One two " || reply.Usage.Prompt == 0 || reply.Usage.Completion != 2 {
			t.Errorf("got %q, %+v, %v", got, reply, err)
		}
	})
}

// TestALateEndCostsNothing has a server that says that it is done and then keeps the connection open.
func TestALateEndCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, p := inMemory(t, nil)
		server.On(llmtest.Any(), func(w http.ResponseWriter, r *http.Request, asked llmtest.Request) {
			llmtest.Raw(200, "text/event-stream",
				`data: {"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\n")(w, r, asked)
			_ = http.NewResponseController(w).Flush()
			llmtest.Hang()(w, r, asked)
		})
		reply, err := chatOf(t, p).Stream(context.Background(), question, func(string) error { return nil })
		if err != nil || reply.Text != "Done." {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
}

func TestTheCallerEndsAStream(t *testing.T) {
	t.Parallel()
	server, p := scripted(t, nil)
	server.On(llmtest.Any(), llmtest.HangAfter("One two three "))
	enough := errors.New("enough")
	reply, err := chatOf(t, p).Stream(context.Background(), question, func(string) error { return enough })
	if !errors.Is(err, enough) || reply.Text != "One " {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestTheCallerLeaves(t *testing.T) {
	t.Parallel()
	server, p := scripted(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	server.On(llmtest.Any(), func(_ http.ResponseWriter, r *http.Request, _ llmtest.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := chatOf(t, p).Complete(ctx, question)
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// TestACallWaitsForItsTurn keeps all places taken: a further call waits no longer than its context allows.
func TestACallWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, p := inMemory(t, func(c *Config) { c.Concurrency = 2 })
		arrived, release := make(chan struct{}, 6), make(chan struct{})
		server.On(llmtest.Any(), func(w http.ResponseWriter, r *http.Request, asked llmtest.Request) {
			arrived <- struct{}{}
			llmtest.Held(release, well())(w, r, asked)
		})
		chat, done := chatOf(t, p), make(chan error)
		for range 6 {
			go func() {
				_, err := chat.Complete(context.Background(), question)
				done <- err
			}()
		}
		<-arrived
		<-arrived
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		reply, err := chat.Complete(ctx, question)
		if !errors.Is(err, ErrTimeout) || reply.Usage != (Usage{}) {
			t.Errorf("a call that found no place: %+v, %v", reply, err)
		}
		close(release)
		for range 6 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most := server.MostAtOnce(); most != 2 {
			t.Errorf("%d calls were under way at once, want 2", most)
		}
	})
}

func TestRedirectsAreNotFollowedElsewhere(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the stranger was asked")
	}))
	t.Cleanup(stranger.Close)
	for code, location := range map[int]string{
		307: stranger.URL, 308: stranger.URL + "/v1/chat/completions", 302: "/v1/chat/completions/", 301: "ftp://x",
	} {
		server, p := scripted(t, nil)
		server.On(llmtest.Any(), llmtest.Redirect(code, location))
		_, err := chatOf(t, p).Complete(context.Background(), question)
		if !errors.Is(err, ErrRefused) || len(server.Requests()) != 1 {
			t.Errorf("%d to %s: %v, %d requests", code, location, err, len(server.Requests()))
		}
		noSecret(t, err, server.BaseURL())
		noSecret(t, err, stranger.URL)
	}
	server, p := scripted(t, nil)
	server.On(llmtest.Any(), llmtest.Redirect(307, "/v2/chat/completions"), well())
	if reply, err := chatOf(t, p).Complete(context.Background(), question); err != nil || reply.Text != goodText {
		t.Errorf("within the server: %+v, %v", reply, err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, address := range []string{closed.URL, "http://no-such-host.invalid/v1", "ftp://example.com"} {
		p := configured(t, address, nil)
		_, err := chatOf(t, p).Complete(context.Background(), question)
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", address, err)
		}
		noSecret(t, err, address)
		embedder, _ := p.Embedder()
		if _, _, err := embedder.Embed(context.Background(), ForDocuments, []string{"a"}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: vectors: %v", address, err)
		}
	}
}

func TestTheKeyIsReadWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	read := 0
	server, p := scripted(t, func(c *Config) {
		provider := c.Providers["local"]
		provider.Key = func(context.Context) (string, error) {
			if read++; read == 1 {
				return "", errors.New("the keyring is locked: " + secret)
			}
			return secret, nil
		}
		c.Providers["local"] = provider
	})
	server.On(llmtest.Any(), well())
	chat := chatOf(t, p)
	if read != 0 {
		t.Error("the key was read before a request")
	}
	_, err := chat.Complete(context.Background(), question)
	if !errors.Is(err, ErrRefused) || len(server.Requests()) != 0 {
		t.Errorf("without a key: %v", err)
	}
	noSecret(t, err, server.BaseURL())
	if _, err := chat.Complete(context.Background(), question); err != nil {
		t.Error(err)
	}
	if got := server.Requests()[0].Authorization; got != "Bearer "+secret {
		t.Errorf("sent %q", got)
	}
}
