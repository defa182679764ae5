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

// What can be wrong with a call. Every error of a Chat or an Embedder has one of these in its chain, or
// context.Canceled where the caller gave up.
var (
	// ErrNone: no default model is configured.
	ErrNone = errors.New("no language model is configured")
	// ErrUnknown: no such provider or model is configured.
	ErrUnknown = errors.New("no such provider or model is configured")
	// ErrTimeout: no whole answer within the time of the call, the wait for a turn included.
	ErrTimeout = errors.New("no answer in time")
	// ErrUnavailable: the server cannot be reached, breaks off, or says that it failed.
	ErrUnavailable = errors.New("the model's server is not available")
	// ErrBusy: the server asks for fewer requests.
	ErrBusy = errors.New("the model's server is asked too often")
	// ErrRefused: the server does not accept the request: the key, the model, the form, or it points elsewhere.
	ErrRefused = errors.New("the model's server refused")
	// ErrUnusable: what came is not an answer: another form, too large, cut off, or empty.
	ErrUnusable = errors.New("the answer cannot be used")
	// ErrBudget: the tenant's tokens of the day are used up.
	ErrBudget = errors.New("the day's budget of model tokens is used up")
	// ErrUncounted: what the tenant used today cannot be read or written, so that the budget cannot be held.
	ErrUncounted = errors.New("the use of models cannot be counted")
)

const (
	maxMessage   = 300 // characters of a server's own message
	maxErrorBody = 64 << 10
)

// Error is a call that failed. It never holds a key, an address, or what was asked.
type Error struct {
	Kind       error         // one of the errors above
	Provider   string        // name in the configuration; "" with ErrBudget and ErrUncounted
	Status     int           // of HTTP; 0 if there was no answer
	Message    string        // the server's own words or ours, one line of at most 300 characters; may be empty
	RetryAfter time.Duration // when to ask again: as the server says, or when the next budget begins; 0 if unknown
}

// Error says whose call failed and why.
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

// Unwrap is the kind.
func (e *Error) Unwrap() error { return e.Kind }

// refusal reads an answer that is none.
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

// messageOf finds the reason in the body of an error. Servers write {"error":{"message"}}, {"error":"…"}, {"message"}
// and {"detail"}; anything else, such as a proxy's page, is not repeated.
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
	_ = wire.Unmarshal(outer.Error, &inner) // not an object: then the error may be a text itself
	for _, candidate := range []json.RawMessage{inner.Message, outer.Error, outer.Message, outer.Detail} {
		text := ""
		if wire.Unmarshal(candidate, &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// cleanMessage makes one line of at most 300 characters out of a server's words, without the key.
func cleanMessage(message, key string) string {
	withoutKey := func(s string) string {
		if key == "" {
			return s
		}
		return strings.ReplaceAll(s, key, "[secret]")
	}
	message = withoutKey(text.CleanLine(withoutKey(message))) // again, for a key that control characters were put into
	return text.Shorten(message, maxMessage-1)
}

// retryAfter reads the header of that name: seconds or a date. 0 if it says nothing that can be followed.
func retryAfter(value string, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) { // not a number, too
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

// explain brings whatever ended a call into the errors of this package. The context is that of the call.
func (e *endpoint) explain(ctx context.Context, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) == errPaused:
		return e.failed(ErrTimeout, "the answer stopped in the middle")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return e.failed(ErrTimeout, "")
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", e.name, context.Canceled)
	case errors.As(err, &known):
		named := *known
		named.Provider = e.name
		return &named
	}
	// Only what this program reads is left: the library's errors may quote the answer, so that their text is not kept.
	return e.failed(ErrUnusable, "it is not what the API says")
}

func (e *endpoint) failed(kind error, message string) *Error {
	return &Error{Kind: kind, Provider: e.name, Message: message}
}
