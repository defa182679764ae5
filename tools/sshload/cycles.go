//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"quarry/tools/measure"
)

// remains is what a server holds at one moment.
type remains struct {
	anonymous  float64 // KB of memory
	heap       float64 // KB of it that Go's objects take, garbage among them
	goroutines float64
	files      float64
}

// measureCycles has visitors come and go, and looks what each leaves behind. The server's own metrics count goroutines,
// so that it serves them here, and a library of its own, as they are not served with the sample.
func (b *bench) measureCycles() ([]measure.Figure, error) {
	library, err := b.openLibrary()
	if err != nil {
		return nil, err
	}
	s, err := b.serve("--http", "127.0.0.1:0", "--library", library)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.stop() }()
	_, _, warm, err := s.visits(b.warm)
	if err != nil {
		return nil, err
	}
	at := s.load()
	painted, left, seen, err := s.visits(b.cycles)
	if err != nil {
		return nil, err
	}
	cpus := s.taken(at)
	before, after := settled(warm), settled(seen)
	return append([]measure.Figure{
		measure.One("RssAnon gained by a visit", "KB", slope(seen, func(r remains) float64 { return r.anonymous }), measure.Most(1)),
		measure.One("  Go's heap", "KB", slope(seen, func(r remains) float64 { return r.heap })),
		measure.One("  RssAnon before the first", "KB", before.anonymous),
		measure.One("  and after the last", "KB", after.anonymous),
		measure.One("goroutines gained", "", after.goroutines-before.goroutines, measure.Most(0)),
		measure.One("open files gained", "", after.files-before.files, measure.Most(0)),
		measure.New("connect → first paint, nobody else there", "ms", painted), measure.New("quit by ctrl+c", "ms", left, measure.P50(50)),
	}, cpus...), nil
}

// visits has visitors come and go, and notes what the server holds after each.
func (s *server) visits(many int) (painted, left []float64, seen []remains, err error) {
	for range many {
		v, err := s.visit(chacha)
		if err != nil {
			return nil, nil, nil, err
		}
		took, err := v.quit()
		v.leave()
		if err != nil {
			return nil, nil, nil, err
		}
		now, err := s.remains()
		if err != nil {
			return nil, nil, nil, err
		}
		painted, left = append(painted, measure.Milliseconds(v.painted)), append(left, measure.Milliseconds(took))
		seen = append(seen, now)
	}
	return painted, left, seen, nil
}

// settled is the least of the last visits: what a visitor who has just left still holds is let go a moment later.
func settled(seen []remains) remains {
	const last = 20
	seen = seen[max(0, len(seen)-last):]
	least := seen[0]
	for _, r := range seen {
		least = remains{min(least.anonymous, r.anonymous), min(least.heap, r.heap), min(least.goroutines, r.goroutines),
			min(least.files, r.files)}
	}
	return least
}

// slope is what a measure gains from one visit to the next, by least squares: memory goes up and down with the garbage in
// it, so that two moments tell nothing.
func slope(seen []remains, value func(remains) float64) float64 {
	n := float64(len(seen))
	var meanX, meanY float64
	for i, r := range seen {
		meanX, meanY = meanX+float64(i)/n, meanY+value(r)/n
	}
	var above, below float64
	for i, r := range seen {
		x := float64(i) - meanX
		above, below = above+x*(value(r)-meanY), below+x*x
	}
	return above / below
}

func (s *server) remains() (remains, error) {
	memory, err := measure.MemoryOf(s.pid())
	if err != nil {
		return remains{}, err
	}
	answer, err := http.Get(s.http + "/metrics")
	if err != nil {
		return remains{}, fmt.Errorf("ask for the metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	told := map[string]float64{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			told[name] = number
		}
	}
	for _, name := range []string{"go_goroutines", "go_memstats_heap_alloc_bytes", "process_open_fds"} {
		if _, ok := told[name]; !ok {
			return remains{}, fmt.Errorf("the metrics (HTTP %d) do not tell %s", answer.StatusCode, name)
		}
	}
	return remains{anonymous: memory.Anonymous * 1024, heap: told["go_memstats_heap_alloc_bytes"] / 1024,
		goroutines: told["go_goroutines"], files: told["process_open_fds"]}, nil
}

// openLibrary makes a small library whose server tells its metrics to everybody.
func (b *bench) openLibrary() (string, error) {
	folder, library := filepath.Join(b.home, "documents"), filepath.Join(b.home, "small")
	config := filepath.Join(b.home, "config", "quarry")
	for _, path := range []string{folder, config} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return "", err
		}
	}
	for path, text := range map[string]string{
		filepath.Join(folder, "deploys.md"):  "# Rolling back a deploy\n\nPick the last green build, and tell everybody.\n",
		filepath.Join(config, "config.yaml"): "http: {metrics: open}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	add := exec.Command(b.binary, "add", "--quiet", "--library", library, folder)
	add.Env = b.environ()
	if out, err := add.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make a library: %w\n%s", err, out)
	}
	return library, nil
}
