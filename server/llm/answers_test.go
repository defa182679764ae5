package llm

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
)

// bodyTransport answers each request with the same body.
type bodyTransport struct{ media, body string }

func (b bodyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {b.media}}, Request: r,
		ContentLength: -1, Body: io.NopCloser(strings.NewReader(b.body))}, nil
}

func answeredBy(t *testing.T, media, body string) *Providers {
	t.Helper()
	return configured(t, "http://model.invalid/v1", func(c *Config) { c.Transport = bodyTransport{media, body} })
}

// TestKeysOfAnswersAreMatchedExactly: a key in another case is another key.
func TestKeysOfAnswersAreMatchedExactly(t *testing.T) {
	t.Parallel()
	const (
		choice = `{"choices":[{"message":{"role":"assistant","content":"kept","Content":"x","CONTENT":"y"}}],"Choices":[]}`
		event  = `{"choices":[{"index":0,"delta":{"content":"kept","Content":"x"},"finish_reason":"stop"}],"Choices":[]}`
		vector = `{"data":[{"index":0,"embedding":[3,4],"Embedding":[1,0]}],"Data":[]}`
	)
	reply, err := chatOf(t, answeredBy(t, "application/json", choice)).Complete(t.Context(), question)
	if err != nil || reply.Text != "kept" {
		t.Errorf("complete: %q, %v", reply.Text, err)
	}
	reply, err = chatOf(t, answeredBy(t, "text/event-stream", "data: "+event+"\n\ndata: [DONE]\n\n")).Stream(t.Context(), question,
		func(string) error { return nil })
	if err != nil || reply.Text != "kept" {
		t.Errorf("stream: %q, %v", reply.Text, err)
	}
	embedder, _ := answeredBy(t, "application/json", vector).Embedder()
	vectors, _, err := embedder.Embed(t.Context(), ForQueries, []string{"x"})
	if err != nil || math.Abs(float64(vectors[0][0])-0.6) > 1e-6 {
		t.Errorf("embed: %v, %v", vectors, err)
	}
}

// TestOddAnswers: what is not used of an answer may have any type, and what is used one that says the same.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{`"created":1709649000.25`, `"created":"2024-03-05"`, `"id":7`, `"id":{}`, `"model":null`, `"object":3`, `"system_fingerprint":3`, `"service_tier":[]`,
		`"usage":null`, `"usage":[]`, `"usage":"none"`, `"usage":{"prompt_tokens":9,"completion_tokens":null,"total_tokens":9.0}`, `"usage":{"prompt_tokens":"9","completion_tokens":2.0}`,
		`"error":null`, `"error":""`, `"prompt_filter_results":{}`, `"choices_count":1`} {
		whole := `{` + odd + `,"choices":[{"index":"0","logprobs":3,"message":{"role":7,"content":"kept","tool_calls":"","refusal":3,"reasoning_content":["x"]},"finish_reason":"stop"}]}`
		reply, err := chatOf(t, answeredBy(t, "application/json", whole)).Complete(t.Context(), question)
		if err != nil || reply.Text != "kept" || reply.Usage.Prompt <= 0 || reply.Usage.Completion <= 0 {
			t.Errorf("%s: %+v, %v", odd, reply, err)
		}
		events := `data: {` + odd + `,"choices":[{"index":0.0,"delta":{"role":null,"content":"ke"},"finish_reason":null}]}` + "\n\n" +
			`data:{` + odd + `,"choices":[{"delta":{"content":"pt","tool_calls":{}},"finish_reason":false,"logprobs":[]}]}` + "\r\n\r\n"
		for _, end := range []string{"data: [DONE]", "data:[DONE]\n\n", `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`, `data: {"choices":[{"delta":{},"finish_reason":1}]}`, "data: {\"choices\":{}}\n\ndata: [DONE]", `data: {"choices":[{"delta":null,"finish_reason":"length"}],"usage":{}}` + "\n"} {
			reply, err = chatOf(t, answeredBy(t, "text/event-stream", events+": ping\nid: 3\n\n"+end)).Stream(t.Context(), question, func(string) error { return nil })
			if err != nil || reply.Text != "kept" || reply.Usage.Prompt <= 0 {
				t.Errorf("%s, %q: %+v, %v", odd, end, reply, err)
			}
		}
	}
	for _, choice := range []string{`{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"x"}]},{"type":"text","text":"ke"},{"text":"pt"},7]}}`, `{"text":"kept"}`, `{"delta":{"content":"kept"}}`,
		`{"message":{"content":"kept"},"index":null}`} {
		reply, err := chatOf(t, answeredBy(t, "application/json", `{"choices":[`+choice+`]}`)).Stream(t.Context(), question, func(string) error { return nil })
		if err != nil || reply.Text != "kept" {
			t.Errorf("not streamed, %s: %+v, %v", choice, reply, err)
		}
		reply, err = chatOf(t, answeredBy(t, "text/event-stream", "data: {\"choices\":["+choice+"]}\n\ndata: [DONE]\n\n")).Stream(t.Context(), question, func(string) error { return nil })
		if err != nil || reply.Text != "kept" {
			t.Errorf("streamed, %s: %+v, %v", choice, reply, err)
		}
	}
	for _, body := range []string{"event: error\ndata: {\"message\":\"no\"}\n\n", `data: {"choices":[{"delta":{"content":"x"}}],"error":{"message":"no"}}`, `data: {"error":"no"}`} {
		if _, err := chatOf(t, answeredBy(t, "text/event-stream", body)).Stream(t.Context(), question, func(string) error { return nil }); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := chatOf(t, answeredBy(t, "text/event-stream", `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n")).Stream(t.Context(), question, func(string) error { return nil }); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("without an end: %v", err)
	}
	page := answeredBy(t, "text/html; charset=utf-8", "<html>")
	if _, err := chatOf(t, page).Stream(t.Context(), question, func(string) error { return nil }); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("a web page: %v", err)
	}
	for _, body := range []string{`{"data":[{"index":"0","embedding":[3,4],"object":7}],"usage":null,"model":3}`, `{"data":[{"index":0.0,"embedding":[[3,4]]}],"usage":[]}`, `{"data":[{"embedding":"AABAQAAAgEA="}],"id":1.5}`} {
		embedder, _ := answeredBy(t, "application/json", body).Embedder()
		vectors, _, err := embedder.Embed(t.Context(), ForQueries, []string{"x"})
		if err != nil || math.Abs(float64(vectors[0][0])-0.6) > 1e-6 {
			t.Errorf("%s: %v, %v", body, vectors, err)
		}
	}
	names, err := answeredBy(t, "application/json", `{"object":1,"data":[{"id":"small","created":1.5,"owned_by":null},{"id":7},"large",{"id":"large","permission":{}}]}`).List(t.Context(), "local")
	if err != nil || strings.Join(names, " ") != "small large" {
		t.Errorf("%q, %v", names, err)
	}
}

// TestCutReplies: why a reply is not whole is known, however it ends, and a broken event costs only itself.
func TestCutReplies(t *testing.T) {
	t.Parallel()
	said := func(text, reason string) string {
		return `data: {"choices":[{"delta":{"content":"` + text + `"},"finish_reason":` + reason + "}]}\n\n"
	}
	for body, want := range map[string]string{
		said("a", "null") + said("b", `"stop"`): "ab ", said("a", "null") + said("b", `"length"`): "ab limit", said("ab", `"content_filter"`): "ab filter",
		"\uFEFF" + said("ab", `"stop"`): "ab ", said("ab", `"MAX_TOKENS"`): "ab limit", said("ab", "7"): "ab ", said("a", "null") + "data: ping\n\n" + said("b", `"stop"`): "ab ",
		said("a", "null") + "data: {\"choices\":[{\"delta\":{\n\n" + said("b", `"stop"`):                        "ab cannot be read",
		said("a", "null") + "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"b\"}}]}\n\ndata: [DONE]\n\n": "ab ",
	} {
		reply, err := chatOf(t, answeredBy(t, "text/event-stream", body)).Stream(t.Context(), question, func(string) error { return nil })
		text, cut, _ := strings.Cut(want, " ")
		if err != nil || reply.Text != text || !strings.Contains(reply.Cut, cut) || (cut == "") != (reply.Cut == "") {
			t.Errorf("%q: %+v, %v", body, reply, err)
		}
	}
	reply, err := chatOf(t, answeredBy(t, "application/json", `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}`)).Complete(t.Context(), question)
	if err != nil || reply.Cut == "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// checkCall fails where an error has no kind, or a call costs what cannot be.
func checkCall(t *testing.T, used Usage, err error) {
	t.Helper()
	var known *Error
	if err != nil && !errors.As(err, &known) {
		t.Fatalf("an error without a kind: %v", err)
	}
	if used.Calls != 1 || used.Prompt < 0 || used.Prompt > mostTokens || used.Completion < 0 || used.Completion > mostTokens {
		t.Fatalf("used %+v", used)
	}
}

func FuzzCompleteAnswer(f *testing.F) {
	f.Add(`{"choices":[{"message":{"role":"assistant","content":"a <think>b</think> c"}}],"usage":{"prompt_tokens":-1,"completion_tokens":1e9}}`)
	f.Add(`{"choices":[{"message":{"content":null}}],"usage":null}`)
	f.Add(`{"choices":[]}`)
	f.Add(`{"Choices":[{"message":{"content":"x"}}]}`)
	f.Add(`{"error":{"message":"no"}}`)
	f.Add(`<html>`)
	f.Add(`{"created":1.5,"choices":[{"index":"0","message":{"content":[{"text":"x"}]}},7],"usage":{"prompt_tokens":"1e99"},"error":0}`)
	f.Fuzz(func(t *testing.T, body string) {
		reply, err := chatOf(t, answeredBy(t, "application/json", body)).Complete(context.Background(), question)
		checkCall(t, reply.Usage, err)
		if err == nil && (strings.TrimSpace(reply.Text) == "" || len(reply.Text) > maxReply) {
			t.Fatalf("%q of %q", reply.Text, body)
		}
	})
}

func FuzzStreamedAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}," +
		"\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\n\ndata: [DONE]\n\n")
	f.Add("data: {\"error\":{\"message\":\"no\"}}\n\n")
	f.Add(": ping\n\ndata:{}\n\n\x00")
	f.Add("data: ping\ndata: {\"created\":1.5,\"choices\":[{\"delta\":\ndata: {\"content\":\"b\"},\"finish_reason\":\"length\"}]}\n\ndata: {\n\ndata: [DONE]\n\n")
	f.Add("data: {\"Choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		var pieces strings.Builder
		reply, err := chatOf(t, answeredBy(t, "text/event-stream", body)).Stream(context.Background(), question,
			func(piece string) error {
				_, err := pieces.WriteString(piece)
				return err
			})
		checkCall(t, reply.Usage, err)
		if reply.Text != pieces.String() || len(reply.Text) > maxReply || err == nil && strings.TrimSpace(reply.Text) == "" {
			t.Fatalf("reply %q, in pieces %q: %v", reply.Text, &pieces, err)
		}
	})
}

func FuzzEmbeddings(f *testing.F) {
	f.Add(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}],"usage":{"prompt_tokens":7}}`)
	f.Add(`{"data":[{"embedding":[1,2]},{"embedding":[3e38,3e38]}]}`)
	f.Add(`{"data":[{"index":1,"embedding":[0]},{"index":-1,"embedding":[]}]}`)
	f.Add(`{"data":[{"embedding":"AACAPw=="},{"embedding":[1e-45]}]}`)
	f.Add(`{"Data":[{"embedding":[1]},{"embedding":[1]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		embedder, _ := answeredBy(t, "application/json", body).Embedder()
		vectors, used, err := embedder.Embed(context.Background(), ForDocuments, []string{"one", "two"})
		checkCall(t, used, err)
		if err != nil {
			return
		}
		if len(vectors) != 2 || len(vectors[0]) != len(vectors[1]) || len(vectors[0]) > maxDimensions {
			t.Fatalf("%d vectors of %q", len(vectors), body)
		}
		for _, vector := range vectors {
			sum := 0.0
			for _, x := range vector {
				sum += float64(x) * float64(x)
			}
			if math.Abs(sum-1) > 1e-3 {
				t.Fatalf("length² %v of %q", sum, body)
			}
		}
	})
}

// A list of models is foreign text for the screen.
func FuzzModelList(f *testing.F) {
	f.Add(`{"object":"list","data":[{"id":"small"},{"id":"large\u001b[31m"},{"id":""}]}`)
	f.Add(`{"data":[{"id":7}]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, body string) {
		names, err := answeredBy(t, "application/json", body).List(context.Background(), "local")
		var known *Error
		if err != nil && !errors.As(err, &known) || len(names) > 200 {
			t.Fatalf("%v, %d names", err, len(names))
		}
		for _, name := range names {
			if name == "" || len(name) > 200 || strings.ContainsAny(name, "\x1b\n") {
				t.Fatalf("%q is no name", name)
			}
		}
	})
}
