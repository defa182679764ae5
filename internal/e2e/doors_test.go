package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/config"
)

// TestPipesConfigureNothing tries each key of the configuration, and the other ways to it, without a terminal: only how results
// look can be changed.
func TestPipesConfigureNothing(t *testing.T) {
	t.Parallel()
	const before = "profiles:\n  mine:\n    server_url: https://onyx.example\n"
	isOpen := func(key string) bool {
		return slices.Contains([]string{"theme", "keys.<action>", "age_warning", "instant", "fast", "private"}, key)
	}
	h, tries := newHome(t), [][]string{{"configure"}, {"configure", "--server", "https://evil.example"}, {"config", "edit"},
		{"config", "set", "profiles.mine", "--unset"}, {"config", "set", "llm.providers.x", "--unset"}}
	h.write("config/quarry/config.yaml", before)
	for _, key := range config.Keys() {
		path := strings.NewReplacer("<name>", "mine", "<action>", "quit").Replace(key.Path)
		if isOpen(key.Path) {
			if o := h.run("", "config", "set", path, "--unset"); o.code != 0 {
				t.Errorf("%s: exit %d\n%s", path, o.code, o.stderr)
			}
			continue
		}
		tries = append(tries, []string{"config", "set", path, "1"}, []string{"config", "set", path, "--unset"}, []string{"config", "set", path})
	}
	for _, args := range tries {
		if o := h.run("1\n", args...); o.code != 2 || o.stdout != "" || !strings.Contains(o.stderr, "terminal") {
			t.Errorf("%v: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	after, err := os.ReadFile(filepath.Join(h.dir, "config/quarry/config.yaml"))
	if err != nil || string(after) != before {
		t.Errorf("the file is %q, %v", after, err)
	}
	allowed := h.inside("config", "set", "active", "mine")
	allowed.Env = append(allowed.Env, "QUARRY_ALLOW_CONFIG=1")
	if o := runInside(t.Context(), allowed, ""); o.code != 0 {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}

// TestForeignCommandsSearchForNothing runs commands of other programs without a terminal.
func TestForeignCommandsSearchForNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	words := strings.Fields(`list ls login logout delete rm get set show find init install update upgrade start stop run chat deploy image
		experiments install-onyx index import export open info whoami LIST statsu stauts serach servee configur`)
	for i, word := range words {
		more := [][]string{{}, {"--json"}, {"--limit", "5"}, {"--format", "json"}}[i%4]
		o := h.run("", append([]string{word}, more...)...)
		if o.code != 2 || o.stdout != "" || strings.Count(o.stderr, "\n") != 2 || !strings.Contains(o.stderr, "is not a command") ||
			!strings.Contains(o.stderr, "hint: Run: quarry ") || !strings.Contains(o.stderr, "quarry search "+word+"\n") {
			t.Errorf("%s %v: exit %d\n%s%s", word, more, o.code, o.stdout, o.stderr)
		}
	}
	for _, args := range []string{"--sample -- list", "--sample list --source file", "--sample list of holidays", "--sample asks"} {
		if o := h.run("", strings.Fields(args)...); o.code != 0 || !strings.Contains(o.stdout, `"results":`) {
			t.Errorf("%s: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}

// TestPrintedCommandsWorkInAnyFolder runs commands on a library that is named by a relative path, and then what they name as
// the next step in another folder.
func TestPrintedCommandsWorkInAnyFolder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("docs/a.md", "# Zebraquagga\n\n"+strings.Repeat("The zebraquagga grazes. ", 100))
	h.write("docs/id_rsa", "x")
	h.write("elsewhere/x", "")
	printed := ""
	for _, args := range []string{"add docs", "search zebraquagga --format agent", "search zebraquagga --format text", "search okapi --format agent",
		"search zebraquagga --source nowhere", "read zebraquagga", "ask zebraquagga", "status", "sync nowhere", "remove nowhere", "list", "add docs/id_rsa",
		"admin token remove nothing", "admin user list", "skill render --dir -"} {
		o := h.run("", append(strings.Fields(args), "--library", "kblib")...)
		printed += o.stdout + o.stderr
	}
	library, commands := filepath.Join(h.dir, "kblib"), 0
	for _, found := range regexp.MustCompile("quarry (?:search|read|sources|status|sync|add|remove|admin)\\b[^;`\n]*").FindAllString(printed, -1) {
		if !strings.Contains(found, "--library") {
			if strings.Contains(found, " lists what was added") || regexp.MustCompile(`quarry (sources|status|sync|admin)`).MatchString(found) {
				t.Errorf("%q names no library", found)
			}
			continue
		}
		if _, named, _ := strings.Cut(found, "--library "); !strings.HasPrefix(named, library) && !strings.HasPrefix(named, "'"+library) {
			t.Errorf("%q names another folder", found)
		}
		found = strings.NewReplacer(" REF…", " REF", " PATH", " docs", `"`, "", "'", "", " or search in other words", "", ",", "",
			" lists what can be searched", "", " has the current one.", "", "file:"+h.dir+"/docs/a.md#0", "a").Replace(found)
		process := h.inside(strings.Fields(found)[1:]...)
		process.Dir = filepath.Join(h.dir, "elsewhere")
		if o := runInside(t.Context(), process, ""); strings.Contains(o.stderr, "no library in") {
			t.Errorf("%s: exit %d\n%s", found, o.code, o.stderr)
		}
		commands++
	}
	if commands < 8 {
		t.Errorf("only %d commands in:\n%s", commands, printed)
	}
	c := h.command(t.Context(), "search", "zebraquagga", "--library", "kblib", "--max-output", "700")
	c.Dir, c.Env = h.dir, append(c.Env, "TMPDIR=docs")
	out, err := c.Output()
	if err != nil || !strings.Contains(string(out), `"full_response_path":"`+filepath.Join(h.dir, "docs", "quarry-search-")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCopiesOfAllCommandsHaveABound: a budget keeps no copy, and each command that keeps one removes the oldest of them beyond
// 64 MB.
func TestCopiesOfAllCommandsHaveABound(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("a.md", "---\nanimal: zebra\n---\n# Zebraquagga\n\n"+strings.Repeat("The zebraquagga grazes. ", 100))
	h.must("add", "a.md")
	copies := func() []string {
		found, _ := filepath.Glob(filepath.Join(h.dir, "quarry-*.response")) // the pattern is valid
		return found
	}
	for _, format := range []string{"json", "agent", "md", "text"} {
		o := h.run("", "search", "zebraquagga", "--budget", "60", "--format", format)
		if o.code != 0 || len(copies()) > 0 || strings.Contains(o.stderr, "truncated") {
			t.Errorf("%s: exit %d, %v\n%s", format, o.code, copies(), o.stderr)
		}
	}
	for _, args := range []string{"search zebraquagga", "read " + h.dir + "/a.md", "tags", "sources", "status"} {
		for i := range 3 {
			folder := filepath.Join(h.dir, fmt.Sprintf("quarry-old-%d.response", i))
			h.write(filepath.Base(folder)+"/complete.json", "")
			if err := os.Truncate(filepath.Join(folder, "complete.json"), 30<<20); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(folder, time.Now(), time.Now().Add(-time.Duration(1+i)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		o := h.run("", append(strings.Fields(args), "--max-output", "40")...)
		if left := copies(); o.code != 0 || !strings.Contains(o.stderr, "full response: ") || len(left) < 3 ||
			slices.Contains(left, filepath.Join(h.dir, "quarry-old-2.response")) || !slices.Contains(left, filepath.Join(h.dir, "quarry-old-1.response")) {
			t.Errorf("%s: exit %d, %v left\n%s", args, o.code, left, o.stderr)
		}
	}
}

// TestManyPipedQueries searches for what a pipe has, a query a line.
func TestManyPipedQueries(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("a.md", "# Zebraquagga\n")
	h.must("add", "a.md")
	lines := func(n int) string { return strings.Repeat(" zebraquagga\r\n\n", n) }
	if o := h.run(lines(100), "search", "-", "--max-output", "0"); o.code != 0 || strings.Count(o.stdout, `"query":"zebraquagga"`) != 100 {
		t.Errorf("exit %d, %d answers\n%s", o.code, strings.Count(o.stdout, `"query":"zebraquagga"`), o.stderr)
	}
	for input, want := range map[string]string{lines(101): "the limit is 100", "\n \n": "missing argument QUERY", strings.Repeat("x", 1<<20): "the limit is",
		"\xff\n": "not valid UTF-8"} {
		if o := h.run(input, "search", "-"); o.code != 2 || o.stdout != "" || !strings.Contains(o.stderr, want) {
			t.Errorf("%.20q: exit %d\n%s%s", input, o.code, o.stdout, o.stderr)
		}
	}
	for _, args := range [][]string{{"-", "-"}, {"a", "b", "c", "d"}} {
		if o := h.run(lines(1), append([]string{"search"}, args...)...); o.code != 2 || o.stdout != "" {
			t.Errorf("%v: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}
