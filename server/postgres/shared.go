package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/sqldb"
)

//go:embed migrations
var ownMigrations embed.FS

// forgetEvery is how many requests of a process are counted until it removes the keys that no longer limit anything.
const forgetEvery = 1000

// Take counts a request of a key if there were fewer than most per period: most at once, then one each time a part of
// the period has passed. Otherwise wait is the time until there are. The row has the time that the requests so far
// would take at an even rate: it may be ahead by the period. The clock is the server's, so that those of the callers
// may differ.
func (p *Pool) Take(ctx context.Context, key string, most int, per time.Duration) (wait time.Duration, err error) {
	if err := p.prepare(ctx); err != nil {
		return 0, err
	}
	step := max(1, per.Microseconds()/int64(most))
	const now = "(extract(epoch FROM now()) * 1000000)::BIGINT"
	var ahead int64
	// The second part is read before the first one changes the row; it is the answer if that does not.
	err = p.db.QueryRowContext(ctx,
		`WITH taken AS (INSERT INTO rate_limits (key, even_at) VALUES (?1, `+now+` + ?2::BIGINT)
		ON CONFLICT (key) DO UPDATE SET even_at = greatest(rate_limits.even_at, `+now+`) + ?2::BIGINT
		WHERE greatest(rate_limits.even_at, `+now+`) + ?2::BIGINT - `+now+` <= ?3::BIGINT RETURNING 0::BIGINT AS ahead)
		SELECT ahead FROM taken UNION ALL SELECT even_at + ?2::BIGINT - `+now+` FROM rate_limits
		WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM taken) LIMIT 1`, key, step, step*int64(most)).Scan(&ahead)
	switch {
	case errors.Is(err, sql.ErrNoRows): // the key's first requests came at the same time, and this one after the bound
		return time.Duration(step) * time.Microsecond, nil
	case err != nil:
		return 0, sqldb.Explained("count a request", err)
	case ahead == 0:
		return 0, p.forget(ctx)
	}
	return max(time.Duration(ahead-step*int64(most))*time.Microsecond, time.Microsecond), nil
}

// forget removes, now and then, the keys that no longer limit anything.
func (p *Pool) forget(ctx context.Context) error {
	if p.counted.Add(1)%forgetEvery != 0 {
		return nil
	}
	_, err := p.db.ExecContext(ctx, "DELETE FROM rate_limits WHERE even_at < ?", time.Now().Add(-time.Hour).UnixMicro())
	return sqldb.Explain(err)
}

// prepare makes the tables of this package once.
func (p *Pool) prepare(ctx context.Context) error {
	p.preparing.Lock()
	defer p.preparing.Unlock()
	if p.prepared {
		return nil
	}
	_, err := p.migrate(ctx, "shared", sqldb.Migrations(ownMigrations, "migrations"))
	p.prepared = err == nil
	return err
}

const (
	leaseTime  = 20 * time.Second // of a process that has ended without giving it up
	leaseRenew = 5 * time.Second
	leaseWait  = 500 * time.Millisecond // between attempts to get a lease that another process has
)

// Lease runs do while no other process runs one of that name, and waits for those that do. When the lease cannot be
// renewed, because the server is away for too long, it cancels the context of do.
func (p *Pool) Lease(ctx context.Context, name string, do func(ctx context.Context) error) error {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	holder := uuid.NewString()
	for {
		mine, err := p.extend(ctx, `INSERT INTO leases (name, holder, ends_at) VALUES (?1, ?2, now() + ?3::INTERVAL)
			ON CONFLICT (name) DO UPDATE SET holder = ?2, ends_at = now() + ?3::INTERVAL
			WHERE leases.ends_at < now()`, name, holder)
		if err != nil {
			return fmt.Errorf("get the lease of %s: %w", name, err)
		}
		if mine {
			break
		}
		if err := guard.Sleep(ctx, leaseWait); err != nil {
			return err
		}
	}
	work, end := context.WithCancelCause(ctx)
	renewing := make(chan struct{})
	guard.Go(func() {
		defer close(renewing)
		p.renew(work, name, holder, end)
	}, end)
	err := do(work)
	if lost := context.Cause(work); lost != nil && ctx.Err() == nil {
		err = errors.Join(err, lost)
	}
	end(nil)
	<-renewing
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	// Or it ends by itself.
	_, _ = p.db.ExecContext(after, "DELETE FROM leases WHERE name = ? AND holder = ?", name, holder)
	return err
}

// renew renews a lease until the work has ended.
func (p *Pool) renew(work context.Context, name, holder string, end context.CancelCauseFunc) {
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-tick.C:
		case <-work.Done():
			return
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(work, leaseRenew)
		mine, err := p.extend(ctx, "UPDATE leases SET ends_at = now() + ?3::INTERVAL WHERE name = ?1 AND holder = ?2",
			name, holder)
		cancel()
		switch {
		case err == nil && mine:
			renewed = begun
		case err == nil, time.Since(renewed) > leaseTime-2*leaseRenew:
			end(fmt.Errorf("the lease of %s ended: %w", name, cmp.Or(err, fault.ErrBusy)))
			return
		}
	}
}

// extend runs a statement that makes or keeps a lease, and reports whether it did.
func (p *Pool) extend(ctx context.Context, statement, name, holder string) (bool, error) {
	result, err := p.db.ExecContext(ctx, statement, name, holder, fmt.Sprintf("%d seconds", int(leaseTime.Seconds())))
	if err != nil {
		return false, sqldb.Explain(err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
