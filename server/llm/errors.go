package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

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
		text = e.Provider + ": " + text
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
	e := &Error{Status: status, Message: cleanMessage(messageOf(body), key), Kind: ErrRefused}
	switch {
	case status == http.StatusTooManyRequests:
		e.Kind = ErrBusy
	case status == http.StatusRequestTimeout || status >= 500:
		e.Kind = ErrUnavailable
	}
	if e.Kind != ErrRefused {
		e.RetryAfter = retryAfter(header.Get("Retry-After"), time.Now())
	}
	return e
}

// messageOf returns the message in the body of an error. Servers write {"error":{"message"}}, {"error":"…"},
// {"message"} or {"detail"}; anything else, such as a proxy's page, is ignored.
func messageOf(body []byte) string {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if wire.Unmarshal(body, &outer) != nil {
		return ""
	}
	var inner struct {
		Message json.RawMessage `json:"message"`
	}
	_ = wire.Unmarshal(outer.Error, &inner) // not an object: the error may be a string itself
	for _, candidate := range []json.RawMessage{inner.Message, outer.Error, outer.Message, outer.Detail} {
		text := ""
		if wire.Unmarshal(candidate, &text) == nil && text != "" {
			return text
		}
	}
	return ""
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

// retryAfter parses a Retry-After header: seconds or a date. It returns 0 if the value is unusable.
func retryAfter(value string, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) { // also NaN
			return 0
		}
		return time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), longest)
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
	// Errors of the library may quote the answer: their text is dropped.
	return e.failed(ErrUnusable, "the response is not valid")
}

func (e *endpoint) failed(kind error, message string) *Error {
	return &Error{Kind: kind, Provider: e.name, Message: message}
}
