package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"quarry/client/wire"
)

const (
	maxAnswer    = 8 << 20 // bytes
	shortestWait = time.Second
	usualWait    = 30 * time.Second // where Slack says nothing
	longestWait  = time.Hour
)

// Kind is what a failure means.
type Kind int

// The kinds of failure.
const (
	Refused     Kind = iota // Slack does not accept the request
	Auth                    // the token is none, or may not search
	RateLimited             // Slack asks for fewer requests
	Unreachable             // no answer
	Unusable                // what answered does not speak Slack's API, or failed
)

// Error is a search of Slack that failed. It never holds a token.
type Error struct {
	Kind       Kind
	Problem    string        // one line
	Fix        string        // one line
	RetryAfter time.Duration // of RateLimited
}

// Error says what failed, and what to do.
func (e *Error) Error() string { return e.Problem + ": " + e.Fix }

func notSlack() *Error {
	return &Error{Kind: Unusable, Problem: "what answered does not speak Slack's API",
		Fix: "correct server_url, or leave it out"}
}

func rateLimited(wait time.Duration) *Error {
	wait = min(max(wait.Round(time.Second), shortestWait), longestWait)
	return &Error{Kind: RateLimited, Problem: "Slack is asked too often", Fix: "search it again in " + wait.String(),
		RetryAfter: wait}
}

// door is what every request and answer passes. The token is in the body of a request, so that no redirect is followed.
type doer struct {
	client http.Client
	agent  string
}

func newDoer(options Options) *doer {
	return &doer{agent: options.UserAgent, client: http.Client{Transport: options.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Do sends a request, and lets so much of the answer in as can be an answer.
func (d *doer) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", d.agent)
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusTooManyRequests { // the library insists on a number of seconds
		_ = response.Body.Close() // nothing in it is needed
		return nil, rateLimited(waitOf(response.Header.Get("Retry-After")))
	}
	if response.StatusCode != http.StatusOK {
		return response, nil // the library reads no more of it than the status
	}
	defer func() { _ = response.Body.Close() }() // what is needed of it is read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if body, err = wire.LowerKeys(body); err != nil {
		return nil, notSlack()
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func waitOf(header string) time.Duration {
	seconds, err := strconv.Atoi(strings.TrimSpace(header))
	if err != nil || seconds < 0 {
		return usualWait
	}
	return time.Duration(min(seconds, int(longestWait/time.Second))) * time.Second
}

// explain brings whatever ended a call into the errors of this package.
func explain(ctx context.Context, err error) error {
	var (
		known   *Error
		said    slack.SlackErrorResponse
		status  slack.StatusCodeError
		sending *url.Error
		network net.Error
	)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case errors.As(err, &said):
		return refusal(said)
	case errors.As(err, &status):
		return badStatus(status.Code)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return notSlack()
	case errors.As(err, &sending):
		return unreachable(sending.Err)
	case errors.As(err, &network):
		return unreachable(network)
	}
	return notSlack() // the library's other errors quote the answer
}

func unreachable(cause error) *Error {
	return &Error{Kind: Unreachable, Problem: "Slack cannot be reached (" + plain(cause.Error()) + ")",
		Fix: "check the network, HTTPS_PROXY and QUARRY_CA_BUNDLE"}
}

func badStatus(status int) *Error {
	problem := fmt.Sprintf("Slack answered HTTP %d", status)
	switch {
	case status/100 == 3:
		return &Error{Kind: Unusable, Problem: problem + ", which leads elsewhere and is not followed",
			Fix: "correct server_url, or leave it out"}
	case status/100 == 4:
		return &Error{Kind: Unusable, Problem: problem, Fix: "correct server_url, or leave it out"}
	}
	return &Error{Kind: Unusable, Problem: problem, Fix: "try again later; https://status.slack.com tells of outages"}
}

// refusal is what a code of Slack means to a person.
func refusal(said slack.SlackErrorResponse) *Error {
	const (
		makeToken = "make a user token (xoxp-…) with the scope search:read for it, and give it as token or token_command"
		askAdmin  = "ask the administrator of the workspace"
	)
	code := codeOf(said.Err)
	e := &Error{Kind: Auth, Problem: "Slack refuses the token (" + code + ")", Fix: makeToken}
	switch code {
	case "invalid_auth", "not_authed", "token_expired", "token_revoked", "account_inactive":
	case "not_allowed_token_type":
		e.Problem = "Slack lets only people search, and this is a token of another kind, such as a bot's (" + code + ")"
	case "missing_scope", "no_permission":
		e.Problem = "the token may not search Slack (" + code + ")"
		e.Fix = "add the user scope search:read to its app, install the app again, and take the new token"
	case "access_denied", "enterprise_is_restricted", "team_access_not_granted", "org_login_required",
		"ekm_access_denied", "accesslimited", "two_factor_setup_required", "missing_post_type":
		e.Problem, e.Fix = "Slack does not let this token search ("+code+")", askAdmin
	case "ratelimited", "rate_limited":
		return rateLimited(usualWait)
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org":
		e.Kind, e.Problem, e.Fix = Unusable, "Slack failed ("+code+")", "try again later"
	default:
		e.Kind, e.Problem, e.Fix = Refused, "Slack refuses the search ("+code+")", "change the question, or leave Slack out"
	}
	return e
}

// codeOf keeps a code a code: it is foreign, and goes into messages.
func codeOf(text string) string {
	const longest = 40
	code := strings.Map(func(r rune) rune {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return -1
		}
		return r
	}, text[:min(len(text), longest)])
	if code == "" {
		return "no reason given"
	}
	return code
}
