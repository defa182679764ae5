package llmtest

import (
	"context"
	"sync"
)

// Ledger counts the tokens of tenants in memory, as an llm.Ledger. The zero value is empty.
type Ledger struct {
	mutex sync.Mutex
	sums  map[[2]string]int // by tenant and day
}

// AddTokens adds to a count and returns the sum. It does not fail.
func (l *Ledger) AddTokens(_ context.Context, tenant, day string, tokens int) (sum int, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.sums == nil {
		l.sums = map[[2]string]int{}
	}
	l.sums[[2]string{tenant, day}] += tokens
	return l.sums[[2]string{tenant, day}], nil
}

// Postpone adds to a count. It does not fail.
func (l *Ledger) Postpone(tenant, day string, tokens int) error {
	_, err := l.AddTokens(context.Background(), tenant, day, tokens)
	return err
}
