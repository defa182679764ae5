package githistory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSubmodules finds the repository of a submodule where its configuration leads back, and nowhere else.
func TestSubmodules(t *testing.T) {
	for name, test := range map[string]struct {
		file, config string
		isFound      bool
	}{
		"as git writes":       {"gitdir: ../.git/modules/sub", "[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote \"origin\"]\n\turl = x\n", true},
		"in quotes":           {"gitdir: ../.git/modules/sub", "[Core]\n\tWorkTree = \"../../../sub\"\n", true},
		"an absolute path":    {"gitdir: ROOT/.git/modules/sub", "[core]\n\tworktree = ROOT/sub\n", true},
		"of another section":  {"gitdir: ../.git/modules/sub", "[other]\n\tworktree = ../../../sub\n", false},
		"another folder":      {"gitdir: ../.git/modules/sub", "[core]\n\tworktree = ../../../other\n", false},
		"no working tree":     {"gitdir: ../.git/modules/sub", "[core]\n\tbare = false\n", false},
		"no configuration":    {"gitdir: ../.git/modules/none", "", false},
		"not a file of git":   {"something else", "[core]\n\tworktree = ../../../sub\n", false},
		"the last one counts": {"gitdir: ../.git/modules/sub", "[core]\n\tworktree = ../../../sub\n\tworktree = ../../../other\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			own := filepath.Join(root, ".git", "modules", "sub")
			for _, folder := range []string{own, filepath.Join(root, "sub"), filepath.Join(root, "other")} {
				check(t, os.MkdirAll(folder, 0o755))
			}
			check(t, os.WriteFile(filepath.Join(own, "config"), []byte(strings.ReplaceAll(test.config, "ROOT", root)), 0o644))
			check(t, os.WriteFile(filepath.Join(root, "sub", ".git"), []byte(strings.ReplaceAll(test.file, "ROOT", root)+"\n"), 0o644))
			at, ok := Find(filepath.Join(root, "sub"))
			if ok != test.isFound || ok && (at != Checkout{own, "HEAD"}) {
				t.Errorf("%+v, %v", at, ok)
			}
		})
	}
	root := t.TempDir()
	own := filepath.Join(root, "own")
	check(t, os.MkdirAll(own, 0o755))
	check(t, os.WriteFile(filepath.Join(own, "config"), []byte("[core]\n\tbare = false\n[extensions]\n\tworktreeConfig = true\n"), 0o644))
	check(t, os.WriteFile(filepath.Join(own, "config.worktree"), []byte("[core]\n\tworktree = ..\n"), 0o644))
	check(t, os.WriteFile(filepath.Join(root, ".git"), []byte("gitdir: own"), 0o644))
	if at, ok := Find(root); !ok || at.GitDir != own {
		t.Errorf("with a configuration of the working tree: %+v, %v", at, ok)
	}
}

// FuzzConfig reads any configuration of a repository.
func FuzzConfig(f *testing.F) {
	f.Add("[core]\n\tworktree = ../../../sub\n")
	f.Add("[core]\nworktree=\"x\\")
	f.Fuzz(func(t *testing.T, config string) {
		folder := t.TempDir()
		check(t, os.WriteFile(filepath.Join(folder, "config"), []byte(config), 0o644))
		if tree := workTree(folder); len(tree) > len(config) || strings.Contains(tree, "\n") && !strings.Contains(config, `\n`) {
			t.Errorf("%q: %q", config, tree)
		}
	})
}
