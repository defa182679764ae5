package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/sashabaranov/go-openai"

	"quarry/client/wire"
)

const (
	maxReply   = 1 << 20 // bytes of an answer, and of the text in streamed events
	maxEvents  = 8 << 20 // bytes of streamed events, some 250 for each token
	maxVectors = 8 << 20 // bytes of one batch of vectors
	maxHeaders = 64 << 10
	maxEmpty   = 1 << 16 // comments between two events, which servers send to keep a connection open

	dialTimeout = 10 * time.Second
	retryPause  = 250 * time.Millisecond // before the second attempt, without a Retry-After
)

// errPaused is the cause of canceling a stream in which no further piece arrived in time.
var errPaused = errors.New("the stream stalled")

// endpoint is one server that speaks the API.
type endpoint struct {
	name   string
	client *openai.Client
	slots  chan struct{} // one element for each running call
	config Config
}

func newEndpoint(name, baseURL string, key Key, limit int64, config Config) *endpoint {
	settings := openai.DefaultConfig("") // doer adds the key to each request
	settings.BaseURL = baseURL
	settings.EmptyMessagesLimit = maxEmpty
	settings.HTTPClient = &doer{key: key, limit: limit, client: &http.Client{
		Transport: config.Transport, CheckRedirect: checkRedirect}}
	return &endpoint{name: name, client: openai.NewClientWithConfig(settings),
		slots: make(chan struct{}, config.Concurrency), config: config}
}

func newTransport(concurrency int, roots *x509.CertPool) http.RoundTripper {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	transport.TLSHandshakeTimeout = dialTimeout
	transport.MaxResponseHeaderBytes = maxHeaders
	transport.MaxIdleConnsPerHost = concurrency
	if roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return transport
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
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 1, e.explain(ctx, ctx.Err())
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

// doer is the HTTP client of the library. It adds the key, follows redirects within the same server only, limits the
// size of answers, and turns refusals into errors without secrets.
type doer struct {
	key    Key
	limit  int64 // bytes of an answer
	client *http.Client
}

// Do implements openai.HTTPDoer. The error is an *Error or the context's.
func (d *doer) Do(request *http.Request) (*http.Response, error) {
	key := ""
	if d.key != nil {
		var err error
		if key, err = d.key(request.Context()); err != nil {
			return nil, &Error{Kind: ErrRefused, Message: "its key cannot be read"}
		}
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	request.Header.Set("User-Agent", "quarry")
	response, err := d.client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	streamed := request.Header.Get("Accept") == "text/event-stream"
	if streamed && response.StatusCode == http.StatusOK {
		response.Body = &bounded{ReadCloser: response.Body, left: maxEvents}
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // as much of the reason as there is
		return nil, refusal(response.StatusCode, response.Header, body, key)
	}
	body, err := io.ReadAll(&bounded{ReadCloser: response.Body, left: d.limit})
	if err != nil {
		return nil, readError(err)
	}
	if body, err = wire.LowerKeys(body); err != nil {
		return nil, &Error{Kind: ErrUnusable, Message: "the response is not valid"}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// bounded is a body that fails beyond a number of bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

func tooLarge() *Error { return &Error{Kind: ErrUnusable, Message: "it is too large"} }

func (b *bounded) Read(buffer []byte) (int, error) {
	if int64(len(buffer)) > b.left+1 {
		buffer = buffer[:b.left+1]
	}
	n, err := b.ReadCloser.Read(buffer)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge()
	}
	return n, err
}

// readError explains why the body of an answer could not be read to its end.
func readError(err error) error {
	if errors.Is(err, ErrUnusable) {
		return err
	}
	return &Error{Kind: ErrUnusable, Message: "it was cut off"}
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
		authority   x509.UnknownAuthorityError
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
	case errors.As(err, &certificate) || errors.As(err, &authority):
		message = "its certificate is not trusted; add its CA to QUARRY_CA_BUNDLE"
	case errors.As(err, &header):
		message = "it does not speak TLS"
	}
	return &Error{Kind: ErrUnavailable, Message: message}
}
