// Package worker runs the readers of documents in other processes of this program. A document that crashes its reader,
// or needs more memory, time or output than it may, costs that document and nothing else.
//
// A Pool starts a process when a document comes and none is idle, sends the document through a pipe, and reads the
// answer from another one. The process has no environment, and Serve gives it a bound of memory. One that misses a
// bound is killed; the next document gets a new one.
package worker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// MaxMemory bounds what a process needs for documents beyond the memory that it starts with, in bytes.
	MaxMemory = 256 << 20
	// MaxAnswer bounds a part of an answer, in bytes: 64 MB of text, and what describes it.
	MaxAnswer = 96 << 20
	// waiting is how many times its limit a document may take where the machine is busy with other things.
	waiting = 4
	// starting bounds the start of a process, and of an engine in it, which is compiled when it runs for the first
	// time.
	starting = 3 * time.Minute
	// idle is after how long without a document a process ends.
	idle = 30 * time.Second
)

// Errors that say why there is no answer.
var (
	// ErrNoWorker is not about the document: another run may read it.
	ErrNoWorker = errors.New("the process that reads such files cannot be started")
	// ErrCrashed and ErrMemory are about the document.
	ErrCrashed = errors.New("reading it failed: it is damaged")
	ErrMemory  = fmt.Errorf("it needs more than %d MB of memory", MaxMemory>>20)
)

// SlowError says that reading a document took longer than it may.
type SlowError struct{ Limit time.Duration }

func (e *SlowError) Error() string { return fmt.Sprintf("reading it takes longer than %s", e.Limit) }

// The kinds of what crosses the pipes, each a byte before it. No text begins with one: what the Go runtime says at the
// end of a process comes through the same pipe.
const (
	// kindReady: it waits for a document; amid an answer: an engine runs, and the time of the document begins again.
	kindReady byte = iota + 1
	kindBusy       // it starts an engine, which takes as long as starting may
	kindPart       // a part of an answer follows
	kindLast       // a document, or the end of an answer
)

// send writes a kind, and a value unless it is nil.
func send(out *bufio.Writer, kind byte, value any) error {
	_ = out.WriteByte(kind) // Flush returns the first error
	if value != nil {
		if err := gob.NewEncoder(out).Encode(value); err != nil {
			return err
		}
	}
	return out.Flush()
}

// receive reads what send wrote. The kind of anything else stays in the pipe.
func receive[V any](in *bufio.Reader) (kind byte, value V, err error) {
	switch kind, err = in.ReadByte(); kind {
	case kindPart, kindLast:
		err = gob.NewDecoder(in).Decode(&value)
	case kindReady, kindBusy:
	default:
		err = cmp.Or(err, in.UnreadByte(), errKind)
	}
	return kind, value, err
}

var errKind = errors.New("it is of no known kind")

// request is a document, and how much processor time it may take.
type request[Q any] struct {
	Document Q
	Limit    time.Duration
}

// Limit returns how much processor time a document of size bytes may take: base, and a second for each MB, at most two
// minutes.
func Limit(base time.Duration, size int) time.Duration {
	return min(base+time.Duration(size>>20)*time.Second, max(base, 2*time.Minute))
}

// Session is the end of the pipes in a process.
type Session[A any] struct {
	out    *bufio.Writer
	bounds *bounds
	limit  time.Duration // of the document at hand
}

// Send sends a part of the answer to the document at hand.
func (s *Session[A]) Send(part A) error { return send(s.out, kindPart, part) }

// Prepare runs start, which neither the time nor the memory of documents pays for: both are counted from its end.
func (s *Session[A]) Prepare(ctx context.Context, start func(context.Context) error) error {
	if err := send(s.out, kindBusy, nil); err != nil {
		return err
	}
	s.bounds.lift()
	err := start(ctx)
	s.bounds.set()
	s.bounds.watch(s.limit)
	return errors.Join(err, send(s.out, kindReady, nil))
}

// Serve answers the documents from in, one after the other, until in ends. read returns the end of an answer; after an
// error of it Serve returns, because what it used may be damaged.
func Serve[Q, A any](in io.Reader, out io.Writer, read func(s *Session[A], document Q) (A, error)) error {
	s := &Session[A]{out: bufio.NewWriterSize(out, 64<<10), bounds: &bounds{}}
	defer s.bounds.lift()
	s.bounds.set()
	if err := send(s.out, kindReady, nil); err != nil {
		return err
	}
	requests := bufio.NewReaderSize(in, 64<<10)
	for {
		_, r, err := receive[request[Q]](requests)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.limit = r.Limit
		s.bounds.watch(s.limit)
		answer, err := read(s, r.Document)
		s.bounds.stop()
		if err == nil {
			err = send(s.out, kindLast, answer)
		}
		if err != nil {
			return err
		}
	}
}
