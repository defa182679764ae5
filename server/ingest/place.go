package ingest

import (
	"path"
	"strings"

	"quarry/client/field"
	"quarry/server/index"
)

// place returns where a document of the task's file lives, from the name of its root down: the folders of a file, those
// of a container and what its reader says of the document in it, the place that a line's own metadata and link say, or
// the section of a site.
func (t *task) place(doc *index.Document) string {
	file, names := t.file, []string{t.target.state.Name}
	folder, inner := path.Dir(file.name), field.PlaceNames(doc.Place)
	switch {
	case file.remote != nil:
		folder, inner = "", field.PlaceInSource("web", doc.Link, nil)
		inner = inner[min(1, len(inner)):] // behind the host
	case file.format.container != nil:
		if folder = file.name; !file.info.IsDir() {
			folder = strings.TrimSuffix(folder, path.Ext(folder))
		}
	case file.format.lines:
		inner = doc.PlaceInSource()
	default:
		inner = nil // a renamed file has its old place
	}
	if folder != "" && folder != "." {
		names = append(names, strings.Split(folder, "/")...)
	}
	return field.JoinPlace(append(names, inner...)...)
}
