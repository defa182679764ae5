package guard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/internal/guard"
)

func TestCall(t *testing.T) {
	own := errors.New("own")
	if err := guard.Call(func() error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
	var caught *guard.PanicError
	err := guard.Call(func() error { panic(strings.Repeat("x", 1<<20)) })
	if !errors.As(err, &caught) || len(caught.Value) > 1<<10 || len(caught.Stack) > 8<<10 {
		t.Fatalf("%.100v", err)
	}
	if !strings.Contains(caught.Stack, "TestCall") {
		t.Errorf("the stack does not reach the panic:\n%s", caught.Stack)
	}
	if err := guard.Call(func() error { guard.Abort(own); return nil }); err != own { //nolint:errorlint // the very one
		t.Errorf("aborted: %v", err)
	}
	for _, value := range []any{nil, 7, own} {
		if err := guard.Call(func() error { panic(value) }); !errors.As(err, &caught) {
			t.Errorf("panic(%v): %v", value, err)
		}
	}
}

// A panic in a goroutine is logged once and ends nothing else, even if the function that handles it panics, too.
func TestGo(t *testing.T) {
	var text bytes.Buffer
	ended := make(chan struct{})
	guard.Go(func() { panic("here") }, guard.Log(slog.New(slog.NewJSONHandler(&text, nil)), "a test", func() { close(ended) }))
	<-ended
	if lines := strings.Count(text.String(), "\n"); lines != 1 || !strings.Contains(text.String(), `"doing":"a test","panic":"here","stack":"goroutine`) {
		t.Errorf("%d lines: %s", lines, &text)
	}
	var group sync.WaitGroup
	handled := 0
	group.Go(guard.Func(func() { panic("one") }, func(error) { handled++; panic("two") }))
	group.Go(guard.Func(func() { panic("unheard") }, nil))
	group.Wait()
	if handled != 1 {
		t.Errorf("handled %d times", handled)
	}
	errs, within := guard.NewGroup(t.Context())
	errs.Run(func() { panic("x") })
	if err := errs.Wait(); err == nil || within.Err() == nil {
		t.Error("no error")
	}
	own := errors.New("own")
	errs, _ = guard.NewGroup(t.Context())
	errs.Run(func() { guard.Check(guard.Ended(func() { errs.Run(func() { guard.Abort(own) }) })) })
	if err := errs.Wait(); err != own { //nolint:errorlint // the very one
		t.Errorf("aborted in a goroutine of its own: %v", err)
	}
}

// Within returns results, errors, panics, and the context's error as soon as that ends.
func TestWithin(t *testing.T) {
	own := errors.New("own")
	got, err := guard.Within(t.Context(), time.Minute, func(context.Context) (int, error) { return 7, own })
	if got != 7 || !errors.Is(err, own) {
		t.Errorf("got %d, %v", got, err)
	}
	var caught *guard.PanicError
	if _, err := guard.Within(t.Context(), time.Minute, func(context.Context) (int, error) { panic("here") }); !errors.As(err, &caught) {
		t.Error(err)
	}
	never := make(chan struct{})
	defer close(never)
	deaf := func(context.Context) (int, error) { <-never; return 7, nil }
	if got, err := guard.Within(t.Context(), time.Nanosecond, deaf); got != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %d, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := guard.Within(ended, time.Minute, deaf); got != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v", got, err)
	}
}

// A goroutine that ends itself, as a failed test does, is no panic and still ends.
func TestGoexit(t *testing.T) {
	ended, broke := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(ended)
		guard.Func(runtime.Goexit, func(err error) { broke <- err })()
	}()
	<-ended
	if len(broke) > 0 {
		t.Error(<-broke)
	}
}

func TestEnded(t *testing.T) {
	late := errors.New("too late")
	reached := false
	err := guard.Ended(func() {
		guard.Check(nil)
		reached = true
		guard.Check(late)
		t.Error("not aborted")
	})
	if err != late || !reached { //nolint:errorlint // the very one
		t.Errorf("ended with %v, reached %v", err, reached)
	}
	if err := guard.Ended(func() {}); err != nil {
		t.Error(err)
	}
	for _, want := range []error{nil, late} {
		got, err := guard.Result(func() int { return guard.Must(7, want) })
		if err != want || got != map[error]int{nil: 7, late: 0}[want] { //nolint:errorlint // the very one
			t.Errorf("%d, %v", got, err)
		}
	}
	var caught *guard.PanicError
	if err := guard.Call(func() error { return guard.Ended(func() { panic("broken") }) }); !errors.As(err, &caught) || caught.Value != "broken" {
		t.Errorf("a panic became %v", err)
	}
}

func TestEnd(t *testing.T) {
	late := errors.New("too late")
	try := func(failure error) (n int, err error) {
		defer guard.End(&err)
		guard.Check(failure)
		return 7, nil
	}
	if n, err := try(late); n != 0 || err != late { //nolint:errorlint // the very one
		t.Errorf("%d, %v", n, err)
	}
	if n, err := try(nil); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	while := func(returned, aborted error) (err error) {
		defer guard.EndWhile("try", &err)
		guard.Check(aborted)
		return returned
	}
	for _, test := range []struct{ returned, aborted, want error }{{nil, nil, nil}, {late, nil, late}, {nil, late, late}} {
		err := while(test.returned, test.aborted)
		if !errors.Is(err, test.want) || err != nil && err.Error() != "try: too late" {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
