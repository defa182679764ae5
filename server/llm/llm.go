// Package llm calls language models and embedding models over the OpenAI-compatible API of Ollama, vLLM, LiteLLM and
// the hosted providers. Every call is bounded in time and size, and counted.
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

// Request asks a model for the next message of a conversation.
type Request struct {
	Messages []Message
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
	// Embed returns one vector of Euclidean length 1 for each text.
	Embed(ctx context.Context, use Use, texts []string) ([][]float32, Usage, error)
	// Name identifies the model: vectors of different names cannot be compared.
	Name() string
}
