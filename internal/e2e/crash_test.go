package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/internal/testkit/longtest"
)

// killRounds is how often `quarry add` is killed.
func killRounds() int { return longtest.Rounds(2, 25) }

// crashFiles is how many files it adds: enough for several batches in the long form.
func crashFiles() int { return longtest.Rounds(300, 4000) }

// TestKillDuringAdd kills `quarry add` at random moments. What it had reported as done must be there afterwards, nothing
// may be there twice, the next run must complete the work, and a search in another process must never fail meanwhile.
func TestKillDuringAdd(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	folder := filepath.Join(h.dir, "documents")
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	writeRound(t, folder, crashFiles(), 0)
	h.must("add", "--json", folder)
	stop := searchMeanwhile(t, h)
	defer stop()
	writeRound(t, folder, crashFiles(), 1)
	whole := h.timed("add", "--json", folder)
	last := 1 + killRounds()
	for round := 2; round <= last; round++ {
		writeRound(t, folder, crashFiles(), round)
		acknowledged := addAndKill(t, h, folder, time.Duration(random.Int64N(int64(whole))))
		status := libraryStatus(t, h)
		if status.Documents != crashFiles() {
			t.Fatalf("round %d: %d documents after the kill, want %d", round, status.Documents, crashFiles())
		}
		if found := matches(t, h, roundWord(round)); found < acknowledged || found > crashFiles() {
			t.Fatalf("round %d: %d files were acknowledged, %d are found", round, acknowledged, found)
		}
		t.Logf("round %d: killed after %d of %d", round, acknowledged, crashFiles())
	}
	h.must("add", "--json", folder)
	if found := matches(t, h, roundWord(last)); found != crashFiles() {
		t.Errorf("%d files are found after the last run, want %d", found, crashFiles())
	}
	if found := matches(t, h, roundWord(last-1)); found != 0 {
		t.Errorf("%d files are still found as they were before", found)
	}
}

// TestKillDuringFirstAdd kills the very first `quarry add`, into a home where there is nothing, at random moments: before
// the library is made, while it is made, and after.
func TestKillDuringFirstAdd(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	shared := newHome(t)
	folder := filepath.Join(shared.dir, "documents")
	writeRound(t, folder, crashFiles(), 0)
	whole := shared.timed("add", "--json", folder)
	for round := range killRounds() {
		h := newHome(t)
		acknowledged := addAndKill(t, h, folder, time.Duration(random.Int64N(int64(whole))))
		if documents := libraryStatus(t, h).Documents; documents < acknowledged || documents > crashFiles() {
			t.Fatalf("round %d: %d files were acknowledged, %d documents are there", round, acknowledged, documents)
		}
		h.must("add", "--json", folder)
		if documents, found := libraryStatus(t, h).Documents, matches(t, h, roundWord(0)); documents != crashFiles() ||
			found != crashFiles() {
			t.Fatalf("round %d: %d documents and %d found after the next run, want %d", round, documents, found, crashFiles())
		}
		t.Logf("round %d: killed after %d of %d", round, acknowledged, crashFiles())
	}
}

// roundWord occurs in every file of a round and in no other. It has no digits, which would be found as a number of their
// own, and is no typo of another round's.
func roundWord(round int) string {
	digits := strings.NewReplacer("0", "zero", "1", "one", "2", "two", "3", "three", "4", "four", "5", "five", "6", "six",
		"7", "seven", "8", "eight", "9", "nine")
	return "zebra" + digits.Replace(fmt.Sprint(round)) + "quagga"
}

func writeRound(t *testing.T, folder string, files, round int) {
	t.Helper()
	for i := range files {
		dir := filepath.Join(folder, fmt.Sprint(i/100))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("# Note %d\n\n%s with some words about deploys, rollbacks and number %d.\n", i, roundWord(round), i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("note-%d.md", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// addAndKill returns how many files were reported as done before the process was killed.
func addAndKill(t *testing.T, h home, folder string, after time.Duration) (acknowledged int) {
	t.Helper()
	return killed(t, h, after, "add", "--json", folder)
}

// killed starts a command, kills it, and returns how many files it reported as done.
func killed(t *testing.T, h home, after time.Duration, args ...string) (acknowledged int) {
	t.Helper()
	acknowledged, err := h.kill(t.Context(), after, args...)
	if err != nil {
		t.Fatal(err)
	}
	return acknowledged
}

// kill starts a command, kills it, and returns how many files it reported as done. The error is that of a command that
// failed by itself.
func (h home) kill(ctx context.Context, after time.Duration, args ...string) (acknowledged int, err error) {
	ctx, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	c := h.command(ctx, args...) // killed when ctx ends
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); ctx.Err() != nil && err != nil {
		return 0, nil // killed before it began
	} else if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var event struct {
			Type string
			Done int
		}
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Type == "progress" {
			acknowledged = event.Done
		}
	}
	if err := c.Wait(); err != nil && ctx.Err() == nil {
		return 0, fmt.Errorf("%v failed by itself: %w\n%s", args, err, stderr.String())
	}
	return acknowledged, nil
}

type status struct {
	Documents int `json:"documents"`
}

func libraryStatus(t *testing.T, h home) status {
	t.Helper()
	var answer struct {
		Library status `json:"library"`
	}
	decode(t, h.must("status", "--json"), &answer)
	return answer.Library
}

func matches(t *testing.T, h home, word string) int {
	t.Helper()
	var answer struct {
		Total int `json:"total_matches"`
	}
	decode(t, h.must("search", word), &answer)
	return answer.Total
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// searchMeanwhile searches in other processes until the returned function is called; no search may fail.
func searchMeanwhile(t *testing.T, h home) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for searches := 0; ; searches++ {
			c := h.command(ctx, "search", "deploys rollbacks")
			var stderr bytes.Buffer
			c.Stdout, c.Stderr = io.Discard, &stderr
			err := c.Run()
			if ctx.Err() != nil {
				t.Logf("%d searches meanwhile", searches)
				return
			}
			if err != nil {
				t.Errorf("a search failed meanwhile: %v\n%s", err, stderr.String())
				return
			}
		}
	})
	return func() { cancel(); running.Wait() }
}
