package api

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"quarry/client/wire"
	"quarry/server/fault"
	"quarry/server/index"
)

// following is an engine that has not everything.
type following struct {
	index.Index
	failure error
}

func (f *following) Settle(_ context.Context, report func(done, total int)) error {
	report(1, 3)
	return f.failure
}

func (f *following) Problem(context.Context) string { return "" }

// TestSettle: what an engine lacks is reported, and why; not if nobody waits any more.
func TestSettle(t *testing.T) {
	s := &Server{Options: Options{Settings: Settings{Log: slog.New(slog.DiscardHandler)}}}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx     context.Context
		failure error
		reasons []string
	}{
		{t.Context(), nil, []string{""}}, {t.Context(), fault.ErrEngineUnavailable, []string{"", fault.ErrEngineUnavailable.Error()}},
		{canceled, context.Canceled, []string{""}},
	} {
		var reasons []string
		w := &work{call: &call{Server: s, ctx: c.ctx}, documents: &following{failure: c.failure}}
		w.report = func(event wire.LibraryEvent) {
			if reasons = append(reasons, event.Reason); event.Type != wire.LibraryIndexing || event.Done != 1 || event.Total != 3 {
				t.Errorf("event %+v", event)
			}
		}
		w.settle()
		if !slices.Equal(reasons, c.reasons) {
			t.Errorf("%v: reasons %q", c.failure, reasons)
		}
	}
}
