package passage

import (
	"cmp"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"quarry/client/field"
	"quarry/client/wire"
)

// Where returns the place of a document in its source, the outermost name first: its channel, space or repository, or
// the root and the folders of a file. It is empty if unknown.
func Where(r wire.SearchResult) []string {
	names := field.PlaceNames(cmp.Or(r.Place, field.PlaceOfResult(r)))
	if len(names) > 0 && names[0] == r.SourceType {
		return names[1:]
	}
	return names
}

// Apart returns for each result the name in its place that tells it from other documents with its title; that of its
// file where several of them are in one place; empty where no other document has the title.
func Apart(results []wire.SearchResult) []string {
	files := map[string]map[string]bool{} // in a place, by title and place
	key := func(r wire.SearchResult) string { return strings.ToLower(Title(r)) + "\n" + r.Place }
	for _, r := range results {
		if files[key(r)] == nil {
			files[key(r)] = map[string]bool{}
		}
		files[key(r)][fileName(r)] = true
	}
	paths, ends := make([]string, len(results)), map[string]map[string]bool{} // paths by title and end
	title := func(r wire.SearchResult) string { return strings.ToLower(Title(r)) + "\n" }
	for i, r := range results {
		if paths[i] = r.Place; len(files[key(r)]) > 1 {
			paths[i] += "/" + fileName(r)
		}
		for _, end := range append(endsOf(paths[i]), "") {
			if ends[title(r)+end] == nil {
				ends[title(r)+end] = map[string]bool{}
			}
			ends[title(r)+end][paths[i]] = true
		}
	}
	apart := make([]string, len(results))
	for i, r := range results {
		if len(ends[title(r)]) < 2 {
			continue
		}
		for _, end := range endsOf(paths[i]) {
			apart[i] = field.PlaceNames(end)[0]
			if len(ends[title(r)+end]) < 2 {
				break
			}
		}
	}
	return apart
}

// endsOf returns the ends of a path, from its last name to the whole.
func endsOf(path string) (ends []string) {
	for at := len(path) - 1; at >= 0; at-- {
		if at == 0 || path[at-1] == '/' && path[at] != '/' {
			ends = append(ends, path[at:])
		}
	}
	return ends
}

// fileName returns the name of a result's file as its citation says it; empty without one.
func fileName(r wire.SearchResult) string {
	if file, ok := strings.CutPrefix(r.Citation, r.Place+"/"); ok && !strings.Contains(file, "://") {
		return file[:max(0, strings.LastIndexAny(file, ":#"))]
	}
	address, _, _ := strings.Cut(r.Citation, "#")
	return path.Base(address)
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
