package ingest

import (
	"archive/zip"
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/server/index"
)

// mostPath bounds the pages above a page that its document names.
const mostPath = 5

// isExported reports whether a file of an export is read as a document, by its name in the export.
func isExported(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if isSkippedName(part) || part == "__MACOSX" {
			return false
		}
	}
	f, reason := formatOf(name)
	return reason == "" && !f.lines
}

// exported are the fields of a document of an export that its file may not have. id is its name below that of the
// export.
func (c *collector) exported(source, name, id, title string, above []string) index.Document {
	f, _ := formatOf(name)
	file := c.task.file
	for i, folder := range above {
		above[i] = oneLine(folder, longestValue)
	}
	place := field.JoinPlace(above...)
	doc := index.Document{
		ID: fileID(file.path) + "!" + escapePath(id), Source: source, Type: f.name, Title: oneLine(title, longestTitle),
		Path: above[max(0, len(above)-mostPath):], Place: place,
		UpdatedAt: file.info.ModTime().UTC(), Link: fileLink(file.path),
		Origin: name, // until it is collected
	}
	if len(file.inner) > 0 {
		doc.Link = fileLink(path.Join(file.path, name))
	}
	return doc
}

// conversation are the fields of the document of a thread or chat in a container.
func (c *collector) conversation(source, id, title, link string, folders []string) index.Document {
	doc := c.exported(source, "", id, title, folders)
	doc.Type, doc.Link, doc.Access = typeOf("", source), cmp.Or(link, doc.Link), []string{AccessPublic}
	doc.UpdatedAt = time.Time{}
	return doc
}

// addExported adds the documents of files in the export, or the reasons why they have none.
func (c *collector) addExported(names []string, read func(name string, data []byte) index.Document) {
	for _, name := range names {
		c.addDocument(name, func() index.Document { return c.dated(read(name, guard.Must(c.content(name)))) })
	}
}

// dated returns a document of an export with what its date is, if it has none of its own.
func (c *collector) dated(doc index.Document) index.Document {
	if c.task.datedByFile(&doc) {
		dateByFile(&doc)
	}
	return doc
}

// addDocument adds the document of a file or page, or the reason why it has none.
func (c *collector) addDocument(name string, read func() index.Document) {
	var doc index.Document
	err := recovered(func() { doc = read() })
	if c.check(); err != nil {
		c.innerProblem(name, err)
		return
	}
	c.add(doc, 0)
}

// openNested opens an archive in an archive.
func (c *collector) openNested(name string) (*zip.Reader, io.Closer, error) {
	file, size, err := c.random(name)
	if err != nil {
		return nil, nil, err
	}
	archive, err := readZIP(file, size)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return archive, file, nil
}

// joinedFS is several file systems as one.
type joinedFS []fs.FS

func (j joinedFS) Open(name string) (file fs.File, err error) {
	err = fs.ErrNotExist
	for _, part := range j {
		if file, err = part.Open(name); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// textBelow returns the text in an element, on one line and up to a bound.
func textBelow(node *html.Node) string {
	const mostNodes = 1_000
	var out strings.Builder
	nodes := 0
	for inner := range node.Descendants() {
		if inner.Type == html.TextNode {
			out.WriteString(inner.Data)
		}
		if nodes++; nodes >= mostNodes || out.Len() > longestTitle {
			break
		}
	}
	return oneLine(out.String(), longestValue)
}

// hasClass reports whether an element has a class.
func hasClass(node *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attribute(node, "class")), class)
}

func setAttribute(node *html.Node, key, value string) {
	for i := range node.Attr {
		if node.Attr[i].Key == key {
			node.Attr[i].Val = value
		}
	}
}
