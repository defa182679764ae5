package reader

import (
	"net/url"
	"strings"

	"quarry/ui/explorer/paint"
)

// longestLink is how many columns of a bare link are shown in running text.
const longestLink = 48

// shortLink is a link as a person reads it, in at most about room columns: without its scheme, and of a long one the host
// and as much of the end as there is room for. Of a file it is the path.
func shortLink(link string, room int) string {
	shown := link
	if isFile(link) {
		shown = filePath(link)
	}
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
	short := host + "/…"
	for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		longer := host + "/…" + path[at:]
		if path[at:] == "/" || paint.Width(longer) > room {
			break
		}
		short = longer
	}
	return short
}

// filePath is the path that a link to a file names, without the place in the file.
func filePath(link string) string {
	path, _, _ := strings.Cut(link[len(fileScheme):], "#")
	path = strings.TrimPrefix(path, "//")
	if read, err := url.PathUnescape(path); err == nil {
		path = clean(read)
	}
	return path
}

const fileScheme = "file:"

// isFile tells links to files.
func isFile(address string) bool {
	return len(address) >= len(fileScheme) && strings.EqualFold(address[:len(fileScheme)], fileScheme)
}
