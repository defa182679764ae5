package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
)

// Who reads the last line and leaves was answered, though their request ends before the handler does.
func TestWhoLeavesAfterTheLastLineWasAnswered(t *testing.T) {
	for _, test := range []struct {
		kind    string
		told    func(*audit)
		outcome string
	}{
		{kindSearch, func(a *audit) { a.answered(&wire.SearchResponse{Stages: []wire.Stage{{}}}) }, "outcome=ok"},
		{kindSearch, func(*audit) {}, "outcome=canceled"},
		{kindAnswer, func(a *audit) { a.answered(&wire.SearchResponse{Stages: []wire.Stage{{}}}); a.whole = true }, "outcome=ok"},
		{kindAnswer, func(a *audit) { a.answered(&wire.SearchResponse{Stages: []wire.Stage{{}}}) }, "outcome=canceled"},
	} {
		w := newWorld(t)
		ctx, leave := context.WithCancel(t.Context())
		a := (&call{Request: httptest.NewRequestWithContext(ctx, "POST", "/search", nil), Server: w.server, ctx: ctx, who: directory.Anonymous(directory.DefaultTenant)}).startAudit()
		a.kind = test.kind
		test.told(a)
		leave()
		a.end(nil)
		if log := w.log.String(); !strings.Contains(log, test.outcome) {
			t.Errorf("%s: %s, want %s", test.kind, log, test.outcome)
		}
	}
}
