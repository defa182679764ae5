package target

import (
	"context"

	"quarry/client"
	"quarry/config"
	"quarry/server/llm"
)

// models returns the configured models; nil if there are none. It connects to nothing and reads no key: the first search
// that needs a model does.
func (h *Host) models() (*llm.Providers, error) {
	asked, vectors := h.Config.LLM, h.Config.Embeddings
	if len(asked.Providers) == 0 && vectors.BaseURL == "" {
		return nil, nil
	}
	providers := make(map[string]llm.Provider, len(asked.Providers))
	for name, p := range asked.Providers {
		providers[name] = llm.Provider{BaseURL: p.BaseURL, Models: p.Models, Key: keyOf(p.Key)}
	}
	roots, err := client.Roots()
	if err != nil {
		return nil, &Error{Kind: ErrNotConfigured, Problem: "cannot use the models", Err: err,
			Fix: "correct QUARRY_CA_BUNDLE, or unset it"}
	}
	models, err := llm.New(llm.Config{
		Default: asked.Default, Budget: asked.Budget, Providers: providers, Roots: roots,
		Embedding: llm.Embedding{BaseURL: vectors.BaseURL, Model: vectors.Model, Key: keyOf(vectors.Key),
			QueryPrefix: vectors.QueryPrefix, DocumentPrefix: vectors.DocumentPrefix},
	})
	if err != nil {
		return nil, &Error{Kind: ErrNotConfigured, Problem: h.Config.File + ": cannot use the models", Err: err,
			Fix: "correct llm and embeddings in the file"}
	}
	return models, nil
}

// keyOf returns a function that reveals the secret when a request needs it.
func keyOf(secret config.Secret) llm.Key {
	if secret.IsZero() {
		return nil
	}
	return func(context.Context) (string, error) { return secret.Reveal(), nil }
}
