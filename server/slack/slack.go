// Package slack asks Slack's own search for messages while a library is searched. Nothing of Slack is stored: a search
// sees what the owner of its token sees there, at that moment.
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

// sourceType is what messages are called among the sources, and documentType among the types of documents.
const (
	sourceType   = "slack"
	documentType = "thread"
)

// What is asked for at once. Slack gives a hundred messages at most.
const (
	wanted         = 50
	wantedFiltered = 100 // where a part of them is left out afterwards
)

// Options say whom a Source asks and as whom.
type Options struct {
	// Name is what its results are labelled with.
	Name string
	// BaseURL is where Slack's API is, such as "https://slack.com/api".
	BaseURL string
	// Token gives a user token that may search:read. It is asked for each request, just before it is sent.
	Token func(ctx context.Context) (string, error)
	// Transport carries the requests.
	Transport http.RoundTripper
	// Patience is how long a search may take; 0: as long as a call of a model.
	Timeout time.Duration
	// UserAgent is sent with every request.
	UserAgent string
	// Now is the clock; nil: that of the system.
	Now func() time.Time
}

// Source is Slack as somebody sees it. It is safe for concurrent use.
type Source struct {
	options Options
	http    *doer

	mutex     sync.Mutex
	notBefore time.Time // Slack asked not to be asked before
}

// New prepares a source. Nothing is sent, and no token is read, before it is asked.
func New(options Options) *Source {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Source{options: options, http: newDoer(options)}
}

// Name is that of the options.
func (s *Source) Name() string { return s.options.Name }

// Sources is Slack alone.
func (s *Source) Sources(context.Context) []string { return []string{sourceType} }

// Patience is that of the options.
func (s *Source) Timeout() time.Duration { return s.options.Timeout }

// Search finds messages, the best first. A question that no message has all the words of is asked once more with fewer
// of them. The error is an *Error, the context's, that of the token, or pipeline.ErrOutOfScope.
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

// find asks for messages once.
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

// Identity is whom Slack takes a token's owner for.
type Identity struct {
	User string
	Team string
}

// Check asks Slack whose token it is, and then whether it may search.
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

// call calls Slack, unless it asked to be left alone for now.
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

// left is how long Slack is to be left alone.
func (s *Source) retryIn() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.notBefore.Sub(s.options.Now())
}
