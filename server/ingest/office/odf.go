package office

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"quarry/server/ingest/markdown"
)

// odf reads OpenDocument: texts, sheets and slides have one vocabulary.
type odf struct {
	*parser
	*Archive
	w        *markdown.Writer
	numbered map[string]bool // list styles
	isSheet  bool
	slide    int
	title    string // of the slide that is read
	author   string // of the comment that is read
	footers  []string
	objects  map[string]bool // that were read, each once
}

func readODF(a *Archive, w *markdown.Writer) error {
	d := &odf{Archive: a, w: w, numbered: map[string]bool{}, objects: map[string]bool{}}
	isEncrypted := false
	_ = a.parse("META-INF/manifest.xml", func(x *parser, _ xml.StartElement) error { // it is of no other use
		return x.find("encryption-data", func(xml.StartElement) { isEncrypted = true })
	})
	if isEncrypted {
		return ErrEncrypted
	}
	if !a.Has("content.xml") {
		return errNoContent
	}
	if a.Has("styles.xml") {
		a.part("headers, footers and styles", "styles.xml", d.read)
	}
	err := a.body("the text", "content.xml", w, d.read)
	writeFooters(w, d.footers)
	return err
}

// read reads a part with styles, pages or content.
func (d *odf) read(x *parser, _ xml.StartElement) error {
	d.parser = x
	return x.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "automatic-styles", "styles":
			return x.each(d.listStyle)
		case "master-styles":
			return x.each(d.master)
		case "body":
			return x.each(d.block)
		}
		return x.skip()
	})
}

// master reads the headers and footers of a master page.
func (d *odf) master(e xml.StartElement) error {
	name, _, _ := strings.Cut(e.Name.Local, "-") // also of left and first pages
	switch {
	case attribute(e, "display") == "false":
		return d.skip()
	case name == "header" || name == "footer":
		inner := *d
		inner.w = &markdown.Writer{Cell: true}
		err := d.each(inner.block)
		d.footers = append(d.footers, d.written(inner.w))
		return err
	}
	return d.each(d.master)
}

// object returns the text of a chart or another document that is part of this one.
func (d *odf) object(e xml.StartElement) (string, error) {
	name := path.Join("/", attribute(e, "href"), "content.xml")
	inner := *d
	inner.w, inner.isSheet = &markdown.Writer{Cell: true}, false
	if !d.objects[name] && d.Has(name) {
		d.objects[name] = true
		d.part(name, name, inner.read)
	}
	return d.written(inner.w), d.skip()
}

func (d *odf) listStyle(e xml.StartElement) error {
	if e.Name.Local != "list-style" {
		return d.skip()
	}
	name := attribute(e, "name")
	return d.children(func(e xml.StartElement) {
		if e.Name.Local == "list-level-style-number" && attribute(e, "level") == "1" {
			d.numbered[name] = true
		}
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
	case "annotation":
		text, err := d.remark()
		d.w.Paragraph(text)
		return err
	case "creator": // of a comment
		text, err := d.text()
		d.author = markdown.Line(text)
		return err
	case "object-ole":
		d.leave(attribute(e, "href"), errEmbedded)
	case "tracked-changes", "forms", "sequence-decls", "table-source":
		return d.skip()
	case "footer-decl", "header-decl":
		text, err := d.text()
		d.footers = append(d.footers, text)
		return err
	case "object":
		text, err := d.object(e)
		d.w.Paragraph(text)
		return err
	}
	if isDescription(e) {
		text, err := d.text()
		d.w.Paragraph(text)
		return err
	}
	return d.each(d.block)
}

// remark returns the text of a note or comment on one line, after the author.
func (d *odf) remark() (string, error) {
	inner := *d
	inner.w, inner.author = &markdown.Writer{}, ""
	err := d.each(inner.block)
	return strings.TrimPrefix(inner.author+": "+markdown.Line(d.written(inner.w)), ": "), err
}

// isDescription reports whether an element has the title or description of a picture or drawing.
func isDescription(e xml.StartElement) bool {
	return (e.Name.Local == "title" || e.Name.Local == "desc") && strings.Contains(e.Name.Space, "svg")
}

// page reads a slide. Its first heading is the text of its title.
func (d *odf) page() error {
	d.slide++
	d.title = ""
	boxes, err := d.boxes()
	d.w.Heading(2, slideTitle(d.slide, d.title))
	for _, box := range boxes {
		d.w.Blocks(box.block)
	}
	return err
}

// boxes returns what is on a slide or in a group, in the order in which it is read.
func (d *odf) boxes() (boxes []placed, err error) {
	err = d.each(func(e xml.StartElement) error {
		inner := *d
		inner.w = &markdown.Writer{}
		box := placed{place: place{number(e, "x"), number(e, "y"), number(e, "height")}}
		var err error
		switch {
		case e.Name.Local == "g":
			var group []placed
			group, err = inner.boxes()
			for _, part := range group {
				inner.w.Blocks(part.block)
			}
			if len(group) > 0 {
				box.place = group[0].place
			}
		case attribute(e, "class") == "title":
			err = d.each(inner.block)
			d.title = d.written(inner.w)
			inner.w = &markdown.Writer{}
		case e.Name.Local == "notes":
			box.y = math.Inf(1) // below all boxes
			inner.w.Heading(3, "Notes")
			err = inner.block(e)
		default:
			err = inner.block(e)
		}
		box.block = d.written(inner.w)
		boxes = append(boxes, box)
		return cmp.Or(err, d.hold(1))
	})
	return arrange(boxes), err
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
	out := &strings.Builder{}
	var notes []string
	isNumber := false
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
			before := out
			out = &strings.Builder{}
			err := d.content(read, add)
			before.WriteString(markdown.Link(out.String(), attribute(e, "href")))
			out = before
			return err
		case "note-body", "annotation", "text-box":
			text, err := d.remark()
			notes = append(notes, text)
			return err
		case "object":
			text, err := d.object(e)
			notes = append(notes, markdown.Line(text))
			return err
		case "object-ole":
			d.leave(attribute(e, "href"), errEmbedded)
		case "sheet-name", "page-number", "page-count":
			isNumber = true
			return d.skip()
		case "note-citation", "ruby-text", "annotation-end":
			return d.skip()
		}
		if isDescription(e) {
			text, err := d.text()
			notes = append(notes, markdown.Line(text))
			return err
		}
		return d.content(read, add)
	}
	err := d.content(read, add)
	if isNumber && len(strings.Fields(out.String())) < 2 { // such as "Page 1"
		out.Reset()
	}
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
		case "shapes": // on the sheet, beside its cells
			return d.each(d.block)
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
		text := d.written(inner.w)
		if text == "" {
			text = cellValue(e)
		}
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
		if repeated > maxSpan {
			d.leaveOnce("some repeated cells", fmt.Errorf("there are more than %d in a row", maxSpan))
		}
		for range min(repeated, maxSpan) {
			cells = append(cells, text)
			if err := cmp.Or(d.hold(1), d.reuse(len(text))); err != nil {
				return err
			}
		}
		return nil
	})
	return cells, err
}

// cellValue returns the value of a cell that a program stored without its text.
func cellValue(e xml.StartElement) string {
	var hours, minutes, seconds int
	if _, err := fmt.Sscanf(attribute(e, "time-value"), "PT%dH%dM%dS", &hours, &minutes, &seconds); err == nil {
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	format := numberFormat{percent: attribute(e, "value-type") == "percentage"}
	return cmp.Or(attribute(e, "date-value"), attribute(e, "string-value"), attribute(e, "boolean-value"),
		format.show(attribute(e, "value"), time.Time{}))
}
