package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
)

const (
	maxSearchBytes  = 32 << 20
	maxListingBytes = 8 << 20
	maxTokenBytes   = 512 // longer text is not a token but a whole file
)

// call describes a request.
type call struct {
	method, path string
	query        url.Values
	body         any           // sent as JSON; nil sends none
	stream       bool          // the response may be a stream of lines
	limit        int64         // bytes of the response
	timeout      time.Duration // by default; 0 means none
	onlyHere     string        // what the call does, which only a library in this process can; empty: every server can
}

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query, limit: maxListingBytes, timeout: callTimeout}
}

func post(path string, body any) call {
	return call{method: http.MethodPost, path: path, body: body, limit: maxListingBytes, timeout: callTimeout}
}

// answer is a response whose body is not read yet. Close ends the call.
type answer struct {
	call
	*http.Response
	ctx    context.Context
	cancel context.CancelFunc
	had    time.Duration // the call's time limit
	local  bool          // the response of a library in this process
}

// Close releases the connection and the call's time limit.
func (a *answer) Close() {
	a.Body.Close()
	a.cancel()
}

// open sends a request and returns the response if its status is a success.
func (c *Client) open(ctx context.Context, r call) (*answer, error) {
	if r.onlyHere != "" && !c.options.Local {
		return nil, notOverTheAPI(r.onlyHere)
	}
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.StatusCode/100 == 2 {
		return a, nil
	}
	defer a.Close()
	return nil, a.failure()
}

// do sends a request whose response says nothing that matters.
func (c *Client) do(ctx context.Context, r call) error {
	a, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer a.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, maxErrorBytes)) // so that the connection is reused
	return nil
}

// failure returns the error of a response with a failure status.
func (a *answer) failure() *Error {
	body, _ := io.ReadAll(io.LimitReader(a.Body, maxErrorBytes)) // even a part may have the reason
	return a.named(statusError(a.StatusCode, a.Header, body, time.Now()))
}

// named adds the route to an error and removes the token from the server's text. For a call that was canceled or timed
// out, it returns that error instead.
func (a *answer) named(e *Error) *Error {
	if givenUp := contextError(a.ctx, a.ctx.Err(), a.had); givenUp != nil {
		e = givenUp
	}
	if a.Response != nil && a.Request != nil {
		token := strings.TrimPrefix(a.Request.Header.Get("X-Onyx-Authorization"), "Bearer ")
		if token != "" {
			e.Reason = strings.ReplaceAll(e.Reason, token, "[token]")
			e.Code = strings.ReplaceAll(e.Code, token, "[token]")
		}
	}
	e.Method, e.Path, e.Local = a.method, a.path, a.local
	if e.isAdmin() && e.Status == http.StatusConflict {
		e.Kind = BadRequest // the name exists, or the object cannot be removed
	}
	return e
}

// send returns the response whatever its status.
func (c *Client) send(ctx context.Context, r call) (*answer, error) {
	started := time.Now()
	a := &answer{call: r, ctx: ctx, cancel: func() {}, local: c.options.Local}
	if limit := timeoutOf(ctx, r.timeout); limit > 0 {
		a.ctx, a.cancel = context.WithTimeout(ctx, limit)
	} else {
		a.ctx, a.cancel = context.WithCancel(ctx)
	}
	if deadline, ok := a.ctx.Deadline(); ok {
		a.had = deadline.Sub(started)
	}
	request, err := c.request(a.ctx, r)
	if err == nil {
		a.Response, err = c.http.Do(request)
		if report, ok := ctx.Value(traceKey{}).(func(Trace)); ok {
			traced := Trace{Method: r.method, URL: request.URL.Redacted(), Took: time.Since(started), Err: err}
			if a.Response != nil {
				traced.Status = a.StatusCode
			}
			report(traced)
		}
	}
	if err != nil {
		failure := a.named(transportError(a.ctx, err, c.base, r.path, a.had))
		a.cancel()
		return nil, failure
	}
	return a, nil
}

// request builds the HTTP request. The token is read last.
func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	target := *c.base
	target.Path += r.path
	target.RawQuery = r.query.Encode()
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, &Error{Kind: BadRequest, Reason: shorten("cannot encode the request: " + err.Error()),
				cause: err}
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", wire.MediaTypeJSON)
	}
	request.Header.Set("Accept", wire.MediaTypeJSON)
	if r.stream {
		request.Header.Set("Accept", wire.MediaTypeNDJSON+", "+wire.MediaTypeJSON)
	}
	request.Header.Set("User-Agent", c.options.UserAgent)
	if c.options.Token == nil {
		return request, nil
	}
	token, err := c.options.Token(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, tokenError(err)
	}
	if token == "" {
		return request, nil
	}
	if err := wire.CheckToken(token, maxTokenBytes); err != nil {
		return nil, tokenError(fmt.Errorf("the token %w", err))
	}
	setToken(request.Header, token)
	return request, nil
}

// fetch sends a request and decodes and sanitises the response.
func (c *Client) fetch(ctx context.Context, r call, into any) error {
	a, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer a.Close()
	if a.take(into) {
		sanitizeValue(into, c.options.Local)
		return nil
	}
	body, err := a.read()
	if err != nil {
		return err
	}
	return c.decode(a, body, into)
}

// read returns the whole body. A web page, an empty body or one over the limit is an error.
func (a *answer) read() ([]byte, error) {
	if isHTML(a.Header, nil) {
		return nil, a.unusable("a web page instead of JSON")
	}
	if a.ContentLength > a.limit {
		return nil, a.tooLong(a.limit)
	}
	body, err := io.ReadAll(io.LimitReader(a.Body, a.limit+1))
	switch {
	case err != nil:
		return nil, a.broken(err, len(body))
	case int64(len(body)) > a.limit:
		return nil, a.tooLong(a.limit)
	case isHTML(a.Header, body):
		return nil, a.unusable("a web page instead of JSON")
	case len(bytes.TrimSpace(body)) == 0:
		return nil, a.unusable("an empty response")
	}
	return body, nil
}

func (a *answer) tooLong(limit int64) *Error {
	return a.unusable(fmt.Sprintf("a response of more than %d MB", limit>>20))
}

// unusable returns the error of a response that cannot be used.
func (a *answer) unusable(what string) *Error {
	return a.named(&Error{Kind: Server, Status: a.StatusCode, Reason: "the server sent " + what})
}

// broken returns the error of a body that ended early.
func (a *answer) broken(err error, received int) *Error {
	if panicked, ok := errors.AsType[*guard.PanicError](err); ok {
		return a.named(&Error{Kind: Server, Status: a.StatusCode,
			Reason: shorten("internal error: " + panicked.Error()), cause: err})
	}
	if e := contextError(a.ctx, err, a.had); e != nil {
		return a.named(e)
	}
	e := a.unusable(fmt.Sprintf("an incomplete response: the connection broke after %d bytes", received))
	e.cause = err
	return e
}

// notJSON returns the error of a body that does not decode.
func (a *answer) notJSON(err error) *Error {
	var shape *wire.UnmarshalTypeError
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	what := fmt.Sprintf("a response that is not JSON (%s)", shorten(err.Error()))
	switch {
	case errors.Is(err, errNoResults):
		what = fmt.Sprintf("JSON that does not match this request (%s)", err)
	case errors.As(err, &shape):
		what = fmt.Sprintf("JSON that does not match this request (unexpected %s in %s)",
			shape.Value, cmp.Or(clip(shape.Field), "the response"))
	case media != "" && media != wire.MediaTypeJSON && media != wire.MediaTypeNDJSON:
		what = fmt.Sprintf("a response that is not JSON but %s (%s)", clip(media), shorten(err.Error()))
	}
	e := a.unusable(what)
	e.cause = err
	return e
}

// decode reads the body as JSON and sanitises every string in it.
func (c *Client) decode(a *answer, body []byte, into any) error {
	if err := unmarshal(body, into); err != nil {
		return a.notJSON(err)
	}
	sanitizeValue(into, c.options.Local)
	return nil
}

// unmarshal rejects null, which would silently decode as nothing.
func unmarshal(body []byte, into any) error {
	if string(bytes.TrimSpace(body)) == "null" {
		return errors.New("null")
	}
	return wire.Unmarshal(body, into)
}

// forever is an age that no cached value reaches.
const forever = time.Duration(math.MaxInt64)

// cached is the answer of a call. No lock is held during the call, so concurrent callers may make it twice.
type cached[T any] struct {
	mutex   sync.Mutex
	value   T
	fetched time.Time // zero: there is no value
}

// get returns the value if it is younger than maxAge, else the answer of call. Errors are not cached.
func (c *cached[T]) get(ctx context.Context, maxAge time.Duration, call func(context.Context) (T, error)) (T, error) {
	c.mutex.Lock()
	value, fetched := c.value, c.fetched
	c.mutex.Unlock()
	if !fetched.IsZero() && time.Since(fetched) < maxAge {
		return value, nil
	}
	value, err := call(ctx)
	if err == nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.value, c.fetched = value, time.Now()
	}
	return value, err
}
