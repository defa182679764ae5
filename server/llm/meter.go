package llm

import (
	"context"
	"maps"
	"sync"
)

// Meter counts what the calls of one request cost, by purpose, and puts it on the tenant's bill. It is safe for
// concurrent use.
type Meter struct {
	budget *Budget
	tenant string

	mutex sync.Mutex
	used  map[string]Usage
}

// Meter makes a meter for one request of a tenant. It counts also where there is no limit.
func (b *Budget) Meter(tenant string) *Meter {
	return &Meter{budget: b, tenant: tenant, used: map[string]Usage{}}
}

// Snapshot is what was used so far, by the purpose of the calls. A call that its caller no longer waits for is counted
// when it ends.
func (m *Meter) Snapshot() map[string]Usage {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.used)
}

// Total is the sum of Snapshot.
func (m *Meter) Total() Usage {
	total := Usage{}
	for _, usage := range m.Snapshot() {
		total = total.Add(usage)
	}
	return total
}

// begin refuses a call that the budget does not allow.
func (m *Meter) begin(ctx context.Context) error { return m.budget.begin(ctx, m.tenant) }

// end counts a call that began.
func (m *Meter) end(ctx context.Context, purpose string, usage Usage) {
	if usage != (Usage{}) {
		m.mutex.Lock()
		m.used[purpose] = m.used[purpose].Add(usage)
		m.mutex.Unlock()
	}
	m.budget.end(ctx, m.tenant, usage.Prompt+usage.Completion)
}

// Counted is a model whose calls are counted, and refused with ErrBudget once the tenant's day is used up.
func Counted(chat Chat, meter *Meter) Chat { return countedChat{chat, meter} }

type countedChat struct {
	Chat
	meter *Meter
}

// Complete is Chat.Complete, counted.
func (c countedChat) Complete(ctx context.Context, request Request) (reply Reply, err error) {
	if err := c.meter.begin(ctx); err != nil {
		return Reply{}, err
	}
	defer func() { c.meter.end(ctx, request.Purpose, reply.Usage) }()
	return c.Chat.Complete(ctx, request)
}

// Stream is Chat.Stream, counted.
func (c countedChat) Stream(ctx context.Context, request Request, delta func(string) error) (reply Reply,
	err error) {
	if err := c.meter.begin(ctx); err != nil {
		return Reply{}, err
	}
	defer func() { c.meter.end(ctx, request.Purpose, reply.Usage) }()
	return c.Chat.Stream(ctx, request, delta)
}

// CountedEmbedder is Counted for a model of vectors; its calls are counted under the purpose.
func CountedEmbedder(embedder Embedder, meter *Meter, purpose string) Embedder {
	return countedEmbedder{embedder, meter, purpose}
}

type countedEmbedder struct {
	Embedder
	meter   *Meter
	purpose string
}

// Embed is Embedder.Embed, counted.
func (c countedEmbedder) Embed(ctx context.Context, use Use, texts []string) (vectors [][]float32,
	usage Usage, err error) {
	if err := c.meter.begin(ctx); err != nil {
		return nil, Usage{}, err
	}
	defer func() { c.meter.end(ctx, c.purpose, usage) }()
	return c.Embedder.Embed(ctx, use, texts)
}
