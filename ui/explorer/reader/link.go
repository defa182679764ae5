package reader

import (
	"strings"

	"quarry/ui/explorer/paint"
)

// longestLink is how many columns of a bare link are shown in running text.
const longestLink = 48

// shortLink is a link as a person reads it, in at most about room columns: without its scheme, and of a long one the host
// and the end.
func shortLink(link string, room int) string {
	shown := link
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if rest, found := strings.CutPrefix(shown, scheme); found {
			shown = rest
			break
		}
	}
	shown = strings.TrimSuffix(strings.TrimPrefix(shown, "www."), "/")
	if paint.Width(shown) <= room {
		return shown
	}
	host, path, found := strings.Cut(shown, "/")
	if !found {
		return shown
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	if short := host + "/…/" + last; last != path && last != "" && paint.Width(short) <= room {
		return short
	}
	return host + "/…"
}

// isFile tells links to files.
func isFile(address string) bool {
	const scheme = "file:"
	return len(address) >= len(scheme) && strings.EqualFold(address[:len(scheme)], scheme)
}
