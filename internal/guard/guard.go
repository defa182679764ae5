// Package guard runs functions so that a panic ends only the session, request or job they work for. Go has no recover
// for a whole program: a panic in any goroutine without one of its own ends the process with everybody in it.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// Bounds of what a panic leaves in the log. The innermost frames come first, and matter most.
const (
	maxStack = 8 << 10
	maxValue = 1 << 10
)

// PanicError is a panic that was caught.
type PanicError struct {
	// Value is the panic's value as text, and Stack the goroutine's stack; both are bounded.
	Value string
	Stack string
}

// Error returns the panic's value.
func (e *PanicError) Error() string { return "panic: " + e.Value }

// Caught returns the error of a recovered value. The deferred function that recovers calls it, for the stack.
func Caught(value any) *PanicError {
	stack := make([]byte, maxStack)
	text := fmt.Sprint(value)
	if len(text) > maxValue {
		text = text[:maxValue]
	}
	return &PanicError{Value: text, Stack: string(stack[:runtime.Stack(stack, false)])}
}

// Call calls f and returns its panic as a *PanicError, or the error that it was aborted with. As every goroutine calls
// its function so, an error never leaves the goroutine in which it aborts.
func Call(f func() error) (failure error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		switch cause := recover().(type) {
		case aborted:
			failure = cause.error
		default:
			failure = Caught(cause)
		}
	}()
	failure = f()
	returned = true
	return failure
}

// Abort ends the function that defers End, or that Ended or Call runs, with an error: its steps, and what they alone
// call, need no checks of their own. A function whose caller does something about its error returns it.
func Abort(err error) { panic(aborted{err}) }

type aborted struct{ error }

// Check aborts if there is an error.
func Check(err error) {
	if err != nil {
		Abort(err)
	}
}

// Must returns a value, or aborts if there is an error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// While aborts if there is an error, which it begins with what was being done.
func While(doing string, err error) {
	if err != nil {
		Abort(fmt.Errorf("%s: %w", doing, err))
	}
}

// End is deferred: it stores the error with which the function was aborted.
func End(err *error) { end(recover(), err) }

// EndWhile is End, and begins the error of the function, aborted or not, with what was being done.
func EndWhile(doing string, err *error) {
	if end(recover(), err); *err != nil {
		*err = fmt.Errorf("%s: %w", doing, *err)
	}
}

func end(recovered any, err *error) {
	switch cause := recovered.(type) {
	case nil:
	case aborted:
		*err = cause.error
	default:
		panic(cause)
	}
}

// Ended calls f, and returns the error that it was aborted with.
func Ended(f func()) (err error) {
	defer End(&err)
	f()
	return nil
}

// Result calls f, and returns its result or the error that it was aborted with.
func Result[T any](f func() T) (result T, err error) {
	err = Ended(func() { result = f() })
	return result, err
}

// Go calls f in a goroutine of its own. A panic of f, or the error that it aborts with, goes to broke.
func Go(f func(), broke func(error)) { go Func(f, broke)() }

// Func returns f for somebody else's goroutine: a timer's, or a sync.WaitGroup's. A panic of f goes to broke, whose own
// panic has nobody left to report it; a nil broke tells nobody.
func Func(f func(), broke func(error)) func() {
	return func() {
		if err := Call(func() error { f(); return nil }); err != nil {
			_ = Call(func() error { broke(err); return nil })
		}
	}
}

// Group is an errgroup.Group whose functions are given to Run: a panic of one, too, is its error.
type Group struct{ *errgroup.Group }

// NewGroup returns a group, and a context that ends with the group's first error.
func NewGroup(ctx context.Context) (Group, context.Context) {
	group, within := errgroup.WithContext(ctx)
	return Group{group}, within
}

// Run is errgroup.Group.Go for a function that aborts with its error.
func (g Group) Run(f func()) {
	g.Go(func() error { return Call(func() error { f(); return nil }) })
}

// Within calls f with a context that ends after limit, and returns what f returns. It does not wait longer than that,
// even if f ignores its context: then the error is the context's. A panic of f is an error.
func Within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan result, 1)
	Go(func() {
		value, err := f(ctx)
		done <- result{value, err}
	}, func(err error) { done <- result{err: err} })
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Sleep waits for d. It returns the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Log returns a function that logs a panic as a failure of what was being done, and then calls each of then.
func Log(log *slog.Logger, what string, then ...func()) func(error) {
	return func(err error) {
		log.Error("panic", "doing", what, Attr(err))
		for _, f := range then {
			f()
		}
	}
}

// Attr returns what a log says of an error: of a panic its value and stack.
func Attr(err error) slog.Attr {
	if caught, ok := errors.AsType[*PanicError](err); ok {
		return slog.Group("", "panic", caught.Value, "stack", caught.Stack) // without a name, a group is its attributes
	}
	return slog.String("error", err.Error())
}
