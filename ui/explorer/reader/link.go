package reader

import (
	"net/url"
	"strings"

	"quarry/ui/explorer/paint"
)

// maxLinkWidth is the width of a bare link in running text, in columns.
const maxLinkWidth = 48

// shortLink shortens a link to about room columns: without its scheme, and if it is too long, the host and as much of the
// end as fits. For a file it is the path.
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

// filePath returns the path in a link to a file, without the fragment.
func filePath(link string) string {
	path, _, _ := strings.Cut(link[len(fileScheme):], "#")
	path = strings.TrimPrefix(path, "//")
	if read, err := url.PathUnescape(path); err == nil {
		path = clean(read)
	}
	return path
}

const fileScheme = "file:"

func isFile(address string) bool {
	return len(address) >= len(fileScheme) && strings.EqualFold(address[:len(fileScheme)], fileScheme)
}
