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

// Rates of typing and pasting at a terminal. More input waits in the connection.
const (
	typingRate  = 1 << 10 // bytes a second
	typingBurst = 8 << 10
	chunkSize   = 1 << 10
	chunksAhead = 64 // unread by a command

	// Each key, and a paste of any length, costs about the same: the explorer draws its screen and may search. No
	// keyboard repeats faster; a mouse wheel is faster only for a moment.
	keyRate  = 60 // a second
	keyBurst = 300
)

const interruptKey = 0x03 // ctrl+c, which is not a signal here

// errInterrupted means that the visitor pressed ctrl+c.
var errInterrupted = errors.New("interrupted")

// keyboard is the input of a terminal. ctrl+c interrupts a command even if it does not read; the explorer handles all
// keys itself.
type keyboard struct {
	ctx    context.Context
	chunks chan []byte
	rest   []byte
	whole  atomic.Bool // the reader handles all keys, including ctrl+c
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

// pass queues keys. Keys that a command does not read are dropped if there are too many.
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

// idleness ends a session without key presses.
type idleness struct {
	limit time.Duration
	warn  *time.Timer // nil: the limit is too short for a warning
	end   *time.Timer
	mutex sync.Mutex
	over  bool
}

const idleWarning = time.Minute // before the end

// watch starts the timers.
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
	if i.over { // else the timers would keep the session in memory
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
