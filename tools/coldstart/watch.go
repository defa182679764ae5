package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"quarry/tools/measure"
)

const (
	changes     = 10
	watchedNote = "# Note\n\nIt mentions %s.\n"
	foundWithin = 30 * time.Second
)

// timeWatch returns the milliseconds from writing a file in a watched folder to the end of the first search, a process of
// its own, that finds it.
func timeWatch(binary, scratch string) (took []float64, err error) {
	home, folder := filepath.Join(scratch, "home"), filepath.Join(scratch, "notes")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	for i := range 1000 {
		if err := note(folder, i, fmt.Sprint("topic", i)); err != nil {
			return nil, err
		}
	}
	if _, err := run(binary, home, "add", "--quiet", folder); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	watch := command(ctx, binary, home, "sync", "--watch", "--json")
	events, err := watch.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := watch.Start(); err != nil {
		return nil, err
	}
	defer func() { stop(); _ = watch.Wait() }()
	done := make(chan error, changes+1)
	go func() {
		for lines := bufio.NewScanner(events); lines.Scan(); {
			var event struct{ Type string }
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.Type == "done" {
				done <- err
			}
		}
	}()
	if err := <-done; err != nil { // the folder is watched from here on
		return nil, err
	}
	for i := range changes {
		one, err := timeChange(binary, home, folder, i)
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

func timeChange(binary, home, folder string, i int) (float64, error) {
	word := fmt.Sprintf("zanzibar%dq", i)
	start := time.Now()
	if err := note(folder, i, word); err != nil {
		return 0, err
	}
	for time.Since(start) < foundWithin {
		out, err := command(context.Background(), binary, home, "search", "--format", "text", word).CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("search: %w\n%s", err, out)
		}
		if strings.Contains(string(out), "It mentions "+word) {
			return measure.Milliseconds(time.Since(start)), nil
		}
	}
	return 0, fmt.Errorf("%s was not found within %v", word, foundWithin)
}

func note(folder string, i int, word string) error {
	return os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.md", i)), fmt.Appendf(nil, watchedNote, word), 0o600)
}
