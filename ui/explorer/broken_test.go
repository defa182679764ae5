package explorer

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/internal/guard"
	"quarry/internal/testkit/screentest"
	"quarry/internal/testkit/screentest/terminal"
)

// fragile panics at the named place.
type fragile struct{ at string }

func (f fragile) Init() tea.Cmd {
	if f.at == "Init" {
		panic(f.at)
	}
	command := func() tea.Msg {
		if f.at == "a command" {
			panic(f.at)
		}
		return f.at
	}
	return tea.Batch(nil, func() tea.Msg { return tea.BatchMsg{command, nil} })
}

func (f fragile) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if f.at == "Update" && msg == f.at {
		panic(f.at)
	}
	return f, nil
}

func (f fragile) View() tea.View {
	if f.at == "View" {
		panic(f.at)
	}
	return tea.NewView(f.at)
}

// Bubble Tea sees none of the panics of a model, which it would print on the standard error of the whole process.
func TestPanicsOfAModelGoToWhoRunsIt(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"Init", "Update", "View", "a command"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			broken := make(chan error, 100)
			screen := terminal.New(terminal.Options{Width: 20, Height: 5})
			defer screen.Close()
			ctx, stop := context.WithCancel(t.Context())
			program := tea.NewProgram(guarded{fragile{at}, func(err error) {
				select {
				case broken <- err:
				default:
				}
				stop()
			}}, tea.WithContext(ctx), tea.WithInput(screen.Input()), tea.WithOutput(screen.Cooked()), tea.WithoutSignalHandler())
			if _, err := program.Run(); errors.Is(err, tea.ErrProgramPanic) {
				t.Error("Bubble Tea caught it")
			}
			var caught *guard.PanicError
			if err := <-broken; !errors.As(err, &caught) || caught.Value != at || !strings.Contains(caught.Stack, "broken_test.go") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Run returns the panic, with where it happened, and gives the terminal back.
func TestRunReturnsAPanic(t *testing.T) {
	t.Parallel()
	screen := terminal.New(terminal.Options{Width: 80, Height: 24})
	defer screen.Close()
	target := sampleTarget(t)
	target.Open = func(context.Context) (*client.Session, error) { panic("while opening") }
	err := Run(t.Context(), Options{Target: target, Theme: "dark", Width: 80, Height: 24},
		Terminal{In: screen.Input(), Out: screen.Cooked(), Env: []string{"TERM=xterm-256color"}, Sizes: make(chan Size)})
	var caught *guard.PanicError
	if !errors.Is(err, ErrBroke) || !errors.As(err, &caught) || caught.Value != "while opening" || !strings.Contains(caught.Stack, "broken_test.go") {
		t.Errorf("the explorer ended with %v", err)
	}
	if modes := screen.Modes(); modes != terminal.Untouched() {
		t.Errorf("the terminal is left as %+v", modes)
	}
}

// Whatever breaks, the terminal is given back as it was.
func TestAPanicRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	target := longLibrary().library(t)
	open := target.Open
	target.Open = func(ctx context.Context) (*client.Session, error) {
		session, err := open(ctx)
		session.Close = func() error { panic("while closing") }
		return session, err
	}
	model := New(t.Context(), Options{Target: target, Query: "rollback", Now: today, Theme: "auto"})
	screen := screentest.Start(t, model, screentest.Options{Width: 120, Height: 30})
	screen.WaitText("1 document ")
	broken := Target{Open: func(context.Context) (*client.Session, error) { panic("while opening") }}
	screen.Message(resultMsg{handle: func() tea.Cmd { return model.handleTarget(broken, nil) }})
	if err := screen.WaitEnd(); !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("the program ended with %v", err)
	}
	screen.RequireRestored()
}
