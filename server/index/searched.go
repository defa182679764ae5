package index

import (
	"path"
	"slices"
	"strings"

	"quarry/internal/text"
)

// pathSegments is how many of the last segments of a document's path are searched with its title.
const pathSegments = 2

// TitleField returns the texts that are searched as the title: the title that somebody gave, the last segments of the
// path, and the name of the file.
func (d *Document) TitleField() (texts []string) {
	if !d.Untitled {
		texts = append(texts, d.Title)
	}
	texts = append(texts, d.Path[max(0, len(d.Path)-pathSegments):]...)
	if name := d.fileName(); name != "" {
		texts = append(texts, name)
	}
	return texts
}

// Names returns what a document is called: its title, and the name of its file or, if that is named for its role there,
// of the folder.
func (d *Document) Names() []string {
	names := []string{d.Title}
	if name := d.fileName(); name != "" {
		return append(names, name)
	}
	if file, ok := d.file(); ok {
		names = append(names, separate(path.Base(path.Dir(file))))
	}
	return names
}

// file returns the path of the file that the id contains: of one in an archive or a repository, the path in there.
func (d *Document) file() (file string, ok bool) {
	if _, inside, ok := strings.Cut(d.ID, "!"); ok {
		return inside, true
	}
	return strings.CutPrefix(d.ID, "file:")
}

// fileName returns the words of the name of the file that the id contains, without its extension; empty if the id names
// no file, or one that is named for its role in a folder.
func (d *Document) fileName() string {
	file, ok := d.file()
	if !ok {
		return ""
	}
	name := path.Base(file)
	name = strings.TrimSuffix(name, path.Ext(name))
	switch strings.ToLower(name) {
	case "index", "readme", "_index", "default", "main":
		return ""
	}
	return separate(name)
}

// separate makes the parts of a name words, which they are, not an identifier.
func separate(name string) string { return strings.NewReplacer("_", " ", "-", " ").Replace(name) }

// HeadingsField returns the texts that are searched as headings of a chunk: the headings above it, and for the first
// chunk also the metadata that describes the document in words.
func (d *Document) HeadingsField(chunk int) []string {
	texts := d.Chunks[chunk].Headings
	if chunk > 0 {
		return texts
	}
	for _, field := range d.Metadata {
		if text.IsAmong(strings.ToLower(field.Key),
			`keywords tags tag labels label categories category topics topic subject
			subtitle description summary abstract aliases redirect_from`) {
			texts = append(slices.Clip(texts), field.Values...)
		}
	}
	return texts
}
