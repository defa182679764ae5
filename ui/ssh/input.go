package ssh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"quarry/internal/guard"
)

// What a person at a terminal can type and paste. A flood waits in the connection, at the cost of who sends it.
const (
	typingRate  = 1 << 10 // bytes a second
	typingBurst = 8 << 10
	chunkSize   = 1 << 10
	chunksAhead = 64 // that a command may leave unread

	// A key costs the same whether it is one byte or ten, and a paste of any length costs about as much: the explorer draws
	// its screen, and may search. Nobody holds down a key that repeats more often; a wheel turns faster only for a while.
	keyRate  = 60 // a second
	keyBurst = 300
)

const interruptKey = 0x03 // ctrl+c: nothing else turns it into a signal here

// errInterrupted: the person pressed ctrl+c.
var errInterrupted = errors.New("interrupted")

// keyboard is what a person types at a terminal. A command is interrupted by ctrl+c, also when it does not read; the
// explorer takes all keys itself.
type keyboard struct {
	ctx    context.Context
	chunks chan []byte
	rest   []byte
	whole  atomic.Bool // all keys are wanted
	heard  func()      // for every key
	stop   func(error)
}

// listen reads keys until ctx ends or there are no more.
func listen(ctx context.Context, from io.Reader, heard func(), stop, broke func(error)) *keyboard {
	k := &keyboard{ctx: ctx, chunks: make(chan []byte, chunksAhead), heard: heard, stop: stop}
	guard.Go(func() { k.pump(from) }, broke)
	return k
}

func (k *keyboard) pump(from io.Reader) {
	defer close(k.chunks)
	limit := rate.NewLimiter(typingRate, typingBurst)
	for {
		chunk := make([]byte, chunkSize)
		n, err := from.Read(chunk)
		if n > 0 {
			k.heard()
			if limit.WaitN(k.ctx, n) != nil || !k.pass(chunk[:n]) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass hands keys on. Those that a command does not read are forgotten when there are too many.
func (k *keyboard) pass(chunk []byte) bool {
	if k.whole.Load() {
		select {
		case k.chunks <- chunk:
			return true
		case <-k.ctx.Done():
			return false
		}
	}
	if bytes.IndexByte(chunk, interruptKey) >= 0 {
		k.stop(errInterrupted)
		return false
	}
	select {
	case k.chunks <- bytes.ReplaceAll(chunk, []byte("\r"), []byte("\n")):
	default:
	}
	return true
}

// Read is io.Reader's.
func (k *keyboard) Read(p []byte) (int, error) {
	for len(k.rest) == 0 {
		select {
		case chunk, open := <-k.chunks:
			if !open {
				return 0, io.EOF
			}
			k.rest = chunk
		case <-k.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// idleness ends a session in which nobody presses a key.
type idleness struct {
	limit time.Duration
	warn  *time.Timer // nil: there is no time for a warning
	end   *time.Timer
	mutex sync.Mutex
	over  bool
}

const idleWarning = time.Minute // before the end

// watch begins to wait for keys.
func watch(limit time.Duration, warn, end func(), broke func(error)) *idleness {
	i := &idleness{limit: limit, end: time.AfterFunc(limit, guard.Func(end, broke))}
	if limit > 2*idleWarning {
		i.warn = time.AfterFunc(limit-idleWarning, guard.Func(warn, broke))
	}
	return i
}

func (i *idleness) heard() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.over { // and is not to be remembered until the limit
		return
	}
	if i.warn != nil {
		i.warn.Reset(i.limit - idleWarning)
	}
	i.end.Reset(i.limit)
}

func (i *idleness) stop() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.over = true
	if i.warn != nil {
		i.warn.Stop()
	}
	i.end.Stop()
}
