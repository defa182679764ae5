package llm

import (
	"context"
	"maps"
	"sync"
)

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
func (c countedChat) Stream(ctx context.Context, request Request, delta func(string) error) (reply Reply,
	err error) {
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
