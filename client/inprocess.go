package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"quarry/internal/guard"
)

// InProcess makes a transport that answers every request by calling a handler in a goroutine: headers before the body,
// the body as it is written and flushed. Canceling the request's context, or closing the body, ends the handler's
// context; a panic of the handler becomes an error for the caller. The sizes of bodies are the caller's to bound.
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
		failure := serve(t.handler, w, serverRequest(ctx, request))
		w.finish(failure)
		stop()
	}, w.finish)

	select {
	case <-w.ready:
	case <-request.Context().Done():
	}
	if request.Context().Err() != nil { // also if an answer came at the same time
		cancel()
		return nil, context.Cause(request.Context())
	}
	if w.failure != nil {
		return nil, w.failure
	}
	return w.response(request, &pipeBody{PipeReader: reader, cancel: cancel}), nil
}

// serve calls the handler and gives its panic as an error.
func serve(h http.Handler, w *pipeResponse, request *http.Request) error {
	return guard.Call(func() error {
		h.ServeHTTP(w, request)
		return nil
	})
}

// serverRequest is the request as a server would have read it.
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

// pipeResponse is the handler's side of an answer.
type pipeResponse struct {
	header http.Header
	method string
	pipe   *io.PipeWriter

	mu      sync.Mutex // handlers may flush from another goroutine than they write from
	body    *bufio.Writer
	status  int         // 0 until the headers are written
	sent    http.Header // as they were then
	failure error       // before the headers
	ready   chan struct{}
}

// Header is the set of headers to send.
func (w *pipeResponse) Header() http.Header { return w.header }

// WriteHeader sends the headers.
func (w *pipeResponse) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status, nil)
}

func (w *pipeResponse) writeHeader(status int, start []byte) {
	if w.status != 0 || status >= 100 && status < 200 {
		return // informational answers have nobody to read them
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

// Write sends a part of the body.
func (w *pipeResponse) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(http.StatusOK, p)
	if w.bodyless() {
		return 0, http.ErrBodyNotAllowed
	}
	return w.body.Write(p)
}

// Flush hands the reader what was written so far.
func (w *pipeResponse) Flush() { _ = w.FlushError() }

// FlushError is Flush; the error says that nobody reads any more.
func (w *pipeResponse) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(http.StatusOK, nil)
	return w.body.Flush()
}

// finish ends the answer after the handler returned, or failed.
func (w *pipeResponse) finish(failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if failure == nil {
		w.writeHeader(http.StatusOK, nil)
		if err := w.body.Flush(); err != nil {
			failure = err
		}
	} else if w.status == 0 {
		w.failure = failure
		w.status = http.StatusInternalServerError
		close(w.ready)
	}
	w.pipe.CloseWithError(failure)
}

// response is the caller's side of an answer whose headers are written.
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

// pipeBody ends the handler when the reader is done with it.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the handler's context and frees it from any write.
func (b *pipeBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
