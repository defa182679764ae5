package llm

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/sashabaranov/go-openai"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/encoder"
)

// Bounds of one request for vectors, and of a vector.
const (
	batchTexts    = 64
	batchBytes    = 256 << 10
	maxDimensions = 8192
)

// embedder is an embedding model.
type embedder struct {
	*endpoint
	model    string
	prefixes [2]string // by Use
	weight   float64
}

// Name implements Embedder. It does not name the server: the same model elsewhere returns the same vectors. It contains
// the prefix of documents, which changes their vectors.
func (e *embedder) Name() string {
	return named(e.model, e.prefixes[ForDocuments])
}

// named is the name of a model that makes the vectors of documents with a prefix.
func named(model, prefix string) string {
	if prefix == "" {
		return model
	}
	return model + " with " + strconv.Quote(prefix)
}

// Trust implements Embedder.
func (e *embedder) Trust(string) float64 { return trustEncoder * e.weight }

// Unrelated implements Embedder.
func (e *embedder) Unrelated() float64 { return -1 }

// Embed implements Embedder. All vectors have the same number of dimensions.
func (e *embedder) Embed(ctx context.Context, use Use, texts []string) ([][]float32, Usage, error) {
	vectors, total := make([][]float32, 0, len(texts)), Usage{}
	if prefix := e.prefixes[use]; prefix != "" {
		texts = slices.Clone(texts)
		for i := range texts {
			texts[i] = prefix + texts[i]
		}
	}
	for len(texts) > 0 {
		n := batch(texts)
		fresh, usage, err := e.embedBatch(ctx, texts[:n])
		total = total.Add(usage)
		if err != nil {
			return nil, total, err
		}
		if len(vectors) > 0 && len(vectors[0]) != len(fresh[0]) {
			return nil, total, e.failed(ErrUnusable, "its vectors have different dimensions")
		}
		vectors, texts = append(vectors, fresh...), texts[n:]
	}
	return vectors, total, nil
}

// RefusesText reports whether an error may be caused by one of the texts, such as one that is too long for the model.
// Servers answer with several statuses, and some with an invalid vector.
func RefusesText(err error) bool {
	var known *Error
	if !errors.As(err, &known) {
		return false
	}
	switch known.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
		http.StatusInternalServerError:
		return true
	}
	return known.Kind == ErrUnusable
}

// batch returns how many texts go into the next request.
func batch(texts []string) int {
	bytes := 0
	for i, text := range texts {
		if bytes += len(text); i == batchTexts || (i > 0 && bytes > batchBytes) {
			return i
		}
	}
	return len(texts)
}

func (e *embedder) embedBatch(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	request := openai.EmbeddingRequestStrings{Model: openai.EmbeddingModel(e.model)}
	prompt := Request{}
	for _, text := range texts {
		prompt.Messages = append(prompt.Messages, wire.Message{Message: text})
		if text == "" {
			text = " " // servers refuse empty texts
		}
		request.Input = append(request.Input, text)
	}
	var answer struct {
		Data  []loose[embedding] `json:"data"`
		Usage loose[tokens]      `json:"usage"`
	}
	attempts, err := e.call(ctx, func(ctx context.Context) error {
		return e.fetch(ctx, "/embeddings", request, &answer)
	})
	usage := usageOf(answer.Usage.value)
	usage.Completion = 0
	usage = withEstimates(usage, attempts, prompt, "", err)
	if err != nil {
		return nil, usage, err
	}
	vectors, problem := vectorsOf(answer.Data, len(texts))
	if problem != "" {
		return nil, usage, e.failed(ErrUnusable, problem)
	}
	return vectors, usage, nil
}

type embedding struct {
	Index  number `json:"index"`
	Vector vector `json:"embedding"`
}

// vectorsOf returns the vectors of an answer in the order of the texts, with length 1, or what is wrong with them.
func vectorsOf(sent []loose[embedding], texts int) (vectors [][]float32, problem string) {
	if len(sent) != texts {
		return nil, "the number of vectors differs from the number of texts"
	}
	var data []embedding
	for _, one := range sent {
		data = append(data, one.value)
	}
	slices.SortStableFunc(data, func(a, b embedding) int { return cmp.Compare(a.Index, b.Index) })
	numbered := data[texts-1].Index != 0 // some servers do not number the vectors
	for i, d := range data {
		switch n := len(d.Vector); {
		case int(d.Index) != i && (numbered || d.Index != 0):
			return nil, "its vectors have other numbers than the texts"
		case n == 0 || n > maxDimensions || n != len(data[0].Vector):
			return nil, "its vectors have different dimensions"
		}
		unit := encoder.Unit(d.Vector)
		if unit == nil {
			return nil, "a vector is zero"
		}
		vectors = append(vectors, unit)
	}
	return vectors, ""
}

// localEmbedder is a model that runs in this process. It is read at its first use: a start without a search by vector
// pays nothing.
type localEmbedder struct {
	prefixes [2]string // by Use; empty: the model's own
	weight   float64
	english  bool // the model in the binary, which knows English and was measured
	name     func() string
	open     func() (*encoder.Model, error)
}

// newFolderEmbedder checks that the folder has the files of a model.
func newFolderEmbedder(folder string, prefixes [2]string, weight float64) (*localEmbedder, error) {
	if err := encoder.Check(folder); err != nil {
		return nil, err
	}
	open := sync.OnceValues(func() (*encoder.Model, error) { return encoder.Open(folder) })
	return &localEmbedder{prefixes, weight, false, func() string {
		model, err := open()
		if err != nil {
			return filepath.Base(folder)
		}
		return model.Name()
	}, open}, nil
}

// newPackedEmbedder returns the model in the binary.
func newPackedEmbedder(packed string, prefixes [2]string, weight float64) *localEmbedder {
	return &localEmbedder{prefixes, weight, true, sync.OnceValue(func() string {
		name, _ := encoder.PackedName(packed) // without which Embed fails
		return name
	}), sync.OnceValues(func() (*encoder.Model, error) { return encoder.OpenPacked(packed) })}
}

// Name implements Embedder. Another model in the same folder has another name.
func (e *localEmbedder) Name() string { return named(e.name(), e.prefixes[ForDocuments]) }

// Trust implements Embedder.
func (e *localEmbedder) Trust(language string) float64 {
	if e.english {
		return trustPacked * e.weight * inEnglish(language)
	}
	if model, err := e.open(); err != nil || model.IsTable() {
		return trustTable * e.weight
	}
	return trustEncoder * e.weight
}

// Unrelated implements Embedder.
func (e *localEmbedder) Unrelated() float64 {
	if e.english {
		return unrelatedPacked
	}
	return -1
}

// Embed implements Embedder. The vector of a text without a known word is nil.
func (e *localEmbedder) Embed(ctx context.Context, use Use, texts []string) ([][]float32, Usage, error) {
	model, err := e.open()
	if err != nil {
		return nil, Usage{}, &Error{Kind: ErrModel, Message: text.Shorten(err.Error(), maxMessage)}
	}
	prefix := cmp.Or(e.prefixes[use], [2]string{ForDocuments: model.DocumentPrompt, ForQueries: model.QueryPrompt}[use])
	vectors := make([][]float32, len(texts))
	for i := range texts {
		if err := ctx.Err(); err != nil {
			return nil, Usage{}, err
		}
		vectors[i] = model.Vector(prefix + texts[i])
	}
	return vectors, Usage{}, nil
}
