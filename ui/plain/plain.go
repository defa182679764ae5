// Package plain is the explorer for screen readers: one line after the other, one question at a time, and
// nothing that moves, blinks or frames. It works on any terminal that prints lines, and reads aloud as it is written.
package plain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
)

// Options say where a conversation takes place and what it is about.
type Options struct {
	In       io.Reader
	Out, Err io.Writer
	// Open connects. It is called once, before the first search.
	Open func(ctx context.Context) (*client.Session, error)
	// Label names what is searched, such as "acme, onyx.acme.com".
	Label string
	// Beside names the other profiles that are searched, by the origin of their results.
	Beside []string
	// Sample reports whether it is the bundled sample library.
	Sample bool
	// Query is searched for first; empty: none.
	Query string
	// Agent is the agent of searches whose query names none. The number 0 means none, too.
	Agent wire.Agent
	// Limit is how many results to ask for; 0: as many as the explorer does.
	Limit int
	// Width is that of the terminal in columns; 0: lines are as long as their text.
	Width int
	// Interrupts deliver each Ctrl-C; nil: none come.
	Interrupts <-chan os.Signal
	// Now returns the time; nil means the system's clock.
	Now func() time.Time
}

const (
	usualLimit = 50  // results that are asked for
	pageSize   = 5   // results listed at once
	longest    = 4   // bytes of a typed line, as a multiple of the characters that a query may have
	narrowest  = 20  // columns below which lines are not broken by us
	widest     = 100 // columns; longer lines are hard to follow with a finger or a magnifier

	// patience is how long a search may be silent before a line says that it is still running.
	patience = 200 * time.Millisecond
)

const prompt = "search: "

// errLeft ends the conversation because the person wants to.
var errLeft = errors.New("left")

// session is one conversation.
type session struct {
	Options
	patience time.Duration
	lines    <-chan typed
	opening  sync.Mutex
	opened   *client.Session // nil: no search has opened the target yet

	query       client.Query
	results     []wire.SearchResult
	answer      *wire.SearchResponse
	without     []int       // documents that match without each filter of a query that found nothing; nil: not counted
	listed      int         // results listed so far
	around      map[int]int // result → passages read on each side of it
	interrupted bool        // the last thing that happened was a Ctrl-C
}

// typed is a line, or what ended the input.
type typed struct {
	text string
	err  error
}

// Run talks until the input ends, the person leaves or ctx ends; only the latter and a terminal that cannot be written
// to are errors.
func Run(ctx context.Context, options Options) error {
	s := &session{Options: options, patience: patience}
	return s.run(ctx)
}

func (s *session) run(ctx context.Context) error {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Agent.ID != nil && *s.Agent.ID == 0 {
		s.Agent.ID = nil
	}
	if s.Limit <= 0 {
		s.Limit = usualLimit
	}
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		s.leave()
	}()
	done := make(chan struct{})
	defer close(done)
	s.lines = readLines(s.In, done)
	s.greet()
	err := guard.Ended(func() { s.loop(ctx) })
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

func (s *session) greet() {
	s.say("quarry searches " + s.Label + ".")
	if s.Sample {
		s.say("This is the bundled sample library. To search your own files, quit and run: quarry add, with a folder.")
		s.say("To search a server, quit and run: quarry configure")
	}
	s.say("Type a query and press Enter. Type help for the commands.")
}

// loop answers one line after the other. Only what ends the conversation aborts it, see guard.Abort; other errors are
// printed.
func (s *session) loop(ctx context.Context) {
	if strings.TrimSpace(s.Query) != "" {
		s.say(prompt + s.Query)
		s.search(ctx, s.Query)
	}
	for {
		guard.Check(s.write(s.Out, prompt))
		s.runCommand(ctx, strings.TrimSpace(s.nextLine(ctx)))
	}
}

// nextLine waits for a line. The first Ctrl-C explains itself, a second one right after it leaves.
func (s *session) nextLine(ctx context.Context) string {
	for {
		select {
		case <-ctx.Done():
			s.say("")
			guard.Abort(ctx.Err())
		case line := <-s.lines:
			s.interrupted = false
			if errors.Is(line.err, errTooLong) {
				s.fail(fmt.Sprintf("the line is longer than %d characters", wire.MaxQueryRunes), "Use a shorter query")
				return ""
			}
			if line.err != nil {
				s.say("")
				guard.Abort(errLeft)
			}
			return line.text
		case <-s.Interrupts:
			s.say("")
			if s.interrupted {
				guard.Abort(errLeft)
			}
			s.interrupted = true
			s.say("Press Ctrl-C again to quit, or continue typing.")
			guard.Check(s.write(s.Out, prompt))
		}
	}
}

// waitFor opens the target, runs work and then done. It says so after a moment, and Ctrl-C cancels it.
func waitFor[T any](ctx context.Context, s *session, doing string,
	work func(context.Context, *client.Client) (T, error), done func(T)) {
	var value T
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	finished := make(chan error, 1)
	guard.Go(func() {
		c, err := s.connect(ctx)
		if err == nil {
			value, err = work(working, c)
		}
		finished <- err
	}, func(err error) { finished <- err })
	slow := time.NewTimer(s.patience)
	defer slow.Stop()
	for {
		select {
		case err := <-finished:
			guard.Check(ctx.Err())
			if err != nil {
				s.failed(err)
			} else {
				done(value)
			}
			return
		case <-slow.C:
			s.say(doing + ".")
		case <-s.Interrupts:
			s.say("")
			s.say("Cancelled. Press Ctrl-C again to quit.")
			s.interrupted = true
			return
		case <-ctx.Done():
			guard.Abort(ctx.Err())
		}
	}
}

// say prints a text with its lines wrapped at spaces.
func (s *session) say(text string) { _ = s.write(s.Out, s.broken(text)+"\n") }

// fail prints an error and its hint.
func (s *session) fail(what, remedy string) {
	message := "Error: " + text.Sentence(what)
	if remedy != "" {
		message += "\nHint: " + text.Sentence(remedy)
	}
	_ = s.write(s.Err, s.broken(message)+"\n")
}

// failed prints an error.
func (s *session) failed(err error) { s.fail(err.Error(), client.RemedyOf(err)) }

func (s *session) write(to io.Writer, text string) error {
	_, err := io.WriteString(to, text)
	return err
}

func (s *session) broken(text string) string {
	text = paint.Text(text)
	if s.Width < narrowest {
		return text
	}
	return strings.Join(paint.Wrap(text, min(s.Width, widest)), "\n")
}

// errTooLong reports a line that is longer than any query.
var errTooLong = errors.New("the line is too long")

// readLines reads line by line until the input ends or nobody listens any more. What is beyond the bound of a line is
// thrown away.
func readLines(from io.Reader, done <-chan struct{}) <-chan typed {
	lines := make(chan typed)
	reader := bufio.NewReaderSize(from, longest*wire.MaxQueryRunes)
	guard.Go(func() {
		for {
			line := readLine(reader)
			select {
			case lines <- line:
			case <-done:
				return
			}
			if line.err != nil && !errors.Is(line.err, errTooLong) {
				return
			}
		}
	}, func(err error) {
		select {
		case lines <- typed{err: err}:
		case <-done:
		}
	})
	return lines
}

func readLine(reader *bufio.Reader) typed {
	line, more, err := reader.ReadLine()
	if err != nil {
		return typed{err: err}
	}
	text := string(line) // before the next read overwrites it
	if !more {
		return typed{text: client.Sanitize(text)}
	}
	for more && err == nil {
		_, more, err = reader.ReadLine()
	}
	return typed{err: errTooLong}
}

// connect opens the target, unless that is done. A search that is cancelled while it waits leaves the target to the
// next one, so that nothing is opened twice. Another attempt follows one that failed.
func (s *session) connect(ctx context.Context) (*client.Client, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if err := ctx.Err(); err != nil { // nobody closes what is opened from now on
		return nil, err
	}
	if s.opened == nil {
		opened, err := s.Open(ctx)
		if err != nil {
			return nil, err
		}
		s.opened = opened
	}
	return s.opened.Client, nil
}

// leave closes what was opened, now or as soon as it is.
func (s *session) leave() {
	closeOpened := func() {
		defer s.opening.Unlock()
		if s.opened != nil {
			_ = s.opened.Close() // nothing was written, so nothing is lost
		}
	}
	if s.opening.TryLock() {
		closeOpened()
		return
	}
	guard.Go(func() {
		s.opening.Lock()
		closeOpened()
	}, nil)
}
