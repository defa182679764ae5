package ingest

import (
	"cmp"
	"errors"
	"strings"

	"quarry/internal/guard"
	"quarry/server/ingest/office"
)

// fromArchive reads an office document or a book, whatever its name says.
func fromArchive(r *fileReader, data []byte) extracted {
	archive := guard.Must(office.Open(r.ctx, data, office.DefaultLimits(), r.leaveOut))
	kind := archive.Kind()
	switch kind {
	case "":
		guard.Abort(errors.New("it is a ZIP archive, not a document"))
	case office.EPUB:
		return r.book(archive)
	}
	document := guard.Must(archive.Document(kind))
	return extracted{meta: propertiesOf(kind, document.Properties), body: document.Markdown}
}

// propertiesOf returns what the properties of a document say.
func propertiesOf(kind string, p office.Properties) meta {
	m := meta{Type: kind, Title: oneLine(p.Title, longestTitle)}
	for _, author := range p.Authors {
		if author != "python-docx" && author != "openpyxl" { // the program's name where there is no author
			m.Authors = addNames(m.Authors, author, ";")
		}
	}
	m.CreatedAt, m.UpdatedAt = p.Created, cmp.Or(p.Modified, p.Created)
	for _, keywords := range p.Keywords {
		m.addField("keywords", splitTags(keywords), true)
	}
	m.addField("description", []string{p.Description}, false)
	return m
}

// book reads an EPUB chapter by chapter.
func (r *fileReader) book(archive *office.Archive) (e extracted) {
	book := guard.Must(archive.Book())
	e.meta = propertiesOf(office.EPUB, book.Properties)
	var body strings.Builder
	var failed error
	for _, name := range book.Chapters {
		data, err := archive.Read(name)
		var chapter []byte
		if err == nil {
			chapter, _, err = decode(data, true)
		}
		if err != nil {
			guard.Check(r.ctx.Err())
			failed = cmp.Or(failed, err)
			r.leaveOut(name, err)
			continue
		}
		text := r.page(string(chapter), nil).body
		if body.Len()+len(text) > mostText {
			guard.Abort(errTooMuchText)
		}
		body.WriteString(strings.Trim(text, "\n"))
		body.WriteString("\n\n")
	}
	if e.body = body.String(); strings.TrimSpace(e.body) == "" {
		guard.Check(failed)
	}
	return e
}
