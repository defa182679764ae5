// Package terminal is a terminal without a window: it shows what a program writes, answers what a program asks, and
// types keys on request. Tests and measurements look at its screen instead of at a stream of bytes.
package terminal

import (
	"bytes"
	"encoding/base64"
	"image/color"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// Options describe the terminal.
type Options struct {
	Width, Height int // columns and rows; a terminal may have none
	// Background is what the terminal answers when it is asked for its colour; nil means black.
	Background color.Color
	// Bare terminals know none of the newer protocols: no synchronized output, no kitty keyboard.
	Bare bool
	// Tap sees every piece of output before it is interpreted, in the order of writing.
	Tap func(output []byte)
}

// Terminal is an emulated terminal. Its methods may be called from several goroutines.
type Terminal struct {
	tap   func([]byte)
	bare  bool
	keys  *keyQueue
	reply io.Writer // the emulator's own input side: closing it ends forward
	done  chan struct{}

	mu        sync.Mutex
	changed   *sync.Cond
	emulator  *vt.Emulator
	version   uint64 // counts writes and resizes
	written   int
	ended     bool
	width     int
	height    int
	modes     modes
	clipboard []string
	title     string
}

// New makes a terminal. Close ends it.
func New(options Options) *Terminal {
	t := &Terminal{
		tap: options.Tap, bare: options.Bare, keys: newKeyQueue(), done: make(chan struct{}),
		emulator: vt.NewEmulator(max(1, options.Width), max(1, options.Height)),
		width:    options.Width, height: options.Height,
	}
	t.changed = sync.NewCond(&t.mu)
	t.reply = t.emulator.InputPipe()
	t.modes = newModes()
	if options.Background != nil {
		t.emulator.SetDefaultBackgroundColor(options.Background)
	}
	t.listen()
	go t.forward()
	return t
}

// forward passes the emulator's answers on to the program. The emulator blocks until an answer is taken, so that they
// are taken here, where nothing is locked.
func (t *Terminal) forward() {
	defer close(t.done)
	buffer := make([]byte, 4096)
	for {
		n, err := t.emulator.Read(buffer)
		if n > 0 {
			t.keys.push(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// Write takes the program's output.
func (t *Terminal) Write(output []byte) (int, error) {
	if t.tap != nil {
		t.tap(output)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written += len(output)
	t.version++
	_, err := t.emulator.Write(output)
	t.changed.Broadcast()
	return len(output), err
}

// cooked is the output side of a program that has no real terminal: what the kernel does to line ends is done here.
type cooked struct{ *Terminal }

func (c cooked) Write(output []byte) (int, error) {
	if _, err := c.Terminal.Write(bytes.ReplaceAll(output, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(output), nil
}

// Cooked is the terminal's output side for a program in this process, which leaves it to the kernel to turn line feeds
// into new lines.
func (t *Terminal) Cooked() io.Writer { return cooked{t} }

// Input gives what is typed and what the terminal answers. It ends when the terminal is closed.
func (t *Terminal) Input() io.Reader { return t.keys }

// Send types raw bytes.
func (t *Terminal) Send(input string) { t.keys.push([]byte(input)) }

// Press types keys by their names, as Bubble Tea prints them.
func (t *Terminal) Press(keys ...string) error {
	for _, key := range keys {
		sequence, err := Encode(key, t.Modes().KittyKeyboard != 0)
		if err != nil {
			return err
		}
		t.Send(sequence)
	}
	return nil
}

// Paste types a text as a paste, which the program can tell from typing if it has asked for that.
func (t *Terminal) Paste(text string) {
	if t.Modes().BracketedPaste {
		text = ansi.BracketedPasteStart + text + ansi.BracketedPasteEnd
	}
	t.Send(text)
}

// Resize changes the size of the screen. It does not tell the program.
func (t *Terminal) Resize(width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.width, t.height = width, height
	t.emulator.Resize(max(1, width), max(1, height))
	t.version++
	t.changed.Broadcast()
}

// End says that nothing more will be written, so that nobody waits for it.
func (t *Terminal) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Broadcast()
}

// Close ends the terminal and its goroutine.
func (t *Terminal) Close() {
	t.End()
	t.keys.close()
	if closer, ok := t.reply.(io.Closer); ok {
		_ = closer.Close()
		<-t.done
	}
}

// Wait blocks until a whole frame is on the screen that holds for the condition, looking at each that is written. It
// gives false when the limit is over, or when the program has ended and nothing more can come.
func (t *Terminal) Wait(limit time.Duration, condition func(screen string) bool) bool {
	expired := false
	timer := time.AfterFunc(limit, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		expired = true
		t.changed.Broadcast()
	})
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		version, whole := t.version, !t.modes.set[ansi.ModeSynchronizedOutput]
		if whole && t.holds(condition) {
			return true
		}
		if version != t.version {
			continue
		}
		if expired || t.ended {
			return false
		}
		t.changed.Wait()
	}
}

// holds asks a condition without the lock, so that it may look at anything of the terminal.
func (t *Terminal) holds(condition func(string) bool) bool {
	screen := t.text()
	t.mu.Unlock()
	defer t.mu.Lock()
	return condition(screen)
}

// BytesWritten is how much the program has written so far.
func (t *Terminal) BytesWritten() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written
}

// Size is the size of the screen in columns and rows.
func (t *Terminal) Size() (width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width, t.height
}

// Clipboard lists what the program has put into the terminal's clipboard.
func (t *Terminal) Clipboard() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.clipboard...)
}

// Title is the window's title.
func (t *Terminal) Title() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.title
}

// copied records a clipboard write: OSC 52 ; target ; base64.
func (t *Terminal) copied(data []byte) bool {
	parts := strings.SplitN(string(data), ";", 3)
	if len(parts) == 3 && parts[2] != "?" {
		if text, err := base64.StdEncoding.DecodeString(parts[2]); err == nil {
			t.clipboard = append(t.clipboard, string(text))
		}
	}
	return true
}
