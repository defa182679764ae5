package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"quarry/internal/guard"
	"quarry/server/llm"
)

// chatFailure is the last line of a stream that fails.
type chatFailure struct {
	Error     string  `json:"error"`
	Stack     *string `json:"stack_trace"`
	Code      string  `json:"error_code"`
	Retryable bool    `json:"is_retryable"`
	Details   any     `json:"details"`
}

// chatError describes why an answer failed. Only a trusted caller sees the model's own message.
func (s *Server) chatError(ctx context.Context, err error) chatFailure {
	var known *llm.Error
	if !errors.As(err, &known) {
		f, expected := explain(err, isTrusted(ctx))
		if !expected {
			s.Log.ErrorContext(ctx, "answering failed", guard.Attr(err))
		}
		return chatFailure{Error: f.detail, Code: f.code, Retryable: f.status >= http.StatusInternalServerError}
	}
	codes := map[error]string{
		llm.ErrBusy: "RATE_LIMIT", llm.ErrTimeout: "TIMEOUT", llm.ErrBudget: "BUDGET_EXCEEDED", llm.ErrRefused: "BAD_REQUEST",
		llm.ErrUnavailable: "SERVICE_UNAVAILABLE", llm.ErrUncounted: "SERVICE_UNAVAILABLE",
	}
	failure := chatFailure{Error: "The language model failed: " + known.Kind.Error() + ".",
		Code:      cmp.Or(codes[known.Kind], "API_ERROR"),
		Retryable: known.Kind != llm.ErrBudget && known.Kind != llm.ErrRefused}
	if known.Kind == llm.ErrRefused && (known.Status == http.StatusUnauthorized || known.Status == http.StatusForbidden) {
		failure.Code = "AUTH_ERROR"
	}
	if isTrusted(ctx) {
		failure.Error = known.Error()
	}
	s.Log.WarnContext(ctx, "the language model failed", slog.String("error", known.Error()))
	return failure
}

// refuse answers a question that cannot be answered. Streams get the line that Onyx sends, unless the caller should
// come back later.
func (t *turn) refuse(ctx context.Context, err error) error {
	f, known := explain(err, isTrusted(ctx))
	if !t.request.Stream || !known || f.status >= http.StatusInternalServerError || f.status == http.StatusTooManyRequests ||
		f.status == http.StatusUnprocessableEntity {
		return err
	}
	t.audit.failed = f.code
	t.line(chatFailure{Error: f.detail, Code: f.code})
	return nil
}
