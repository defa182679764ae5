// Package llmtest is a server of the OpenAI-compatible API that answers as the test wants: well, late, wrongly, by halves,
// or not at all. It needs no test to run in.
package llmtest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Message is one turn of a conversation, as it was sent.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is what a client asked for.
type Request struct {
	Path                string    `json:"-"` // such as /v1/chat/completions
	Authorization       string    `json:"-"` // the header of that name
	Model               string    `json:"model"`
	Messages            []Message `json:"messages"` // of a chat
	Stream              bool      `json:"stream"`
	Temperature         float64   `json:"temperature"`
	MaxTokens           int       `json:"max_tokens"`
	MaxCompletionTokens int       `json:"max_completion_tokens"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Input []string `json:"input"` // texts to be turned into vectors
}

// Text is all that the messages say, one after the other.
func (r Request) Text() string {
	parts := make([]string, len(r.Messages))
	for i, m := range r.Messages {
		parts[i] = m.Content
	}
	return strings.Join(parts, "\n")
}

// Match picks the requests that a rule is for.
type Match func(Request) bool

// Any picks all chats.
func Any() Match { return func(Request) bool { return true } }

// Containing picks chats in whose messages a text occurs.
func Containing(text string) Match {
	return func(r Request) bool { return strings.Contains(r.Text(), text) }
}

// Model picks chats with a model.
func Model(name string) Match { return func(r Request) bool { return r.Model == name } }

// Server is a running server. Close it when it is no longer needed.
type Server struct {
	http    *httptest.Server
	closing chan struct{}

	mutex    sync.Mutex
	rules    []*rule
	models   []string // that are listed; nil: the server has no list
	vectors  []Answer // of requests for vectors; what is left when they are used up is DefaultDimensions
	requests []Request
	now      int // requests being answered
	most     int // the most at one time
	left     int // requests whose client did not wait for the end
}

// rule gives its answers one after the other; the last one is repeated.
type rule struct {
	match   Match
	answers []Answer
}

// New starts a server on this machine. Without rules it has an answer to requests for vectors only.
func New() *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // as httptest.NewServer does
	}
	return NewOn(listener)
}

// NewOn starts a server on a listener.
func NewOn(listener net.Listener) *Server {
	s := &Server{closing: make(chan struct{})}
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(s.serve)}}
	s.http.Start()
	return s
}

// BaseURL is what a client is configured with.
func (s *Server) BaseURL() string { return s.http.URL + "/v1" }

// Close ends the server, and with it every answer that is held back.
func (s *Server) Close() {
	close(s.closing)
	s.http.CloseClientConnections()
	s.http.Close()
}

// On adds a rule for chats: the first rule that matches answers. Its answers are given in order, the last one again and
// again. It returns the server, so that rules can be written in a row.
func (s *Server) On(match Match, answers ...Answer) *Server {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rules = append(s.rules, &rule{match, answers})
	return s
}

// OnVectors sets the answers to requests for vectors, in the same way; without it they are Vectors(DefaultDimensions).
func (s *Server) OnVectors(answers ...Answer) *Server {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.vectors = answers
	return s
}

// Listing sets the models that the server lists.
func (s *Server) Listing(models ...string) *Server {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.models = models
	return s
}

// Requests are all that came so far, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Request(nil), s.requests...)
}

// MostAtOnce is the greatest number of concurrent requests.
func (s *Server) MostAtOnce() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.most
}

// Left is how many clients went away before their answer was complete.
func (s *Server) Left() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.left
}

const maxRequest = 16 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	request := Request{Path: r.URL.Path, Authorization: r.Header.Get("Authorization")}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err == nil && r.Method == http.MethodPost {
		err = json.Unmarshal(body, &request)
	}
	answer := s.begin(request)
	defer s.end(r)
	switch {
	case err != nil:
		Status(http.StatusBadRequest, "the request cannot be read")(w, r, request)
	case answer == nil:
		Status(http.StatusInternalServerError, "nothing is scripted for this request")(w, r, request)
	default:
		answer(w, r.WithContext(withClosing(r.Context(), s.closing)), request)
	}
}

// begin records a request and picks its answer; nil if there is none.
func (s *Server) begin(request Request) Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, request)
	s.now++
	s.most = max(s.most, s.now)
	if strings.HasSuffix(request.Path, "/embeddings") {
		if s.vectors == nil {
			return Vectors(DefaultDimensions)
		}
		return next(&s.vectors)
	}
	if strings.HasSuffix(request.Path, "/models") && s.models != nil {
		return listed(s.models)
	}
	if !strings.HasSuffix(request.Path, "/chat/completions") {
		return nil
	}
	for _, rule := range s.rules {
		if rule.match(request) {
			return next(&rule.answers)
		}
	}
	return nil
}

func next(answers *[]Answer) Answer {
	if len(*answers) == 0 {
		return nil
	}
	answer := (*answers)[0]
	if len(*answers) > 1 {
		*answers = (*answers)[1:]
	}
	return answer
}

func (s *Server) end(r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.now--
	if r.Context().Err() != nil {
		s.left++
	}
}
