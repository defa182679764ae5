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
	// commandGrace limits the wait for output that a background process keeps open.
	commandGrace = 500 * time.Millisecond
)

var errTooMuchOutput = errors.New("it printed more than 64 KB")

// runTokenCommand runs the token_command of a profile in the system's shell, since it may be a pipe. Its stderr is
// dropped: it may contain a secret.
func (c *Config) runTokenCommand(ctx context.Context, p Profile) (string, error) {
	fail := func(problem string, cause error, fix string) error {
		return &Error{File: c.File, Key: "profiles." + p.Name + ".token_command", Problem: problem, Err: cause, Fix: fix}
	}
	if c.exposed {
		return "", fail("not run: others can write this file or its folder", nil,
			"check the command, then run chmod 600 on the file and chmod 700 on its folder")
	}
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	output, err := shell(limited, p.TokenCommand)
	const byHand = "run the command yourself: its first line of output must be the token"
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
		return "", fail("printed text that is not a token", err, byHand)
	}
	return token, nil
}

// shell runs a command line without input and returns its output.
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
		err = nil // the command succeeded; a background process keeps the pipe open
	}
	return output.buffer.Bytes(), err
}

// boundedBuffer fails writes beyond its limit, which ends the command with a closed pipe. It hides the buffer's other
// methods: ReadFrom would bypass the limit.
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
