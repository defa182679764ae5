package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"quarry/client/wire"
	"quarry/server/llm"
)

// modelStatus answers GET /library/model.
func (s *Server) modelStatus(c *call) (any, error) {
	used, err := s.Budget.Used(c.Context(), c.who.Tenant)
	return wire.ModelStatus{Model: s.Models.Default(), TokensToday: used, Budget: s.Models.DailyTokens()}, err
}

// testModel answers POST /library/model: it asks the default model for one word. Without a default it lists the models
// of the provider that the request names.
func (s *Server) testModel(c *call) (any, error) {
	provider := c.textOr("provider", "", maxItemRunes)
	if err := c.failure(); err != nil {
		return nil, err
	}
	test, started := wire.ModelTest{Models: []string{}}, time.Now()
	model, err := s.Models.Chat("", "")
	if errors.Is(err, llm.ErrNone) && provider != "" {
		var names []string
		if names, err = s.Models.List(c.Context(), provider); err == nil {
			test.Models = append(test.Models, names...)
		}
	} else if err == nil {
		var reply llm.Reply
		reply, err = llm.Counted(model, s.Budget.Meter(c.who.Tenant)).Complete(c.Context(), llm.Request{
			Purpose: "test", MaxTokens: 256, Messages: []llm.Message{{Role: llm.RoleUser, Content: "Answer with the word yes."}}})
		test.Model, test.Tokens = model.Name(), reply.Usage.Prompt+reply.Usage.Completion
	}
	test.MS = float64(time.Since(started).Microseconds()) / 1000
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		test.Model, test.Problem, test.Detail = "", modelProblem(err), err.Error()
	}
	return test, nil
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
	case errors.Is(err, llm.ErrNone), errors.Is(err, llm.ErrUnknown), known != nil && known.Status == http.StatusNotFound:
		return wire.ModelUnknown
	case known != nil && (known.Status == http.StatusUnauthorized || known.Status == http.StatusForbidden):
		return wire.ModelKey
	case errors.Is(err, llm.ErrUnavailable):
		return wire.ModelUnreachable
	}
	return wire.ModelRefused
}
