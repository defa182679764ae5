// Package llm reaches language models and embedding models by the OpenAI-compatible API, which Ollama, vLLM, LiteLLM and
// the hosted providers all speak. Every call is bounded in time and size, and counted.
package llm

import "context"

// The roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string
	Content string
}

// Request asks a model to go on with a conversation.
type Request struct {
	Messages []Message
	// MaxTokens bounds the reply; 0 leaves it to the model.
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

// Add sums two counts.
func (u Usage) Add(other Usage) Usage {
	return Usage{u.Calls + other.Calls, u.Prompt + other.Prompt, u.Completion + other.Completion}
}

// Reply is what a model answered.
type Reply struct {
	Text  string
	Usage Usage
}

// Chat is a language model. It is safe for concurrent use.
type Chat interface {
	// Complete gives the whole reply.
	Complete(ctx context.Context, request Request) (Reply, error)
	// Stream hands over the reply as it comes; an error of the function ends it.
	Stream(ctx context.Context, request Request, delta func(text string) error) (Reply, error)
	// Name is provider and model, such as "local/llama3.1".
	Name() string
}

// Use is what a vector is for: models put other words before a question than before what it is looked for in.
type Use int

// The uses of vectors.
const (
	ForDocuments Use = iota
	ForQueries
)

// Embedder is an embedding model. It is safe for concurrent use.
type Embedder interface {
	// Embed gives one vector of Euclidean length 1 for each text.
	Embed(ctx context.Context, use Use, texts []string) ([][]float32, Usage, error)
	// Name tells models apart whose vectors cannot be compared.
	Name() string
}
