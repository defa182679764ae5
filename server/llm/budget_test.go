package llm

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"quarry/server/llm/llmtest"
)

// memoryLedger is a Ledger that can fail.
type memoryLedger struct {
	mutex sync.Mutex
	sums  map[string]int
	calls int
	err   error
}

func (l *memoryLedger) AddTokens(_ context.Context, tenant, day string, tokens int) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls++
	if l.err != nil {
		return 0, l.err
	}
	l.sums[tenant+" "+day] += tokens
	return l.sums[tenant+" "+day], nil
}

type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func TestABudgetThroughItsDays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ledger := &memoryLedger{sums: map[string]int{"acme 2026-08-01": 40}}
	at := &clock{time.Date(2026, 8, 1, 23, 0, 0, 0, time.FixedZone("", 3600))} // 22:00 UTC
	failures := 0
	b := NewBudget(100, ledger, at.read, func(error) { failures++ })
	meter := b.Meter("acme")
	allowed := func(want bool, tenant string) {
		t.Helper()
		if err := b.Check(ctx, tenant); (err == nil) != want || (err != nil && !errors.Is(err, ErrBudget)) {
			t.Errorf("%s: %v, want allowed %v", tenant, err, want)
		}
	}
	allowed(true, "acme")
	meter.add(ctx, "select", Usage{1, 50, 9})
	allowed(true, "acme") // 99, with what was spent before
	meter.add(ctx, "rephrase", Usage{1, 1, 0})
	allowed(false, "acme")
	allowed(true, "other")
	var known *Error
	if err := b.Check(ctx, "acme"); !errors.As(err, &known) || known.RetryAfter != 2*time.Hour {
		t.Errorf("%v: try again after %v", err, known)
	}
	if ledger.sums["acme 2026-08-01"] != 40 {
		t.Error("stored within five seconds")
	}
	b.Flush(ctx)
	if ledger.sums["acme 2026-08-01"] != 100 {
		t.Errorf("stored %v", ledger.sums)
	}
	at.now = at.now.Add(2 * time.Hour)
	allowed(true, "acme")
	meter.add(ctx, "select", Usage{1, 10, 0})
	at.now = at.now.Add(syncEvery)
	ledger.sums["acme 2026-08-02"] = 85 // another process
	allowed(true, "acme")
	if ledger.sums["acme 2026-08-02"] != 95 {
		t.Errorf("stored %v", ledger.sums)
	}
	meter.add(ctx, "select", Usage{1, 10, 0})
	at.now = at.now.Add(24 * time.Hour) // what is not stored when a day ends belongs to that day
	allowed(true, "acme")
	if ledger.sums["acme 2026-08-02"] != 105 || failures != 0 {
		t.Errorf("stored %v, %d failures", ledger.sums, failures)
	}
	want := map[string]Usage{"select": {3, 70, 9}, "rephrase": {1, 1, 0}}
	if got := meter.Snapshot(); !maps.Equal(got, want) || meter.Total() != (Usage{4, 71, 9}) {
		t.Errorf("metered %v, %v", got, meter.Total())
	}
}

// TestALedgerThatFails: nobody is kept from searching, and nothing is forgotten.
func TestALedgerThatFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ledger := &memoryLedger{sums: map[string]int{}, err: errors.New("busy")}
	at := &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	failures := 0
	b := NewBudget(100, ledger, at.read, func(error) { failures++ })
	meter := b.Meter("acme")
	for range 9 {
		if err := b.Check(ctx, "acme"); err != nil {
			t.Fatal(err)
		}
		meter.add(ctx, "select", Usage{1, 10, 0})
	}
	if failures != 1 {
		t.Errorf("asked and reported %d times within five seconds", failures)
	}
	ledger.err = nil
	b.Flush(ctx)
	meter.add(ctx, "select", Usage{1, 10, 0})
	if err := b.Check(ctx, "acme"); !errors.Is(err, ErrBudget) || ledger.sums["acme 2026-08-01"] != 90 {
		t.Errorf("%v, stored %v", err, ledger.sums)
	}
	calls := ledger.calls
	b.Flush(ctx)
	b.Flush(ctx)
	if ledger.calls != calls+1 {
		t.Error("flushed what was stored already")
	}
}

func TestWithoutABudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	none := NewBudget(0, nil, time.Now, nil)
	none.Flush(ctx)
	meter := none.Meter("acme")
	meter.add(ctx, "select", Usage{1, 1 << 40, 0})
	if err := none.Check(ctx, "acme"); err != nil || none != nil || meter.Total().Prompt != 1<<40 {
		t.Errorf("%v, %v", err, meter.Total())
	}
	memory := NewBudget(10, nil, time.Now, nil)
	memory.Meter("acme").add(ctx, "select", Usage{1, 10, 0})
	memory.Flush(ctx)
	if err := memory.Check(ctx, "acme"); !errors.Is(err, ErrBudget) {
		t.Errorf("in memory: %v", err)
	}
}

// TestCountedModels: each way to call is counted, whether it goes well or not, and ends with the budget.
func TestCountedModels(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server, p := scripted(t, func(c *Config) { c.Timeout = time.Minute })
	server.On(llmtest.Containing("garbage"), llmtest.Garbage()).On(llmtest.Any(), well())
	b := NewBudget(47, nil, time.Now, nil)
	meter := b.Meter("acme")
	chat := Counted(chatOf(t, p), meter)
	inner, _ := p.Embedder()
	embedder := CountedEmbedder(inner, meter, "embed")
	if chat.Name() != "local/small" || embedder.Name() != "vectors" {
		t.Error("other names")
	}
	bad := Request{Purpose: "time", Messages: []Message{{RoleUser, "garbage!"}}}
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
	ctx := context.Background()
	ledger := &memoryLedger{sums: map[string]int{}}
	b := NewBudget(1000, ledger, time.Now, nil)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			meter := b.Meter("acme")
			for range 10 {
				_ = b.Check(ctx, "acme") // whether it is allowed depends on the others
				meter.add(ctx, "select", Usage{1, 4, 1})
				b.Flush(ctx)
			}
		})
	}
	group.Wait()
	b.Flush(ctx)
	if got := b.count(ctx, "acme", time.Now().UTC(), 0); got != 1000 {
		t.Errorf("counted %d", got)
	}
}
