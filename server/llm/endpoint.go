package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

const (
	maxReply   = 1 << 20 // bytes of an answer, and of the text in streamed events
	maxEvents  = 8 << 20 // bytes of streamed events, some 250 for each token
	maxVectors = 8 << 20 // bytes of one batch of vectors

	retryPause   = 250 * time.Millisecond // before the second attempt, without a Retry-After
	longestRetry = 24 * time.Hour         // that a server may ask for
)

// errPaused is the cause of canceling a stream in which no further piece arrived in time.
var errPaused = errors.New("the stream stalled")

// endpoint is one server that speaks the API. It follows redirects within the same server only.
type endpoint struct {
	name    string
	baseURL string
	key     Key
	limit   int64 // bytes of an answer
	client  *http.Client
	slots   chan struct{} // one element for each running call
	config  Config
}

func newEndpoint(name, baseURL string, key Key, limit int64, config Config) *endpoint {
	return &endpoint{name: name, baseURL: strings.TrimRight(baseURL, "/"), key: key, limit: limit,
		client: &http.Client{Transport: config.Transport, CheckRedirect: checkRedirect},
		slots:  make(chan struct{}, config.Concurrency), config: config}
}

const (
	chatPath    = "/chat/completions"
	streamMedia = "text/event-stream"
)

// post sends a request as JSON, or a GET without one, and returns an answer of the status 200, whose body is bounded
// and closed by the caller. The error is an *Error without secrets, or the context's.
func (e *endpoint) post(ctx context.Context, path string, request any, accept string) (*http.Response, error) {
	method, body := http.MethodGet, []byte(nil)
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return nil, err
		}
		method = http.MethodPost
	}
	sent, err := http.NewRequestWithContext(ctx, method, e.baseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, unreachable(err)
	}
	key := ""
	if e.key != nil {
		if key, err = e.key(ctx); err != nil {
			return nil, &Error{Kind: ErrRefused, Message: "its key cannot be read"}
		}
	}
	if key != "" {
		sent.Header.Set("Authorization", "Bearer "+key)
	}
	sent.Header.Set("Content-Type", wire.MediaTypeJSON)
	sent.Header.Set("Accept", accept)
	sent.Header.Set("User-Agent", "quarry")
	response, err := e.client.Do(sent)
	if err != nil {
		return nil, unreachable(err)
	}
	limit := e.limit
	switch {
	case response.StatusCode != http.StatusOK:
		defer response.Body.Close()                                        // the body was read
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // as much of the reason as there is
		return nil, refusal(response.StatusCode, response.Header, body, key)
	case strings.HasPrefix(response.Header.Get("Content-Type"), "text/html"):
		_ = response.Body.Close()
		return nil, &Error{Kind: ErrUnusable, Message: "it is a web page"}
	case accept == streamMedia:
		limit = maxEvents
	}
	response.Body = http.MaxBytesReader(nil, response.Body, limit)
	return response, nil
}

// fetch sends a request and decodes the answer.
func (e *endpoint) fetch(ctx context.Context, path string, request, into any) error {
	response, err := e.post(ctx, path, request, wire.MediaTypeJSON)
	if err != nil {
		return err
	}
	defer response.Body.Close() // nothing was written
	body, err := io.ReadAll(response.Body)
	switch {
	case isTooLarge(err):
		return tooLarge()
	case err != nil:
		return &Error{Kind: ErrUnusable, Message: "it was cut off"}
	}
	return wire.Unmarshal(body, into)
}

// call runs do when a slot is free, and once more after a temporary failure if there is time left. It returns the
// number of attempts.
func (e *endpoint) call(ctx context.Context, do func(context.Context) error) (attempts int, err error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return 0, e.explain(ctx, ctx.Err())
	}
	if err = e.explain(ctx, do(ctx)); err == nil {
		return 1, nil
	}
	wait, again := retryable(err)
	deadline, _ := ctx.Deadline()
	if !again || ctx.Err() != nil || time.Until(deadline) <= wait {
		return 1, err
	}
	if err := guard.Sleep(ctx, wait); err != nil {
		return 1, e.explain(ctx, err)
	}
	return 2, e.explain(ctx, do(ctx))
}

// retryable reports whether a second attempt makes sense, and after what time.
func retryable(err error) (wait time.Duration, again bool) {
	var known *Error
	if !errors.As(err, &known) || known.Status == 0 || (known.Kind != ErrBusy && known.Kind != ErrUnavailable) {
		return 0, false
	}
	return max(known.RetryAfter, retryPause), true
}

func tooLarge() *Error { return &Error{Kind: ErrUnusable, Message: "it is too large"} }

// isTooLarge reports whether an answer was not read to its end because it exceeds its bound.
func isTooLarge(err error) bool {
	var beyond *http.MaxBytesError
	return errors.As(err, &beyond)
}

// checkRedirect follows redirects within the same server only: the key and the questions must not reach another one.
func checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || request.URL.Host != first.URL.Host || request.URL.Scheme != first.URL.Scheme ||
		request.Method != first.Method {
		return &Error{Kind: ErrRefused, Message: "it redirects to another server; correct its address"}
	}
	return nil
}

// unreachable explains why there was no answer. The error of the HTTP client contains addresses.
func unreachable(err error) error {
	var (
		known       *Error
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		header      tls.RecordHeaderError
	)
	message := "the connection failed"
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &name):
		message = "unknown host"
	case errors.Is(err, syscall.ECONNREFUSED):
		message = "connection refused"
	case errors.As(err, &certificate):
		message = "its certificate is not trusted; add its CA to QUARRY_CA_BUNDLE"
	case errors.As(err, &header):
		message = "it does not speak TLS"
	}
	return &Error{Kind: ErrUnavailable, Message: message}
}

// The kinds of errors. Every error of a Chat or an Embedder wraps one of these, or context.Canceled.
var (
	// ErrNone: no default model is configured.
	ErrNone = errors.New("no language model is configured")
	// ErrUnknown: no such provider or model is configured.
	ErrUnknown = errors.New("no such provider or model is configured")
	// ErrTimeout: no complete answer in time, including the wait for a free slot.
	ErrTimeout = errors.New("no answer in time")
	// ErrUnavailable: the server cannot be reached, closed the connection, or failed.
	ErrUnavailable = errors.New("the model's server is not available")
	// ErrModel: the files of a model in this process are damaged or not supported.
	ErrModel = errors.New("the embedding model cannot be used")
	// ErrBusy: the server asks for fewer requests.
	ErrBusy = errors.New("the model's server has a rate limit")
	// ErrRefused: the server does not accept the key, the model or the request, or it redirects elsewhere.
	ErrRefused = errors.New("the model's server refused the request")
	// ErrUnusable: the answer is malformed, too large, cut off, or empty.
	ErrUnusable = errors.New("unusable answer")
	// ErrBudget: the tenant's tokens of the day are used up.
	ErrBudget = errors.New("today's budget of model tokens is used up")
	// ErrUncounted: the tokens used today cannot be read or written, so the budget cannot be enforced.
	ErrUncounted = errors.New("model usage cannot be counted")
)

const (
	maxMessage   = 300 // characters of a server's message
	maxErrorBody = 64 << 10
)

// Error is a failed call. It never contains a key, an address, or the question.
type Error struct {
	Kind       error         // one of the errors above
	Provider   string        // name in the configuration; empty with ErrBudget and ErrUncounted
	Status     int           // of HTTP; 0 without an answer
	Message    string        // the server's or ours, one line of at most 300 characters; may be empty
	RetryAfter time.Duration // when to try again; 0 if unknown
}

func (e *Error) Error() string {
	text := e.Kind.Error()
	if e.Provider != "" {
		text = "provider " + e.Provider + ": " + text
	}
	if e.Status != 0 {
		text += " (HTTP " + strconv.Itoa(e.Status) + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

func (e *Error) Unwrap() error { return e.Kind }

// refusal returns the error for an answer with another status than 200.
func refusal(status int, header http.Header, body []byte, key string) *Error {
	e := &Error{Status: status, Message: cleanMessage(wire.Reason(body), key), Kind: ErrRefused}
	switch {
	case status == http.StatusTooManyRequests:
		e.Kind = ErrBusy
	case status == http.StatusRequestTimeout || status >= 500:
		e.Kind = ErrUnavailable
	}
	if e.Kind != ErrRefused {
		e.RetryAfter = wire.RetryAfter(header, time.Now(), longestRetry)
	}
	return e
}

// cleanMessage returns a server's message on one line of at most 300 characters, without the key.
func cleanMessage(message, key string) string {
	withoutKey := func(s string) string {
		if key == "" {
			return s
		}
		return strings.ReplaceAll(s, key, "[secret]")
	}
	message = withoutKey(text.CleanLine(withoutKey(message))) // again, for a key with control characters in it
	return text.Shorten(message, maxMessage-1)
}

// explain turns the error of a call into one of this package. ctx is the call's.
func (e *endpoint) explain(ctx context.Context, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) == errPaused:
		return e.failed(ErrTimeout, "the answer stalled")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return e.failed(ErrTimeout, "")
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", e.name, context.Canceled)
	case errors.As(err, &known):
		named := *known
		named.Provider = e.name
		return &named
	}
	// Errors of decoding quote the answer: their text is dropped.
	return e.failed(ErrUnusable, "the response is not valid")
}

func (e *endpoint) failed(kind error, message string) *Error {
	return &Error{Kind: kind, Provider: e.name, Message: message}
}
