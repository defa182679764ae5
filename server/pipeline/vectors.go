package pipeline

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/language"
	"quarry/server/llm"
)

const (
	// embedDeadline bounds a call of the embedding model, for a line or two.
	embedDeadline = 3 * time.Second
	// byVector marks the rank by vector in Ranks.
	byVector = " (vectors)"
)

// vectorAnswer is the result of embedding texts.
type vectorAnswer struct {
	vectors map[string][]float32
	usage   llm.Usage
	err     error
}

// searchesByVector reports whether the library has vectors of the embedding model, and the question means something.
func (r *run) searchesByVector() bool {
	if r.Embedder == nil || r.Search.Instant || r.inTime() || r.Search.SimilarTo != "" ||
		!isQuery(r.words(), math.MaxInt) {
		return false
	}
	stats, err := r.snapshot.Stats(r.ctx)
	guard.While("look for vectors", err)
	return stats.Vectors > 0 && stats.VectorModel == r.Embedder.Name()
}

// startVectors requests the vector of the question while the language model works.
func (r *run) startVectors() {
	if r.searchesByVector() {
		asked, question := make(chan vectorAnswer, 1), []string{oneLine(r.words())}
		guard.Go(func() { asked <- r.embed(r.ctx, question) }, func(err error) { asked <- vectorAnswer{err: err} })
		r.questionVectors = asked
	}
}

// embeddingText returns the text of a query to embed.
func (r *run) embeddingText(q wire.ExecutedQuery) string {
	if q.Kind == kindOriginal {
		return oneLine(r.words())
	}
	return oneLine(q.Query)
}

// embed requests the vectors of texts that are not cached. It returns within the deadline.
func (r *run) embed(ctx context.Context, texts []string) vectorAnswer {
	answer := vectorAnswer{vectors: map[string][]float32{}}
	var unknown []string
	for _, text := range texts {
		if known, ok := r.Cache.vectors.Get(vectorKey{r.Caller, r.Embedder.Name(), text}); ok {
			answer.vectors[text] = known
		} else if text != "" {
			unknown = append(unknown, text)
		}
	}
	if len(unknown) == 0 {
		return answer
	}
	fresh, err := guard.Within(ctx, min(embedDeadline, r.deadline(0)), func(ctx context.Context) (vectorAnswer, error) {
		return vectorsOf(ctx, r.Embedder, unknown)
	})
	answer.usage, answer.err = fresh.usage, err
	for text, vector := range fresh.vectors {
		answer.vectors[text] = vector
		r.Cache.vectors.Add(vectorKey{r.Caller, r.Embedder.Name(), text}, vector)
	}
	return answer
}

// vectorsOf calls the embedding model.
func vectorsOf(ctx context.Context, model llm.Embedder, texts []string) (answer vectorAnswer, err error) {
	vectors, usage, err := model.Embed(ctx, llm.ForQueries, texts)
	answer = vectorAnswer{usage: usage, vectors: map[string][]float32{}}
	if err != nil {
		return answer, err
	}
	if len(vectors) != len(texts) {
		return answer, errUnusable
	}
	for i, text := range texts {
		answer.vectors[text] = vectors[i]
	}
	return answer, nil
}

// retrieveByVector searches by vector for every query with such a weight. Failures are noted.
func (r *run) retrieveByVector(ctx context.Context) {
	if len(r.similar.Values) > 0 {
		r.near = make([][]index.Hit, len(r.queries))
		var err error
		r.near[r.question], err = r.snapshot.Nearest(ctx, r.similar, r.indexQuery(r.queries[r.question]))
		r.noteVectors(ctx, err)
		return
	}
	if r.questionVectors == nil {
		return
	}
	asked := <-r.questionVectors
	var texts []string
	for _, q := range r.queries {
		if text := r.embeddingText(q); q.Kind != kindKeyword && asked.vectors[text] == nil && asked.err == nil {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		more := r.embed(ctx, texts)
		maps.Copy(asked.vectors, more.vectors)
		asked.err, asked.usage = more.err, asked.usage.Add(more.usage)
	}
	r.embedding = asked.usage
	r.near = make([][]index.Hit, len(r.queries))
	searches, _ := guard.NewGroup(ctx)
	for i, q := range r.queries {
		vector := asked.vectors[r.embeddingText(q)]
		if vector == nil || q.Kind == kindKeyword {
			continue
		}
		searches.Run(func() {
			wanted := index.Vector{Model: r.Embedder.Name(), Values: vector}
			r.near[i] = guard.Must(r.snapshot.Nearest(ctx, wanted, r.indexQuery(q)))
		})
	}
	r.noteVectors(ctx, errors.Join(asked.err, searches.Wait()))
}

// nearTo returns the hits of a query by vector, if it was searched for by one.
func (r *run) nearTo(query int) []index.Hit {
	if query < len(r.near) {
		return r.near[query]
	}
	return nil
}

// byWordsAlone reports whether nothing but the words of the question was searched for.
func (r *run) byWordsAlone() bool { return len(r.queries) == 1 && len(r.nearTo(0)) == 0 }

// evidence is what speaks for a document: its best scores by words and by meaning, which may be of two passages, and
// its best passage by both.
type evidence struct {
	words, meaning float64
	best           int
}

// mixed are the hits of a query by words and by vector in one list, and what speaks for their documents.
type mixed struct {
	hits      []index.Hit
	documents map[string]evidence
}

// leastMeaning is the share of a document's score from which meaning found it, whatever words it has. Then it may stand
// before what it outscores, without the words of the query: of twenty questions in other words than the handbook's, 17
// have a right page among the first five, and with none of their words 15.
const leastMeaning = 1.0 / 3

// byMeaning reports whether meaning found a document.
func (e evidence) byMeaning() bool { return e.meaning > leastMeaning*(e.words+e.meaning) }

// byScore returns the hits of a query by words with those by vector among them, best first. A list of vectors by rank
// would drown good words where the model is weak, so both count by score: a cosine as the share of the best score by
// words that trust makes of its distance to the last cosine of the list. That is what the model gives to a passage that
// has little to do with the query, and differs from model to model and from query to query. In a small library the list
// has everything: what is below unrelated is left out unless words found it. A document stands where its best words and
// its best meaning together put it (.777 on the handbook, where by passages alone it is .773), with its best passage.
// With vectors it also says what speaks for each document.
func byScore(words, near []index.Hit, unrelated float64, trust func(language string) float64) (
	[]index.Hit, map[string]evidence) {
	if len(near) == 0 {
		return words, nil
	}
	most, floor := 1.0, near[len(near)-1].Score
	if len(words) > 0 && words[0].Score > 0 {
		most = words[0].Score
	}
	all, at := slices.Clone(words), make(map[chunkID]int, len(words))
	documents := make(map[string]evidence, len(words))
	note := func(i int, words, meaning float64) {
		d, known := documents[all[i].DocumentID]
		if !known || all[i].Score > all[d.best].Score {
			d.best = i
		}
		d.words, d.meaning = max(d.words, words), max(d.meaning, meaning)
		documents[all[i].DocumentID] = d
	}
	for i, hit := range words {
		at[chunkID{hit.DocumentID, hit.Chunk}] = i
		note(i, hit.Score, 0)
	}
	for _, hit := range near {
		meaning := most * trust(hit.Language) * (hit.Score - floor)
		i, known := at[chunkID{hit.DocumentID, hit.Chunk}]
		switch {
		case known:
			all[i].Score += meaning
		case hit.Score < unrelated:
			continue
		default:
			i, hit.Score = len(all), meaning
			all = append(all, hit)
		}
		note(i, 0, meaning)
	}
	for _, d := range documents {
		all[d.best].Score = d.words + d.meaning
	}
	slices.SortStableFunc(all, func(a, b index.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return all, documents
}

// trust returns how much a cosine counts for a query and a passage in a language: no more than the model is trusted in
// either of their languages.
func (r *run) trust(q wire.ExecutedQuery) func(language string) float64 {
	if r.Embedder == nil {
		return nil // there is no list by vector
	}
	asked := r.Embedder.Trust(language.Detect(q.Query))
	return func(code string) float64 { return min(asked, r.Embedder.Trust(code)) }
}

// noteVectors adds a note about a failed search by vector.
func (r *run) noteVectors(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if r.Log != nil {
		r.Log.WarnContext(ctx, "vector search failed", guard.Attr(err))
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, llm.ErrTimeout) {
		r.note(wire.NoteStageTimeout, "the embedding model did not answer in time: only lexical search was used")
		return
	}
	r.note(wire.NoteStageFailed, "vector search failed%s: only lexical search was used", r.reason(" (", err, ")"))
}
