package llm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"quarry/internal/guard"
)

const (
	// ledgerWait bounds the time that a model call, and the exit of the program, wait for the ledger.
	ledgerWait = 2 * time.Second
	// callsWait bounds the time that the exit of the program waits for running calls, which are canceled by then.
	callsWait = 5 * time.Second
)

// Ledger stores the token counts of tenants. Several processes may share it. It is safe for concurrent use.
type Ledger interface {
	// AddTokens adds to the count of a tenant and day, such as "2026-08-01", and returns the sum of all processes.
	// Adding 0 reads it. If it returns an error, nothing was added.
	AddTokens(ctx context.Context, tenant, day string, tokens int) (sum int, err error)
	// Postpone stores tokens that could not be added before the program exits. The next AddTokens of any process adds
	// them.
	Postpone(tenant, day string, tokens int) error
}

type account struct{ tenant, day string }

// Budget limits the tokens that each tenant uses per day. Days begin at midnight UTC. A nil Budget has no limit. It is
// safe for concurrent use.
//
// The ledger is read before each call and written after it, so a process that is killed loses at most the running
// calls. While the ledger fails, models are not called. Running calls are not stopped when the budget is used up: the
// sum may end somewhat above it.
type Budget struct {
	daily  int
	ledger Ledger
	now    func() time.Time
	report func(error)

	mutex    sync.Mutex
	unstored map[account]int // not in the ledger yet
	failing  bool            // the last access to the ledger failed
	calls    sync.WaitGroup
	closed   bool
}

// NewBudget returns a budget of daily tokens per tenant, or nil without a limit. It calls report with the first of
// several ledger errors in a row.
func NewBudget(daily int, ledger Ledger, now func() time.Time, report func(error)) *Budget {
	if daily <= 0 {
		return nil
	}
	return &Budget{daily: daily, ledger: ledger, now: now, report: report, unstored: map[account]int{}}
}

// Check returns an error if a tenant may not use a model now: an *Error of kind ErrBudget with RetryAfter until
// midnight UTC, or of kind ErrUncounted if the ledger fails.
func (b *Budget) Check(ctx context.Context, tenant string) error {
	if b == nil {
		return nil
	}
	now := b.now().UTC()
	sum, err := b.store(ctx, tenant, now)
	switch {
	case err != nil:
		return &Error{Kind: ErrUncounted}
	case sum < b.daily:
		return nil
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	return &Error{Kind: ErrBudget, RetryAfter: midnight.Sub(now)}
}

// Used returns the tokens that a tenant used today; 0 without a limit, as they are not counted then.
func (b *Budget) Used(ctx context.Context, tenant string) (int, error) {
	if b == nil {
		return 0, nil
	}
	sum, err := b.store(ctx, tenant, b.now().UTC())
	if err != nil {
		return 0, &Error{Kind: ErrUncounted}
	}
	return sum, nil
}

// begin is Check before a call. Each call that it allows ends with end.
func (b *Budget) begin(ctx context.Context, tenant string) error {
	if b == nil {
		return nil
	}
	b.mutex.Lock()
	closed := b.closed
	if !closed {
		b.calls.Add(1)
	}
	b.mutex.Unlock()
	if closed {
		return &Error{Kind: ErrUncounted}
	}
	err := b.Check(ctx, tenant)
	if err != nil {
		b.calls.Done()
	}
	return err
}

// end counts the tokens of a call.
func (b *Budget) end(ctx context.Context, tenant string, tokens int) {
	if b == nil {
		return
	}
	defer b.calls.Done()
	if tokens == 0 {
		return
	}
	now := b.now().UTC()
	b.keep(account{tenant, now.Format(time.DateOnly)}, tokens)
	_, _ = b.store(ctx, tenant, now) // an error is kept in unstored for the next time
}

// store writes the tokens of a tenant to the ledger and returns the sum of a day. It is bounded in time and ignores the
// cancellation of ctx.
func (b *Budget) store(ctx context.Context, tenant string, now time.Time) (sum int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerWait)
	defer cancel()
	today := account{tenant, now.Format(time.DateOnly)}
	for _, before := range b.kept() {
		if before.tenant == tenant && before != today && err == nil {
			_, err = b.write(ctx, before)
		}
	}
	if err == nil {
		sum, err = b.write(ctx, today)
	}
	b.mutex.Lock()
	first := err != nil && !b.failing
	b.failing = err != nil
	b.mutex.Unlock()
	if first {
		b.report(err)
	}
	return sum, err
}

// kept returns the accounts with tokens that are not in the ledger.
func (b *Budget) kept() []account {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.Collect(maps.Keys(b.unstored))
}

// unkept removes and returns the tokens of an account that are not in the ledger.
func (b *Budget) unkept(a account) (tokens int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	tokens = b.unstored[a]
	delete(b.unstored, a)
	return tokens
}

// keep adds tokens that are not in the ledger.
func (b *Budget) keep(a account, tokens int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.unstored[a] += tokens
}

// write adds the unstored tokens of an account to the ledger. If that fails they stay unstored.
func (b *Budget) write(ctx context.Context, a account) (sum int, err error) {
	tokens := b.unkept(a)
	sum, err = b.ledger.AddTokens(ctx, a.tenant, a.day, tokens)
	if err != nil && tokens > 0 {
		b.keep(a, tokens)
	}
	return sum, err
}

// Close waits for running calls and stores unstored tokens, both for a bounded time, and postpones the rest. No model
// is called afterwards.
func (b *Budget) Close(ctx context.Context) {
	if b == nil {
		return
	}
	b.mutex.Lock()
	b.closed = true
	b.mutex.Unlock()
	_, _ = guard.Within(context.WithoutCancel(ctx), callsWait, func(context.Context) (struct{}, error) {
		b.calls.Wait()
		return struct{}{}, nil
	})
	ctx, cancel := context.WithTimeout(ctx, ledgerWait)
	defer cancel()
	for _, a := range b.kept() {
		if _, err := b.write(ctx, a); err != nil {
			tokens := b.unkept(a)
			if err := b.ledger.Postpone(a.tenant, a.day, tokens); err != nil {
				b.report(fmt.Errorf("%d tokens of %s that tenant %s used are lost: %w", tokens, a.day, a.tenant, err))
			}
		}
	}
}

// Meter counts the tokens of one request's calls, by purpose, and charges them to the tenant's budget. It is safe for
// concurrent use.
type Meter struct {
	budget *Budget
	tenant string

	mutex sync.Mutex
	used  map[string]Usage
}

// Meter returns a meter for one request of a tenant. It also counts without a limit.
func (b *Budget) Meter(tenant string) *Meter {
	return &Meter{budget: b, tenant: tenant, used: map[string]Usage{}}
}

// Snapshot returns the usage so far, by the purpose of calls. Calls that the caller gave up on are counted when they
// end.
func (m *Meter) Snapshot() map[string]Usage {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.used)
}

// Total returns the sum of Snapshot.
func (m *Meter) Total() Usage {
	total := Usage{}
	for _, usage := range m.Snapshot() {
		total = total.Add(usage)
	}
	return total
}

func (m *Meter) begin(ctx context.Context) error { return m.budget.begin(ctx, m.tenant) }

func (m *Meter) end(ctx context.Context, purpose string, usage Usage) {
	if usage != (Usage{}) {
		m.mutex.Lock()
		m.used[purpose] = m.used[purpose].Add(usage)
		m.mutex.Unlock()
	}
	m.budget.end(ctx, m.tenant, usage.Prompt+usage.Completion)
}

// Counted returns a chat whose calls are counted, and refused with ErrBudget when the tenant's tokens of the day are
// used up.
func Counted(chat Chat, meter *Meter) Chat { return countedChat{chat, meter} }

type countedChat struct {
	Chat
	meter *Meter
}

// Complete implements Chat.
func (c countedChat) Complete(ctx context.Context, request Request) (reply Reply, err error) {
	if err := c.meter.begin(ctx); err != nil {
		return Reply{}, err
	}
	defer func() { c.meter.end(ctx, request.Purpose, reply.Usage) }()
	return c.Chat.Complete(ctx, request)
}

// Stream implements Chat.
func (c countedChat) Stream(ctx context.Context, request Request, delta func(string) error) (reply Reply, err error) {
	if err := c.meter.begin(ctx); err != nil {
		return Reply{}, err
	}
	defer func() { c.meter.end(ctx, request.Purpose, reply.Usage) }()
	return c.Chat.Stream(ctx, request, delta)
}

// CountedEmbedder is Counted for embedding models; their calls are counted under purpose.
func CountedEmbedder(embedder Embedder, meter *Meter, purpose string) Embedder {
	return countedEmbedder{embedder, meter, purpose}
}

type countedEmbedder struct {
	Embedder
	meter   *Meter
	purpose string
}

// Embed implements Embedder.
func (c countedEmbedder) Embed(ctx context.Context, use Use, texts []string) (vectors [][]float32,
	usage Usage, err error) {
	if err := c.meter.begin(ctx); err != nil {
		return nil, Usage{}, err
	}
	defer func() { c.meter.end(ctx, c.purpose, usage) }()
	return c.Embedder.Embed(ctx, use, texts)
}
