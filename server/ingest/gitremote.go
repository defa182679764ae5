package ingest

import (
	"cmp"
	"net/url"
	"strings"
)

// remoteSource tells from the text of a .git/config what hosts the repository: github, gitlab, bitbucket, or "" if
// that cannot be told. The remote "origin" counts, else the first.
func remoteSource(config string) string {
	section, found := "", ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.ReplaceAll(line, " ", ""))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.ToLower(strings.TrimSpace(key)) != "url" || !strings.HasPrefix(section, `[remote"`) {
			continue
		}
		source := hostSource(strings.Trim(strings.TrimSpace(value), `"`))
		if strings.HasPrefix(section, `[remote"origin"`) {
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
