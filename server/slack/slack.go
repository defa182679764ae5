// Package slack searches Slack while a library is searched. It stores nothing: a search sees what the token's owner
// sees in Slack at that moment.
package slack

import (
	"context"
	"net/http"
	"sync"
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

	mutex     sync.Mutex
	notBefore time.Time // Slack's rate limit lasts until then
}

// New returns a source. It sends nothing and reads no token.
func New(options Options) *Source {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Source{options: options, http: newDoer(options)}
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
	response.FillEmpty()
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
	if wait := s.retryIn(); wait > 0 {
		return rateLimited(wait)
	}
	token, err := s.options.Token(ctx)
	if err != nil {
		return err
	}
	api := slack.New(token, slack.OptionAPIURL(s.options.BaseURL+"/"), slack.OptionHTTPClient(s.http))
	err = explain(ctx, do(api))
	if known, ok := err.(*Error); ok && known.Kind == RateLimited {
		s.mutex.Lock()
		s.notBefore = s.options.Now().Add(known.RetryAfter)
		s.mutex.Unlock()
	}
	return err
}

// retryIn returns the time until Slack may be called again.
func (s *Source) retryIn() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.notBefore.Sub(s.options.Now())
}
