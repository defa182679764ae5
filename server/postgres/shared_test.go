package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/postgres"
)

// TestTakeCountsForAll: several processes together let as many requests through as one, and say when the next one is.
func TestTakeCountsForAll(t *testing.T) {
	place := t.TempDir()
	pools := []*postgres.Pool{postgrestest.Open(t, place, false), postgrestest.Open(t, place, false)}
	var taken atomic.Int64
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			wait, err := pools[i%2].Take(t.Context(), "searches/jo", 10, 24*time.Hour)
			if err != nil {
				t.Error(err)
			}
			if wait == 0 {
				taken.Add(1)
			}
		})
	}
	group.Wait()
	if n := taken.Load(); n != 10 {
		t.Errorf("%d requests of 10 were counted", n)
	}
	const step = 24 * time.Hour / 10
	wait, err := pools[1].Take(t.Context(), "searches/jo", 10, 24*time.Hour)
	if err != nil || wait > step || wait < step/2 {
		t.Errorf("the next one is in %s (%v), not within %s", wait, err, step)
	}
	if wait, err := pools[0].Take(t.Context(), "searches/kim", 10, 24*time.Hour); wait != 0 || err != nil {
		t.Errorf("another key waits %s (%v)", wait, err)
	}
	for range 3 { // the bucket fills again as time passes
		wait, err := pools[0].Take(t.Context(), "often", 1, time.Microsecond)
		if wait != 0 || err != nil {
			t.Errorf("%s (%v)", wait, err)
		}
	}
}

func TestOneProcessHasALease(t *testing.T) {
	place := t.TempDir()
	pools := []*postgres.Pool{postgrestest.Open(t, place, false), postgrestest.Open(t, place, false)}
	var inside, most, runs atomic.Int64
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			if err := pools[i%2].Lease(t.Context(), "work", func(context.Context) error {
				most.Store(max(most.Load(), inside.Add(1)))
				runs.Add(1)
				defer inside.Add(-1)
				_, err := pools[i%2].Take(t.Context(), fmt.Sprint(i), 1, time.Hour) // needs a connection
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if most.Load() != 1 || runs.Load() != 6 {
		t.Errorf("%d at once, %d in all", most.Load(), runs.Load())
	}
	failed := errors.New("failed")
	if err := pools[0].Lease(t.Context(), "work", func(context.Context) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error of the work: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := pools[0].Lease(t.Context(), "work", func(context.Context) error {
		cancel()
		return pools[1].Lease(ctx, "work", func(context.Context) error { return errors.New("both have it") })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a lease ends with %v", err)
	}
}

// TestLostLease: work whose lease another process got, as after too long a pause, is canceled.
func TestLostLease(t *testing.T) {
	place := t.TempDir()
	address := postgrestest.Address(t, place)
	pool, err := postgres.Open(address, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	other := postgrestest.Connect(t, address)
	defer func() { _ = other.Close() }()
	err = pool.Lease(t.Context(), "work", func(ctx context.Context) error {
		if _, err := other.Exec("UPDATE leases SET holder = 'another process'"); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	if err == nil {
		t.Error("the work did not get to know")
	}
}
