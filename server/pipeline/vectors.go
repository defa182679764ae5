package pipeline

import (
	"context"
	"errors"
	"fmt"
	"quarry/internal/text"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/llm"
)

const (
	// embedDeadline is how long the embedding model may take: it is asked for a line or two.
	embedDeadline = 3 * time.Second
	// rememberedVectors of queries are kept; more than people ask for at the same time.
	rememberedVectors = 512
	// byVector stands behind a query in Ranks, where its place in the list by vector is told.
	byVector = " (vectors)"
)

// QueryVectors remembers the vectors of queries, by caller and model: one question is asked several times while its
// filters change. What one caller has asked another is not told by an answer that takes less. It is safe for concurrent
// use; the zero value is empty.
type QueryVectors struct {
	mutex   sync.Mutex
	vectors map[vectorKey][]float32
	order   []vectorKey // the oldest first
}

type vectorKey struct{ caller, model, text string }

func (v *QueryVectors) get(key vectorKey) []float32 {
	if v == nil {
		return nil
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.vectors[key]
}

func (v *QueryVectors) put(key vectorKey, vector []float32) {
	if v == nil {
		return
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.vectors == nil {
		v.vectors = map[vectorKey][]float32{}
	}
	if _, known := v.vectors[key]; !known {
		if v.order = append(v.order, key); len(v.order) > rememberedVectors {
			delete(v.vectors, v.order[0])
			v.order = append([]vectorKey{}, v.order[1:]...)
		}
	}
	v.vectors[key] = vector
}

// vectorAnswer is what became of asking for the vectors of some texts.
type vectorAnswer struct {
	vectors map[string][]float32
	usage   llm.Usage
	err     error
}

// searchesByVector reports whether the library has vectors that the queries can be compared with.
func (r *run) searchesByVector(ctx context.Context) (bool, error) {
	if r.Embedder == nil || r.Search.Instant {
		return false, nil
	}
	stats, err := r.snapshot.Stats(ctx)
	if err != nil {
		return false, fmt.Errorf("look for vectors: %w", err)
	}
	return stats.Vectors > 0 && stats.VectorModel == r.Embedder.Name(), nil
}

// startVectors asks for the vector of the question while the language model thinks.
func (r *run) startVectors(ctx context.Context) error {
	able, err := r.searchesByVector(ctx)
	if err != nil || !able {
		return err
	}
	r.asking = r.embed(ctx, []string{r.meant(wire.ExecutedQuery{Query: r.Search.Query, Kind: kindOriginal})})
	return nil
}

// meant is the text of a query that is embedded.
func (r *run) meant(q wire.ExecutedQuery) string {
	if q.Kind == kindOriginal {
		return oneLine(r.words())
	}
	return oneLine(q.Query)
}

// embed asks for the vectors of texts, as far as they are not remembered. The channel gets one answer, within the
// deadline whatever the model does.
func (r *run) embed(ctx context.Context, texts []string) <-chan vectorAnswer {
	answer := vectorAnswer{vectors: map[string][]float32{}}
	var unknown []string
	for _, text := range texts {
		if known := r.Vectors.get(vectorKey{r.Caller, r.Embedder.Name(), text}); known != nil {
			answer.vectors[text] = known
		} else if text != "" {
			unknown = append(unknown, text)
		}
	}
	asked := make(chan vectorAnswer, 1)
	if len(unknown) == 0 {
		asked <- answer
		return asked
	}
	ctx, cancel := context.WithTimeout(ctx, min(embedDeadline, r.callDeadline(ctx)))
	done := make(chan vectorAnswer, 1)
	guard.Go(func() { done <- vectorsOf(ctx, r.Embedder, unknown) }, func(err error) { done <- vectorAnswer{err: err} })
	guard.Go(func() {
		defer cancel()
		select {
		case fresh := <-done:
			answer.usage, answer.err = fresh.usage, fresh.err
			for text, vector := range fresh.vectors {
				answer.vectors[text] = vector
				r.Vectors.put(vectorKey{r.Caller, r.Embedder.Name(), text}, vector)
			}
		case <-ctx.Done():
			answer.err = ctx.Err()
		}
		asked <- answer
	}, func(err error) { asked <- vectorAnswer{err: err} })
	return asked
}

// vectorsOf calls a model.
func vectorsOf(ctx context.Context, model llm.Embedder, texts []string) (answer vectorAnswer) {
	vectors, usage, err := model.Embed(ctx, llm.ForQueries, texts)
	answer.usage, answer.err = usage, err
	if err == nil && len(vectors) != len(texts) {
		answer.err = errUnusable
	}
	if answer.err == nil {
		answer.vectors = map[string][]float32{}
		for i, text := range texts {
			answer.vectors[text] = vectors[i]
		}
	}
	return answer
}

// retrieveByVector searches for every query that has a weight by vector; what fails is noted, and found by words alone.
func (r *run) retrieveByVector(ctx context.Context) {
	if r.asking == nil {
		return
	}
	asked := <-r.asking
	var texts []string
	for _, q := range r.queries {
		if text := r.meant(q); r.weights.byVector(q) > 0 && asked.vectors[text] == nil && asked.err == nil {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		more := <-r.embed(ctx, texts)
		for text, vector := range more.vectors {
			asked.vectors[text] = vector
		}
		asked.err, asked.usage = more.err, asked.usage.Add(more.usage)
	}
	r.embedding = asked.usage
	var failed error
	var mutex sync.Mutex
	var searches sync.WaitGroup
	near := make([][]index.Hit, len(r.queries))
	note := func(err error) {
		mutex.Lock()
		defer mutex.Unlock()
		failed = err
	}
	for i, q := range r.queries {
		vector := asked.vectors[r.meant(q)]
		if vector == nil || r.weights.byVector(q) == 0 {
			continue
		}
		searches.Go(guard.Func(func() {
			hits, err := r.snapshot.Nearest(ctx, index.Vector{Model: r.Embedder.Name(), Values: vector}, r.indexQuery(q))
			if near[i] = hits; err != nil {
				note(err)
			}
		}, note))
	}
	searches.Wait()
	r.near = near
	r.noteVectors(ctx, errors.Join(asked.err, failed))
}

// noteVectors says what could not be done.
func (r *run) noteVectors(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if r.Log != nil {
		r.Log.WarnContext(ctx, "search by vector failed", "model", r.Embedder.Name(), guard.Attr(err))
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, llm.ErrTimeout) {
		r.note(wire.NoteStageTimeout, "the embedding model did not answer in time: passages were found by words")
		return
	}
	reason := ""
	if r.Trusted {
		reason = " (" + text.ClipTokens(oneLine(err.Error()), titleTokens) + ")"
	}
	r.note(wire.NoteStageFailed, "the search by vector failed%s: passages were found by words", reason)
}
