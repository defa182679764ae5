package ui

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestEditorArguments(t *testing.T) {
	t.Parallel()
	const file = "/notes/a b.md"
	for _, test := range []struct {
		program string
		line    int
		want    []string
	}{
		{"vim", 7, []string{"+7", file}}, {"/usr/bin/nvim", 7, []string{"+7", file}}, {"nano", 7, []string{"+7", file}},
		{"emacs", 7, []string{"+7", file}}, {"micro", 7, []string{"+7", file}}, {"hx", 7, []string{file + ":7"}},
		{"helix", 7, []string{file + ":7"}}, {"code", 7, []string{"--goto", file + ":7"}}, {"Code.exe", 7, []string{"--goto", file + ":7"}},
		{"codium", 7, []string{"--goto", file + ":7"}}, {"cursor", 7, []string{"--goto", file + ":7"}},
		{"gedit", 7, []string{file}}, {"vim", 0, []string{file}}, {"code", -1, []string{file}},
	} {
		if got := editorArguments(test.program, file, test.line); !slices.Equal(got, test.want) {
			t.Errorf("%s at %d: %q, want %q", test.program, test.line, got, test.want)
		}
	}
}

// The editor is the one of the environment, and is not run for what is no regular file.
func TestEditorOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ env, refused string }{
		{"", "set $VISUAL or $EDITOR"}, {"EDITOR=  ", "set $VISUAL or $EDITOR"}, {"VISUAL=vim 'x", "$VISUAL: a quotation mark"},
		{"EDITOR=vim\nQUARRY_READONLY=1", "QUARRY_READONLY"}, {"EDITOR=vim", ""}, {"VISUAL= \nEDITOR=vim", ""},
	} {
		edit, refused := newRun(Process{Env: strings.Split(test.env, "\n")}).editor()
		if (edit == nil) != (test.refused != "") || !strings.Contains(refused, test.refused) {
			t.Errorf("%q: refused because %q", test.env, refused)
		}
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "a.md")
	if err := os.WriteFile(file, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.md")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	edit, _ := newRun(Process{Env: []string{"EDITOR=quarry-no-such-editor"}}).editor()
	refuse := func(path string) (refused error) {
		edit(path, 1, func(err error) tea.Msg { refused = err; return nil })()
		return refused
	}
	for _, path := range []string{folder, link, filepath.Join(folder, "gone.md")} {
		if refuse(path) == nil {
			t.Errorf("%s is opened", path)
		}
	}
	if err := refuse(file); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("an editor that is not there: %v", err)
	}
}
