package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"quarry/config"
	"quarry/theme"
)

// withThemes is a run with theme files, by their names.
func withThemes(t *testing.T, files map[string]string) *run {
	t.Helper()
	home := t.TempDir()
	folder := filepath.Join(home, "quarry", "themes")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return newRun(Process{Env: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home}})
}

func TestThemesOfTheFolder(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, problem string }{
		"ember.yaml":    {"based_on: light\naccent: \"#8a2be2\"\nselected:\n  background: '#fed'\nsources: {chat: \"#111111\"}\n", ""},
		"empty.yaml":    {"# nothing replaced\n", ""},
		"typo.yaml":     {"based_on: dark\nacent: \"#8a2be2\"\n", "typo.yaml:2: acent: unknown key; did you mean accent?"},
		"banner.yaml":   {"chip: {text: \"#fff\"}\nbanner: {text: \"#fff\"}\n", "banner.yaml:2: banner: unknown key"},
		"deep.yaml":     {"sources:\n  chatt: \"#8a2be2\"\n", "deep.yaml:2: sources.chatt: unknown key; did you mean sources.chat?"},
		"colour.yaml":   {"muted: grey\n", "colour.yaml:1: muted: is not a colour"},
		"unquoted.yaml": {"based_on: dark\nmuted: #808080\n", "unquoted.yaml:2: muted: has no value; a text that begins with # needs quotes"},
		"base.yaml":     {"based_on: drak\n", "base.yaml:1: based_on: is not one of dark, light,"},
		"list.yaml":     {"muted: [\"#808080\"]\n", "list.yaml:1: muted: is a list, not text"},
		"group.yaml":    {"muted: {text: \"#808080\"}\n", "group.yaml:1: muted: is a group of keys, not text"},
		"pair.yaml":     {"chip: \"#808080\"\n", "pair.yaml:1: chip: is text, not a group of keys"},
		"mono.yaml":     {"based_on: dark\n", "the name of a built-in theme"},
		"My Own.yaml":   {"based_on: dark\n", "a name has only a to z"},
		"alias.yaml":    {"muted: &a \"#808080\"\nlink: *a\n", "anchors and aliases"},
		"large.yaml":    {"# " + strings.Repeat("x", 1<<20), "larger than"},
	}
	files := map[string]string{"readme.txt": "no theme"}
	for name, test := range tests {
		files[name] = test.content
	}
	found := withThemes(t, files).themes()
	if len(found) != len(tests) {
		t.Errorf("%d themes, want %d", len(found), len(tests))
	}
	for _, own := range found {
		problem := tests[own.Name+themeExtension].problem
		switch {
		case problem == "" && own.Err != nil:
			t.Errorf("%s: %v", own.Name, own.Err)
		case problem != "" && (own.Err == nil || !strings.Contains(own.Err.Error(), problem)):
			t.Errorf("%s: %v; want %q", own.Name, own.Err, problem)
		}
		if own.Name == "ember" && (own.BasedOn != "light" || own.Accent != "#8a2be2" || own.Selected.Background != "#ffeedd" || own.Sources.Chat != "#111111") {
			t.Errorf("ember is %+v", own.Custom)
		}
	}
}

func TestConfiguredTheme(t *testing.T) {
	t.Parallel()
	r := withThemes(t, map[string]string{"ember.yaml": "match: \"#abc\"\n"})
	if own := r.configuredTheme("ember"); len(own) != 1 || own[0].Err != nil || own[0].Match != "#aabbcc" {
		t.Errorf("ember is %+v", own)
	}
	if own := r.configuredTheme("gone"); len(own) != 1 || own[0].Err == nil {
		t.Errorf("a theme that is gone is %+v", own)
	}
	for _, mode := range theme.Modes() {
		if own := r.configuredTheme(mode); own != nil {
			t.Errorf("%s is %+v", mode, own)
		}
	}
	if found := withThemes(t, nil).themes(); found != nil {
		t.Errorf("an empty folder has %+v", found)
	}
}

// The example of the documentation is a theme without a mistake, and easy to read.
func TestExampleOfATheme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/themes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "```yaml\n")
	example, _, closed := strings.Cut(example, "```")
	var own theme.Custom
	if err := config.Decode("ember.yaml", []byte(example), &own); err != nil || !found || !closed {
		t.Fatalf("%v in\n%s", err, example)
	}
	if low := own.LowContrast(); len(low) > 0 || own.Sources.Chat != "#e6a1d0" {
		t.Errorf("%+v has %v", own, low)
	}
}

// A theme is the user's own file, but it may be anything.
func FuzzTheme(f *testing.F) {
	f.Add("based_on: light\naccent: \"#8a2be2\"\nselected: {text: \"#fff\", background: \"#000\"}\nsources: {crm: \"#123\"}\n")
	f.Add("muted: #808080\n")
	f.Add("sources: [1, {chat: null}]\n")
	f.Add("\xff: \x00")
	f.Fuzz(func(t *testing.T, content string) {
		var own theme.Custom
		if err := config.Decode("x.yaml", []byte(content), &own); err != nil {
			if strings.ContainsAny(err.Error(), "\x00\x1b\n") {
				t.Errorf("%q is not one line of text", err)
			}
			return
		}
		own.Name = "x"
		own.LowContrast()
		for _, profile := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
			if got := theme.ForScreen(theme.Options{Custom: &own, Profile: profile}).Match.Render("x"); !strings.Contains(got, "x") {
				t.Errorf("%v: %q", profile, got)
			}
		}
	})
}
