package screentest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"quarry/internal/testkit/screentest"
	"quarry/internal/testkit/screentest/terminal"
)

// echo shows what it was told: a program just large enough to try every side of a terminal.
type echo struct {
	width, height int
	dark          string
	keys          []string
	pasted        string
	enhanced      string
}

func (e echo) Init() tea.Cmd { return tea.RequestBackgroundColor }

func (e echo) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		e.width, e.height = message.Width, message.Height
	case tea.BackgroundColorMsg:
		e.dark = fmt.Sprint("dark=", message.IsDark())
	case tea.KeyboardEnhancementsMsg:
		e.enhanced = fmt.Sprint("told=", message.SupportsKeyDisambiguation())
	case tea.PasteMsg:
		e.pasted = message.Content
	case error:
		panic(message)
	case tea.KeyPressMsg:
		switch message.String() {
		case "ctrl+c":
			return e, tea.Quit
		case "ctrl+y":
			return e, tea.SetClipboard("copied text")
		}
		e.keys = append(e.keys, message.String())
	}
	return e, nil
}

func (e echo) View() tea.View {
	link := lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("#ff0000")).Hyperlink("https://example.com/?a=1").Render("本link")
	view := tea.NewView(fmt.Sprintf("size %dx%d %s %s\nkeys %s\npasted %q\n%s", e.width, e.height, e.dark, e.enhanced,
		strings.Join(e.keys, " "), e.pasted, link))
	view.AltScreen, view.ReportFocus, view.MouseMode, view.WindowTitle = true, true, tea.MouseModeCellMotion, "echo"
	view.Cursor = tea.NewCursor(5+len(strings.Join(e.keys, " ")), 1)
	return view
}

func TestScreenShowsWhatTheProgramDoes(t *testing.T) {
	t.Parallel()
	for _, dark := range []bool{true, false} {
		screen := screentest.Start(t, echo{}, screentest.Options{Width: 60, Height: 6, Dark: dark})
		screen.WaitText("size 60x6 dark=" + fmt.Sprint(dark))
		screen.Press("a", "esc", "enter")
		screen.WaitText("keys a esc enter\n")
		screen.Paste("two\nlines")
		screen.WaitText(`pasted "two\nlines"`)
		screen.Resize(50, 5)
		screen.WaitText("size 50x5")
		screen.WaitGone("60x6")
		if got := screen.Line(1); got != "keys a esc enter" {
			t.Errorf("line 1 is %q", got)
		}
		if x, y, visible := screen.Cursor(); x != 16 || y != 1 || !visible {
			t.Errorf("the cursor is at %d,%d, visible %t", x, y, visible)
		}
		screen.Press("ctrl+y")
		screen.Wait("the clipboard", func(string) bool { return len(screen.Clipboard()) == 1 })
		if got := screen.Clipboard()[0]; got != "copied text" {
			t.Errorf("copied %q", got)
		}
	}
}

func TestCellsHaveStyles(t *testing.T) {
	t.Parallel()
	screen := screentest.Start(t, echo{}, screentest.Options{Width: 60, Height: 6})
	screen.WaitText("本link")
	wide, after, letter := screen.Cell(0, 3), screen.Cell(1, 3), screen.Cell(2, 3)
	if wide.Text != "本" || wide.Width != 2 || after.Width != 0 || letter.Text != "l" {
		t.Errorf("cells %+v %+v %+v", wide, after, letter)
	}
	r, g, b, _ := letter.Style.Foreground.RGBA()
	if !letter.Style.Bold || letter.Style.Faint || r != 0xffff || g != 0 || b != 0 {
		t.Errorf("style %+v", letter.Style)
	}
	if letter.Link != "https://example.com/?a=1" {
		t.Errorf("link %q", letter.Link)
	}
	if outside := screen.Cell(60, 6); outside.Text != "" {
		t.Errorf("beyond the screen there is %+v", outside)
	}
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	screen := screentest.Start(t, echo{}, screentest.Options{Width: 60, Height: 6, Dark: true})
	screen.WaitText("dark=true told=true")
	screen.Golden("styled")
	screen.GoldenText("text")
}

func TestQuittingRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	screen := screentest.Start(t, echo{}, screentest.Options{Width: 60, Height: 6})
	screen.WaitText("told=true")
	m := screen.Modes()
	if !m.AltScreen || !m.BracketedPaste || !m.Mouse || !m.Focus || m.KittyKeyboard == 0 || screen.Title() != "echo" {
		t.Errorf("while it runs: %+v, title %q", m, screen.Title())
	}
	screen.Press("x", "ctrl+c")
	if err := screen.WaitEnd(); err != nil {
		t.Fatal(err)
	}
	if keys := screen.Model().(echo).keys; len(keys) != 1 || keys[0] != "x" {
		t.Errorf("keys %q", keys)
	}
	screen.RequireRestored()
}

func TestPanicRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	screen := screentest.Start(t, echo{}, screentest.Options{Width: 60, Height: 6})
	screen.WaitText("told=true")
	screen.Message(errors.New("on purpose"))
	if err := screen.WaitEnd(); !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("ended with %v", err)
	}
	screen.RequireRestored()
}

func TestTinyTerminals(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 0}, {1, 1}, {0, 5}, {5, 0}} {
		screen := screentest.Start(t, echo{}, screentest.Options{Width: size[0], Height: size[1]})
		screen.Press("a")
		screen.Resize(60, 6)
		screen.WaitText("keys a")
		screen.Resize(size[0], size[1])
		screen.Press("ctrl+c")
		if err := screen.WaitEnd(); err != nil {
			t.Error(size, err)
		}
		screen.RequireRestored()
	}
}

// keyNames are names that a program prints for keys, as far as terminals tell them apart.
func keyNames(kitty bool) []string {
	names := strings.Fields("a Z ä 本 ? + / enter tab backspace space up down left right home end insert delete pgup pgdown " +
		"f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 shift+tab ctrl+a ctrl+f ctrl+z alt+b alt+enter alt+backspace " +
		"alt+left alt+right ctrl+left ctrl+right shift+up ctrl+home shift+f5 ctrl+pgdown ctrl+space alt+1 ctrl+\\ ctrl+_")
	if kitty {
		names = append(names, strings.Fields("esc shift+enter ctrl+enter ctrl+i ctrl+j ctrl+m ctrl+alt+a ctrl+shift+a "+
			"alt+space ctrl+/ shift+backspace ctrl+backspace alt+esc")...)
	}
	return names
}

func TestKeysArriveUnderTheirNames(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{true, false} {
		screen := screentest.Start(t, echo{}, screentest.Options{Width: 800, Height: 6, Bare: bare})
		screen.WaitText("dark=")
		for _, name := range keyNames(!bare) {
			screen.Press(name)
			screen.Wait(name, func(text string) bool { return strings.HasSuffix(screen.Line(1), " "+name) })
		}
	}
}

func TestKeysThatATerminalCannotTell(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"shift+enter", "ctrl+enter", "ctrl+shift+a", "ctrl+1", "entr", "", "ctrl+", "ctrl+entr"} {
		if sequence, err := terminal.Encode(key, false); err == nil {
			t.Errorf("%q became %q", key, sequence)
		}
	}
}

func TestBareTerminalsSayNothingOfKitty(t *testing.T) {
	t.Parallel()
	screen := screentest.Start(t, echo{}, screentest.Options{Width: 60, Height: 6, Bare: true})
	screen.WaitText("dark=false")
	if m := screen.Modes(); m.KittyPushed != 0 || !m.AltScreen {
		t.Errorf("modes %+v", m)
	}
	screen.Press("ctrl+c")
	screen.RequireRestored()
}
