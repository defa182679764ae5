package passage

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
)

// places are the keys of metadata that name the place of a document in its source, the most telling first.
func places() []string {
	return []string{"channel", "space", "wiki space name", "repo", "repository", "project", "project_name", "folder", "site", "team"}
}

// foldersShown is how many folders of a file are shown whose root is not known.
const foldersShown = 2

// Where returns the place of a document in its source: its channel, space, repository or project, the folders of a file
// below the root that it was added from, or the host of a web page. It is empty if unknown.
func Where(r wire.SearchResult, roots []string) []string {
	for _, wanted := range places() {
		for key, value := range r.Metadata {
			if !strings.EqualFold(key, wanted) || len(value.Values) == 0 || text.OneLine(value.Values[0]) == "" {
				continue
			}
			if wanted == "channel" {
				return []string{"#" + strings.TrimPrefix(text.OneLine(value.Values[0]), "#")}
			}
			if wanted == "team" && space(r) != "" {
				break
			}
			return []string{text.OneLine(value.Values[0])}
		}
	}
	if key := space(r); key != "" {
		return []string{key}
	}
	link, err := url.Parse(text.OrEmpty(r.Link))
	switch {
	case err != nil:
	case link.Scheme == "file":
		return folders(link.Path, roots)
	case r.SourceType == "web" && link.Host != "":
		return []string{strings.TrimPrefix(link.Host, "www.")}
	}
	return nil
}

// File returns the path of the file that a passage is of, on the machine that has the library; false if its document is
// no file by itself, or the name of the file has characters that are not shown.
func File(r wire.SearchResult) (string, bool) {
	name, isFile := strings.CutPrefix(r.DocumentID, "file:")
	if !isFile {
		return "", false
	}
	var file strings.Builder
	for i := 0; i < len(name); i++ {
		code := name[i:min(i+3, len(name))]
		b, err := strconv.ParseUint(strings.TrimPrefix(code, "%"), 16, 8)
		isEscape := code[0] == '%' && len(code) == 3 && err == nil && code == strings.ToUpper(code)
		if isEscape && (b < ' ' || b >= 0x7F) {
			return "", false
		}
		file.WriteByte(name[i])
		if isEscape && b == '%' { // the library escapes what looks like an escape
			i += len("25")
		}
	}
	found := filepath.FromSlash(file.String())
	return found, filepath.IsAbs(found)
}

// space returns the key of the space in a link to a wiki.
func space(r wire.SearchResult) string {
	_, rest, found := strings.Cut(text.OrEmpty(r.Link), "/spaces/")
	key, _, more := strings.Cut(rest, "/")
	if !found || !more || strings.ContainsAny(key, "?#") {
		return ""
	}
	return text.OneLine(key)
}

// folders returns the folders of a file below the innermost root that it is in, else the last ones.
func folders(file string, roots []string) []string {
	folder, root := path.Dir(file), ""
	for _, candidate := range roots {
		candidate = strings.TrimRight(strings.ReplaceAll(candidate, `\`, "/"), "/")
		if len(candidate) > len(root) && (folder == candidate || strings.HasPrefix(folder, candidate+"/")) {
			root = candidate
		}
	}
	parts := slices.DeleteFunc(strings.Split(text.OneLine(strings.TrimPrefix(folder, root)), "/"), func(part string) bool { return part == "" || part == "." })
	if root == "" {
		parts = parts[max(0, len(parts)-foldersShown):]
	}
	return parts
}
