package slack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

type bodyTransport string

func (b bodyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {wire.MediaTypeJSON}}, Request: r,
		ContentLength: -1, Body: io.NopCloser(strings.NewReader(string(b)))}, nil
}

func searchIn(body string) (*wire.SearchResponse, error) {
	source := New(Options{Name: "team", BaseURL: "http://slack.invalid/api", UserAgent: "quarry", Transport: bodyTransport(body),
		Now: time.Now, Token: func(context.Context) (string, error) { return "xoxp-1", nil }})
	return source.Search(context.Background(), wire.SearchRequest{Query: "lantern"})
}

const oneMessage = `{"ok":true,"messages":{"matches":[{"channel":{"id":"C1","name":"boats"},"user":"U1","username":"jo",` +
	`"ts":"1508284197.000015","text":"kept","Text":"x","TEXT":"y","permalink":"https://acme.slack.com/x"}],"Matches":[]}}`

// TestKeysOfMessagesAreMatchedExactly: a key in another case is another key.
func TestKeysOfMessagesAreMatchedExactly(t *testing.T) {
	response, err := searchIn(oneMessage)
	if err != nil || len(response.Results) != 1 || response.Results[0].Content != "kept" {
		t.Errorf("%+v, %v", response, err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(oneMessage)
	f.Add(`{"ok":false,"error":"missing_scope\u001b"}`)
	f.Add(`{"ok":true,"messages":{"matches":[{"channel":{"id":"C1"},"ts":"1.1","blocks":[{"type":"section","text":{"type":"mrkdwn",` +
		`"text":"<javascript:x|y>"}},{"type":"header"},{"type":1}],"attachments":[{"title":"\u202e","title_link":"file:///x"}]}]}}`)
	f.Add(`{"ok":true,"messages":{"matches":[{"channel":{"id":"../\u0000"},"ts":"9e9.","permalink":"javascript:x","text":"t"}]}}`)
	f.Add(`{"ok":true,"messages":{"matches":[{"channel":{"id":"C1"},"ts":"1.1","blocks":` + strings.Repeat(`[{"elements":`, 30) + `"x"` + strings.Repeat("}]", 30) + `}]}}`)
	f.Add(`{"OK":true,"Messages":{"matches":[]}}`)
	f.Add(`{"ok":true,"messages":{"matches":[{"channel":{"id":"C1"},"ts":"1.1e5","text":"t"}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		response, err := searchIn(body)
		if err != nil {
			var known *Error
			if !errors.As(err, &known) || known.Fix == "" || !clean(known.Error()) || strings.Contains(err.Error(), "xoxp") {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if len(response.Results) > wanted {
			t.Fatalf("%d results", len(response.Results))
		}
		for _, result := range response.Results {
			if !clean(result.DocumentID) || !clean(result.Title) || len(result.Content) > maxText || !utf8.ValidString(result.Content) {
				t.Fatalf("%q, %q, %q", result.DocumentID, result.Title, result.Content)
			}
			if result.Link == nil {
				continue
			}
			if u, err := url.Parse(*result.Link); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
				t.Fatalf("link %q", *result.Link)
			}
		}
	})
}

func clean(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
