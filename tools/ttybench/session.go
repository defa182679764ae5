//go:build unix

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

const (
	paintLimit = time.Minute // for a first frame, and for a program to end
	keyLimit   = time.Minute // for the first byte after a key that changes something
	quiet      = 150 * time.Millisecond
)

// chunk is one piece of output, as it came.
type chunk struct {
	at    time.Time
	bytes int
}

// session is one run of a program.
type session struct {
	*terminal.Command
	started time.Time

	mu     sync.Mutex
	chunks []chunk
}

// open starts a program behind a terminal.
func (b *bench) open(program string, args ...string) (*session, error) {
	s := &session{}
	cmd := exec.Command(program, args...)
	cmd.Env = append(b.environ(), b.extra...)
	s.started = time.Now()
	command, err := terminal.Run(cmd, terminal.Options{Width: b.cols, Height: b.rows, Tap: s.note})
	if err != nil {
		return nil, err
	}
	s.Command = command
	return s, nil
}

func (s *session) note(output []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks = append(s.chunks, chunk{time.Now(), len(output)})
}

// since gives the output from a chunk on.
func (s *session) since(first int) []chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chunks[first:]
}

func (s *session) count() int { return len(s.since(0)) }

// firstPaint waits for the first frame with anything on it, and gives the time from the start to it.
func (s *session) firstPaint() (time.Duration, error) {
	painted := func(screen string) bool { return strings.TrimSpace(screen) != "" }
	if !s.Wait(paintLimit, painted) {
		return 0, errors.New("the program painted nothing")
	}
	chunks := s.since(0)
	return chunks[len(chunks)-1].at.Sub(s.started), nil
}

// results waits for the first results to be on the screen.
func (s *session) results() error {
	if !s.Wait(paintLimit, func(screen string) bool { return strings.Contains(screen, "[1]") }) {
		return fmt.Errorf("no results came; the screen is\n%s", s.Text())
	}
	return nil
}

// settle waits until nothing was written for a while. This is a measurement, not a test: it has to watch the clock.
func (s *session) settle(pause time.Duration) {
	for seen := -1; ; {
		now := s.count()
		if now == seen {
			return
		}
		seen = now
		time.Sleep(pause)
	}
}

// stroke is what one key caused.
type stroke struct {
	first, last time.Duration // from the key to the first and the last byte of the answer
	bytes       int
}

// press types a key and measures the answer, up to the pause after it. No answer is an error: keys are chosen so that
// each changes the screen.
func (s *session) press(key string, pause time.Duration) (stroke, error) {
	// Keys must not fall in step with the frames of the program.
	time.Sleep(time.Duration(rand.IntN(17_000)) * time.Microsecond)
	before, at := s.count(), time.Now()
	if err := s.Press(key); err != nil {
		return stroke{}, err
	}
	if !s.Wait(keyLimit, func(string) bool { return s.count() > before }) {
		return stroke{}, fmt.Errorf("nothing happened on the key %s; the screen is\n%s", key, s.Text())
	}
	s.settle(pause)
	answer := s.since(before)
	result := stroke{first: answer[0].at.Sub(at), last: answer[len(answer)-1].at.Sub(at)}
	for _, c := range answer {
		result.bytes += c.bytes
	}
	return result, nil
}

// nudge types a key and gives its answer time to come, whatever it is.
func (s *session) nudge(key string, pause time.Duration) error {
	before := s.count()
	if err := s.Press(key); err != nil {
		return err
	}
	s.Wait(10*pause, func(string) bool { return s.count() > before })
	s.settle(pause)
	return nil
}

// pressAll types keys one after the other, each after the answer to the one before it.
func (s *session) pressAll(keys []string, pause time.Duration) ([]stroke, error) {
	var strokes []stroke
	for _, key := range keys {
		stroke, err := s.press(key, pause)
		if err != nil {
			return nil, err
		}
		strokes = append(strokes, stroke)
	}
	return strokes, nil
}

// quit ends the program and gives the time that it took, and whether it left the terminal as it found it.
func (s *session) quit(ask func() error) (took time.Duration, restored bool, err error) {
	at := time.Now()
	if err := ask(); err != nil {
		return 0, false, err
	}
	select {
	case <-s.Done():
	case <-time.After(paintLimit):
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
