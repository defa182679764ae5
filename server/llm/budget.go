package llm

import (
	"context"
	"sync"
	"time"
)

const (
	// syncEvery is how far the sum of a tenant may lag behind what other processes spent, and what is lost at most when
	// this one is killed.
	syncEvery = 5 * time.Second
	// syncWait is how long a search waits for the ledger.
	syncWait = 500 * time.Millisecond
)

// Ledger keeps the sums of tenants beyond the life of a process. It is safe for concurrent use.
type Ledger interface {
	// AddTokens adds to what a tenant used on a day, such as "2026-08-01", and returns the day's sum of all processes.
	// Adding 0 only reads.
	AddTokens(ctx context.Context, tenant, day string, tokens int) (sum int, err error)
}

// Budget limits what each tenant may use on a day. Days begin at midnight UTC. A nil Budget has no limit. It is safe for
// concurrent use.
//
// Calls that are under way are not stopped when the budget is used up, so that the sum may end somewhat above it.
type Budget struct {
	daily  int
	ledger Ledger
	now    func() time.Time
	report func(error)

	mutex    sync.Mutex
	accounts map[string]*account
}

// account is what one tenant used.
type account struct {
	mutex   sync.Mutex
	day     string
	sum     int // of the day, as far as it is known here
	unsaved int // part of the sum that the ledger does not have
	synced  time.Time
}

// NewBudget makes a budget of tokens per tenant and day; nil where there is no limit. Without a ledger it is forgotten
// with the process. Errors of the ledger are given to report and do not stop anybody from searching: the sum goes on
// in memory.
func NewBudget(daily int, ledger Ledger, now func() time.Time, report func(error)) *Budget {
	if daily <= 0 {
		return nil
	}
	return &Budget{daily: daily, ledger: ledger, now: now, report: report, accounts: map[string]*account{}}
}

// Check tells whether a tenant may use a model now. The error is an *Error of kind ErrBudget whose RetryAfter lasts
// until midnight UTC.
func (b *Budget) Check(ctx context.Context, tenant string) error {
	if b == nil {
		return nil
	}
	now := b.now().UTC()
	if b.count(ctx, tenant, now, 0) < b.daily {
		return nil
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	return &Error{Kind: ErrBudget, RetryAfter: midnight.Sub(now)}
}

// Flush stores what is not stored yet.
func (b *Budget) Flush(ctx context.Context) {
	if b == nil {
		return
	}
	b.mutex.Lock()
	tenants := make(map[string]*account, len(b.accounts))
	for tenant, a := range b.accounts {
		tenants[tenant] = a
	}
	b.mutex.Unlock()
	for tenant, a := range tenants {
		a.mutex.Lock()
		if a.unsaved > 0 {
			b.sync(ctx, tenant, a)
		}
		a.mutex.Unlock()
	}
}

// count adds tokens to a tenant's day and returns the sum.
func (b *Budget) count(ctx context.Context, tenant string, now time.Time, tokens int) int {
	b.mutex.Lock()
	a := b.accounts[tenant]
	if a == nil {
		a = &account{}
		b.accounts[tenant] = a
	}
	b.mutex.Unlock()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if day := now.Format(time.DateOnly); a.day != day {
		if a.unsaved > 0 {
			b.sync(ctx, tenant, a)
		}
		a.day, a.sum, a.unsaved, a.synced = day, 0, 0, time.Time{}
	}
	a.sum += tokens
	a.unsaved += tokens
	if since := now.Sub(a.synced); since >= syncEvery || since < 0 {
		b.sync(ctx, tenant, a)
		a.synced = now
	}
	return a.sum
}

// sync brings the ledger and an account up to date, which the caller has locked.
func (b *Budget) sync(ctx context.Context, tenant string, a *account) {
	if b.ledger == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncWait)
	defer cancel()
	sum, err := b.ledger.AddTokens(ctx, tenant, a.day, a.unsaved)
	if err != nil {
		b.report(err)
		return
	}
	a.sum, a.unsaved = sum, 0
}
