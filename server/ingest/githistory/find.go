package githistory

import (
	"cmp"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const maxConfig = 1 << 20 // bytes of a repository's configuration

// Checkout is what a working tree shows: a repository, at a commit.
type Checkout struct {
	GitDir string // with the objects and the configuration
	Head   string // the file in GitDir that names the commit that is checked out
}

// Find returns the checkout in a folder with .git: a folder, or the file of a worktree or submodule. A worktree counts
// if the repository knows it by its path, and a submodule if the configuration of its repository does, so that a file
// alone cannot point to the repository of somebody else.
func Find(folder string) (p Checkout, ok bool) {
	dotGit := filepath.Join(folder, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil {
		return Checkout{}, false
	}
	if info.IsDir() {
		return Checkout{dotGit, "HEAD"}, true
	}
	target, isWorktree := strings.CutPrefix(line(dotGit), "gitdir: ")
	if !isWorktree {
		return Checkout{}, false
	}
	own := absolute(folder, target)
	if tree := workTree(own); tree != "" && sameFile(absolute(own, tree), folder) {
		return Checkout{own, "HEAD"}, true
	}
	worktrees, name := filepath.Split(own)
	gitDir, kind := filepath.Split(filepath.Clean(worktrees))
	if kind != "worktrees" || !sameFile(absolute(own, line(filepath.Join(own, "gitdir"))), dotGit) {
		return Checkout{}, false
	}
	return Checkout{filepath.Clean(gitDir), path.Join(kind, name, "HEAD")}, true
}

// workTree returns the working tree that the configuration of a repository names, or "".
func workTree(gitDir string) string {
	return lastValue("core.worktree", filepath.Join(gitDir, "config"), filepath.Join(gitDir, "config.worktree"))
}

// lastValue returns the last value of a name in configurations, or "".
func lastValue(name string, files ...string) (last string) {
	for _, file := range files {
		for found, value := range values(content(file, maxConfig)) {
			if found == name {
				last = value
			}
		}
	}
	return last
}

// values yields the values in a configuration of git by their names, such as remote.origin.url. Sections and keys are
// in lower case.
func values(config string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		prefix := ""
		for line := range strings.Lines(config) {
			line = strings.TrimSpace(line)
			if header, isHeader := strings.CutPrefix(line, "["); isHeader {
				section, sub, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(header, "]")), " ")
				prefix = strings.ToLower(section) + "."
				if sub = strings.Trim(sub, "\" "); sub != "" {
					prefix += sub + "."
				}
				continue
			}
			key, value, _ := strings.Cut(line, "=")
			value = strings.TrimSpace(value)
			if quoted, err := strconv.Unquote(value); err == nil {
				value = quoted
			}
			if !yield(prefix+strings.ToLower(strings.TrimSpace(key)), value) {
				return
			}
		}
	}
}

// Remote returns the address of the remote "origin" of a repository, else of its first remote, or "".
func (c Checkout) Remote() (address string) {
	for name, value := range values(content(filepath.Join(c.GitDir, "config"), maxConfig)) {
		switch {
		case name == "remote.origin.url":
			return value
		case strings.HasPrefix(name, "remote.") && strings.HasSuffix(name, ".url"):
			address = cmp.Or(address, value)
		}
	}
	return address
}

// PersonalIgnore returns the file with what git ignores in all repositories of this person: core.excludesFile of their
// configuration, or the place that it has else. It need not exist.
func PersonalIgnore() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	resolved := func(file string) string { // people keep such files elsewhere, and link them
		if target, err := filepath.EvalSymlinks(file); err == nil {
			return target
		}
		return file
	}
	folder := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(home, ".config")
	}
	file := lastValue("core.excludesfile",
		resolved(filepath.Join(folder, "git", "config")), resolved(filepath.Join(home, ".gitconfig")))
	if file == "" {
		return resolved(filepath.Join(folder, "git", "ignore"))
	}
	return resolved(absolute(home, strings.TrimPrefix(file, "~/")))
}

// line returns the content of a small regular file without spaces around it, or "".
func line(file string) string { return strings.TrimSpace(content(file, maxRef)) }

// content returns the content of a regular file of at most most bytes, or "".
func content(file string, most int64) string {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, most))
	return string(data)
}

// absolute returns a path that git wrote, relative to a folder or absolute.
func absolute(folder, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, name)
}

func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	var other fs.FileInfo
	if err == nil {
		other, err = os.Lstat(b)
	}
	return err == nil && os.SameFile(one, other)
}
