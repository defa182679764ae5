package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"quarry/internal/guard"
)

// Program is the program whose process runs Serve. The zero Program cannot be started.
type Program struct {
	Path      string
	Arguments []string
}

// Pool is the processes that make answers of documents: at most size at once. It is safe for concurrent use.
type Pool[Q, A any] struct {
	program Program
	size    int
	forking sync.RWMutex // locked by a start, read-locked by Apart

	mutex   sync.Mutex
	changed sync.Cond        // signalled when a process becomes idle or ends, or a start fails
	idle    []*process[Q, A] // the last one was used last
	running int              // processes, with the idle ones and those that start
	over    bool
	refused int // starts in a row that failed
}

// A start may fail because other work has all descriptors or processes for a moment. If it does so mostRefused times in
// a row, documents wait no longer.
const (
	mostRefused  = 10
	refusedPause = 100 * time.Millisecond
)

// NewPool returns a pool without processes. Close ends those that it starts.
func NewPool[Q, A any](program Program, size int) *Pool[Q, A] {
	p := &Pool[Q, A]{program: program, size: size}
	p.changed.L = &p.mutex
	return p
}

// A start takes five descriptors for a moment, and a process keeps two. Where there are few, forFirst are free before
// the first process starts, and forFurther before another one.
const forFirst, forFurther = 7, 12

// Apart calls do while no process starts, so that it finds the descriptors that a start takes.
func (p *Pool[Q, A]) Apart(do func()) {
	p.forking.RLock()
	defer p.forking.RUnlock()
	do()
}

// Shrink ends an idle process, if there is one: its descriptors are needed.
func (p *Pool[Q, A]) Shrink() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.idle) > 0 {
		p.end(0)
	}
}

// Close ends the idle processes; the others end with their document.
func (p *Pool[Q, A]) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.over = true
	for _, process := range p.idle {
		process.stop()
	}
	p.idle, p.running = nil, p.running-len(p.idle)
}

// Read sends a document to a process and returns the end of the answer; part receives what comes before it, and an
// error of it gives the document up. The document may take limit of processor time, without the start of a process.
//
// A process that ends while it reads a document which is not its first may have been spoilt by another: the document
// gets a second try, in a new process, unless it had a part of its answer.
func (p *Pool[Q, A]) Read(ctx context.Context, document Q, limit time.Duration, part func(A) error) (
	answer A, err error) {
	for {
		process, err := p.acquire(ctx)
		if err != nil {
			return answer, err
		}
		wasUsed, hadPart := process.used, false
		answer, err = process.read(ctx, document, limit, func(data A) error {
			hadPart = true
			return part(data)
		})
		p.release(process, err == nil)
		isSpoilt := errors.Is(err, ErrCrashed) || errors.Is(err, ErrMemory)
		if err == nil || ctx.Err() != nil || !isSpoilt || !wasUsed || hadPart {
			return answer, err
		}
	}
}

// acquire returns an idle process or a new one, or waits for one of those that run: also if another cannot be started,
// as where no descriptor is left.
func (p *Pool[Q, A]) acquire(ctx context.Context) (*process[Q, A], error) {
	stop := context.AfterFunc(ctx, guard.Func(func() {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.changed.Broadcast()
	}, nil))
	defer stop()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for isRefused := false; ctx.Err() == nil; {
		switch n := len(p.idle); {
		case n > 0:
			last := p.idle[n-1]
			p.idle = p.idle[:n-1]
			last.expiry.Stop()
			return last, nil
		case p.running == p.size || isRefused:
			p.changed.Wait()
			isRefused = false
		default:
			p.running++
			needed := forFirst
			if p.running > 1 {
				needed = forFurther
			}
			p.mutex.Unlock()
			started, err := p.start(ctx, needed)
			p.mutex.Lock()
			if err == nil {
				p.refused = 0
				return started, nil
			}
			p.running--
			p.changed.Broadcast()
			if isRefused = p.running > 0; isRefused {
				continue
			}
			isPassing := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
				errors.Is(err, syscall.EAGAIN)
			if p.refused++; p.refused > mostRefused || !isPassing {
				return nil, err
			}
			p.mutex.Unlock()
			_ = guard.Sleep(ctx, refusedPause) // the loop looks at ctx
			p.mutex.Lock()
		}
	}
	return nil, ctx.Err()
}

// release makes a process idle, or ends one that failed.
func (p *Pool[Q, A]) release(used *process[Q, A], isSound bool) {
	if !isSound {
		used.stop()
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	defer p.changed.Broadcast()
	used.used = true
	switch {
	case !isSound:
		p.running--
	case p.over:
		p.running--
		used.stop()
	default:
		p.idle = append(p.idle, used)
		used.expiry = time.AfterFunc(idle, guard.Func(func() { p.expire(used) }, nil))
	}
}

// expire ends a process if it is still idle.
func (p *Pool[Q, A]) expire(old *process[Q, A]) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if at := slices.Index(p.idle, old); at >= 0 {
		p.end(at)
	}
}

// end ends an idle process.
func (p *Pool[Q, A]) end(at int) {
	p.idle[at].expiry.Stop()
	p.idle[at].stop()
	p.idle, p.running = slices.Delete(p.idle, at, at+1), p.running-1
}

// process is a running process.
type process[Q, A any] struct {
	command *exec.Cmd
	in      io.WriteCloser
	pipe    *os.File          // of out
	unread  *io.LimitedReader // of pipe
	out     *bufio.Reader     // of unread
	kill    context.CancelFunc
	release func()
	used    bool        // it has read a document
	expiry  *time.Timer // of an idle one
}

func (p *Pool[Q, A]) start(ctx context.Context, descriptors int) (*process[Q, A], error) {
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	command := exec.CommandContext(running, p.program.Path, p.program.Arguments...)
	s := &process[Q, A]{command: command, kill: kill, release: func() {}}
	command.Env = []string{} // it needs nothing of this process's environment, which has secrets
	if err := p.fork(s, descriptors); err != nil {
		kill()
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	s.release = confine(s.command.Process)
	if kind, _, err := s.next(ctx, time.Now().Add(starting), starting); err != nil || kind != kindReady {
		s.stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	return s, nil
}

// fork starts a process with one connection for what it answers and what the Go runtime says at its end: there may be
// few descriptors.
func (p *Pool[Q, A]) fork(s *process[Q, A], descriptors int) error {
	p.forking.Lock()
	defer p.forking.Unlock()
	if err := findFree(descriptors); err != nil {
		return err
	}
	in, out, stdin, stdout, err := connect()
	if err != nil {
		return err
	}
	defer stdin.Close()
	defer stdout.Close()
	s.in, s.pipe, s.unread = in, out, &io.LimitedReader{R: out, N: MaxAnswer}
	s.out = bufio.NewReaderSize(s.unread, 64<<10)
	s.command.Stdin, s.command.Stdout, s.command.Stderr = stdin, stdout, stdout
	if err = s.command.Start(); err != nil {
		in.Close()
		out.Close()
	}
	return err
}

// findFree returns an error if fewer descriptors can be opened.
func findFree(descriptors int) error {
	for range descriptors {
		opened, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		defer opened.Close()
	}
	return nil
}

// stop ends the process and waits for its end.
func (s *process[Q, A]) stop() {
	_ = s.in.Close()
	s.kill()
	_ = s.command.Wait() // it was killed
	_ = s.pipe.Close()
	s.release()
}

func (s *process[Q, A]) read(ctx context.Context, document Q, limit time.Duration, part func(A) error) (
	last A, err error) {
	out := bufio.NewWriterSize(s.in, 64<<10)
	guard.Go(func() { // ends with the process; the answer shows whether it arrived
		_ = send(out, kindLast, request[Q]{document, limit})
	}, func(error) { s.kill() })
	until := time.Now().Add(waiting * limit)
	for {
		kind, answer, err := s.next(ctx, until, limit)
		switch {
		case err != nil:
			return last, err
		case kind == kindLast:
			return answer, nil
		case kind == kindBusy:
			until = time.Now().Add(starting)
		case kind == kindReady: // the engine runs
			until = time.Now().Add(waiting * limit)
		default:
			if err := part(answer); err != nil {
				return last, err
			}
		}
	}
}

// next reads what the process sends. It kills the process at the time until, or when ctx ends.
func (s *process[Q, A]) next(ctx context.Context, until time.Time, limit time.Duration) (
	kind byte, answer A, err error) {
	stop := context.AfterFunc(ctx, guard.Func(s.kill, nil))
	defer stop()
	timer := time.AfterFunc(time.Until(until), guard.Func(s.kill, nil))
	s.unread.N = MaxAnswer
	kind, answer, err = receive[A](s.out)
	inTime := timer.Stop() && time.Now().Before(until) // else it may have been killed already when this began
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && !inTime:
		err = &SlowError{limit}
	case err != nil:
		err = s.cause(limit)
	}
	return kind, answer, err
}

// cause returns why the process ended.
func (s *process[Q, A]) cause(limit time.Duration) error {
	s.kill()
	_ = s.command.Wait()
	code := s.command.ProcessState.ExitCode()
	if code == exitTime {
		return &SlowError{limit}
	}
	const most = 4 << 10 // bytes, of which the reason is among the first
	said, _ := io.ReadAll(io.LimitReader(s.out, most))
	if code == exitMemory || bytes.Contains(said, []byte("out of memory")) ||
		bytes.Contains(said, []byte("cannot allocate memory")) {
		return ErrMemory
	}
	return ErrCrashed
}
