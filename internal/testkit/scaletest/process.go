// Package scaletest starts the servers that a distributed library needs, for tests: PostgreSQL, and Weaviate on one or
// several nodes that can be killed and started again. Weaviate listens on all addresses, whatever it is configured to, so
// that it is started only in a network of its own: see Isolate.
package scaletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// readyWithin bounds how long a server may take until it answers; on a loaded machine that is long.
	readyWithin = 3 * time.Minute
	// stopWithin is how long a server that was asked to stop may take before it is killed.
	stopWithin = 10 * time.Second
	askEvery   = 50 * time.Millisecond
)

// process is a server that runs in the background and writes its output to a file.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// start starts a server, which does not outlive this process.
func start(command *exec.Cmd, log string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	command.Stdout, command.Stderr = file, file
	dieWithParent(command)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(command.Path), err)
	}
	p := &process{command: command, log: log, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = command.Wait()
	}()
	return p, nil
}

// stop sends a signal, and kills the process if it has not ended some time later.
func (p *process) stop(signal os.Signal) {
	_ = p.command.Process.Signal(signal)
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		p.kill()
	}
}

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// await asks until there is an answer, the process ends, or the time is over.
func (p *process) await(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-p.ended:
			return p.failure(errors.New("it ended"))
		case <-ctx.Done():
			return p.failure(err)
		}
	}
}

// failure is an error with the end of what the process wrote.
func (p *process) failure(err error) error {
	written, _ := os.ReadFile(p.log)
	const most = 3000
	return fmt.Errorf("%s: %w\n%s", filepath.Base(p.command.Path), err, bytes.TrimSpace(written[max(0, len(written)-most):]))
}
