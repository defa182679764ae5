package client

import (
	"context"
	"math"
	"sync"
	"time"
)

// forever is an age that no cached value reaches.
const forever = time.Duration(math.MaxInt64)

// cached is the answer of a call. No lock is held during the call, so concurrent callers may make it twice.
type cached[T any] struct {
	mutex   sync.Mutex
	value   T
	fetched time.Time // zero: there is no value
}

// get returns the value if it is younger than maxAge, else the answer of call. Errors are not cached.
func (c *cached[T]) get(ctx context.Context, maxAge time.Duration, call func(context.Context) (T, error)) (T, error) {
	c.mutex.Lock()
	value, fetched := c.value, c.fetched
	c.mutex.Unlock()
	if !fetched.IsZero() && time.Since(fetched) < maxAge {
		return value, nil
	}
	value, err := call(ctx)
	if err == nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.value, c.fetched = value, time.Now()
	}
	return value, err
}
