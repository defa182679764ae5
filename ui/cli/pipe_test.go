package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
				about, _, _ := strings.Cut(key.About, ";")
				got.check(t, ExitUsage).twoLines(t, "it decides more than how results look ("+about+")")
			}
		}
	}
	openKeys := slices.Compact(slices.Sorted(slices.Values(open)))
	if want := []string{"age_warning", "fast", "instant", "keys.<action>", "private", "theme"}; !slices.Equal(openKeys, want) {
		t.Errorf("a pipe changes %q, want %q", openKeys, want)
	}
	set(terminal{env: env}, "profiles.x", "--unset").check(t, ExitUsage).twoLines(t, "(all of its keys)")
	for _, arguments := range [][]string{{"pictures", "on"}, {"thme", "dark"}, {"thme", "--unset"}} {
		set(terminal{env: env}, arguments...).check(t, ExitUsage).twoLines(t, "unknown key \""+arguments[0])
	}
	if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "server_url") {
		t.Errorf("written: %s", text)
	}
	set(terminal{env: append(env, "QUARRY_ALLOW_CONFIG=1")}, "profiles.x.server_url", "https://onyx.example").check(t, ExitSuccess)
	set(terminal{tty: true, env: env}, "rate", "60/h").check(t, ExitSuccess)
	for _, streams := range []IO{{InTTY: true}, {InTTY: true, ErrTTY: true}, {InTTY: true, OutTTY: true}, {ErrTTY: true}, {OutTTY: true}} {
		var out, errs bytes.Buffer // a program that captures output often leaves us its terminal as input
		streams.In, streams.Out, streams.Err, streams.Env = strings.NewReader(""), &out, &errs, env
		if code := Run(t.Context(), streams, []string{"config", "set", "rate", "1/h"}, testDoors("http://127.0.0.1:1").Program); code != ExitUsage {
			t.Errorf("%+v: exit code %d", streams, code)
		}
	}
}

func TestWordsThatAreCommandsElsewhere(t *testing.T) {
	s := newOnyx(t)
	for word, want := range map[string]string{"list": "quarry sources", "LOGIN": "quarry configure", "delete": "quarry remove", "run": "quarry serve", "statsu": "quarry status",
		"server": "quarry serve", "install-onyx": "quarry help",
		"LIST": "quarry sources", "Status": "quarry status", "ADD": "quarry add", "Search": "quarry search", "HELP": "quarry help"} {
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
	for line := range strings.Lines(strings.TrimSpace(foreignCommands)) {
		command, words, _ := strings.Cut(strings.TrimSpace(line), ":")
		if childNamed(root, command) == nil && command != "help" {
			t.Errorf("words stand for %s, which does not exist", command)
		}
		for word := range strings.FieldsSeq(words) {
			if childNamed(root, word) != nil && word != command {
				t.Errorf("%s is a command of quarry", word)
			}
		}
	}
}

// TestHundredQueries: of the lines of standard input three are searched at the same time.
func TestHundredQueries(t *testing.T) {
	s := newOnyx(t)
	synctest.Test(t, func(t *testing.T) { s.testHundredQueries(t) })
}

func (s *fakeServer) testHundredQueries(t *testing.T) {
	var now atomic.Int32
	leave := make(chan struct{})
	s.on("/search", func(w http.ResponseWriter, _ *http.Request) {
		now.Add(1)
		<-leave
		now.Add(-1)
		body(http.StatusOK, fixture(t, "search.json"))(w, nil)
	})
	lines := func(n int) (in string) {
		for i := range n {
			in += fmt.Sprintf("query %d\n", i)
		}
		return in
	}
	done := make(chan result)
	go func() { done <- run(t, s.inProcess(), terminal{in: lines(100)}, "search", "--max-output", "0", "-") }()
	for i := range 100 {
		synctest.Wait()
		if n := int(now.Load()); n != min(maxQueries, 100-i) {
			t.Errorf("%d queries at the same time, %d answered", n, i)
		}
		leave <- struct{}{}
	}
	got := (<-done).check(t, ExitSuccess)
	if n := strings.Count(got.out, `"query":"query `); n != 100 {
		t.Errorf("%d answers", n)
	}
	run(t, s.inProcess(), terminal{in: lines(101)}, "search", "-").check(t, ExitUsage).twoLines(t, "the limit is 100")
	run(t, s.inProcess(), terminal{}, "search", "a", "b", "c", "d").check(t, ExitUsage).twoLines(t, "the limit is 3")
}

func TestExpressionsHaveABoundOfMemory(t *testing.T) {
	s := newOnyx(t)
	run(t, testDoors(s.URL), terminal{}, "search", "x", "--jq", `[range(1e6) | "x" * 1000000]`).
		check(t, ExitUsage).twoLines(t, "of memory")
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
		path, err := writeCopy(temp, "search", "json", strings.Repeat("x", copyBytes/3))
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
	if path := a.keepCopy("search", "json", strings.Repeat("x", copyBytes+1)); path != nil {
		t.Errorf("%s is larger than all copies may be", *path)
	}
	for i, folder := range folders {
		if _, err := os.Stat(folder); (err == nil) != (i < 3) {
			t.Errorf("copy %d: %v", i, err)
		}
	}
}

// TestHintsWorkInAnyFolder: a library that was named by a relative path is named by an absolute one in what is printed.
func TestHintsWorkInAnyFolder(t *testing.T) {
	dir := t.TempDir()
	a := &app{io: IO{Dir: dir}, program: testDoors("http://127.0.0.1:1").Program, flags: globalFlags{Library: "kblib"}}
	for name, got := range map[string]string{"target": a.targetFlags(), "library": a.libraryFlag()} {
		folder, found := strings.CutPrefix(got, " --library ")
		if !found || !filepath.IsAbs(strings.Trim(folder, "'")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
