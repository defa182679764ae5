package config

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

const (
	commandLimit  = 10 * time.Second
	commandOutput = 64 << 10 // bytes
	// commandGrace is how long output is awaited that a process in the background still holds open.
	commandGrace = 500 * time.Millisecond
)

var errTooMuchOutput = errors.New("it printed more than 64 KB")

// runTokenCommand runs the command line of a profile by the system's shell, since people write pipes there. What it
// prints to stderr is dropped: nothing says that it holds no secret.
func (c *Config) runTokenCommand(ctx context.Context, p Profile) (string, error) {
	fail := func(problem string, cause error, fix string) error {
		return &Error{File: c.File, Key: "profiles." + p.Name + ".token_command", Problem: problem, Err: cause, Fix: fix}
	}
	if c.exposed {
		return "", fail("not run, because others can write this file or its folder", nil,
			"chmod 600 the file and chmod 700 its folder, after checking what the command says")
	}
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	output, err := shell(limited, p.TokenCommand)
	const byHand = "run the command by hand: its first line must be the token"
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", fail("did not finish within 10 s", nil, byHand)
	case err != nil:
		return "", fail("failed", err, byHand)
	}
	line, _, _ := strings.Cut(string(output), "\n")
	token := strings.TrimSpace(line)
	if token == "" {
		return "", fail("printed nothing", nil, byHand)
	}
	if err := checkSecret(NewSecret(token)); err != nil {
		return "", fail("printed what is not a token", err, byHand)
	}
	return token, nil
}

// shell runs a command line without input and returns what it printed.
func shell(ctx context.Context, line string) ([]byte, error) {
	command := shellCommand(ctx, line)
	output := &boundedBuffer{limit: commandOutput}
	command.Stdout = output
	command.WaitDelay = commandGrace
	err := command.Run()
	if output.overflowed {
		return nil, errTooMuchOutput
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command itself ended well; something that it left behind kept the pipe
	}
	return output.buffer.Bytes(), err
}

// boundedBuffer fails a write beyond its limit, which ends the command by a closed pipe. It hides the buffer's other
// methods: by ReadFrom a copy would pass the limit by.
type boundedBuffer struct {
	buffer     bytes.Buffer
	limit      int
	overflowed bool
}

func (b *boundedBuffer) Write(data []byte) (int, error) {
	if b.buffer.Len()+len(data) > b.limit {
		b.overflowed = true
		return 0, errTooMuchOutput
	}
	return b.buffer.Write(data)
}
