package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
)

const (
	maxReasonRunes = 500
	maxErrorBytes  = 64 << 10
	maxRetryAfter  = 24 * time.Hour
)

// htmlRemedy is the usual solution when a web page arrives instead of JSON.
const htmlRemedy = "check server_url and api_prefix (most deployments need /api), and whether a proxy or sign-in page " +
	"intercepts the request"

// statusError returns the error of a response with a failure status.
func statusError(status int, header http.Header, body []byte, now time.Time) *Error {
	e := &Error{Kind: kindOfStatus(status), Status: status, RetryAfter: retryAfter(header.Get("Retry-After"), now)}
	if status == http.StatusProxyAuthRequired { // from a proxy: the server was never reached
		e.Kind, e.Reason, e.remedy = Unreachable, "the proxy requires a user name and password", proxyLoginRemedy
		return e
	}
	if isHTML(header, body) {
		e.Reason = fmt.Sprintf("received a web page instead of a response of the search API (%s)", statusText(status))
		e.remedy = htmlRemedy
		return e
	}
	e.Code, e.Reason, e.remedy = readErrorBody(body)
	if e.Reason == "" {
		e.Reason = statusText(status)
	}
	return e
}

func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "status " + strconv.Itoa(status)
}

// errorBody has the keys of all known error envelopes.
type errorBody struct {
	ErrorCode json.RawMessage `json:"error_code"`
	Detail    json.RawMessage `json:"detail"`
	Message   json.RawMessage `json:"message"`
	Error     json.RawMessage `json:"error"`
}

// readErrorBody finds the code and the reason in any envelope: {error_code, detail}, {detail}, {status_code, message,
// data}, {message}, a proxy's {error, message}, and a framework's list of details. Text that is not JSON is the reason
// itself.
func readErrorBody(body []byte) (code, reason, remedy string) {
	var b errorBody
	if wire.Unmarshal(body, &b) != nil {
		if plain := strings.TrimSpace(string(body)); !strings.HasPrefix(plain, "{") && !strings.HasPrefix(plain, "[") {
			return "", shorten(plain), ""
		}
		return "", "", ""
	}
	code = shorten(textOf(b.ErrorCode))
	for _, raw := range []json.RawMessage{b.Detail, b.Message, b.Error} {
		if reason = shorten(textOf(raw)); reason != "" {
			break
		}
	}
	if code == "" && b.Detail == nil && b.Message != nil {
		if code = shorten(textOf(b.Error)); code != "" {
			remedy = "a proxy sent this response, not the server: allow the server's address in the proxy"
		}
	}
	if reason == "" {
		reason = code
	}
	return code, reason, remedy
}

// textOf returns the reason in a string, an object with one, or a list of them.
func textOf(raw json.RawMessage) string {
	var value any
	if wire.Unmarshal(raw, &value) != nil {
		return ""
	}
	return reasonOf(value, 0)
}

func reasonOf(value any, depth int) string {
	const deepest, most = 4, 5
	if depth > deepest {
		return ""
	}
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, item := range v[:min(len(v), most)] {
			if part := reasonOf(item, depth+1); part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		for _, key := range []string{"msg", "message", "detail", "reason", "error"} {
			if text := reasonOf(v[key], depth+1); text != "" {
				return locationOf(v["loc"]) + text
			}
		}
	}
	return ""
}

// locationOf returns the field of a validation detail: ["body","sources",0] is "sources.0: ".
func locationOf(loc any) string {
	list, _ := loc.([]any)
	var parts []string
	for i, part := range list {
		text := fmt.Sprint(part)
		if i == 0 && (text == "body" || text == "query" || text == "path") {
			continue
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ".") + ": "
}

// shorten makes foreign text a clean line of at most maxReasonRunes characters.
func shorten(foreign string) string {
	const roughly = maxReasonRunes * utf8.UTFMax * 4 // bytes, so that not all of a long text is cleaned
	return text.Shorten(text.OneLine(sanitizeLine(text.Clip(foreign, roughly))), maxReasonRunes-1)
}

// retryAfter parses a Retry-After header: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	var wait time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		wait = time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return max(0, min(wait, maxRetryAfter))
}

// isHTML reports whether a response is a web page, by its media type or its first bytes.
func isHTML(header http.Header, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(header.Get("Content-Type"))), "text/html") {
		return true
	}
	start := strings.TrimPrefix(string(body[:min(len(body), 256)]), "\ufeff")
	start = strings.ToLower(strings.TrimSpace(start))
	return strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html")
}
