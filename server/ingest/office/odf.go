package office

import (
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"

	"quarry/server/ingest/markdown"
)

// odf reads OpenDocument: texts, sheets and slides have one vocabulary.
type odf struct {
	*parser
	w        *markdown.Writer
	numbered map[string]bool // list styles
	isSheet  bool
	slide    int
	title    string // of the slide that is read
}

func readODF(a *Archive, w *markdown.Writer) error {
	d := &odf{w: w, numbered: map[string]bool{}}
	err := a.parse("META-INF/manifest.xml", func(x *parser, _ xml.StartElement) error {
		return x.each(func(xml.StartElement) error {
			return x.each(func(e xml.StartElement) error {
				if e.Name.Local == "encryption-data" {
					return ErrEncrypted
				}
				return x.skip()
			})
		})
	})
	if err != nil {
		return err
	}
	if !a.Has("content.xml") {
		return errNoContent
	}
	for _, part := range []string{"styles.xml", "content.xml"} {
		if err := a.parse(part, func(x *parser, _ xml.StartElement) error {
			d.parser = x
			return x.each(func(e xml.StartElement) error {
				switch e.Name.Local {
				case "automatic-styles", "styles":
					return x.each(d.listStyle)
				case "body":
					return x.each(d.block)
				}
				return x.skip()
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

func (d *odf) listStyle(e xml.StartElement) error {
	if e.Name.Local != "list-style" {
		return d.skip()
	}
	name := attribute(e, "name")
	return d.each(func(e xml.StartElement) error {
		if e.Name.Local == "list-level-style-number" && attribute(e, "level") == "1" {
			d.numbered[name] = true
		}
		return d.skip()
	})
}

// block reads an element outside of paragraphs.
func (d *odf) block(e xml.StartElement) error {
	if d.w.Full() {
		return errStop
	}
	switch e.Name.Local {
	case "h":
		level, _ := strconv.Atoi(attribute(e, "outline-level"))
		text, err := d.paragraph()
		d.w.Heading(level, text)
		return err
	case "p":
		text, err := d.paragraph()
		d.w.Paragraph(text)
		return err
	case "list":
		return d.list(0, d.numbered[attribute(e, "style-name")])
	case "spreadsheet":
		d.isSheet = true
	case "table":
		if d.isSheet { // the tables in texts have names that nobody sees
			d.w.Heading(2, attribute(e, "name"))
		}
		return d.table()
	case "page":
		return d.page()
	case "tracked-changes", "forms", "sequence-decls", "table-source", "shapes", "desc":
		return d.skip()
	}
	return d.each(d.block)
}

// page reads a slide. Its first heading is the text of its title.
func (d *odf) page() error {
	d.slide++
	outer := d.w
	d.w, d.title = &markdown.Writer{}, ""
	err := d.each(func(e xml.StartElement) error {
		if attribute(e, "class") == "title" {
			frame := *d
			frame.w = &markdown.Writer{}
			err := d.each(frame.block)
			d.title, _ = frame.w.Text()
			return err
		}
		if e.Name.Local == "notes" {
			d.w.Heading(3, "Notes")
		}
		return d.block(e)
	})
	text, _ := d.w.Text()
	d.w = outer
	d.w.Heading(2, slideTitle(d.slide, d.title))
	d.w.Blocks(text)
	return err
}

func (d *odf) list(depth int, numbered bool) error {
	return d.each(func(item xml.StartElement) error {
		return d.each(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "p", "h":
				text, err := d.paragraph()
				d.w.Item(depth, numbered, text)
				return err
			case "list":
				return d.list(depth+1, numbered)
			}
			return d.block(e)
		})
	})
}

// paragraph returns the text of a paragraph, with its notes and comments behind it.
func (d *odf) paragraph() (string, error) {
	var out strings.Builder
	var notes []string
	var read func(e xml.StartElement) error
	add := func(text []byte) { out.Write(text) }
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "s":
			out.WriteByte(' ')
		case "tab":
			out.WriteByte(' ')
		case "line-break":
			out.WriteByte('\n')
		case "a":
			before := out.Len()
			if err := d.content(read, add); err != nil {
				return err
			}
			text := out.String()
			out.Reset()
			out.WriteString(text[:before] + markdown.Link(text[before:], attribute(e, "href")))
			return nil
		case "note-body", "annotation", "text-box":
			inner := *d
			inner.w = &markdown.Writer{}
			err := d.each(inner.block)
			text, _ := inner.w.Text()
			notes = append(notes, markdown.Line(text))
			return err
		case "note-citation", "ruby-text", "annotation-end":
			return d.skip()
		}
		return d.content(read, add)
	}
	err := d.content(read, add)
	return strings.Join(append([]string{out.String()}, notes...), "\n"), err
}

// table writes a table. In a sheet an empty row ends one.
func (d *odf) table() error {
	var rows [][]string
	flush := func() {
		d.w.Table(trimColumns(rows))
		rows = nil
	}
	var read func(e xml.StartElement) error
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "table-row":
			row, err := d.row()
			if len(row) > 0 {
				rows = append(rows, row)
			} else if d.isSheet {
				flush()
			}
			return cmp.Or(err, d.hold(1))
		case "table-columns", "table-column", "table-source":
			return d.skip()
		}
		return d.each(read)
	}
	err := d.each(read)
	flush()
	return err
}

// row returns the cells up to the last one with text.
func (d *odf) row() (cells []string, err error) {
	empty := 0
	err = d.each(func(e xml.StartElement) error {
		inner := *d
		inner.w = &markdown.Writer{Cell: true}
		if err := d.each(inner.block); err != nil {
			return err
		}
		text, _ := inner.w.Text()
		repeated, failed := strconv.Atoi(attribute(e, "number-columns-repeated"))
		if failed != nil || repeated < 1 {
			repeated = 1
		}
		if text == "" {
			empty = min(empty+repeated, 1<<14)
			return d.hold(1)
		}
		cells = append(cells, make([]string, empty)...)
		if err := d.hold(empty + 1); err != nil {
			return err
		}
		empty = 0
		for range min(repeated, maxSpan) {
			cells = append(cells, text)
			if err := d.hold(1); err != nil {
				return err
			}
		}
		return nil
	})
	return cells, err
}
