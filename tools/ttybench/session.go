//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"time"

	"quarry/internal/testkit/screentest/terminal"
	"quarry/tools/drive"
)

const frame = 17 * time.Millisecond // at 60 frames a second

// session is one run of a program.
type session struct {
	*terminal.Command
	*drive.Driver
	started time.Time
}

// open starts a program behind a terminal.
func (b *bench) open(program string, args ...string) (*session, error) {
	s := &session{Driver: drive.New(frame, nil)}
	cmd := exec.Command(program, args...)
	cmd.Env = append(b.environ(), b.extra...)
	s.started = time.Now()
	command, err := terminal.Run(cmd, terminal.Options{Width: b.cols, Height: b.rows, Tap: s.Record})
	if err != nil {
		return nil, err
	}
	s.Command = command
	s.Attach(command.Terminal)
	return s, nil
}

// firstPaint waits for the first frame with anything on it, and gives the time from the start to it.
func (s *session) firstPaint() (time.Duration, error) {
	painted, err := s.Painted()
	return painted.Sub(s.started), err
}

// nudge types a key and gives its answer time to come, whatever it is.
func (s *session) nudge(key string, pause time.Duration) error {
	before := s.Count()
	if err := s.Press(key); err != nil {
		return err
	}
	s.Wait(10*pause, func(string) bool { return s.Count() > before })
	s.Settle(pause)
	return nil
}

// quit ends the program and gives the time that it took, and whether it left the terminal as it found it.
func (s *session) quit(ask func() error) (took time.Duration, restored bool, err error) {
	at := time.Now()
	if err := ask(); err != nil {
		return 0, false, err
	}
	select {
	case <-s.Done():
	case <-time.After(drive.Limit):
		return 0, false, errors.New("the program did not end")
	}
	took = time.Since(at)
	return took, s.Restored() && s.Modes() == terminal.Untouched() && s.Title() == "", nil
}

func (s *session) quitByKey() (time.Duration, bool, error) {
	return s.quit(func() error { return s.Press("ctrl+c") })
}

func (s *session) quitBySignal(signal os.Signal) (time.Duration, bool, error) {
	return s.quit(func() error { return s.Signal(signal) })
}
