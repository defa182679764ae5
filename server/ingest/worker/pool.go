package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"

	"quarry/internal/guard"
)

// Program is the program whose process runs Serve. The zero Program cannot be started.
type Program struct {
	Path      string
	Arguments []string
}

// Pool is the processes that read documents: at most size at once. It is safe for concurrent use.
type Pool struct {
	program Program
	places  chan struct{} // one for each process that may read now

	mutex sync.Mutex
	idle  []*process // the last one was used last
	over  bool
}

// NewPool returns a pool without processes. Close ends those that it starts.
func NewPool(program Program, size int) *Pool {
	return &Pool{program: program, places: make(chan struct{}, size)}
}

// Close ends the idle processes; the others end with their document.
func (p *Pool) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.over = true
	for _, process := range p.idle {
		process.stop()
	}
	p.idle = nil
}

// Read sends a document to a process and returns the end of the answer; part receives what comes before it, and an
// error of it gives the document up. The document may take limit of processor time, without the start of a process.
//
// A process that ends while it reads a document which is not its first may have been spoilt by another: the document
// gets a second try, in a new process, unless it had a part of its answer.
func (p *Pool) Read(ctx context.Context, document []byte, limit time.Duration, part func([]byte) error) ([]byte, error) {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		process, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		wasUsed, hadPart := process.used, false
		answer, err := process.read(ctx, document, limit, func(data []byte) error {
			hadPart = true
			return part(data)
		})
		if err == nil {
			p.release(process)
			return answer, nil
		}
		process.stop()
		isSpoilt := errors.Is(err, ErrCrashed) || errors.Is(err, ErrMemory)
		if ctx.Err() != nil || !isSpoilt || !wasUsed || hadPart {
			return nil, err
		}
	}
}

// acquire returns an idle process, or a new one.
func (p *Pool) acquire(ctx context.Context) (*process, error) {
	p.mutex.Lock()
	if n := len(p.idle); n > 0 {
		last := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mutex.Unlock()
		last.expiry.Stop()
		return last, nil
	}
	p.mutex.Unlock()
	return p.program.start(ctx)
}

func (p *Pool) release(used *process) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	used.used = true
	if p.over {
		used.stop()
		return
	}
	p.idle = append(p.idle, used)
	used.expiry = time.AfterFunc(idle, guard.Func(func() { p.expire(used) }, func(error) {}))
}

// expire ends a process if it is still idle.
func (p *Pool) expire(old *process) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if at := slices.Index(p.idle, old); at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
		old.stop()
	}
}

// process is a running process.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  *tail
	kill    context.CancelFunc
	release func()
	used    bool        // it has read a document
	expiry  *time.Timer // of an idle one
}

func (p Program) start(ctx context.Context) (*process, error) {
	if p.Path == "" {
		return nil, ErrNoWorker
	}
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	s := &process{command: exec.CommandContext(running, p.Path, p.Arguments...), kill: kill, errors: &tail{}, release: func() {}}
	s.command.Env = []string{} // it needs nothing of this process's environment, which has secrets
	s.command.Stderr = s.errors
	in, err := s.command.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		if out, err = s.command.StdoutPipe(); err == nil {
			s.in, s.out = in, bufio.NewReaderSize(out, 64<<10)
			err = s.command.Start()
		}
	}
	if err != nil {
		kill()
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	s.release = confine(s.command.Process)
	if kind, _, err := s.next(ctx, time.Now().Add(starting), starting); err != nil || kind != frameReady {
		s.stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	return s, nil
}

// stop ends the process and waits for its end.
func (s *process) stop() {
	_ = s.in.Close()
	s.kill()
	_ = s.command.Wait() // it was killed
	s.release()
}

func (s *process) read(ctx context.Context, document []byte, limit time.Duration, part func([]byte) error) ([]byte, error) {
	out := bufio.NewWriterSize(s.in, 64<<10)
	write := func() { _ = writeFrame(out, framePart, binary.BigEndian.AppendUint64(nil, uint64(limit)), document) } // the answer shows whether it arrived
	guard.Go(write, func(error) { s.kill() })                                                                       // ends with the process
	until := time.Now().Add(waiting * limit)
	for {
		kind, data, err := s.next(ctx, until, limit)
		if err != nil {
			return nil, err
		}
		switch kind {
		case frameBusy:
			until = time.Now().Add(starting)
		case frameReady: // the engine runs
			until = time.Now().Add(waiting * limit)
		case framePart:
			if err := part(data); err != nil {
				return nil, err
			}
		case frameLast:
			return data, nil
		default:
			return nil, ErrCrashed
		}
	}
}

// next reads a frame. It kills the process at the time until, or when ctx ends.
func (s *process) next(ctx context.Context, until time.Time, limit time.Duration) (kind byte, data []byte, err error) {
	stop := context.AfterFunc(ctx, guard.Func(s.kill, func(error) {}))
	defer stop()
	timer := time.AfterFunc(time.Until(until), guard.Func(s.kill, func(error) {}))
	kind, data, err = readFrame(s.out, MaxAnswer)
	inTime := timer.Stop()
	switch {
	case ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case err != nil && !inTime:
		return 0, nil, &SlowError{limit}
	case err != nil:
		return 0, nil, s.cause(limit)
	}
	return kind, data, nil
}

// cause returns why the process ended.
func (s *process) cause(limit time.Duration) error {
	s.kill()
	_ = s.command.Wait()
	code := s.command.ProcessState.ExitCode()
	if code == exitTime {
		return &SlowError{limit}
	}
	isRefused := bytes.Contains(*s.errors, []byte("out of memory")) || bytes.Contains(*s.errors, []byte("cannot allocate memory"))
	if code == exitMemory || isRefused {
		return ErrMemory
	}
	return ErrCrashed
}

// tail is the start of what a process writes to its standard error. It may be read when Wait has returned.
type tail []byte

func (t *tail) Write(data []byte) (int, error) {
	const most = 4 << 10
	*t = append(*t, data[:min(len(data), most-len(*t))]...)
	return len(data), nil
}
