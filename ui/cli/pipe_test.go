package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quarry/config"
)

// TestAPipeCannotRedirect: without a terminal only how results look can be set, whatever key there is.
func TestAPipeCannotRedirect(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "quarry", "config.yaml")
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}
	set := func(screen terminal, arguments ...string) result {
		return run(t, testDoors("http://127.0.0.1:1"), screen, append([]string{"config", "set"}, arguments...)...)
	}
	var open []string
	for _, key := range config.Keys() {
		path := strings.NewReplacer("<name>", "x", "<action>", "quit").Replace(key.Path)
		for _, arguments := range [][]string{{path, "1"}, {path, "--unset"}} {
			if got := set(terminal{env: env, in: "1\n"}, arguments...); !strings.Contains(got.err, "cannot be changed without a terminal") {
				open = append(open, key.Path)
			} else {
				got.check(t, ExitUsage).twoLines(t, "without a terminal")
			}
		}
	}
	openKeys := slices.Compact(slices.Sorted(slices.Values(open)))
	if want := []string{"age_warning", "fast", "instant", "keys.<action>", "private", "theme"}; !slices.Equal(openKeys, want) {
		t.Errorf("a pipe changes %q, want %q", openKeys, want)
	}
	set(terminal{env: env}, "profiles.x", "--unset").check(t, ExitUsage)
	if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "server_url") {
		t.Errorf("written: %s", text)
	}
	set(terminal{env: append(env, "QUARRY_ALLOW_CONFIG=1")}, "profiles.x.server_url", "https://onyx.example").check(t, ExitSuccess)
	set(terminal{tty: true, env: env}, "rate", "60/h").check(t, ExitSuccess)
}

func TestWordsThatAreCommandsElsewhere(t *testing.T) {
	s := newOnyx(t)
	for word, want := range map[string]string{"list": "quarry sources", "LOGIN": "quarry configure", "delete": "quarry remove", "run": "quarry serve", "statsu": "quarry status",
		"server": "quarry serve", "install-onyx": "quarry help"} {
		got := run(t, testDoors(s.URL), terminal{}, word).check(t, ExitUsage)
		got.twoLines(t, "is not a command")
		if !strings.Contains(got.err, want+";") || !strings.Contains(got.err, "quarry search "+word) {
			t.Errorf("%s: %s", word, got.err)
		}
		run(t, testDoors(s.URL), terminal{}, "search", word).check(t, ExitSuccess)
		run(t, testDoors(s.URL), terminal{}, "--", word).check(t, ExitSuccess)
		run(t, testDoors(s.URL), terminal{}, word, "--days", "9").check(t, ExitSuccess)
	}
	for _, words := range [][]string{{"onboarding"}, {"tag"}, {"asks"}, {"list", "of", "holidays"}, {"serach", "engines"}} {
		run(t, testDoors(s.URL), terminal{}, words...).check(t, ExitSuccess)
	}
	doors := testDoors(s.URL)
	doors.Guest = true
	if got := run(t, doors, terminal{}, "login").check(t, ExitUsage); strings.Contains(got.err, "configure") {
		t.Errorf("a guest gets a hint with a command that guests do not have: %s", got.err)
	}
	root := (&app{out: &gate{}, err: &gate{}}).root()
	for word, command := range foreignCommands {
		if childNamed(root, command) == nil && command != "help" {
			t.Errorf("%s stands for %s, which does not exist", word, command)
		}
		if childNamed(root, word) != nil {
			t.Errorf("%s is a command of quarry", word)
		}
	}
}

func TestHundredQueries(t *testing.T) {
	s := newOnyx(t)
	var now, most atomic.Int32
	var mu sync.Mutex
	together := sync.NewCond(&mu)
	came := 0
	s.on("/search", func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		mu.Lock()
		for came++; came < maxQueries; { // the first three wait for each other
			together.Wait()
		}
		together.Broadcast()
		mu.Unlock()
		now.Add(-1)
		body(http.StatusOK, fixture(t, "search.json"))(w, nil)
	})
	lines := func(n int) (in string) {
		for i := range n {
			in += fmt.Sprintf("query %d\n", i)
		}
		return in
	}
	got := run(t, testDoors(s.URL), terminal{in: lines(100)}, "search", "--max-output", "0", "-").check(t, ExitSuccess)
	if n := strings.Count(got.out, `"query":"query `); n != 100 || most.Load() > maxQueries {
		t.Errorf("%d answers, %d at the same time", n, most.Load())
	}
	run(t, testDoors(s.URL), terminal{in: lines(101)}, "search", "-").check(t, ExitUsage).twoLines(t, "the limit is 100")
	run(t, testDoors(s.URL), terminal{}, "search", "a", "b", "c", "d").check(t, ExitUsage).twoLines(t, "the limit is 3")
}

func TestExpressionsHaveABoundOfMemory(t *testing.T) {
	s := newOnyx(t)
	run(t, testDoors(s.URL), terminal{}, "search", "x", "--jq", "def f: [f]; f").check(t, ExitUsage).twoLines(t, "of memory")
}

func TestABudgetIsNoCut(t *testing.T) {
	s := newOnyx(t)
	temp := t.TempDir()
	for _, format := range []string{"agent", "json", "md", "text"} {
		got := run(t, testDoors(s.URL), terminal{dir: temp}, "search", "x", "--budget", "60", "--format", format).check(t, ExitSuccess)
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 || strings.Contains(got.err, "truncated") {
			t.Errorf("%s: %v, %v, %q", format, left, err, got.err)
		}
	}
}

// TestCopiesHaveABound: the oldest copies beyond the limit are removed, the newest stay.
func TestCopiesHaveABound(t *testing.T) {
	temp, now := t.TempDir(), time.Now()
	a := &app{io: IO{TempDir: temp}, program: Program{}}
	var folders []string
	for i := range 4 {
		path, err := writeCopy(temp, "search", "json", make([]byte, copyBytes/3))
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(path)
		if err := os.Chtimes(folder, now, now.Add(-time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, folder)
	}
	a.removeOldCopies()
	for i, folder := range folders {
		if _, err := os.Stat(folder); (err == nil) != (i < 3) {
			t.Errorf("copy %d: %v", i, err)
		}
	}
}

// TestHintsWorkInAnyFolder: a library that was named by a relative path is named by an absolute one in what is printed.
func TestHintsWorkInAnyFolder(t *testing.T) {
	dir := t.TempDir()
	a := &app{io: IO{Dir: dir}, program: testDoors("http://127.0.0.1:1").Program, flags: globalFlags{library: "kblib"}}
	for name, got := range map[string]string{"target": a.targetFlags(), "library": a.libraryFlag()} {
		folder, found := strings.CutPrefix(got, " --library ")
		if !found || !filepath.IsAbs(strings.Trim(folder, "'")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
