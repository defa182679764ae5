package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// posted sends a body as a client of the version of the protocol that has batches.
func posted(ctx context.Context, address, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2025-03-26"}}
	return http.DefaultClient.Do(request)
}

func searchCall(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":"a"}}}`, id)
}

// TestUnknownMethods: what the protocol does not know is an error of JSON-RPC, not a line of text.
func TestUnknownMethods(t *testing.T) {
	options := Options{Client: clientOf(t, http.NewServeMux())}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ServeHTTP(w, r, options) }))
	defer listener.Close()
	answer, err := posted(t.Context(), listener.URL, `{"jsonrpc":"2.0","id":7,"method":"no/such"}`)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		ID    int
		Error struct {
			Code    int
			Message string
		}
	}
	err = json.NewDecoder(answer.Body).Decode(&got)
	if err != nil || got.ID != 7 || got.Error.Code != -32601 || got.Error.Message != `unknown method "no/such"` {
		t.Errorf("%+v (%v)", got, err)
	}
}

// TestABatchTakesOneWorker: the calls of a batch wait for each other, so that a server that lets a person use one worker
// answers them all.
func TestABatchTakesOneWorker(t *testing.T) {
	var running, most atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/search", func(w http.ResponseWriter, _ *http.Request) {
		defer running.Add(-1)
		if most.Store(max(most.Load(), running.Add(1))); most.Load() > 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		for range 10_000 { // a second call that may begin does so meanwhile
			runtime.Gosched()
		}
		_, _ = w.Write([]byte(`{"results":[]}`))
	})
	options := Options{Client: clientOf(t, mux), Guest: true}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ServeHTTP(w, r, options) }))
	defer listener.Close()
	var calls []string
	for id := range maxBatch {
		calls = append(calls, searchCall(id))
	}
	answer, err := posted(t.Context(), listener.URL, "["+strings.Join(calls, ",")+"]")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	answered := 0
	for line := range strings.Lines(body.String()) {
		line = strings.TrimPrefix(line, "data: ")
		var several []json.RawMessage
		if json.Unmarshal([]byte(line), &several) != nil {
			several = []json.RawMessage{json.RawMessage(line)}
		}
		for _, one := range several {
			if bytes.Contains(one, []byte(`"result"`)) && !bytes.Contains(one, []byte(`"isError":true`)) {
				answered++
			}
		}
	}
	if answered != maxBatch || most.Load() != 1 {
		t.Errorf("%d of %d calls succeed, %d at once\n%.2000s", answered, maxBatch, most.Load(), &body)
	}
}

// TestAbortEndsTheWork: a caller who hangs up ends the search.
func TestAbortEndsTheWork(t *testing.T) {
	began, ended := make(chan bool), make(chan bool)
	mux := http.NewServeMux()
	mux.HandleFunc("/search", func(_ http.ResponseWriter, r *http.Request) {
		began <- true
		<-r.Context().Done()
		ended <- true
	})
	options := Options{Client: clientOf(t, mux), Guest: true}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ServeHTTP(w, r, options) }))
	defer listener.Close()
	for _, body := range []string{searchCall(1), "[" + searchCall(1) + "," + searchCall(2) + "]"} {
		ctx, hangUp := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			answer, err := posted(ctx, listener.URL, body)
			if err == nil {
				_, err = new(bytes.Buffer).ReadFrom(answer.Body)
				_ = answer.Body.Close()
			}
			failed <- err
		}()
		<-began
		hangUp()
		<-ended
		if err := <-failed; err == nil {
			t.Error("it was answered")
		}
	}
}
