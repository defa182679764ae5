// Package drive types keys at a terminal and measures the output that each causes.
package drive

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

const (
	Limit = time.Minute            // for output that must come
	Quiet = 150 * time.Millisecond // without output: the answer to a key is complete
)

// Chunk is a piece of output as it arrived.
type Chunk struct {
	At    time.Time
	Bytes int
}

// Driver records the output of one terminal.
type Driver struct {
	screen *terminal.Terminal
	// frame is the time between two frames of the program: keys are spread over it, so that they do not fall in step.
	frame time.Duration
	wire  func() (down, up int64)

	mutex  sync.Mutex
	chunks []Chunk
}

// New returns a driver. Its Record must be the Tap of the terminal that Attach then names. wire returns the bytes that
// went over a connection so far; it may be nil.
func New(frame time.Duration, wire func() (down, up int64)) *Driver {
	if wire == nil {
		wire = func() (down, up int64) { return 0, 0 }
	}
	return &Driver{frame: frame, wire: wire}
}

// Attach sets the terminal to drive.
func (d *Driver) Attach(screen *terminal.Terminal) { d.screen = screen }

// Record notes a piece of output.
func (d *Driver) Record(output []byte) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.chunks = append(d.chunks, Chunk{time.Now(), len(output)})
}

// Since returns the output from the given chunk on.
func (d *Driver) Since(first int) []Chunk {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.chunks[first:]
}

// Count returns the number of chunks.
func (d *Driver) Count() int { return len(d.Since(0)) }

// Settle waits until there was no output for a while. It has to watch the clock, as the end of output is no event.
func (d *Driver) Settle(pause time.Duration) {
	for seen := -1; ; {
		now := d.Count()
		if now == seen {
			return
		}
		seen = now
		time.Sleep(pause)
	}
}

// Painted waits for a frame that is not empty, and returns when its last output arrived.
func (d *Driver) Painted() (time.Time, error) {
	if !d.screen.Wait(Limit, func(screen string) bool { return strings.TrimSpace(screen) != "" }) {
		return time.Time{}, fmt.Errorf("nothing was painted within %s", Limit)
	}
	chunks := d.Since(0)
	return chunks[len(chunks)-1].At, nil
}

// Results waits for the first result to be on the screen.
func (d *Driver) Results() error {
	if !d.screen.Wait(Limit, func(screen string) bool { return strings.Contains(screen, " 1  ") }) {
		return fmt.Errorf("no results within %s; the screen is\n%s", Limit, d.screen.Text())
	}
	return nil
}

// Stroke is what one key caused.
type Stroke struct {
	First, Last time.Duration // from the key to the first and the last byte of output
	Bytes       int           // of terminal output
	Down, Up    int64         // bytes on the wire
}

// Collect returns one value of each stroke.
func Collect(strokes []Stroke, value func(Stroke) float64) []float64 {
	samples := make([]float64, 0, len(strokes))
	for _, s := range strokes {
		samples = append(samples, value(s))
	}
	return samples
}

// Type presses a key and measures its output up to a pause. No output is an error: the key must change the screen.
func (d *Driver) Type(key string, pause time.Duration) (Stroke, error) {
	time.Sleep(rand.N(d.frame))
	before, at := d.Count(), time.Now()
	down, up := d.wire()
	if err := d.screen.Press(key); err != nil {
		return Stroke{}, err
	}
	if !d.screen.Wait(Limit, func(string) bool { return d.Count() > before }) {
		return Stroke{}, fmt.Errorf("no output for the key %s; the screen is\n%s", key, d.screen.Text())
	}
	d.Settle(pause)
	output := d.Since(before)
	stroke := Stroke{First: output[0].At.Sub(at), Last: output[len(output)-1].At.Sub(at)}
	for _, chunk := range output {
		stroke.Bytes += chunk.Bytes
	}
	downAfter, upAfter := d.wire()
	stroke.Down, stroke.Up = downAfter-down, upAfter-up
	return stroke, nil
}

// TypeAll presses keys, each after the output of the one before it.
func (d *Driver) TypeAll(keys []string, pause time.Duration) ([]Stroke, error) {
	strokes := make([]Stroke, 0, len(keys))
	for _, key := range keys {
		stroke, err := d.Type(key, pause)
		if err != nil {
			return nil, err
		}
		strokes = append(strokes, stroke)
	}
	return strokes, nil
}

// Letters returns the keys of a text.
func Letters(text string) []string {
	var keys []string
	for _, r := range text {
		if r == ' ' {
			keys = append(keys, "space")
			continue
		}
		keys = append(keys, string(r))
	}
	return keys
}
