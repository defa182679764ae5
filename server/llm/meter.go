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

// check refuses a call that the budget does not allow.
func (m *Meter) check(ctx context.Context) error { return m.budget.Check(ctx, m.tenant) }

func (m *Meter) add(ctx context.Context, purpose string, usage Usage) {
	if usage == (Usage{}) {
		return
	}
	m.mutex.Lock()
	m.used[purpose] = m.used[purpose].Add(usage)
	m.mutex.Unlock()
	if m.budget != nil {
		m.budget.count(ctx, m.tenant, m.budget.now().UTC(), usage.Prompt+usage.Completion)
	}
}

// Counted is a model whose calls are counted, and refused with ErrBudget once the tenant's day is used up.
func Counted(chat Chat, meter *Meter) Chat { return countedChat{chat, meter} }

type countedChat struct {
	Chat
	meter *Meter
}

// Complete is Chat.Complete, counted.
func (c countedChat) Complete(ctx context.Context, request Request) (Reply, error) {
	if err := c.meter.check(ctx); err != nil {
		return Reply{}, err
	}
	reply, err := c.Chat.Complete(ctx, request)
	c.meter.add(ctx, request.Purpose, reply.Usage)
	return reply, err
}

// Stream is Chat.Stream, counted.
func (c countedChat) Stream(ctx context.Context, request Request, delta func(string) error) (Reply, error) {
	if err := c.meter.check(ctx); err != nil {
		return Reply{}, err
	}
	reply, err := c.Chat.Stream(ctx, request, delta)
	c.meter.add(ctx, request.Purpose, reply.Usage)
	return reply, err
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
func (c countedEmbedder) Embed(ctx context.Context, use Use, texts []string) ([][]float32, Usage, error) {
	if err := c.meter.check(ctx); err != nil {
		return nil, Usage{}, err
	}
	vectors, usage, err := c.Embedder.Embed(ctx, use, texts)
	c.meter.add(ctx, c.purpose, usage)
	return vectors, usage, err
}
