package office

import (
	"bytes"
	"cmp"
	"errors"
	"strings"
	"time"

	"quarry/server/ingest/dates"
	"quarry/server/ingest/markdown"
)

// Document is the text of a file as Markdown, with its properties.
type Document struct {
	Markdown string
	Properties
}

// Properties describe a document. They are as the file has them: any length, any characters.
type Properties struct {
	Title, Description string
	Authors, Keywords  []string
	Created, Modified  time.Time

	date time.Time // dc:date: of the last change in OpenDocument, of the publication in an EPUB
}

// Kinds of archives.
const (
	DOCX = "docx"
	PPTX = "pptx"
	XLSX = "xlsx"
	ODT  = "odt"
	ODS  = "ods"
	ODP  = "odp"
	EPUB = "epub"
)

// Kind returns what an archive contains; "" if it is none of the kinds.
func (a *Archive) Kind() string {
	switch {
	case a.hasBelow("word/"):
		return DOCX
	case a.hasBelow("ppt/"):
		return PPTX
	case a.hasBelow("xl/"):
		return XLSX
	}
	declared, _ := a.Read("mimetype")
	switch kind := strings.TrimSpace(string(declared[:min(len(declared), 100)])); {
	case strings.HasPrefix(kind, "application/vnd.oasis.opendocument.text"):
		return ODT
	case strings.HasPrefix(kind, "application/vnd.oasis.opendocument.spreadsheet"):
		return ODS
	case strings.HasPrefix(kind, "application/vnd.oasis.opendocument.presentation"):
		return ODP
	case kind == "application/epub+zip", a.Has("META-INF/container.xml"):
		return EPUB
	}
	return ""
}

// IsCompound reports whether data begins like a compound file: an Office file of before 2007, or an encrypted one.
func IsCompound(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"))
}

// CompoundReason returns why a compound file cannot be read.
func CompoundReason(data []byte) error {
	if bytes.Contains(data,
		[]byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")) {
		return ErrEncrypted
	}
	return errors.New("it is in a format of Office 97-2003; save it as DOCX, XLSX or PPTX")
}

// Document reads a document of any kind but EPUB.
func (a *Archive) Document(kind string) (Document, error) {
	w := markdown.Writer{Limit: a.limits.Text}
	read, isOffice := map[string]func(*Archive, *markdown.Writer) error{
		DOCX: readDOCX, PPTX: readPPTX, XLSX: readXLSX,
	}[kind]
	part := "docProps/core.xml"
	if !isOffice {
		read, part = readODF, "meta.xml"
	}
	if err := read(a, &w); err != nil {
		return Document{}, err
	}
	text, err := w.Text()
	if err != nil {
		return Document{}, err
	}
	d := Document{Markdown: text}
	if a.Has(part) { // without properties a document is complete: they are only read as far as they can be
		a.part("properties", part, d.Properties.read)
	}
	if !isOffice {
		d.Modified = d.date
	}
	return d, a.ctx.Err()
}

// read reads Dublin Core and what Office and OpenDocument add to it, at any depth.
func (p *Properties) read(x *parser) {
	x.Each(func(e element) {
		name := e.Name
		_, property, _ := strings.Cut(e.Attribute("property"), "dcterms:") // of EPUB 3
		switch {
		case name == "meta" && property != "":
			name = property
		case name == "meta" || name == "metadata":
			p.read(x)
			return
		}
		text := strings.TrimSpace(unescapeCharacters(x.Text()))
		if text == "" || x.Err() != nil {
			return
		}
		switch name {
		case "title":
			p.Title = cmp.Or(p.Title, text)
		case "creator", "initial-creator":
			p.Authors = append(p.Authors, text)
		case "description", "subject":
			p.Description = cmp.Or(p.Description, text)
		case "keywords", "keyword", "category":
			p.Keywords = append(p.Keywords, text)
		case "created", "creation-date":
			p.Created, _ = dates.Parse(text)
		case "modified":
			p.Modified, _ = dates.Parse(text)
		case "date":
			p.date, _ = dates.Parse(text)
		}
	})
}
