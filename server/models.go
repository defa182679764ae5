package server

import (
	"context"
	"errors"
	"log/slog"

	"quarry/server/index"
	"quarry/server/llm"
)

// newBudget makes the budget of the configuration.
func (s *Server) newBudget() *llm.Budget {
	return llm.NewBudget(s.options.Models.DailyTokens(), &ledger{server: s}, s.options.Now, func(err error) {
		s.options.Log.Error("counting the use of models failed", slog.String("error", err.Error()))
	})
}

// ledger keeps what models used in the directory. Where nothing may be written, what this process used is added to what
// the directory holds.
type ledger struct {
	server   *Server
	unstored llm.MemoryLedger
}

// AddTokens is llm.Ledger's. Reading makes no directory.
func (l *ledger) AddTokens(ctx context.Context, tenant, day string, tokens int) (int, error) {
	people, err := l.server.directory(ctx, tokens > 0)
	if err != nil {
		return 0, err
	}
	stored, err := people.AddModelTokens(ctx, tenant, day, tokens)
	if errors.Is(err, index.ErrReadOnly) {
		if stored, err = people.AddModelTokens(ctx, tenant, day, 0); err != nil {
			return 0, err
		}
		unstored, err := l.unstored.AddTokens(ctx, tenant, day, tokens)
		return stored + unstored, err
	}
	if err != nil {
		return 0, err
	}
	unstored, err := l.unstored.AddTokens(ctx, tenant, day, 0)
	return stored + unstored, err
}
