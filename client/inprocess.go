package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// InProcess returns a transport that calls a handler in a goroutine for each request and streams its response.
// Canceling the request's context, or closing the body, cancels the handler's context; a panic of the handler is
// returned as an error. The caller must limit the size of bodies.
//
// A handler may answer with a value in place of its JSON: its ResponseWriter has the method
//
//	WriteValue(status int, value any) bool
//
// which reports whether the value was taken. The value belongs to the caller from then on, who changes it: nothing else
// may refer to any part of it, and it must be what its own JSON decodes to.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

// RoundTrip calls the handler.
func (t inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		closeBody(request)
		return nil, err
	}
	ctx, cancel := context.WithCancel(request.Context())
	reader, writer := io.Pipe()
	w := &pipeResponse{
		header: http.Header{},
		method: request.Method,
		pipe:   writer,
		body:   bufio.NewWriterSize(writer, 16<<10),
		ready:  make(chan struct{}),
	}
	stop := context.AfterFunc(ctx, func() { writer.CloseWithError(ctx.Err()) })
	guard.Go(func() {
		defer cancel()
		defer closeBody(request)
		w.finish(guard.Call(func() error {
			t.handler.ServeHTTP(w, serverRequest(ctx, request))
			return nil
		}))
		stop()
	}, w.finish)

	select {
	case <-w.ready:
	case <-request.Context().Done():
	}
	if request.Context().Err() != nil { // even if a response arrived at the same time
		cancel()
		return nil, context.Cause(request.Context())
	}
	if w.failure != nil {
		return nil, w.failure
	}
	if w.value != nil {
		return w.response(request, &valueBody{value: w.value, cancel: cancel}), nil
	}
	return w.response(request, &pipeBody{PipeReader: reader, cancel: cancel}), nil
}

// serverRequest returns the request as a server would have read it.
func serverRequest(ctx context.Context, request *http.Request) *http.Request {
	received := request.Clone(ctx)
	received.RequestURI = request.URL.RequestURI()
	received.RemoteAddr = "in-process"
	received.Proto, received.ProtoMajor, received.ProtoMinor = "HTTP/1.1", 1, 1
	if received.Host == "" {
		received.Host = request.URL.Host
	}
	if received.Body == nil {
		received.Body = http.NoBody
	}
	return received
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}

// pipeResponse is the handler's side of a response.
type pipeResponse struct {
	header http.Header
	method string
	pipe   *io.PipeWriter

	mu      sync.Mutex // handlers may flush from another goroutine than they write from
	body    *bufio.Writer
	status  int         // 0 until the headers are written
	sent    http.Header // snapshot of header when status was written
	value   any         // the whole answer; nil: it is written to body
	failure error       // before the headers
	ready   chan struct{}
}

// Header returns the headers to send.
func (w *pipeResponse) Header() http.Header { return w.header }

// WriteHeader sends the headers with a status.
func (w *pipeResponse) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status, nil)
}

func (w *pipeResponse) writeHeader(status int, start []byte) {
	if w.status != 0 || status >= 100 && status < 200 {
		return // informational responses have no reader
	}
	if status < 200 || status > 999 {
		panic(fmt.Sprintf("invalid status %d", status))
	}
	w.status = status
	w.sent = w.header.Clone()
	if len(start) > 0 && w.sent.Get("Content-Type") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(start))
	}
	close(w.ready)
}

func (w *pipeResponse) bodyless() bool {
	return w.method == http.MethodHead || w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

// WriteValue answers with a value, unless an answer has begun already.
func (w *pipeResponse) WriteValue(status int, value any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status != 0 || value == nil || w.method == http.MethodHead {
		return false
	}
	w.value = value
	w.writeHeader(status, nil)
	return true
}

// Write writes a part of the body.
func (w *pipeResponse) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(http.StatusOK, p)
	if w.bodyless() {
		return 0, http.ErrBodyNotAllowed
	}
	return w.body.Write(p)
}

// Flush passes on what was written so far.
func (w *pipeResponse) Flush() { _ = w.FlushError() }

// FlushError is Flush with an error if the reader is closed.
func (w *pipeResponse) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(http.StatusOK, nil)
	return w.body.Flush()
}

// finish ends the response after the handler returned or failed.
func (w *pipeResponse) finish(failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if failure == nil {
		w.writeHeader(http.StatusOK, nil)
		failure = w.body.Flush()
	} else if w.status == 0 {
		w.failure = failure
		w.status = http.StatusInternalServerError
		close(w.ready)
	}
	w.pipe.CloseWithError(failure)
}

// response returns the caller's side of a response whose headers are written.
func (w *pipeResponse) response(request *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          body,
		ContentLength: -1,
		Request:       request,
	}
}

// pipeBody cancels the handler when it is closed.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close cancels the handler's context and unblocks its writes.
func (b *pipeBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// valueBody is an answer that crossed as a value. It is encoded only for who reads it as JSON.
type valueBody struct {
	value  any
	text   io.Reader // nil until the first Read
	cancel context.CancelFunc
}

// Read reads the value's JSON.
func (b *valueBody) Read(p []byte) (int, error) {
	if b.text == nil {
		var text bytes.Buffer
		if err := wire.WriteJSON(&text, b.value); err != nil {
			return 0, err
		}
		b.text = &text
	}
	return b.text.Read(p)
}

// Close cancels the handler's context.
func (b *valueBody) Close() error {
	b.cancel()
	return nil
}

// take sets what into points to to the answer if that crossed as a value of its type, and otherwise reports false.
func (a *answer) take(into any) bool {
	body, ok := a.Body.(*valueBody)
	if !ok {
		return false
	}
	value, target := reflect.ValueOf(body.value), reflect.ValueOf(into)
	if value.Type() == target.Type() && !value.IsNil() {
		value = value.Elem()
	}
	if value.Type() != target.Elem().Type() || value.Kind() == reflect.Slice && value.IsNil() { // which is null
		return false
	}
	target.Elem().Set(value)
	return true
}
