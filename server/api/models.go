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

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/llm"
	"quarry/server/pipeline"
)

// metered returns a model that counts the tokens of a search; nil stays nil. Once the day's budget is used up, the search
// fails, unless it is instant or skips the stages that need a model. The error is llm.ErrUncounted if tokens cannot be
// counted.
func (s *Server) metered(ctx context.Context, who directory.Principal, model llm.Chat, request wire.SearchRequest) (
	llm.Chat, *llm.Meter, error) {
	meter := s.Budget.Meter(who.Tenant)
	if model == nil {
		return nil, meter, nil
	}
	model = llm.Counted(model, meter)
	if request.Instant {
		return model, meter, nil
	}
	err := s.Budget.Check(ctx, who.Tenant)
	switch {
	case err == nil:
		return model, meter, nil
	case request.SkipQueryExpansion && request.SkipDocumentSelection:
		return nil, meter, nil
	case errors.Is(err, llm.ErrUncounted):
		return nil, meter, err
	}
	s.measures().refused.Add(1, refusedByBudget)
	return nil, meter, usedUp(err)
}

// byVector adds the embedding model to a search, if there is one. Without it, or without budget, passages are found by
// words only.
func (s *Server) byVector(prepared *pipeline.Request, who directory.Principal, meter *llm.Meter) {
	if embedder, ok := s.Models.Embedder(); ok {
		prepared.Embedder, prepared.Vectors = llm.CountedEmbedder(embedder, meter, "embed_query"), s.vectors
		prepared.Caller = who.Tenant + "/" + chatUser(who)
	}
}

// usedUp is the error of a search over the day's budget.
func usedUp(err error) failure {
	f := coded(http.StatusTooManyRequests, "RATE_LIMITED",
		"The day's budget of language model tokens is used up. It begins anew at midnight UTC.")
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
