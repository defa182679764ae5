package ingest

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
)

// remoteSource returns what hosts the repository of a .git/config: github, gitlab, bitbucket, or "" if unknown. The
// remote "origin" decides, else the first one.
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

// hostSource parses the host of a remote: a URL, or git's user@host:path.
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
