package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"quarry/internal/testkit/longtest"
)

// TestThreeProcesses adds one folder, syncs another one and searches at the same time, each in processes of its own, for a
// few rounds or, with QUARRY_SLOW, a minute. No command may fail, a search must see each folder whole, as it was before or
// after a change, and the last content must be found.
func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	files := longtest.Rounds(10, 40)
	h := newHome(t)
	write := func(folder string, round int) { writeNotes(t, folder, files, round) }
	added, synced := filepath.Join(h.dir, "documents", "tapir"), filepath.Join(h.dir, "documents", "okapi")
	for _, folder := range []string{added, synced} {
		write(folder, 0)
		h.must("add", "--json", folder)
	}
	more := forAWhile()
	must := func(args ...string) string { // for a goroutine, which must not end the test
		o := h.process("", args...)
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

// writeNotes writes files, each with the name of the folder and a word of the round.
func writeNotes(t *testing.T, folder string, files, round int) {
	t.Helper()
	for i := range files {
		writeIn(t, folder, fmt.Sprintf("%d.md", i), fmt.Appendf(nil, "# Note %d\n\n%s %s\n", i, filepath.Base(folder), roundWord(round)))
	}
}

// forAWhile returns whether another round is to be made: of two or, with QUARRY_SLOW, for a minute.
func forAWhile() func(round int) bool {
	start := time.Now()
	return func(round int) bool {
		if longtest.Enabled() {
			return time.Since(start) < time.Minute
		}
		return round <= 2
	}
}

// TestKilledProcesses adds three folders again and again, and searches, each in a process of its own at the same time, for a
// few rounds or, with QUARRY_SLOW, a minute, and kills each process at a random moment. What was reported as done must
// be there, every document once, and one more run must complete the content.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	files := longtest.Rounds(40, 300)
	h, seed := newHome(t), uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	folders := [...]string{"tapir", "okapi", "lemur"}
	path := func(name string) string { return filepath.Join(h.dir, "documents", name) }
	var whole time.Duration
	for _, name := range folders {
		writeNotes(t, path(name), files, 0)
		whole = h.timed("add", "--json", path(name))
	}
	more := forAWhile()
	moment := func(random *rand.Rand) time.Duration { return time.Duration(random.Int64N(2 * int64(whole))) }
	var changing, searching sync.WaitGroup
	var last, acknowledged [len(folders)]int
	for i, name := range folders {
		changing.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for round := 1; more(round) && !t.Failed(); round++ {
				writeNotes(t, path(name), files, round)
				done, err := h.kill(t.Context(), moment(random), "add", "--json", path(name))
				if err != nil {
					t.Error(err)
				}
				last[i], acknowledged[i] = round, done
			}
		})
	}
	ended := make(chan struct{})
	searching.Go(func() {
		random := rand.New(rand.NewPCG(seed, uint64(len(folders))))
		for {
			if _, err := h.kill(t.Context(), moment(random), "search", "tapir"); err != nil {
				t.Error(err)
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	changing.Wait()
	close(ended)
	searching.Wait()
	for i, name := range folders {
		now := matches(t, h, `"`+name+" "+roundWord(last[i])+`"`)
		if all := matches(t, h, name); all != files || now < acknowledged[i] || now > files {
			t.Errorf("%s: %d documents, %d of round %d, want %d, at least %d", name, all, now, last[i], files, acknowledged[i])
		}
		t.Logf("%s: %d rounds, the last one killed after %d of %d", name, last[i], acknowledged[i], files)
		h.must("add", "--json", path(name))
		if now := matches(t, h, `"`+name+" "+roundWord(last[i])+`"`); now != files {
			t.Errorf("%s: %d documents of round %d after a whole run, want %d", name, now, last[i], files)
		}
	}
	if documents := libraryStatus(t, h).Documents; documents != len(folders)*files {
		t.Errorf("%d documents, want %d", documents, len(folders)*files)
	}
	h.must("status", "--check", "--json")
	checkNoTemporaryFiles(t, h)
}
