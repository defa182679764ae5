package client

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/wire"
)

// dripping is a server that sends a byte at a time and never comes to an end. Each answer is plausible as far as it
// goes.
func dripping(status int, contentType string, declared int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client went away
		w.Header().Set("Content-Type", contentType)
		if declared > 0 {
			w.Header().Set("Content-Length", strconv.Itoa(declared))
		}
		w.WriteHeader(status)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		text := `{"results":[{"title":"` + strings.Repeat("a", 1<<10)
		for i := range text {
			if _, err := io.WriteString(w, text[i:i+1]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

// What keeps coming is no reason to wait longer than the call may take.
func TestDrippingServer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType string
		status, declared  int
	}{
		{"answer", "application/json", 200, 0},
		{"answer of a known length", "application/json", 200, 500_000},
		{"stream", wire.MediaTypeNDJSON, 200, 0},
		{"error", "application/json", 503, 0},
		{"web page", "text/html", 403, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := inMemory(t, dripping(test.status, test.contentType, test.declared))
				for call, do := range everyCall(c) {
					started := time.Now()
					e := asError(t, do(WithTimeout(t.Context(), 40*time.Second)))
					if e.Kind != Timeout || !strings.HasPrefix(e.Reason, "no complete response after 40s") ||
						!strings.Contains(e.Remedy(), "--timeout") {
						t.Errorf("%s: kind %s, %v; %s", call, e.Kind, e, e.Remedy())
					}
					if took := time.Since(started); took > 42*time.Second { // a refusal is read for two seconds more
						t.Errorf("%s: gave up after %s", call, took)
					}
				}
			})
		})
	}
}

// counted is a body of a size that tells how much of it was read and whether it was closed.
type counted struct {
	part       []byte // what it repeats
	left, read int64
	closed     bool
}

func (b *counted) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), b.left)], b.part)
	b.left, b.read = b.left-int64(n), b.read+int64(n)
	return n, nil
}

func (b *counted) Close() error {
	b.closed = true
	return nil
}

func TestHugeAnswers(t *testing.T) {
	const size = 500 << 20
	part := bytes.Repeat([]byte("a"), 32<<10)
	tests := []struct {
		name, contentType string
		status            int
		declared, most    int64 // most bytes that are read of it
	}{
		{"declared", "application/json", 200, size, 0},
		{"undeclared", "application/json", 200, -1, maxSearchBytes + 64<<10},
		{"stream without a line's end", wire.MediaTypeNDJSON, 200, -1, maxSearchBytes + 128<<10},
		{"error", "application/json", 500, size, maxErrorBytes + 64<<10},
		{"error as text", "text/plain", 403, -1, maxErrorBytes + 64<<10},
		{"web page", "text/html", 200, -1, 64 << 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var body *counted
			transport := roundTripFunc(func(r *http.Request) (*http.Response, error) {
				body = &counted{part: part, left: size}
				return &http.Response{StatusCode: test.status, Header: http.Header{"Content-Type": {test.contentType}},
					ContentLength: test.declared, Body: body, Request: r}, nil
			})
			c := clientFor(t, Options{BaseURL: "http://x", Transport: transport, Token: fixedToken})
			for call, do := range everyCall(c) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				e := asError(t, do(t.Context()))
				runtime.ReadMemStats(&after)
				if e.Kind != kindOfStatus(test.status) && e.Kind != Server {
					t.Errorf("%s: kind %s, %v", call, e.Kind, e)
				}
				if test.status == http.StatusOK && !strings.Contains(e.Reason, "more than") &&
					!strings.Contains(e.Reason, "web page") && !strings.Contains(e.Reason, "where a stream of events") {
					t.Errorf("%s: %v", call, e)
				}
				if body.read > test.most || !body.closed {
					t.Errorf("%s: read %d bytes, at most %d are needed; closed: %v", call, body.read, test.most, body.closed)
				}
				// Of a buffer that grows to the limit, everything outgrown counts, too.
				if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(8*test.most+8<<20) {
					t.Errorf("%s: took %d MB of memory", call, grown>>20)
				}
			}
		})
	}
}

// A small answer that unpacks to an endless one is bounded as it unpacks.
func TestPackedAnswers(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	part := bytes.Repeat([]byte(" "), 1<<20)
	for range maxListingBytes>>20 + 1 {
		if _, err := writer.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		answering(http.StatusOK, "application/json", packed.Bytes())(w, r)
	})
	_, err := c.Personas(t.Context())
	if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, "more than 8 MB") || packed.Len() > 64<<10 {
		t.Errorf("%v of %d bytes", e, packed.Len())
	}
	broken := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		answering(http.StatusOK, "application/json", packed.Bytes()[:packed.Len()/2])(w, r)
	})
	_, err = broken.Personas(t.Context())
	if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, "an incomplete response") {
		t.Error(e)
	}
}

// Half an answer is told as that, wherever it ends and whatever was asked.
func TestHalfAnswers(t *testing.T) {
	t.Parallel()
	halves := map[string][]byte{
		"search": fixture(t, "onyx/search.json"), "raw": fixture(t, "quarry/search.json"),
		"stream": fixture(t, "quarry/search.ndjson"), "me": fixture(t, "onyx/me.json"),
		"agents": fixture(t, "onyx/persona.json"), "size": fixture(t, "onyx/document-size-info.json"),
		"sync": fixture(t, "quarry/library-add.ndjson"),
	}
	for call, whole := range halves {
		for _, cut := range []int{1, len(whole) / 2, len(bytes.TrimSpace(whole)) - 1} {
			for _, announced := range []bool{false, true} { // the length: then the connection breaks
				c := serving(t, func(w http.ResponseWriter, r *http.Request) {
					contentType := wire.MediaTypeJSON
					if call == "stream" || call == "sync" {
						contentType = wire.MediaTypeNDJSON
					}
					if announced {
						w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
					}
					answering(http.StatusOK, contentType, whole[:cut])(w, r)
				})
				e := asError(t, everyCall(c)[call](t.Context()))
				if e.Kind != Server || !strings.Contains(e.Reason, "not JSON") && !strings.Contains(e.Reason, "an incomplete response") &&
					!strings.Contains(e.Reason, "ended early") {
					t.Errorf("%s, %d of %d bytes: kind %s, %v", call, cut, len(whole), e.Kind, e)
				}
			}
		}
	}
}

// rawServer answers each connection's first request with raw bytes, if any, and hangs up.
func rawServer(t *testing.T, answer string) (*Client, *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	var running sync.WaitGroup
	running.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			running.Go(func() {
				defer connection.Close()
				request, err := http.ReadRequest(bufio.NewReader(connection))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, request.Body) // closing with some unread would break the connection early
				_, _ = io.WriteString(connection, answer)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return clientFor(t, Options{BaseURL: "http://" + listener.Addr().String(), Token: fixedToken}), &connections
}

func TestServersThatHangUp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer string
		kind         Kind
		reason       string
	}{
		{"at once", "", Unreachable, "closed the connection without a response"},
		{"in the status", "HTTP/1.1 2", Unreachable, ""},
		{"in the headers", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", Unreachable, "closed the connection without a response"},
		{"after the headers", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", Server,
			"an incomplete response"},
		{"in a chunk", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"res",
			Server, "an incomplete response"},
		{"with nothing", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", Server,
			"an empty response"},
		{"with no content", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", Server, "an empty response"},
		{"another protocol", "220 mail.acme.example ESMTP\r\n", Unreachable, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, connections := rawServer(t, test.answer)
			for call, do := range everyCall(c) {
				if call == "stream" || call == "sync" || call == "ask" && test.reason == "an empty response" {
					continue // streams that end early are told in their own words
				}
				connections.Store(0)
				e := asError(t, do(t.Context()))
				if e.Kind != test.kind || !strings.Contains(e.Reason, test.reason) {
					t.Errorf("%s: kind %s, %v", call, e.Kind, e)
				}
				if n := connections.Load(); n > 2 {
					t.Errorf("%s: tried %d times", call, n)
				}
			}
		})
	}
}

// A server that takes connections and says nothing is given up when the call's time is over.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var silent sync.WaitGroup
		silent.Add(1)
		c := inMemory(t, func(http.ResponseWriter, *http.Request) { silent.Wait() })
		defer silent.Done()
		for call, do := range everyCall(c) {
			e := asError(t, do(WithTimeout(t.Context(), 40*time.Second)))
			if e.Kind != Timeout || !strings.HasPrefix(e.Reason, "no complete response after 40s") {
				t.Errorf("%s: kind %s, %v", call, e.Kind, e)
			}
		}
	})
}
