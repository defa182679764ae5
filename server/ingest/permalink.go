package ingest

import (
	"net/url"
	"slices"
	"strings"

	"quarry/internal/text"
)

// forge is how a host of git repositories writes the address of a file as it was in a commit, with lines.
type forge struct {
	labels  []string // of names of its hosts
	file    string   // between the repository and the path, with the commit for COMMIT
	preview string   // shows the text of a file that the page renders, which has no lines else
	lines   string   // with the numbers for FIRST and LAST
}

func forges() []forge {
	return []forge{
		{[]string{"github"}, "/blob/COMMIT/", "?plain=1", "#LFIRST-LLAST"},
		{[]string{"gitlab"}, "/-/blob/COMMIT/", "?plain=1", "#LFIRST-LAST"},
		{[]string{"bitbucket"}, "/src/COMMIT/", "", "#lines-FIRST:LAST"},
		{[]string{"codeberg", "gitea", "forgejo"}, "/src/commit/COMMIT/", "?display=source", "#LFIRST-LLAST"},
		{[]string{"sr"}, "/tree/COMMIT/item/", "", "#LFIRST-LAST"}, // git.sr.ht
	}
}

// clone is where others see the files of a repository; nil: its host is none that is known.
type clone struct {
	base  string // address of the repository
	forge forge
}

// hostAndPath splits a remote, a URL or git's user@host:path. The host is in lower case; user names, passwords and
// ports of other protocols than https are left out.
func hostAndPath(remote string) (host, path string) {
	if u, err := url.Parse(remote); err == nil && strings.Contains(remote, "://") {
		host, path = u.Hostname(), u.Path
		if u.Scheme == "https" {
			host = u.Host
		}
	} else if before, after, ok := strings.Cut(remote, ":"); ok {
		host, path = before[strings.LastIndexByte(before, '@')+1:], after
	}
	return strings.ToLower(host), path
}

// cloneOf returns where a remote shows its files.
func cloneOf(remote string) *clone {
	host, path := hostAndPath(remote)
	parts := strings.Split(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	for i, part := range parts {
		if part == "" || part == "." || part == ".." || oneLine(part, longestValue) != part {
			return nil
		}
		parts[i] = url.PathEscape(part)
	}
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-:", r)
	}
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return !isPlain(r) }) || len(parts) < 2 {
		return nil
	}
	labels := strings.Split(host, ".")
	for _, f := range forges() {
		isOf := func(label string) bool { return slices.Contains(labels[:len(labels)-1], label) }
		if slices.ContainsFunc(f.labels, isOf) {
			return &clone{"https://" + host + "/" + strings.Join(parts, "/"), f}
		}
	}
	return nil
}

// permalink returns the address of a file as it was in a commit, with FIRST and LAST for its lines.
func (c *clone) permalink(commit, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	preview := ""
	if strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".rst") || strings.HasSuffix(name, ".org") {
		preview = c.forge.preview
	}
	return c.base + strings.Replace(c.forge.file, "COMMIT", commit, 1) + strings.Join(parts, "/") + preview +
		c.forge.lines
}

// fileAt returns the path and the first line, or "", that an address of a file in the repository names, of any commit.
func (c *clone) fileAt(address string) (name, line string, ok bool) {
	address, fragment, _ := strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	rest, isHere := strings.CutPrefix(address, c.base)
	before, after, _ := strings.Cut(c.forge.file, "COMMIT")
	rest, isFile := strings.CutPrefix(rest, before)
	_, rest, hasCommit := strings.Cut(rest, "/")
	rest, isItem := strings.CutPrefix("/"+rest, after)
	name, err := url.PathUnescape(rest)
	if fragment != "" {
		digits := strings.TrimLeft(fragment, "lines-L")
		line = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	}
	return text.Clip(name, 4096), line, isHere && isFile && hasCommit && isItem && err == nil && name != ""
}
