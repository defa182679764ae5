package explorer

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"quarry/internal/guard"
)

// elsewhere reports whether the terminal is not of this machine.
func (t Terminal) elsewhere() bool { return t.Sizes != nil }

// input is what Bubble Tea itself reads. Of a terminal elsewhere that is nothing: see readKeys.
func (t Terminal) input(ctx context.Context) io.Reader {
	if t.elsewhere() {
		return silence{ctx}
	}
	return t.In
}

// silence is a keyboard on which nobody types until ctx ends.
type silence struct{ ctx context.Context }

// Read is io.Reader's.
func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, io.EOF
}

// readKeys passes on the keys of a terminal elsewhere, until there are no more: then the explorer ends. Bubble Tea's own
// reader waits for ever to hand over a key that came too late for the program, which among many explorers in one process
// keeps each of those and its screen; nor does it catch a panic over hostile keys.
func readKeys(ctx context.Context, program *tea.Program, terminal Terminal, broke func(error)) {
	reader := uv.NewTerminalReader(terminal.In, uv.Environ(terminal.Env).Getenv("TERM"))
	events, ended := make(chan uv.Event), make(chan struct{})
	guard.Go(func() {
		defer close(ended)
		_ = reader.StreamEvents(ctx, events) // whose end says all that matters
	}, broke)
	for {
		select {
		case event := <-events:
			if terminal.Pace != nil && terminal.Pace(ctx) != nil {
				continue // the reader ends with ctx, too
			}
			program.Send(event)
		case <-ended:
			program.Quit()
			return
		}
	}
}
