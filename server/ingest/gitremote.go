package ingest

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
)

// remoteSource tells from the text of a .git/config what hosts the repository: github, gitlab, bitbucket, or "" if
// that cannot be told. The remote "origin" counts, else the first.
func remoteSource(config string) string {
	remotes := regexp.MustCompile(`(?im)^\s*\[\s*remote\s*"([^"]*)"\s*\][^\[]*?^\s*url\s*=\s*"?([^"\r\n]*)`)
	found := ""
	for _, match := range remotes.FindAllStringSubmatch(config, -1) {
		source := hostSource(strings.TrimSpace(match[2]))
		if match[1] == "origin" {
			return source
		}
		found = cmp.Or(found, source)
	}
	return found
}

// hostSource reads the host of a remote: a URL, or git's own user@host:path.
func hostSource(remote string) string {
	host := ""
	if u, err := url.Parse(remote); err == nil && strings.Contains(remote, "://") {
		host = u.Hostname()
	} else if before, _, ok := strings.Cut(remote, ":"); ok {
		host = before[strings.LastIndexByte(before, '@')+1:]
	}
	for label := range strings.SplitSeq(strings.ToLower(host), ".") {
		switch label {
		case "github", "gitlab", "bitbucket":
			return label
		}
	}
	return ""
}
