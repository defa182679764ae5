package ui

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/internal/text"
	"quarry/ui/cli"
	"quarry/ui/target"
)

// editor returns how files are opened in the person's editor, or why they cannot be.
func (r *run) editor() (edit func(path string, line int, done tea.ExecCallback) tea.Cmd, refused string) {
	variable := "VISUAL"
	command, _ := r.lookup(variable)
	if strings.TrimSpace(command) == "" {
		variable = "EDITOR"
		command, _ = r.lookup(variable)
	}
	words, err := text.CommandWords(command)
	switch {
	case target.ReadOnly(r.lookup):
		return nil, "editing is disabled by QUARRY_READONLY"
	case err != nil:
		return nil, fmt.Sprintf("$%s: %v", variable, err)
	case len(words) == 0:
		return nil, "no editor is set: set $VISUAL or $EDITOR, such as EDITOR=nano"
	}
	return func(path string, line int, done tea.ExecCallback) tea.Cmd {
		return func() tea.Msg {
			// An editor would make a file that is gone.
			if info, err := os.Lstat(path); err != nil {
				return done(err)
			} else if !info.Mode().IsRegular() {
				return done(fmt.Errorf("%s is not a regular file", path))
			}
			if _, err := exec.LookPath(words[0]); err != nil && !strings.ContainsAny(words[0], "=$") { // which only the shell reads
				return done(err)
			}
			edit := cli.ShellCommand(command, editorArguments(words[0], path, line)...)
			if edit.Err != nil {
				return done(edit.Err)
			}
			return tea.ExecProcess(edit, done)()
		}
	}, ""
}

// editorArguments returns what opens a file at a line in a program; in one that is not known, at its beginning.
func editorArguments(program, path string, line int) []string {
	name := strings.ToLower(filepath.Base(program))
	name = cmp.Or(strings.TrimSuffix(name, ".exe"), name)
	number := strconv.Itoa(line)
	switch {
	case line <= 0:
		return []string{path}
	case slices.Contains([]string{"vi", "vim", "nvim", "gvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "mg"}, name):
		return []string{"+" + number, path}
	case slices.Contains([]string{"hx", "helix", "zed", "subl"}, name):
		return []string{path + ":" + number}
	case slices.Contains([]string{"code", "code-insiders", "codium", "cursor", "windsurf"}, name):
		return []string{"--goto", path + ":" + number}
	}
	return []string{path}
}
