package screentest_test

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

// write is a terminal with this on its screen.
func write(t *testing.T, options terminal.Options, output string) *terminal.Terminal {
	t.Helper()
	term := terminal.New(options)
	t.Cleanup(term.Close)
	if _, err := term.Write([]byte(output)); err != nil {
		t.Fatal(err)
	}
	return term
}

func always(string) bool { return true }
func never(string) bool  { return false }

func TestTextAndLines(t *testing.T) {
	t.Parallel()
	term := write(t, terminal.Options{Width: 10, Height: 3}, "a 日本\x1b[3;9Hxy")
	if got, want := term.Text(), "a 日本\n\n        xy\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for y, want := range map[int]string{0: "a 日本", 1: "", 2: "        xy", 3: "", -1: "        xy", -3: "a 日本", -4: ""} {
		if got := term.Line(y); got != want {
			t.Errorf("line %d is %q, want %q", y, got, want)
		}
	}
	if rows := term.Cells(); len(rows) != 3 || len(rows[0]) != 10 || rows[0][2].Width != 2 {
		t.Errorf("cells %+v", rows)
	}
}

func TestWaitLooksAtWholeFramesAlone(t *testing.T) {
	t.Parallel()
	term := write(t, terminal.Options{Width: 10, Height: 1}, "\x1b[?2026hhalf")
	if !term.Modes().Synchronized {
		t.Error("the update is not seen as one")
	}
	looked := make(chan string, 9)
	go func() {
		term.Wait(time.Minute, func(screen string) bool { looked <- screen; return true })
		close(looked)
	}()
	if _, err := term.Write([]byte(" and half\x1b[?2026l")); err != nil {
		t.Fatal(err)
	}
	for screen := range looked {
		if strings.TrimSpace(screen) == "half" {
			t.Errorf("looked at half a frame: %q", screen)
		}
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	term := write(t, terminal.Options{Width: 10, Height: 1}, "x")
	if term.Wait(time.Nanosecond, never) {
		t.Error("the limit was not kept")
	}
	term.End()
	if term.Wait(time.Hour, never) || !term.Wait(time.Hour, always) {
		t.Error("after the end the screen is looked at once")
	}
}

func TestKeyboardStacks(t *testing.T) {
	t.Parallel()
	term := write(t, terminal.Options{Width: 10, Height: 1}, "")
	for _, step := range []struct {
		output        string
		flags, pushed int
	}{
		{"\x1b[>1u", 1, 1}, {"\x1b[=4;2u", 5, 1}, {"\x1b[=1;3u", 4, 1}, {"\x1b[=2u", 2, 1}, {"\x1b[>8u", 8, 2},
		{"\x1b[?1049h", 0, 2}, {"\x1b[>1u", 1, 3}, {"\x1b[<u", 0, 2}, {"\x1b[?1049l", 8, 2}, {"\x1b[<9u", 0, 0},
		{"\x1b[=0;1u", 0, 0}, {"\x1b[=1;1u", 1, 1},
	} {
		if _, err := term.Write([]byte(step.output)); err != nil {
			t.Fatal(err)
		}
		if m := term.Modes(); m.KittyKeyboard != step.flags || m.KittyPushed != step.pushed {
			t.Errorf("after %q: %+v", step.output, m)
		}
	}
}

func TestModesThatAreLeftBehind(t *testing.T) {
	t.Parallel()
	for output, left := range map[string]terminal.Modes{
		"":                                  terminal.Untouched(),
		"\x1b[?1049h\x1b[?25l\x1b[?2004h":   {AltScreen: true, BracketedPaste: true},
		"\x1b[?1003h\x1b[?1006h\x1b[?1004h": {CursorVisible: true, Mouse: true, Focus: true},
		"\x1b[>4;2m\x1b[?2027h\x1b[?7l":     {CursorVisible: true, ModifyOtherKeys: 2, Other: "?2027h?7h"},
		"\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l\x1b[>4;2m\x1b[>4m\x1b[?2027h\x1b[?2027l": terminal.Untouched(),
		"\x1b[?25l\x1b[?1049h\x1b[?25h\x1b[?1049l":                                         terminal.Untouched(), // hidden by a frame on the main screen
	} {
		if got := write(t, terminal.Options{Width: 10, Height: 1}, output).Modes(); got != left {
			t.Errorf("%q leaves %+v, want %+v", output, got, left)
		}
	}
}

func TestAnswersAndTypingReachTheProgramInOrder(t *testing.T) {
	t.Parallel()
	term := write(t, terminal.Options{Width: 10, Height: 1}, "\x1b[>1u\x1b[?2026$p\x1b[?u")
	term.Send("typed")
	term.Paste("pasted")
	term.Close()
	input, err := bufio.NewReader(term.Input()).ReadString(0)
	if err == nil || input != "\x1b[?2026;2$y\x1b[?1utypedpasted" {
		t.Errorf("%q, %v", input, err)
	}
}

func TestClipboardAndTitle(t *testing.T) {
	t.Parallel()
	term := write(t, terminal.Options{Width: 10, Height: 1}, "\x1b]52;c;aGVsbG8=\a\x1b]52;c;?\a\x1b]52;c;%\a\x1b]2;the title\a")
	if got := term.Clipboard(); len(got) != 1 || got[0] != "hello" {
		t.Errorf("clipboard %q", got)
	}
	if term.Title() != "the title" || term.BytesWritten() == 0 {
		t.Errorf("title %q", term.Title())
	}
}
