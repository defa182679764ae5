package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestThreeProcesses adds one folder, syncs another one and searches at the same time, each in processes of its own, for a
// few rounds or, with QUARRY_SLOW, a minute. No command may fail, a search must see each folder whole, as it was before or
// after a change, and the last content must be found.
func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	const files = 40
	h := newHome(t)
	write := func(folder string, round int) {
		for i := range files {
			writeIn(t, folder, fmt.Sprintf("%d.md", i), fmt.Appendf(nil, "# Note %d\n\n%s %s\n", i, filepath.Base(folder), roundWord(round)))
		}
	}
	added, synced := filepath.Join(h.dir, "documents", "tapir"), filepath.Join(h.dir, "documents", "okapi")
	for _, folder := range []string{added, synced} {
		write(folder, 0)
		h.must("add", "--json", folder)
	}
	start := time.Now()
	more := func(round int) bool {
		if os.Getenv("QUARRY_SLOW") != "" {
			return time.Since(start) < time.Minute
		}
		return round <= 3
	}
	must := func(args ...string) string { // for a goroutine, which must not end the test
		o := h.run("", args...)
		if o.code != 0 {
			t.Errorf("%v: exit %d\n%s", args, o.code, o.stderr)
		}
		return o.stdout
	}
	var changing, searching sync.WaitGroup
	last := map[string]int{}
	var mutex sync.Mutex
	change := func(folder string, args ...string) {
		changing.Go(func() {
			for round := 1; more(round) && !t.Failed(); round++ {
				write(folder, round)
				must(append(args, "--json", folder)...)
				mutex.Lock()
				last[folder] = round
				mutex.Unlock()
			}
		})
	}
	change(added, "add")
	change(synced, "sync")
	ended := make(chan struct{})
	searching.Go(func() {
		for searches := 1; !t.Failed(); searches++ {
			var answer struct {
				Total int `json:"total_matches"`
			}
			if err := json.Unmarshal([]byte(must("search", "tapir")), &answer); err != nil || answer.Total != files {
				t.Errorf("search %d: %d documents of a folder, want %d (%v)", searches, answer.Total, files, err)
			}
			select {
			case <-ended:
				t.Logf("%d searches", searches)
				return
			default:
			}
		}
	})
	changing.Wait()
	close(ended)
	searching.Wait()
	for folder, round := range last {
		if found := matches(t, h, filepath.Base(folder)+" "+roundWord(round)); found < files {
			t.Errorf("%s: %d documents of round %d are found, want %d", folder, found, round, files)
		}
		if found := matches(t, h, `"`+filepath.Base(folder)+" "+roundWord(round-1)+`"`); found != 0 {
			t.Errorf("%s: %d documents are still found as of round %d", folder, found, round-1)
		}
		t.Logf("%s: %d rounds", folder, round)
	}
	if documents := libraryStatus(t, h).Documents; documents != 2*files {
		t.Errorf("%d documents, want %d", documents, 2*files)
	}
	h.must("status", "--check", "--json")
	checkNoTemporaryFiles(t, h)
}
