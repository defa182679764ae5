package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

func TestProfile(t *testing.T) {
	tests := []struct {
		name     string
		terminal bool
		noColor  bool
		env      []string
		want     colorprofile.Profile
	}{
		{"no terminal", false, false, []string{"TERM=xterm-256color"}, colorprofile.NoTTY},
		{"no terminal, colour forced", false, false, []string{"TERM=xterm", "CLICOLOR_FORCE=1"}, colorprofile.NoTTY},
		{"dumb", true, false, []string{"TERM=dumb"}, colorprofile.NoTTY},
		{"256 colours", true, false, []string{"TERM=xterm-256color"}, colorprofile.ANSI256},
		{"flag", true, true, []string{"TERM=xterm-256color"}, colorprofile.ASCII},
		{"NO_COLOR with any value", true, false, []string{"TERM=xterm-256color", "NO_COLOR=please"}, colorprofile.ASCII},
		{"NO_COLOR empty", true, false, []string{"TERM=xterm-256color", "NO_COLOR="}, colorprofile.ANSI256},
		{"dumb and NO_COLOR", true, false, []string{"TERM=dumb", "NO_COLOR=1"}, colorprofile.NoTTY},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Profile(test.terminal, test.noColor, test.env); got != test.want {
				t.Errorf("Profile = %v, want %v", got, test.want)
			}
		})
	}
}

func TestPaletteFollowsTheProfile(t *testing.T) {
	if got := New(colorprofile.NoTTY).Match.Render("x"); got != "x" {
		t.Errorf("without a terminal: %q", got)
	}
	if got := New(colorprofile.ASCII).Match.Render("x"); !strings.Contains(got, "\x1b[1m") || strings.Contains(got, "3") {
		t.Errorf("without colour a match is bold and nothing else: %q", got)
	}
	if got := New(colorprofile.ANSI).Match.Render("x"); !strings.Contains(got, "33") {
		t.Errorf("with colour a match is yellow: %q", got)
	}
}
