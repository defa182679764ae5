package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestConfigCommands(t *testing.T) {
	home := t.TempDir()
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}
	file := filepath.Join(home, "quarry", "config.yaml")
	doors := testDoors("http://127.0.0.1:1")
	env = append(env, "QUARRY_ALLOW_CONFIG=1")
	quarry := func(in string, arguments ...string) result {
		return run(t, doors, terminal{env: env, in: in}, append([]string{"config"}, arguments...)...)
	}
	if got := quarry("", "path").check(t, ExitSuccess); got.out != file+"\n" {
		t.Errorf("stdout %q", got.out)
	}
	quarry("", "set", "theme", "dark").check(t, ExitSuccess)
	quarry("", "set", "theme", "plaid").check(t, ExitUsage).twoLines(t, `error: theme: unknown theme "plaid"; known are`)
	quarry("onyx_pat_hidden\n", "set", "profiles.work.token").check(t, ExitUsage).twoLines(t, "profiles.work") // it has no server yet
	quarry("", "set", "profiles.work.server_url", "https://onyx.example").check(t, ExitSuccess)
	quarry("onyx_pat_hidden\n", "set", "profiles.work.token").check(t, ExitSuccess)
	if got := quarry("", "get", "profiles.work.token").check(t, ExitSuccess); got.out != "[secret]\n" {
		t.Errorf("stdout %q", got.out)
	}
	list := quarry("", "list").check(t, ExitSuccess)
	if !strings.Contains(list.out, `{"key":"theme","value":"dark","from":"`+file+`"}`) || strings.Contains(list.out, "hidden") {
		t.Errorf("stdout %s", list.out)
	}
	if got := quarry("", "set", "theme", "--unset").check(t, ExitSuccess); !strings.Contains(got.err, "Removed theme from "+file) {
		t.Errorf("stderr %s", got.err)
	}
	if got := quarry("", "set", "theme", "--unset").check(t, ExitSuccess); !strings.Contains(got.err, "theme is not set in "+file) {
		t.Errorf("stderr %s", got.err)
	}
	if got := quarry("", "get", "theme").check(t, ExitSuccess); got.out != "auto\n" {
		t.Errorf("stdout %q", got.out)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "token: onyx_pat_hidden") {
		t.Errorf("%v %s", err, text)
	}
	for says, arguments := range map[string][]string{
		"missing argument KEY": {"set"}, "missing value of theme": {"set", "theme"}, `unknown key "thme"`: {"set", "thme", "x"},
		"is a secret": {"set", "profiles.work.token", "x"}, `unexpected argument "light"`: {"set", "theme", "dark", "light"},
		"needs a terminal": {"edit"}, "the value of profiles.work.token is empty": {"set", "profiles.work.token"},
	} {
		quarry("", arguments...).check(t, ExitUsage).twoLines(t, says)
	}
	for _, change := range []struct{ arguments, says string }{
		{"profiles.home.library " + home, "Set profiles.home.library"}, {"active home", "Searches now go to the library in " + home},
		{"active work", "Searches now go to https://onyx.example"}, {"profiles.work --unset", "Searches now go to the library in " + home},
	} {
		got := quarry("", append([]string{"set"}, strings.Fields(change.arguments)...)...).check(t, ExitSuccess)
		if !strings.Contains(got.err, change.says) {
			t.Errorf("%s: stderr %s", change.arguments, got.err)
		}
	}
	quarry("", "get", "rate").check(t, ExitNotAvailable).twoLines(t, "rate has no value")
	doors.ReadOnly = true
	quarry("", "set", "theme", "dark").check(t, ExitNotAvailable).twoLines(t, "QUARRY_READONLY")
	quarry("", "edit").check(t, ExitNotAvailable).twoLines(t, "QUARRY_READONLY")
}

// The editor works on a copy, and an invalid one replaces nothing.
func TestConfigEdit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the editor of this test is a shell script")
	}
	home := t.TempDir()
	file := filepath.Join(home, "quarry", "config.yaml")
	edit := func(script string) result {
		editor := filepath.Join(t.TempDir(), "editor")
		if err := os.WriteFile(editor, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "TERM=xterm", "EDITOR=" + editor, "PATH=" + os.Getenv("PATH")}
		return run(t, testDoors("http://127.0.0.1:1"), terminal{tty: true, width: 80, env: env}, "config", "edit")
	}
	edit(`echo "theme: dark" > "$1"`).check(t, ExitSuccess)
	if text, err := os.ReadFile(file); err != nil || string(text) != "theme: dark\n" {
		t.Errorf("%v %q", err, text)
	}
	if got := edit("true").check(t, ExitSuccess); !strings.Contains(got.err, "Nothing was changed") {
		t.Errorf("stderr %s", got.err)
	}
	wrong := edit(`echo "theme: none-such" > "$1"`).check(t, ExitNotConfigured)
	if text, _ := os.ReadFile(file); string(text) != "theme: dark\n" || !strings.Contains(wrong.err, "what you wrote is in ") {
		t.Errorf("stderr %s", wrong.err)
	}
	if got := edit("exit 1").check(t, ExitGeneral); !strings.Contains(got.err, "failed: exit status 1") {
		t.Errorf("stderr %s", got.err)
	}
	if drafts, _ := filepath.Glob(filepath.Join(home, "quarry", "config-*")); len(drafts) != 1 {
		t.Errorf("drafts: %v", drafts)
	}
}

func TestDebugShowsRequestsWithoutSecrets(t *testing.T) {
	s := newOnyx(t)
	got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--debug", "--quiet").check(t, ExitSuccess)
	if !strings.Contains(got.err, "debug: POST "+s.URL+"/search: 200 in ") || !strings.Contains(got.err, "debug: target: ") {
		t.Errorf("stderr %s", got.err)
	}
	if strings.Contains(got.out, "debug") || strings.Contains(got.err, "onyx_pat") {
		t.Errorf("stdout %s\nstderr %s", got.out, got.err)
	}
	run(t, guestDoors(t, s.URL), terminal{}, "search", "x", "--debug").check(t, ExitUsage).twoLines(t, "--debug is not available over SSH")
	s.on("/search", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--debug"); got.code == ExitSuccess || !strings.Contains(got.err, "debug: POST ") {
		t.Errorf("stderr %s", got.err)
	}
}

// A pager shows what a person reads, and nothing else.
func TestPager(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pager of this test is a shell script")
	}
	s := newOnyx(t)
	pager := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\necho paged with $LESS\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const mark = "paged with FRX\n"
	base := []string{"TERM=xterm", "PATH=" + os.Getenv("PATH")}
	for name, test := range map[string]struct {
		tty, guest bool
		env        []string
		paged      bool
	}{
		"named":         {tty: true, env: []string{"PAGER=" + pager}, paged: true},
		"own":           {tty: true, env: []string{"QUARRY_PAGER=" + pager, "PAGER=cat"}, paged: true},
		"turned off":    {tty: true, env: []string{"QUARRY_PAGER=", "PAGER=" + pager}},
		"not named":     {tty: true},
		"no terminal":   {env: []string{"PAGER=" + pager}},
		"dumb terminal": {tty: true, env: []string{"PAGER=" + pager, "TERM=dumb"}},
		"in quotes":     {tty: true, env: []string{"PAGER=sh -c '\"" + pager + "\" | tail -n +1'"}, paged: true},
		"a pipe":        {tty: true, env: []string{"PAGER=" + pager + " | cat"}, paged: true},
		"guest":         {tty: true, guest: true, env: []string{"PAGER=" + pager}},
	} {
		doors := testDoors(s.URL)
		if test.guest {
			doors = guestDoors(t, s.URL)
		}
		env := append(append([]string{}, base...), test.env...)
		got := run(t, doors, terminal{tty: test.tty, width: 80, env: env}, "search", "roll back").check(t, ExitSuccess)
		if strings.HasPrefix(got.out, mark) != test.paged || !strings.Contains(got.out, "Runbook") {
			t.Errorf("%s: %q", name, got.out)
		}
	}
	for _, broken := range []string{"/does/not/exist", "false", "'not closed"} {
		got := run(t, testDoors(s.URL), terminal{tty: true, width: 80, env: append([]string{"PAGER=" + broken}, base...)}, "agents").check(t, ExitSuccess)
		if !strings.Contains(got.out, "NAME") || !strings.Contains(got.err, "the pager "+broken+" failed") {
			t.Errorf("%s: stdout %q, stderr %q", broken, got.out, got.err)
		}
	}
}

func TestHelpTopics(t *testing.T) {
	help := run(t, failing(errNotConfigured), terminal{}, "--help").check(t, ExitSuccess)
	for _, topic := range helpTopics() {
		got := run(t, failing(errNotConfigured), terminal{}, "help", topic[0]).check(t, ExitSuccess)
		if !strings.HasPrefix(got.out, topic[1]+"\n\n") || !strings.Contains(help.out, topic[0]+" ") || strings.Contains(got.out, "%!") {
			t.Errorf("%s: %s", topic[0], got.out)
		}
	}
	for _, word := range []string{"130  interrupted", "profiles.<name>.token_command", "QUARRY_PAGER", `agent:"Eng"`} {
		if !strings.Contains(topicText("exit-codes")+topicText("configuration")+topicText("environment")+topicText("query"), word) {
			t.Errorf("no topic has %q", word)
		}
	}
}
