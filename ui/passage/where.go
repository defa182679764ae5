package passage

import (
	"net/url"
	"path"
	"slices"
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
