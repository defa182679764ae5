package server

import (
	"context"
	"log/slog"

	"quarry/server/llm"
)

// newBudget makes the budget of the configuration, which outlives the process except where nothing may be stored.
func (s *Server) newBudget() *llm.Budget {
	var kept llm.Ledger
	if !s.options.Sample && !s.options.ReadOnly {
		kept = ledger{s}
	}
	return llm.NewBudget(s.options.Models.DailyTokens(), kept, s.options.Now, func(err error) {
		s.options.Log.Warn("the use of models is counted in memory only", slog.String("error", err.Error()))
	})
}

// ledger keeps what models used in the directory.
type ledger struct{ server *Server }

// AddTokens is llm.Ledger's. Reading makes no directory.
func (l ledger) AddTokens(ctx context.Context, tenant, day string, tokens int) (int, error) {
	people, err := l.server.directory(ctx, tokens > 0)
	if err != nil {
		return 0, err
	}
	return people.AddModelTokens(ctx, tenant, day, tokens)
}
