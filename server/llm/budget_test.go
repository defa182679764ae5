package llm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
)

// faultyLedger is a Ledger that a test can make fail or wait.
type faultyLedger struct {
	llmtest.Ledger
	mutex    sync.Mutex
	err      error            // of every use
	writeErr error            // of writing
	hang     func(tokens int) // before each use; nil: does not
	full     error            // of postponing
}

func (l *faultyLedger) AddTokens(ctx context.Context, tenant, day string, tokens int) (int, error) {
	l.mutex.Lock()
	err, hang := l.err, l.hang
	if tokens != 0 && err == nil {
		err = l.writeErr
	}
	l.mutex.Unlock()
	if hang != nil {
		hang(tokens)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	return l.Ledger.AddTokens(ctx, tenant, day, tokens)
}

func (l *faultyLedger) Postpone(tenant, day string, tokens int) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.full != nil {
		return l.full
	}
	return l.Ledger.Postpone(tenant, day, tokens)
}

func (l *faultyLedger) set(err, writeErr error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.err, l.writeErr = err, writeErr
}

func (l *faultyLedger) sum(day string) int {
	sum, _ := l.Ledger.AddTokens(context.Background(), "acme", day, 0) // never fails
	return sum
}

type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// use makes a call of so many tokens, if it is allowed.
func use(b *Budget, tokens int) error {
	meter := b.Meter("acme")
	if err := meter.begin(context.Background()); err != nil {
		return err
	}
	meter.end(context.Background(), "select", Usage{1, tokens, 0})
	return nil
}

func TestABudgetThroughItsDays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const first, second = "2026-08-01", "2026-08-02"
	ledger := &faultyLedger{}
	at := &clock{time.Date(2026, 8, 1, 23, 0, 0, 0, time.FixedZone("", 3600))} // 22:00 UTC
	b := NewBudget(100, ledger, at.read, func(err error) { t.Error(err) })
	steps := []struct {
		tokens, others int // of this process; of other processes before that
		hours          int // that pass before
		want           error
		sum            int
	}{
		{tokens: 50, others: 40, sum: 90},
		{tokens: 10, sum: 100},
		{tokens: 1, want: ErrBudget, sum: 100},
		{hours: 2, tokens: 10, sum: 10}, // the next day
		{tokens: 10, others: 85, sum: 105},
		{tokens: 1, want: ErrBudget, sum: 105},
	}
	day := first
	for i, step := range steps {
		if step.hours > 0 {
			at.now, day = at.now.Add(time.Duration(step.hours)*time.Hour), second
		}
		_, _ = ledger.Ledger.AddTokens(ctx, "acme", day, step.others)
		if err := use(b, step.tokens); !errors.Is(err, step.want) || ledger.sum(day) != step.sum {
			t.Errorf("step %d: %v, %d tokens stored, want %d", i, err, ledger.sum(day), step.sum)
		}
	}
	var known *Error
	if err := b.Check(ctx, "acme"); !errors.As(err, &known) || known.RetryAfter != 24*time.Hour {
		t.Errorf("%v: try again after %v", err, known)
	}
	if err := b.Check(ctx, "other"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

// TestALedgerThatFails: no model is called, the failure is reported once, and nothing is forgotten.
func TestALedgerThatFails(t *testing.T) {
	t.Parallel()
	const day = "2026-08-01"
	at := &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	locked := errors.New("locked")
	var ledger *faultyLedger
	var reported []error
	var b *Budget
	for name, steps := range map[string][]func() (got, want any){
		"when it is first read": {
			func() (any, any) { ledger.set(locked, nil); return use(b, 10), &Error{Kind: ErrUncounted} },
			func() (any, any) { return use(b, 10), &Error{Kind: ErrUncounted} },
			func() (any, any) { return len(reported), 1 },
			func() (any, any) { ledger.set(nil, nil); return use(b, 10), nil },
			func() (any, any) { return ledger.sum(day), 10 },
		},
		"when it is written": {
			func() (any, any) { ledger.set(nil, locked); return use(b, 10), nil },
			func() (any, any) { return use(b, 10), &Error{Kind: ErrUncounted} }, // although it could be read
			func() (any, any) { return ledger.sum(day), 0 },
			func() (any, any) { ledger.set(nil, nil); return use(b, 5), nil },
			func() (any, any) { return ledger.sum(day), 15 },
			func() (any, any) { ledger.set(locked, nil); return use(b, 1), &Error{Kind: ErrUncounted} },
			func() (any, any) { return len(reported), 2 },
		},
		"until the next day": {
			func() (any, any) { ledger.set(nil, locked); return use(b, 10), nil },
			func() (any, any) { at.now = at.now.Add(24 * time.Hour); ledger.set(nil, nil); return use(b, 7), nil },
			func() (any, any) { return [2]int{ledger.sum(day), ledger.sum("2026-08-02")}, [2]int{10, 7} },
		},
		"until the end": {
			func() (any, any) { ledger.set(nil, locked); return use(b, 10), nil },
			func() (any, any) { ledger.set(nil, nil); b.Close(context.Background()); return ledger.sum(day), 10 },
			func() (any, any) { return use(b, 10), &Error{Kind: ErrUncounted} },
			func() (any, any) { b.Close(context.Background()); return ledger.sum(day), 10 },
		},
		"at the end": {
			func() (any, any) { ledger.set(nil, locked); return use(b, 10), nil },
			func() (any, any) { b.Close(context.Background()); return ledger.sum(day), 10 },
			func() (any, any) { return len(reported), 1 },
		},
		"at the end, without room to note it": {
			func() (any, any) {
				ledger.set(nil, locked)
				ledger.full = errors.New("no room")
				return use(b, 10), nil
			},
			func() (any, any) { b.Close(context.Background()); return len(reported), 2 },
			func() (any, any) {
				return reported[1].Error(), "10 tokens of " + day + " that tenant acme used are lost: no room"
			},
		},
	} {
		ledger, reported, at.now = &faultyLedger{}, nil, time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
		b = NewBudget(100, ledger, at.read, func(err error) { reported = append(reported, err) })
		for i, step := range steps {
			if got, want := step(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, step %d: %v, want %v", name, i, got, want)
			}
		}
	}
}

// TestASlowLedger: what it takes longer for than a call waits is stored at the end, or postponed.
func TestASlowLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &faultyLedger{}
		b := NewBudget(100, ledger, time.Now, func(error) {})
		if err := use(b, 10); err != nil {
			t.Fatal(err)
		}
		takes := ledgerWait * 2
		ledger.hang = func(tokens int) {
			if tokens > 0 {
				time.Sleep(takes)
			}
		}
		day := time.Now().UTC().Format(time.DateOnly)
		if err := use(b, 20); err != nil || ledger.sum(day) != 10 {
			t.Fatalf("%v, stored %d", err, ledger.sum(day))
		}
		takes = ledgerWait / 2
		if err := use(b, 30); err != nil || ledger.sum(day) != 60 {
			t.Fatalf("%v, stored %d", err, ledger.sum(day))
		}
		takes = ledgerWait * 2
		if err := use(b, 1); err != nil {
			t.Fatal(err)
		}
		b.Close(context.Background())
		if ledger.sum(day) != 61 {
			t.Errorf("stored %d", ledger.sum(day))
		}
	})
}

// TestCloseWaitsForCalls that are under way, and not for ever.
func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &faultyLedger{}
		b := NewBudget(100, ledger, time.Now, func(error) {})
		for _, takes := range []time.Duration{time.Second, time.Hour} {
			if err := b.begin(t.Context(), "acme"); err != nil {
				t.Fatal(err)
			}
			go func() {
				time.Sleep(takes)
				b.end(context.Background(), "acme", 10)
			}()
		}
		began := time.Now()
		b.Close(context.Background())
		if waited := time.Since(began); waited != callsWait || ledger.sum(began.UTC().Format(time.DateOnly)) != 10 {
			t.Errorf("waited %v", waited)
		}
		time.Sleep(time.Hour) // the other call ends late
		synctest.Wait()
	})
}

func TestWithoutABudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	none := NewBudget(0, nil, time.Now, nil)
	meter := none.Meter("acme")
	if err := meter.begin(ctx); err != nil {
		t.Error(err)
	}
	meter.end(ctx, "select", Usage{1, 1 << 40, 0})
	none.Close(ctx)
	if err := none.Check(ctx, "acme"); err != nil || none != nil || meter.Total().Prompt != 1<<40 {
		t.Errorf("%v, %v", err, meter.Total())
	}
}

// TestCountedModels: each way to call is counted, whether it goes well or not, and ends with the budget.
func TestCountedModels(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server, p := scripted(t, func(c *Config) { c.Timeout = time.Minute })
	server.On(llmtest.Containing("garbage"), llmtest.Garbage()).On(llmtest.Any(), well())
	b := NewBudget(47, &llmtest.Ledger{}, time.Now, nil)
	meter := b.Meter("acme")
	chat := Counted(chatOf(t, p), meter)
	inner, _ := p.Embedder()
	embedder := CountedEmbedder(inner, meter, "embed")
	if chat.Name() != "local/small" || embedder.Name() != "vectors" {
		t.Error("other names")
	}
	bad := Request{Purpose: "time", Messages: []wire.Message{{Type: RoleUser, Message: "garbage!"}}}
	do := map[string]func() error{
		"complete": func() error { _, err := chat.Complete(ctx, question); return err },
		"stream": func() error {
			_, err := chat.Stream(ctx, question, func(string) error { return nil })
			return err
		},
		"fail": func() error { _, err := chat.Complete(ctx, bad); return err },
		"embed": func() error {
			_, _, err := embedder.Embed(ctx, ForDocuments, []string{"three little words"})
			return err
		},
	}
	for _, step := range []string{"complete", "stream", "embed"} {
		if err := do[step](); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	if err := do["fail"](); !errors.Is(err, ErrUnusable) {
		t.Error(err)
	}
	want := map[string]Usage{"rephrase": {2, 16, 10}, "embed": {1, 3, 0}, "time": {1, 2, 0}}
	if got := meter.Snapshot(); !maps.Equal(got, want) {
		t.Errorf("metered %v", got)
	}
	if err := do["complete"](); err != nil { // 31 of 47 before, 44 after
		t.Error(err)
	}
	if err := do["embed"](); err != nil { // 47
		t.Error(err)
	}
	arrived := len(server.Requests())
	for step, call := range do {
		if err := call(); !errors.Is(err, ErrBudget) {
			t.Errorf("%s beyond the budget: %v", step, err)
		}
	}
	if len(server.Requests()) != arrived {
		t.Error("asked beyond the budget")
	}
}

func TestABudgetIsSafe(t *testing.T) {
	t.Parallel()
	ledger := &faultyLedger{}
	at := &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	b := NewBudget(10_000, ledger, at.read, func(error) {})
	var group sync.WaitGroup
	var used atomic.Int64
	for i := range 20 {
		group.Go(func() {
			for j := range 10 {
				if i == 0 {
					ledger.set(nil, []error{errors.New("locked"), nil}[j%2])
				}
				if use(b, 5) == nil {
					used.Add(5)
				}
			}
		})
	}
	group.Wait()
	b.Close(context.Background())
	if got := ledger.sum("2026-08-01"); int64(got) != used.Load() || got == 0 {
		t.Errorf("counted %d of %d", got, used.Load())
	}
}
