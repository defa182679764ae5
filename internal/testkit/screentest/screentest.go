package screentest

import (
	"context"
	"fmt"
	"image/color"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"quarry/internal/testkit/screentest/terminal"
)

// limit bounds every wait. It is long because it only passes when a test fails.
const limit = 5 * time.Minute

// Cell, Style and Modes are those of the terminal.
type (
	Cell  = terminal.Cell
	Style = terminal.Style
	Modes = terminal.Modes
)

// Options say which terminal the program finds.
type Options struct {
	Width, Height int                  // 0 by 0 is a terminal without a size
	Profile       colorprofile.Profile // true colour when not set
	Dark          bool                 // the background that the terminal reports
	Bare          bool                 // a terminal without newer protocols, which cannot tell shift+enter from enter
	Env           []string             // beside TERM and COLORTERM, which it may replace
	Tap           func(output []byte)  // sees all that the program writes, as it is written
}

func (o Options) terminal() terminal.Options {
	background := color.Color(color.White)
	if o.Dark {
		background = color.Black
	}
	return terminal.Options{Width: o.Width, Height: o.Height, Background: background, Bare: o.Bare,
		Tap: o.Tap}
}

// Screen is a terminal with a program in it, bound to a test.
type Screen struct {
	*terminal.Terminal
	t       testing.TB
	program *tea.Program              // of this process
	resize  func(width, height int)   // and notifies the program
	ended   <-chan struct{}           // closed when the program has ended
	result  func() (tea.Model, error) // after that
	command command                   // of another process
}

// command is a program of another process.
type command interface {
	Restored() bool
	Signal(signal os.Signal) error
}

// Start runs a model in this process until the test ends. It returns when the program knows its size.
func Start(t testing.TB, model tea.Model, options Options) *Screen {
	t.Helper()
	if options.Profile == colorprofile.Unknown {
		options.Profile = colorprofile.TrueColor
	}
	term := terminal.New(options.terminal())
	ctx, cancel := context.WithCancel(context.Background())
	// The first size is sent from a goroutine of its own: a resize before it would be undone by it.
	sized := make(chan struct{})
	var once sync.Once
	seeSize := func(_ tea.Model, message tea.Msg) tea.Msg {
		if _, ok := message.(tea.WindowSizeMsg); ok {
			once.Do(func() { close(sized) })
		}
		return message
	}
	program := tea.NewProgram(model,
		tea.WithContext(ctx), tea.WithInput(term.Input()), tea.WithOutput(term.Cooked()),
		tea.WithWindowSize(options.Width, options.Height), tea.WithColorProfile(options.Profile), tea.WithFPS(120),
		tea.WithEnvironment(append([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, options.Env...)),
		tea.WithFilter(seeSize), tea.WithoutSignalHandler())
	ended := make(chan struct{})
	var last tea.Model
	var err error
	go func() {
		defer close(ended)
		last, err = program.Run()
		term.End()
	}()
	screen := &Screen{Terminal: term, t: t, program: program, ended: ended}
	screen.resize = func(width, height int) {
		term.Resize(width, height)
		program.Send(tea.WindowSizeMsg{Width: width, Height: height})
	}
	screen.result = func() (tea.Model, error) { return last, err }
	t.Cleanup(func() {
		cancel()
		<-ended
		term.Close()
	})
	select {
	case <-sized:
	case <-ended:
	}
	return screen
}

// Press types keys by the names that Bubble Tea prints: "enter", "ctrl+f", "alt+left", "shift+tab", "a". On a bare
// terminal, wait for the effect of esc before the next key: what follows too soon belongs to one sequence with it.
func (s *Screen) Press(keys ...string) {
	s.t.Helper()
	if err := s.Terminal.Press(keys...); err != nil {
		s.t.Fatal(err)
	}
}

// Type types a text, character by character.
func (s *Screen) Type(text string) { s.Send(text) }

// Message hands a message to the model of this process, as a command of it would.
func (s *Screen) Message(message tea.Msg) { s.program.Send(message) }

// Signal sends a signal to a program of another process.
func (s *Screen) Signal(signal os.Signal) {
	s.t.Helper()
	if err := s.command.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// Resize changes the window's size and notifies the program.
func (s *Screen) Resize(width, height int) { s.resize(width, height) }

// Wait blocks until the screen holds for the condition, and fails the test with the screen if it never does. The
// condition may look at anything else of the screen too, such as its cursor.
func (s *Screen) Wait(what string, condition func(screen string) bool) {
	s.t.Helper()
	if !s.Terminal.Wait(limit, condition) {
		s.t.Fatalf("waited for %s; the screen is\n%s", what, s.Frame())
	}
}

// WaitText waits until a text is on the screen.
func (s *Screen) WaitText(text string) {
	s.t.Helper()
	s.Wait(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// WaitGone waits until a text is no longer on the screen.
func (s *Screen) WaitGone(text string) {
	s.t.Helper()
	s.Wait(fmt.Sprintf("%q to go", text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// WaitEnd waits until the program has ended by itself, and gives what it ended with.
func (s *Screen) WaitEnd() error {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(limit):
		s.t.Fatalf("waited for the end of the program; the screen is\n%s", s.Frame())
	}
	_, err := s.result()
	return err
}

// Model is the last state of a program of this process that has ended.
func (s *Screen) Model() tea.Model {
	s.t.Helper()
	if err := s.WaitEnd(); err != nil {
		s.t.Fatalf("the program ended: %v", err)
	}
	model, _ := s.result()
	return model
}

// RequireRestored fails the test unless the program has ended and left the terminal as it found it.
func (s *Screen) RequireRestored() {
	s.t.Helper()
	_ = s.WaitEnd()
	if modes := s.Modes(); modes != terminal.Untouched() {
		s.t.Errorf("the program left the terminal as %+v", modes)
	}
	if title := s.Title(); title != "" {
		s.t.Errorf("the program left the title %q", title)
	}
	if s.command != nil && !s.command.Restored() {
		s.t.Error("the program left the terminal in raw mode")
	}
}

// Frame is the screen in a frame, for messages.
func (s *Screen) Frame() string {
	width, _ := s.Size()
	edge := "+" + strings.Repeat("-", width) + "+\n"
	var b strings.Builder
	b.WriteString(edge)
	for line := range strings.Lines(s.Text()) {
		b.WriteString("|" + line)
	}
	x, y, visible := s.Cursor()
	fmt.Fprintf(&b, "%scursor %d,%d visible %t\n", edge, x, y, visible)
	return b.String()
}

// Golden compares the screen with its styles to testdata/<test>/<name>.golden; `go test -update` writes it.
func (s *Screen) Golden(name string) {
	s.t.Helper()
	golden.RequireEqual(named{s.t, s.t.Name() + "/" + name}, s.Styled()+"\n")
}

// GoldenText is Golden for the text alone.
func (s *Screen) GoldenText(name string) {
	s.t.Helper()
	golden.RequireEqual(named{s.t, s.t.Name() + "/" + name}, s.Text())
}

// named gives a golden file a name beside that of the test.
type named struct {
	testing.TB
	name string
}

func (n named) Name() string { return n.name }
