// Package llm calls language models and embedding models over the OpenAI-compatible API of Ollama, vLLM, LiteLLM and
// the hosted providers. Every call is bounded in time and size, and counted.
package llm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// The roles of messages, which are their types.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Request asks a model for the next message of a conversation.
type Request struct {
	Messages []wire.Message
	// MaxTokens limits the reply; 0: the model's own limit.
	MaxTokens int
	// Purpose names what the call is for ("rephrase", "select"), for accounting.
	Purpose string
}

// Usage counts the tokens of calls.
type Usage struct {
	Calls      int
	Prompt     int // tokens
	Completion int // tokens
}

// Add returns the sum of two counts.
func (u Usage) Add(other Usage) Usage {
	return Usage{u.Calls + other.Calls, u.Prompt + other.Prompt, u.Completion + other.Completion}
}

// Reply is the answer of a model.
type Reply struct {
	Text  string
	Usage Usage
	// Cut says why the text is not whole, such as a limit of the model; empty: it is.
	Cut string
}

// Chat is a language model. It is safe for concurrent use.
type Chat interface {
	// Complete returns the complete reply.
	Complete(ctx context.Context, request Request) (Reply, error)
	// Stream calls delta with each piece of the reply; an error of delta ends the call.
	Stream(ctx context.Context, request Request, delta func(text string) error) (Reply, error)
	// Name returns provider and model, such as "local/llama3.1".
	Name() string
}

// Use is the purpose of a vector: models want other prefixes for questions than for documents.
type Use int

const (
	ForDocuments Use = iota
	ForQueries
)

// Embedder is an embedding model. It is safe for concurrent use.
type Embedder interface {
	// Embed returns one vector of Euclidean length 1 for each text, or nil for one that has no direction.
	Embed(ctx context.Context, use Use, texts []string) ([][]float32, Usage, error)
	// Name identifies the model: vectors of different names cannot be compared.
	Name() string
	// Trust returns how much a difference of cosines counts in the ranking of passages in a language, beside 1 for the
	// best score by words; the language is empty or "und" where it is not known.
	Trust(language string) float64
	// Unrelated is the cosine below which a passage has nothing to do with a query; −1 where that is not known.
	Unrelated() float64
}

// Defaults of Config.
const (
	defaultTimeout       = time.Minute     // of a complete call
	defaultStreamTimeout = 2 * time.Minute // of a streamed call
	defaultPause         = 30 * time.Second
	defaultConcurrency   = 32 // a search classifies ten passages at once, for several people
)

// Key returns the secret of an endpoint when a request needs it; "" for none.
type Key func(ctx context.Context) (string, error)

// Provider is one OpenAI-compatible server of language models.
type Provider struct {
	BaseURL string   // including the version, such as http://localhost:11434/v1
	Models  []string // those that may be called; the first is the provider's default
	Key     Key      // nil: none
}

// Embedding is the server and model for vectors, a folder with a model, or a packed one. The zero value is none.
type Embedding struct {
	Packed  string // a model for encoder.OpenPacked, where there is neither a folder nor a server
	Path    string // a folder with a model for encoder.Open, instead of a server
	BaseURL string
	Model   string
	Key     Key // nil: none

	QueryPrefix, DocumentPrefix string // put before each text, as the model was trained

	Weight float64 // how far the model is trusted, of what its kind is by default; 0: 1
}

// Config lists the models and the bounds of calls.
type Config struct {
	Default   string              // "provider" or "provider/model"; "" for none
	Providers map[string]Provider // by name
	Embedding Embedding
	Budget    int // tokens per tenant and day; 0: no limit

	Timeout       time.Duration // of a complete call; 0: one minute
	StreamTimeout time.Duration // of a streamed call; 0: two minutes
	Pause         time.Duration // between two pieces of a stream; 0: thirty seconds
	Concurrency   int           // running calls per provider; 0: 32

	Transport http.RoundTripper // nil: http.DefaultTransport
}

// Providers are the configured models. A nil *Providers has none. It is safe for concurrent use.
type Providers struct {
	chats     map[string]*chat // by "provider/model", by "provider", and the default by ""
	endpoints map[string]*endpoint
	embedder  Embedder // nil: none
	budget    int
}

// New checks a configuration. It does not connect and reads no key. An error names the part of the configuration that
// is wrong.
func New(config Config) (*Providers, error) {
	config = config.withDefaults()
	p := &Providers{chats: map[string]*chat{}, endpoints: map[string]*endpoint{}, budget: config.Budget}
	provider, model, _ := strings.Cut(config.Default, "/")
	if _, exists := config.Providers[provider]; provider != "" && !exists {
		return nil, fmt.Errorf("the default model %s: there is no provider %s", config.Default, provider)
	}
	for name, given := range config.Providers {
		if given.BaseURL == "" {
			return nil, fmt.Errorf("provider %s has no base URL", name)
		}
		models := given.Models
		if name == provider && model != "" { // also the model for the provider's name alone
			models = append([]string{model}, models...)
		}
		at := newEndpoint(name, given.BaseURL, given.Key, maxReply, config)
		p.endpoints[name] = at
		for _, m := range models {
			if p.chats[name+"/"+m] == nil {
				c := &chat{endpoint: at, model: m}
				p.chats[name+"/"+m], p.chats[name] = c, cmp.Or(p.chats[name], c)
			}
		}
	}
	if provider != "" {
		if p.chats[""] = p.chats[provider]; p.chats[""] == nil {
			return nil, fmt.Errorf("the default model %s has no model, and the provider lists none", config.Default)
		}
	}
	e := config.Embedding
	e.Weight = cmp.Or(e.Weight, 1)
	prefixes := [2]string{ForDocuments: e.DocumentPrefix, ForQueries: e.QueryPrefix}
	if e.Path != "" {
		folder, err := newFolderEmbedder(e.Path, prefixes, e.Weight)
		if err != nil {
			return nil, fmt.Errorf("embeddings.path: %w", err)
		}
		p.embedder = folder
	} else if e.BaseURL == "" && e.Packed != "" {
		p.embedder = newPackedEmbedder(e.Packed, prefixes, e.Weight)
	} else if e.BaseURL != "" {
		if e.Model == "" {
			return nil, fmt.Errorf("the embeddings endpoint %s has no model", e.BaseURL)
		}
		p.embedder = &embedder{newEndpoint("embeddings", e.BaseURL, e.Key, maxVectors, config), e.Model, prefixes,
			e.Weight}
	}
	return p, nil
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.StreamTimeout = cmp.Or(c.StreamTimeout, defaultStreamTimeout)
	c.Pause = cmp.Or(c.Pause, defaultPause)
	c.Concurrency = cmp.Or(c.Concurrency, defaultConcurrency)
	return c
}

// Chat returns a model: the default for two empty names, the provider's first for an empty model. It returns ErrNone
// without a default, and ErrUnknown for a provider or model that is not configured.
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

// List returns the names of the models that a provider's server has.
func (p *Providers) List(ctx context.Context, provider string) (names []string, err error) {
	const most, longest = 200, 200
	if p == nil || p.endpoints[provider] == nil {
		return nil, ErrUnknown
	}
	at := p.endpoints[provider]
	ctx, cancel := context.WithTimeout(ctx, at.config.Timeout)
	defer cancel()
	_, err = at.call(ctx, func(ctx context.Context) error {
		var list struct {
			Models []loose[struct {
				ID loose[string] `json:"id"`
			}] `json:"data"`
		}
		err := at.fetch(ctx, "/models", nil, &list)
		names = nil
		for _, model := range list.Models[:min(most, len(list.Models))] {
			if name := text.CleanLine(model.value.ID.value); name != "" && len(name) <= longest {
				names = append(names, name)
			}
		}
		return err
	})
	return names, err
}

// Embedder returns the embedding model, if there is one.
func (p *Providers) Embedder() (Embedder, bool) {
	if p == nil || p.embedder == nil {
		return nil, false
	}
	return p.embedder, true
}

// Default returns the name of the default model, such as "local/llama3.1", or "".
func (p *Providers) Default() string {
	if found := p.chat(""); found != nil {
		return found.Name()
	}
	return ""
}

// DailyTokens returns the configured budget per tenant and day; 0: no limit.
func (p *Providers) DailyTokens() int {
	if p == nil {
		return 0
	}
	return p.budget
}
