package api

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"quarry/client/wire"
	"quarry/server/llm"
	"quarry/server/pipeline"
)

// metered returns a model that counts the tokens of a search; nil stays nil. Once the day's budget is used up, the
// search fails, unless it is instant or skips the stages that need a model. The error is llm.ErrUncounted if tokens
// cannot be counted.
func (c *call) metered(model llm.Chat, request wire.SearchRequest) (llm.Chat, *llm.Meter, error) {
	meter := c.Budget.Meter(c.who.Tenant)
	if model == nil {
		return nil, meter, nil
	}
	model = llm.Counted(model, meter)
	if request.Instant {
		return model, meter, nil
	}
	err := c.Budget.Check(c.ctx, c.who.Tenant)
	switch {
	case err == nil:
		return model, meter, nil
	case request.SkipQueryExpansion && request.SkipDocumentSelection:
		return nil, meter, nil
	case errors.Is(err, llm.ErrUncounted):
		return nil, meter, err
	}
	c.measures().refused.Add(1, refusedByBudget)
	return nil, meter, usedUp(err)
}

// byVector adds the embedding model to a search, if there is one. Without it, or without budget, passages are found by
// words only.
func (s *Server) byVector(prepared *pipeline.Request, meter *llm.Meter) {
	if embedder, ok := s.Models.Embedder(); ok {
		prepared.Embedder = llm.CountedEmbedder(embedder, meter, "embed_query")
	}
}

// usedUp is the error of a search over the day's budget.
func usedUp(err error) failure {
	f := coded("RATE_LIMITED", "The day's budget of language model tokens is used up. It resets at midnight UTC.")
	var known *llm.Error
	if errors.As(err, &known) {
		return f.after(strconv.Itoa(int(math.Ceil(known.RetryAfter.Seconds()))))
	}
	return f
}

// modelUse returns the log attributes of the use of models, in total and by purpose; nil if there was none.
func modelUse(meter *llm.Meter) []slog.Attr {
	total := meter.Total()
	if total.Calls == 0 {
		return nil
	}
	used := meter.Snapshot()
	purposes := make([]any, 0, len(used))
	for _, purpose := range slices.Sorted(maps.Keys(used)) {
		purposes = append(purposes, slog.Int(purpose, used[purpose].Prompt+used[purpose].Completion))
	}
	return []slog.Attr{
		slog.Int("model_calls", total.Calls), slog.Int("model_tokens", total.Prompt+total.Completion),
		slog.Group("model_tokens_by", purposes...),
	}
}

// harmless is a text that every embedding model accepts.
const harmless = "a short text"

// vectoriser gets the vectors of texts from a model, and finds out which texts the model refuses.
type vectoriser struct {
	model   llm.Embedder
	refused int
	why     error // of the last refused text
}

// vectors is an index.Vectorise. An error may be due to one text: if the model accepts a harmless one, vectors bisects.
func (v *vectoriser) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	found, _, err := v.model.Embed(ctx, llm.ForDocuments, texts)
	if err == nil || !llm.RefusesText(err) {
		return found, err
	}
	if _, _, broken := v.model.Embed(ctx, llm.ForDocuments, []string{harmless}); broken != nil {
		return nil, err
	}
	return v.split(ctx, texts, err)
}

// split retries the halves of refused texts. A single refused text gets no vector.
func (v *vectoriser) split(ctx context.Context, texts []string, why error) ([][]float32, error) {
	if len(texts) == 1 {
		v.refused++
		v.why = why
		return [][]float32{nil}, nil
	}
	var all [][]float32
	for _, half := range [][]string{texts[:len(texts)/2], texts[len(texts)/2:]} {
		found, _, err := v.model.Embed(ctx, llm.ForDocuments, half)
		if err != nil && llm.RefusesText(err) {
			found, err = v.split(ctx, half, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// modelStatus answers GET /library/model.
func modelStatus(c *call) any {
	used := must(c.Budget.Used(c.ctx, c.who.Tenant))
	return wire.ModelStatus{Model: c.Models.Default(), TokensToday: used, Budget: c.Models.DailyTokens()}
}

// testModel answers POST /library/model: it asks the default model for one word. Without a default it lists the models
// of the provider that the request names.
func testModel(c *call) any {
	provider := c.textOf("provider", maxItemRunes)
	check(c.failure())
	test, started := wire.ModelTest{Models: []string{}}, time.Now()
	model, err := c.Models.Chat("", "")
	if errors.Is(err, llm.ErrNone) && provider != "" {
		var names []string
		if names, err = c.Models.List(c.ctx, provider); err == nil {
			test.Models = append(test.Models, names...)
		}
	} else if err == nil {
		var reply llm.Reply
		reply, err = llm.Counted(model, c.Budget.Meter(c.who.Tenant)).Complete(c.ctx, llm.Request{
			Purpose: "test", MaxTokens: 256,
			Messages: []wire.Message{{Type: llm.RoleUser, Message: "Answer with the word yes."}}})
		test.Model, test.Tokens = model.Name(), reply.Usage.Prompt+reply.Usage.Completion
	}
	test.MS = float64(time.Since(started).Microseconds()) / 1000
	if errors.Is(err, context.Canceled) {
		abort(err)
	}
	if err != nil {
		test.Model, test.Problem, test.Detail = "", modelProblem(err), err.Error()
	}
	return test
}

// modelProblem classifies a failed call for somebody who sets the model up.
func modelProblem(err error) string {
	var known *llm.Error
	_ = errors.As(err, &known)
	switch {
	case errors.Is(err, llm.ErrTimeout):
		return wire.ModelTimeout
	case errors.Is(err, llm.ErrBusy):
		return wire.ModelBusy
	case errors.Is(err, llm.ErrBudget), errors.Is(err, llm.ErrUncounted):
		return wire.ModelBudget
	case errors.Is(err, llm.ErrUnusable):
		return wire.ModelUnusable
	case errors.Is(err, llm.ErrNone), errors.Is(err, llm.ErrUnknown),
		known != nil && known.Status == http.StatusNotFound:
		return wire.ModelUnknown
	case known != nil && (known.Status == http.StatusUnauthorized || known.Status == http.StatusForbidden):
		return wire.ModelKey
	case errors.Is(err, llm.ErrUnavailable):
		return wire.ModelUnreachable
	}
	return wire.ModelRefused
}
