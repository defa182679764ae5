package ssh

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// typing is a keyboard of whoever types at the other end.
func typing(t *testing.T) (*keyboard, io.WriteCloser, context.Context) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	t.Cleanup(func() { stop(nil) })
	from, to := io.Pipe()
	t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	return listen(ctx, from, func() {}, stop, stop), to, ctx
}

func TestKeysOfACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, to, ctx := typing(t)
		_, _ = io.WriteString(to, "one\rtwo\r")
		_ = to.Close()
		if text, err := io.ReadAll(k); string(text) != "one\ntwo\n" || err != nil || ctx.Err() != nil {
			t.Errorf("%q, %v, %v", text, err, ctx.Err())
		}
	})
	synctest.Test(t, func(t *testing.T) { // also of one that does not read
		_, to, ctx := typing(t)
		go func() { _, _ = io.Copy(to, strings.NewReader(strings.Repeat("x", 100<<10)+"\x03")) }()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), errInterrupted) {
			t.Error(context.Cause(ctx))
		}
	})
}

func TestKeysOfAnExplorer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, to, ctx := typing(t)
		k.whole.Store(true)
		keys := "a\r\x03\x1b[A" + strings.Repeat("x", 3*chunkSize)
		go func() {
			_, _ = io.WriteString(to, keys)
			_ = to.Close()
		}()
		if text, err := io.ReadAll(k); string(text) != keys || err != nil || ctx.Err() != nil {
			t.Errorf("%q, %v, %v", text, err, ctx.Err())
		}
	})
}

// A flood is read no faster than anybody types and pastes, and waits where it comes from.
func TestKeysThatFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, to, _ := typing(t)
		k.whole.Store(true)
		var sent atomic.Int64
		go func() {
			for _, err := io.WriteString(to, "x"); err == nil; _, err = io.WriteString(to, strings.Repeat("x", chunkSize)) {
				sent.Add(chunkSize)
			}
		}()
		synctest.Wait()
		if ahead := sent.Load(); ahead > typingBurst+2*chunkSize {
			t.Errorf("%d bytes ahead of who reads", ahead)
		}
		began := time.Now()
		if _, err := io.ReadFull(k, make([]byte, 100<<10)); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 80*time.Second {
			t.Errorf("100 KiB of keys took %s", took)
		}
	})
}

func TestKeysEndWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		from, to := io.Pipe()
		k := listen(ctx, from, func() {}, stop, stop)
		ended := make(chan error, 1)
		go func() { ended <- func() error { _, err := k.Read(make([]byte, 1)); return err }() }()
		synctest.Wait()
		stop(errIdle)
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		_ = to.Close()
	})
}

func TestIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warned, ended atomic.Int64
		began := time.Now()
		i := watch(30*time.Minute, func() { warned.Store(int64(time.Since(began))) }, func() { ended.Store(int64(time.Since(began))) },
			func(err error) { t.Error(err) })
		defer i.stop()
		time.Sleep(20 * time.Minute)
		i.heard()
		time.Sleep(29*time.Minute + time.Second)
		synctest.Wait()
		if warned.Load() != int64(49*time.Minute) || ended.Load() != 0 {
			t.Errorf("warned after %s, ended after %s", time.Duration(warned.Load()), time.Duration(ended.Load()))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if ended.Load() != int64(50*time.Minute) {
			t.Errorf("ended after %s", time.Duration(ended.Load()))
		}
		i.stop()
		i.heard() // of a key that came too late
		ended.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if ended.Load() != 0 {
			t.Error("a session that is over ends again")
		}
	})
}
