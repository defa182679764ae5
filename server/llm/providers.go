package llm

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
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
	chats    map[string]*chat // by "provider/model", by "provider", and the default by ""
	embedder *embedder
	budget   int
}

// New prepares the models of a configuration. It connects to nothing and reads no key. An error says which part of the
// configuration cannot be used.
func New(config Config) (*Providers, error) {
	config = config.withDefaults()
	p := &Providers{chats: map[string]*chat{}, budget: config.Budget}
	provider, model, _ := strings.Cut(config.Default, "/")
	if _, exists := config.Providers[provider]; provider != "" && !exists {
		return nil, fmt.Errorf("the default model %s: there is no provider %s", config.Default, provider)
	}
	for name, given := range config.Providers {
		if given.BaseURL == "" {
			return nil, fmt.Errorf("provider %s has no base URL", name)
		}
		models := given.Models
		if name == provider && model != "" { // without a name of a model, the provider's is the default
			models = append([]string{model}, models...)
		}
		at := newEndpoint(name, given.BaseURL, given.Key, maxReply, config)
		for _, m := range models {
			if p.chats[name+"/"+m] == nil {
				c := &chat{endpoint: at, model: m}
				p.chats[name+"/"+m], p.chats[name] = c, cmp.Or(p.chats[name], c)
			}
		}
	}
	if provider != "" {
		if p.chats[""] = p.chats[provider]; p.chats[""] == nil {
			return nil, fmt.Errorf("the default model %s names no model, and the provider lists none", config.Default)
		}
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

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.StreamTimeout = cmp.Or(c.StreamTimeout, defaultStreamTimeout)
	c.Pause = cmp.Or(c.Pause, defaultPause)
	c.Concurrency = cmp.Or(c.Concurrency, defaultConcurrency)
	if c.Transport == nil {
		c.Transport = newTransport(c.Concurrency, c.Roots)
	}
	return c
}

// Chat finds a model. Without names it is the default, or ErrNone; a provider alone gives its first model. ErrUnknown
// is the answer for a provider or model that is not configured: what is not listed cannot be asked.
func (p *Providers) Chat(provider, model string) (Chat, error) {
	name := provider
	if model != "" {
		name += "/" + model
	}
	switch found := p.chat(name); {
	case found != nil:
		return found, nil
	case name == "":
		return nil, ErrNone
	}
	return nil, ErrUnknown
}

func (p *Providers) chat(name string) *chat {
	if p == nil {
		return nil
	}
	return p.chats[name]
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
	if found := p.chat(""); found != nil {
		return found.Name()
	}
	return ""
}

// DailyTokens is the configured budget of a tenant, in tokens per day; 0 is no limit.
func (p *Providers) DailyTokens() int {
	if p == nil {
		return 0
	}
	return p.budget
}
