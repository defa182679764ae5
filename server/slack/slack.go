// Package slack searches Slack while a library is searched. It stores nothing: a search sees what the token's owner
// sees in Slack at that moment.
package slack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"quarry/client/wire"
	"quarry/server/pipeline"
)

// sourceType is the source of messages, documentType their document type.
const (
	sourceType   = "slack"
	documentType = "thread"
)

// Messages per request. Slack returns at most a hundred.
const (
	wanted         = 50
	wantedFiltered = 100 // if some are filtered afterwards
)

// Options configure a Source.
type Options struct {
	// Name labels the results.
	Name string
	// BaseURL is the address of Slack's API, such as "https://slack.com/api".
	BaseURL string
	// Token returns a user token with the scope search:read. It is called before each request.
	Token     func(ctx context.Context) (string, error)
	Transport http.RoundTripper
	// Timeout bounds a search; 0: as for a call of a model.
	Timeout   time.Duration
	UserAgent string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Source searches Slack as one user. It is safe for concurrent use.
type Source struct {
	options Options
	http    *doer

	notBefore atomic.Pointer[time.Time] // Slack's rate limit lasts until then; nil: never exceeded
}

// New returns a source. It sends nothing and reads no token.
func New(options Options) *Source {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Source{options: options,
		http: &doer{agent: options.UserAgent, client: http.Client{Transport: options.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}}
}

// Name implements pipeline.Federated.
func (s *Source) Name() string { return s.options.Name }

// Sources implements pipeline.Federated.
func (s *Source) Sources(context.Context) []string { return []string{sourceType} }

// Timeout implements pipeline.Federated.
func (s *Source) Timeout() time.Duration { return s.options.Timeout }

// Search returns messages, best first. If no message has all words it searches once more with fewer words. The error is
// an *Error, the context's, Token's, or pipeline.ErrOutOfScope.
func (s *Source) Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error) {
	q, inScope := queryOf(request)
	if !inScope {
		return nil, pipeline.ErrOutOfScope
	}
	found, err := s.find(ctx, q.text, q.count())
	if err == nil && len(found) == 0 && q.broader != "" {
		found, err = s.find(ctx, q.broader, q.count())
	}
	if err != nil {
		return nil, err
	}
	response := &wire.SearchResponse{Results: resultsOf(found, q)}
	wire.FillEmpty(response)
	return response, nil
}

// find sends one search.
func (s *Source) find(ctx context.Context, query string, count int) ([]slack.SearchMessage, error) {
	var answer *slack.SearchMessages
	err := s.call(ctx, func(api *slack.Client) (err error) {
		parameters := slack.NewSearchParameters()
		parameters.Count = count
		answer, err = api.SearchMessagesContext(ctx, query, parameters)
		return err
	})
	if err != nil {
		return nil, err
	}
	if answer.Matches == nil { // Slack sends an empty list
		return nil, notSlack()
	}
	return answer.Matches[:min(len(answer.Matches), count)], nil
}

// Identity is the owner of a token.
type Identity struct {
	User string
	Team string
}

// Check returns the owner of the token, and an error if it may not search.
func (s *Source) Check(ctx context.Context) (Identity, error) {
	var who Identity
	err := s.call(ctx, func(api *slack.Client) error {
		answer, err := api.AuthTestContext(ctx)
		if err == nil {
			who = Identity{User: plain(answer.User), Team: plain(answer.Team)}
		}
		return err
	})
	if err != nil {
		return Identity{}, err
	}
	_, err = s.find(ctx, "hello", 1)
	return who, err
}

// call calls Slack unless its rate limit is exceeded.
func (s *Source) call(ctx context.Context, do func(*slack.Client) error) error {
	if until := s.notBefore.Load(); until != nil && until.After(s.options.Now()) {
		return rateLimited(until.Sub(s.options.Now()))
	}
	token, err := s.options.Token(ctx)
	if err != nil {
		return err
	}
	api := slack.New(token, slack.OptionAPIURL(s.options.BaseURL+"/"), slack.OptionHTTPClient(s.http))
	err = explain(ctx, do(api))
	if known, ok := err.(*Error); ok && known.Kind == RateLimited {
		s.notBefore.Store(new(s.options.Now().Add(known.RetryAfter)))
	}
	return err
}

const (
	maxAnswer    = 8 << 20 // bytes
	shortestWait = time.Second
	usualWait    = 30 * time.Second // if Slack does not say
	longestWait  = time.Hour
)

// Kind classifies failures.
type Kind int

const (
	Refused     Kind = iota // Slack does not accept the request
	Auth                    // the token is invalid, or lacks permission
	RateLimited             // Slack asks for fewer requests
	Unreachable             // no answer
	Unusable                // the answer is not Slack's API, or Slack failed
)

// Error is a failed search. It never contains a token.
type Error struct {
	Kind       Kind
	Problem    string        // one line
	Fix        string        // one line
	RetryAfter time.Duration // of RateLimited
}

func (e *Error) Error() string { return e.Problem + ": " + e.Fix }

func notSlack() *Error {
	return &Error{Kind: Unusable, Problem: "the server does not speak Slack's API",
		Fix: "correct or remove server_url"}
}

func rateLimited(wait time.Duration) *Error {
	wait = min(max(wait.Round(time.Second), shortestWait), longestWait)
	return &Error{Kind: RateLimited, Problem: "Slack's rate limit is exceeded", Fix: "try again in " + wait.String(),
		RetryAfter: wait}
}

// doer is the HTTP client of the library. It follows no redirect, because the token is in the body of requests.
type doer struct {
	client http.Client
	agent  string
}

// Do sends a request and limits the size of the answer.
func (d *doer) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", d.agent)
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusTooManyRequests { // the library only reads whole seconds
		_ = response.Body.Close() // not needed
		return nil, rateLimited(cmp.Or(wire.RetryAfter(response.Header, time.Now(), longestWait), usualWait))
	}
	if response.StatusCode != http.StatusOK {
		return response, nil // the library only reads the status
	}
	defer response.Body.Close() // the body was read
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

// explain turns the error of a call into one of this package.
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
	return notSlack() // other errors of the library quote the answer
}

func unreachable(cause error) *Error {
	return &Error{Kind: Unreachable, Problem: "Slack cannot be reached (" + plain(cause.Error()) + ")",
		Fix: "check the network, HTTPS_PROXY and QUARRY_CA_BUNDLE"}
}

func badStatus(status int) *Error {
	e := &Error{Kind: Unusable, Problem: fmt.Sprintf("Slack answered HTTP %d", status),
		Fix: "correct or remove server_url"}
	switch status / 100 {
	case 3:
		e.Problem += ", a redirect, which is not followed"
	case 4:
	default:
		e.Fix = "try again later; see https://status.slack.com"
	}
	return e
}

// refusal explains an error code of Slack.
func refusal(said slack.SlackErrorResponse) *Error {
	const (
		makeToken = "create a user token (xoxp-…) with the scope search:read and set token or token_command"
		askAdmin  = "ask the administrator of the workspace"
	)
	code := codeOf(said.Err)
	e := &Error{Kind: Auth, Problem: "Slack refuses the token (" + code + ")", Fix: makeToken}
	switch code {
	case "invalid_auth", "not_authed", "token_expired", "token_revoked", "account_inactive":
	case "not_allowed_token_type":
		e.Problem = "only user tokens can search Slack; this is another kind, such as a bot token (" + code + ")"
	case "missing_scope", "no_permission":
		e.Problem = "the token may not search Slack (" + code + ")"
		e.Fix = "add the user scope search:read to the app, reinstall it, and use the new token"
	case "access_denied", "enterprise_is_restricted", "team_access_not_granted", "org_login_required",
		"ekm_access_denied", "accesslimited", "two_factor_setup_required", "missing_post_type":
		e.Problem, e.Fix = "Slack does not let this token search ("+code+")", askAdmin
	case "ratelimited", "rate_limited":
		return rateLimited(usualWait)
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org":
		e.Kind, e.Problem, e.Fix = Unusable, "Slack failed ("+code+")", "try again later"
	default:
		e.Kind, e.Problem, e.Fix = Refused, "Slack refuses the search ("+code+")",
			"change the query, or search without Slack"
	}
	return e
}

// codeOf removes everything from an error code that does not belong there: it is foreign text for a message.
func codeOf(text string) string {
	const longest = 40
	foreign := regexp.MustCompile(`[^a-z0-9_]`)
	return cmp.Or(foreign.ReplaceAllString(text[:min(len(text), longest)], ""), "no reason given")
}
