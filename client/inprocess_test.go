package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/testkit/longtest"
)

// inProcessClient calls a handler, and says when it returned.
func inProcessClient(t testing.TB, handler http.HandlerFunc) (*Client, <-chan struct{}) {
	t.Helper()
	returned := make(chan struct{}, 1)
	transport := InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { returned <- struct{}{} }()
		handler(w, r)
	}))
	return clientFor(t, Options{BaseURL: InProcessURL, Transport: transport, Profile: "local", Local: true}), returned
}

func TestInProcessAnswers(t *testing.T) {
	t.Parallel()
	c, _ := inProcessClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.RequestURI != "/search" || r.Host != "library.invalid" ||
			!strings.Contains(string(body), `"query":"x"`) {
			t.Errorf("%s %s %s: %s, %v", r.Method, r.Host, r.RequestURI, body, err)
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("a token in process")
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"results":[{"title":"a","content":"b","link":"file:///home/jo/a.md"}]}`)
		w.Header().Set("Late", "ignored")
	})
	response, err := c.Search(t.Context(), searchFor("x"))
	if err != nil || len(response.Results) != 1 || response.Results[0].Link == nil {
		t.Fatalf("%+v, %v", response, err)
	}
}

func TestInProcessStatuses(t *testing.T) {
	t.Parallel()
	c, _ := inProcessClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, `{"detail":"Not Found"}`)
	})
	_, err := c.Me(t.Context())
	if e := asError(t, err); e.Kind != NotAvailable || e.Reason != "Not Found" {
		t.Errorf("%v", e)
	}
	silent, _ := inProcessClient(t, func(http.ResponseWriter, *http.Request) {})
	if err := silent.Root(t.Context()); err != nil {
		t.Error(err)
	}
	bodyless, _ := inProcessClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if _, err := w.Write([]byte("x")); err != http.ErrBodyNotAllowed {
			t.Errorf("a body where none belongs: %v", err)
		}
	})
	if err := bodyless.Root(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInProcessStreams(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	c, _ := inProcessClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
		fmt.Fprintln(w, `{"type":"stage","name":"retrieve","state":"start"}`)
		w.(http.Flusher).Flush()
		<-goOn // the first event must arrive before the second is written
		fmt.Fprintln(w, `{"type":"final","response":{"results":[],"stages":[]}}`)
	})
	var types []string
	_, err := c.SearchStream(t.Context(), searchFor("x"), func(event wire.SearchEvent) {
		types = append(types, event.Type)
		if event.Type == wire.EventStage {
			close(goOn)
		}
	})
	if err != nil || fmt.Sprint(types) != "[stage final]" {
		t.Errorf("%v, %v", types, err)
	}
}

func TestInProcessPanics(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"before the headers": func(http.ResponseWriter, *http.Request) { panic("index is\x1b[31m broken") },
		"within the body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"results":`)
			w.(http.Flusher).Flush()
			panic("index is broken")
		},
		"bad status": func(w http.ResponseWriter, _ *http.Request) {
			defer func() {
				if recover() != nil {
					panic("index is broken")
				}
			}()
			w.WriteHeader(17)
		},
	} {
		c, returned := inProcessClient(t, handler)
		_, err := c.Search(t.Context(), searchFor("x"))
		<-returned
		var panicked *guard.PanicError
		e := asError(t, err)
		if e.Kind != Server || !strings.Contains(e.Reason, "index is broken") || !errors.As(err, &panicked) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestInProcessCancellation(t *testing.T) {
	t.Parallel()
	for _, headers := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		c, returned := inProcessClient(t, func(w http.ResponseWriter, r *http.Request) {
			if headers {
				w.Header().Set("Content-Type", "application/json")
				w.(http.Flusher).Flush()
			}
			cancel()
			<-r.Context().Done()
			if _, err := w.Write([]byte("late")); err == nil {
				_, err = fmt.Fprint(w, strings.Repeat("x", 1<<20)) // more than any buffer
				if err == nil {
					t.Error("nobody reads, but writing works")
				}
			}
		})
		_, err := c.Search(ctx, searchFor("x"))
		if e := asError(t, err); e.Kind != Canceled {
			t.Errorf("%v", e)
		}
		<-returned
	}
}

func TestInProcessCloseEndsHandler(t *testing.T) {
	t.Parallel()
	c, returned := inProcessClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
		fmt.Fprintln(w, `{"type":"final","response":{"results":[]}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the reader has all that it wants
	})
	if _, err := c.SearchStream(t.Context(), searchFor("x"), nil); err != nil {
		t.Fatal(err)
	}
	<-returned
}

func TestInProcessCanceledBefore(t *testing.T) {
	t.Parallel()
	c, _ := inProcessClient(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler is called") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Search(ctx, searchFor("x")); KindOf(err) != Canceled {
		t.Error(err)
	}
}

// A bubble fails when one of its goroutines does not end.
func TestInProcessLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for i := range longtest.Rounds(15, 250) {
			ctx, cancel := context.WithCancel(t.Context())
			c, returned := inProcessClient(t, func(w http.ResponseWriter, r *http.Request) {
				switch i % 5 {
				case 0:
					fmt.Fprint(w, `{"results":[]}`)
				case 1:
					panic("x")
				case 2:
					cancel()
					<-r.Context().Done()
				case 3:
					for {
						if _, err := w.Write(make([]byte, 1<<20)); err != nil {
							return
						}
					}
				case 4:
					w.WriteHeader(http.StatusInternalServerError)
				}
			})
			_, _ = c.Search(ctx, searchFor("x"))
			<-returned
			cancel()
		}
	})
}

func TestInProcessHeadersAreSnapshots(t *testing.T) {
	t.Parallel()
	transport := InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Early", "1")
		fmt.Fprint(w, "<html>")
		w.Header().Set("X-Late", "1")
	}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, InProcessURL+"/a?b=c", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "<html>" || response.Header.Get("X-Early") != "1" ||
		response.Header.Get("X-Late") != "" || response.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
		response.Status != "200 OK" {
		t.Errorf("%s %v %q, %v", response.Status, response.Header, body, err)
	}
}

// answerValue answers with a value, which the writer must take.
func answerValue(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", wire.MediaTypeJSON)
	if !w.(interface{ WriteValue(int, any) bool }).WriteValue(status, value) {
		panic("the value was not taken")
	}
}

// Matches say what they lack of a short query, unless no document has it: of that a note speaks.
func TestPartialMatches(t *testing.T) {
	t.Parallel()
	note := []wire.Note{{Code: wire.NoteWordMissing, Text: "no document has “zebra25”; showing “25”"}}
	for _, test := range []struct {
		query, level, missing string
		notes                 []wire.Note
		want                  bool
	}{
		{"how do we roll back a deploy", "all", "back", nil, true}, {"wifi password", "any", "wifi", nil, true},
		{"reset the wifi password of a printer", "most", "printer", nil, false}, {"zebra25", "all", "zebra", note, false},
		{"wifi zebra25", "any", "wifi", note, true},
	} {
		c, _ := inProcessClient(t, func(w http.ResponseWriter, _ *http.Request) {
			answerValue(w, http.StatusOK, &wire.SearchResponse{Results: []wire.SearchResult{{Matches: true, Missing: []string{test.missing}}},
				Matched: wire.Matched{Level: test.level, Documents: 1}, Queries: []wire.ExecutedQuery{{Query: test.query}},
				Notes: test.notes, Stages: []wire.Stage{}})
		})
		got, err := c.Search(t.Context(), searchFor(test.query))
		if err != nil || got.Results[0].Partial != test.want {
			t.Errorf("%+v: %+v, %v", test, got, err)
		}
	}
}

// TestInProcessValues: an answer that crosses as a value is what its JSON would have been.
func TestInProcessValues(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[31m\u202eb"
	answering := func(status int, value any) *Client {
		c, _ := inProcessClient(t, func(w http.ResponseWriter, _ *http.Request) { answerValue(w, status, value) })
		return c
	}
	link := "javascript:alert(1)"
	response := func() *wire.SearchResponse {
		return &wire.SearchResponse{Results: []wire.SearchResult{{Title: hostile, Content: hostile, Link: &link}}, Stages: []wire.Stage{}}
	}
	sent := response()
	got, err := answering(http.StatusOK, sent).Search(t.Context(), searchFor("x"))
	if err != nil || len(got.Results) != 1 || got.Results[0].Title != "ab" || got.Results[0].Link != nil || got.Results[0].Origin != "local" {
		t.Errorf("%+v, %v", got, err)
	}
	if &got.Results[0] != &sent.Results[0] {
		t.Error("the answer was copied: it did not cross as a value")
	}
	raw, _, err := answering(http.StatusOK, response()).SearchRaw(t.Context(), searchFor("x"))
	if err != nil || !strings.Contains(string(raw), `"title":"ab"`) {
		t.Errorf("%s, %v", raw, err)
	}
	if _, err = answering(http.StatusOK, &wire.SearchResponse{}).Search(t.Context(), searchFor("x")); !errors.Is(err, errNoResults) {
		t.Errorf("without results: %v", err)
	}
	me, err := answering(http.StatusOK, wire.Me{Email: hostile}).Me(t.Context())
	if err != nil || me.Email != "ab" {
		t.Errorf("no pointer: %+v, %v", me, err)
	}
	other := struct {
		Email string `json:"email"`
	}{"jo@acme.com" + hostile}
	if me, err = answering(http.StatusOK, other).Me(t.Context()); err != nil || me.Email != "jo@acme.comab" {
		t.Errorf("another type: %+v, %v", me, err)
	}
	_, err = answering(http.StatusOK, []wire.DocumentSet(nil)).DocumentSets(t.Context())
	if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, "null") {
		t.Errorf("no list: %v", e)
	}
	_, err = answering(http.StatusNotFound, wire.DetailError{Detail: "No" + hostile}).Me(t.Context())
	if e := asError(t, err); e.Kind != NotAvailable || e.Reason != "Noab" {
		t.Errorf("an error: %v", e)
	}
}

func TestInProcessValueComesFirst(t *testing.T) {
	t.Parallel()
	c, _ := inProcessClient(t, func(w http.ResponseWriter, r *http.Request) {
		taker := w.(interface{ WriteValue(int, any) bool })
		if taker.WriteValue(http.StatusOK, nil) {
			t.Error("nothing was taken as a value")
		}
		fmt.Fprint(w, `{"email":"jo@acme.com"}`)
		if taker.WriteValue(http.StatusOK, wire.Me{Email: "kim@acme.com"}) {
			t.Error("a value was taken after an answer had begun")
		}
	})
	if me, err := c.Me(t.Context()); err != nil || me.Email != "jo@acme.com" {
		t.Errorf("%+v, %v", me, err)
	}
}
