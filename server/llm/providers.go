package llm

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The bounds of calls where Config gives none.
const (
	defaultTimeout       = time.Minute     // a whole call
	defaultStreamTimeout = 2 * time.Minute // a whole call whose reply is read as it comes
	defaultPause         = 30 * time.Second
	defaultConcurrency   = 32 // a search classifies ten passages at once, and several people search
)

// Key gives the secret of an endpoint when a request needs it; "" for an endpoint that asks for none.
type Key func(ctx context.Context) (string, error)

// Provider is one OpenAI-compatible server of language models.
type Provider struct {
	BaseURL string   // up to and with its version, such as http://localhost:11434/v1
	Models  []string // that may be asked; the first is taken where only the provider is named
	Key     Key      // nil: none is sent
}

// Embedding is the server and model that turn text into vectors. The zero value is none.
type Embedding struct {
	BaseURL string
	Model   string
	Key     Key // nil: none is sent

	QueryPrefix, DocumentPrefix string // put before each text, as the model was trained
}

// Config says which models there are, and what a call may take.
type Config struct {
	Default   string              // "provider" or "provider/model"; "" for none
	Providers map[string]Provider // by name
	Embedding Embedding
	Budget    int // tokens per tenant and day; 0 is no limit

	Timeout       time.Duration // of a whole call; 0: one minute. The caller's context may end it sooner
	StreamTimeout time.Duration // of a call whose reply is read as it comes; 0: two minutes
	Pause         time.Duration // between two pieces of such a reply; 0: thirty seconds
	Concurrency   int           // calls to one provider at the same time, others wait; 0: 32

	Roots     *x509.CertPool    // whose certificates are trusted; nil: the system's
	Transport http.RoundTripper // nil: HTTPS with the environment's proxies and these Roots
}

// Providers are the models that a server can ask. A nil *Providers has none. It is safe for concurrent use.
type Providers struct {
	chats        map[string]map[string]*chat // provider → model
	first        map[string]string           // provider → the model that is taken where none is named
	defaultNames [2]string                   // provider and model
	embedder     *embedder
	budget       int
}

// New prepares the models of a configuration. It connects to nothing and reads no key. An error says which part of the
// configuration cannot be used.
func New(config Config) (*Providers, error) {
	config = config.filledIn()
	p := &Providers{chats: map[string]map[string]*chat{}, first: map[string]string{}, budget: config.Budget}
	provider, model, _ := strings.Cut(config.Default, "/")
	if _, exists := config.Providers[provider]; provider != "" && !exists {
		return nil, fmt.Errorf("the default model %s: there is no provider %s", config.Default, provider)
	}
	for name, given := range config.Providers {
		if given.BaseURL == "" {
			return nil, fmt.Errorf("provider %s has no base URL", name)
		}
		models := given.Models
		if name == provider && model != "" && !slices.Contains(models, model) {
			models = append([]string{model}, models...)
		}
		at := newEndpoint(name, given.BaseURL, given.Key, maxReply, config)
		p.chats[name] = map[string]*chat{}
		for _, m := range models {
			p.chats[name][m] = &chat{endpoint: at, model: m}
		}
		if len(models) > 0 {
			p.first[name] = models[0]
		}
	}
	if provider != "" {
		if model == "" {
			model = p.first[provider]
		}
		if model == "" {
			return nil, fmt.Errorf("the default model %s names no model, and the provider lists none", config.Default)
		}
		p.defaultNames = [2]string{provider, model}
	}
	if e := config.Embedding; e.BaseURL != "" {
		if e.Model == "" {
			return nil, fmt.Errorf("the endpoint of embeddings %s has no model", e.BaseURL)
		}
		p.embedder = &embedder{newEndpoint("embeddings", e.BaseURL, e.Key, maxVectors, config), e.Model,
			[2]string{ForDocuments: e.DocumentPrefix, ForQueries: e.QueryPrefix}}
	}
	return p, nil
}

func (c Config) filledIn() Config {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.StreamTimeout <= 0 {
		c.StreamTimeout = defaultStreamTimeout
	}
	if c.Pause <= 0 {
		c.Pause = defaultPause
	}
	if c.Concurrency <= 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.Transport == nil {
		c.Transport = newTransport(c.Concurrency, c.Roots)
	}
	return c
}

// Chat finds a model. Without names it is the default, or ErrNone; a provider alone gives its first model. ErrUnknown
// is the answer for a provider or model that is not configured: what is not listed cannot be asked.
func (p *Providers) Chat(provider, model string) (Chat, error) {
	switch {
	case provider == "" && model == "":
		if p.Default() == "" {
			return nil, ErrNone
		}
		return p.chats[p.defaultNames[0]][p.defaultNames[1]], nil
	case p == nil:
		return nil, ErrUnknown
	case model == "" && provider == p.defaultNames[0]:
		model = p.defaultNames[1]
	case model == "":
		model = p.first[provider]
	}
	if found := p.chats[provider][model]; found != nil {
		return found, nil
	}
	return nil, ErrUnknown
}

// Embedder is the model that turns text into vectors, if there is one.
func (p *Providers) Embedder() (Embedder, bool) {
	if p == nil || p.embedder == nil {
		return nil, false
	}
	return p.embedder, true
}

// Default is the name of the default model, such as "local/llama3.1"; "" if there is none.
func (p *Providers) Default() string {
	if p == nil || p.defaultNames[0] == "" {
		return ""
	}
	return p.defaultNames[0] + "/" + p.defaultNames[1]
}

// DailyTokens is the configured budget of a tenant, in tokens per day; 0 is no limit.
func (p *Providers) DailyTokens() int {
	if p == nil {
		return 0
	}
	return p.budget
}
