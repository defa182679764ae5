package ingest

import (
	"archive/zip"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/net/html"

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

// exported are the fields of a document of an export that its file may not have. id is its name below that of the export.
func (c *collector) exported(source, name, id, title string, above []string) index.Document {
	f, _ := formatOf(name)
	file := c.task.file
	for i, folder := range above {
		above[i] = oneLine(folder, longestValue)
	}
	doc := index.Document{
		ID: fileID(file.path) + "!" + escapePath(id), Source: source, Type: f.name, Title: oneLine(title, longestTitle),
		Path: above[max(0, len(above)-mostPath):], UpdatedAt: file.info.ModTime().UTC(), Link: fileLink(file.path),
	}
	if len(file.inner) > 0 {
		doc.Link = fileLink(path.Join(file.path, name))
	}
	return doc
}

// addExported adds the documents of files in the export, or the reasons why they have none.
func (c *collector) addExported(files *innerFiles, names []string, read func(name string, data []byte) (doc index.Document, assumed string, err error)) error {
	for _, name := range names {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		var doc index.Document
		assumed := ""
		data, err := files.read(name)
		if errors.Is(err, errUnpacked) {
			return err
		}
		if err == nil {
			doc, assumed, err = read(name, data)
		}
		if err != nil {
			err = c.problem(0, &innerError{name, err})
		} else {
			doc.Positions = nil // of the file in the export
			c.encoding = cmp.Or(c.encoding, assumed)
			if c.task.datedByFile(&doc) {
				doc.Metadata = addField(doc.Metadata, datedBy, []string{fileTime}, false)
			}
			err = c.add(doc, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openNested opens an archive in an archive. It is unpacked to a file that is deleted at once where the system allows it.
func (f *innerFiles) openNested(name string) (archive *zip.Reader, closeArchive func(), err error) {
	packed, err := f.fs.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer packed.Close()
	file, err := os.CreateTemp("", "quarry-*.zip")
	if err != nil {
		return nil, nil, err
	}
	isOpen := os.Remove(file.Name()) != nil // on Windows
	closeArchive = func() {
		file.Close()
		if isOpen {
			os.Remove(file.Name())
		}
	}
	size, err := io.Copy(file, io.LimitReader(packed, f.left+1))
	if f.left -= size; err == nil && f.left < 0 {
		f.failed, err = errUnpacked, errUnpacked
	}
	if err == nil {
		f.count(f.packed[name])
		archive, err = openZIP(file)
	}
	if err != nil {
		closeArchive()
		return nil, nil, err
	}
	return archive, closeArchive, nil
}

// joined are file systems as one.
type joined []fs.FS

func (j joined) Open(name string) (file fs.File, err error) {
	err = fs.ErrNotExist
	for _, part := range j {
		if file, err = part.Open(name); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// innerError is a problem of a file in a container.
type innerError struct {
	name string
	err  error
}

func (e *innerError) Error() string { return e.name + ": " + reasonOf(e.err) }

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
	for name := range strings.FieldsSeq(attribute(node, "class")) {
		if name == class {
			return true
		}
	}
	return false
}

func setAttribute(node *html.Node, key, value string) {
	for i := range node.Attr {
		if node.Attr[i].Key == key {
			node.Attr[i].Val = value
		}
	}
}
