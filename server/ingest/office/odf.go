package office

import (
	"cmp"
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
	_ = a.parse("META-INF/manifest.xml", func(x *parser) { // it is of no other use
		x.Find("encryption-data", func(element) { isEncrypted = true })
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
func (d *odf) read(x *parser) {
	d.parser = x
	x.Each(func(e element) {
		switch e.Name {
		case "automatic-styles", "styles":
			x.Each(d.listStyle)
		case "master-styles":
			x.Walk(d.master, nil)
		case "body":
			d.blocks()
		}
	})
}

// inner reads the current element with a writer of its own, and returns what that wrote.
func (d *odf) inner(w *markdown.Writer, read func(inner *odf)) string {
	inner := *d
	inner.w = w
	read(&inner)
	return d.written(w)
}

// blocks reads the blocks in the current element.
func (d *odf) blocks() { d.Walk(d.block, nil) }

// master reads the headers and footers of a master page.
func (d *odf) master(e element) {
	name, _, _ := strings.Cut(e.Name, "-") // also of left and first pages
	switch {
	case e.Attribute("display") == "false":
		d.Skip()
	case name == "header" || name == "footer":
		d.footers = append(d.footers, d.inner(&markdown.Writer{Cell: true}, (*odf).blocks))
	}
}

// object returns the text of a chart or another document that is part of this one.
func (d *odf) object(e element) string {
	name := path.Join("/", e.Attribute("href"), "content.xml")
	d.Skip()
	return d.inner(&markdown.Writer{Cell: true}, func(inner *odf) {
		if inner.isSheet = false; !d.objects[name] && d.Has(name) {
			d.objects[name] = true
			d.part(name, name, inner.read)
		}
	})
}

func (d *odf) listStyle(e element) {
	name := e.Attribute("name")
	d.Each(func(level element) {
		if e.Name == "list-style" && level.Name == "list-level-style-number" && level.Attribute("level") == "1" {
			d.numbered[name] = true
		}
	})
}

// block reads an element outside of paragraphs.
func (d *odf) block(e element) {
	if d.w.Full() {
		d.Fail(errStop)
	}
	switch e.Name {
	case "h":
		level, _ := strconv.Atoi(e.Attribute("outline-level"))
		d.w.Heading(level, d.paragraph())
	case "p":
		d.w.Paragraph(d.paragraph())
	case "list":
		d.list(0, d.numbered[e.Attribute("style-name")])
	case "spreadsheet":
		d.isSheet = true
	case "table":
		if d.isSheet { // the tables in texts have names that nobody sees
			d.w.Heading(2, e.Attribute("name"))
		}
		d.table()
	case "page":
		d.page()
	case "annotation":
		d.w.Paragraph(d.remark())
	case "creator": // of a comment
		d.author = markdown.Line(d.Text())
	case "object-ole":
		d.leave(e.Attribute("href"), errEmbedded)
	case "tracked-changes", "forms", "sequence-decls", "table-source":
		d.Skip()
	case "footer-decl", "header-decl":
		d.footers = append(d.footers, d.Text())
	case "object":
		d.w.Paragraph(d.object(e))
	case "title", "desc":
		if isDescription(e) {
			d.w.Paragraph(d.Text())
		}
	}
}

// remark returns the text of a note or comment on one line, after the author.
func (d *odf) remark() string {
	author := ""
	text := d.inner(&markdown.Writer{}, func(inner *odf) {
		inner.author = ""
		inner.blocks()
		author = inner.author
	})
	return strings.TrimPrefix(author+": "+markdown.Line(text), ": ")
}

// isDescription reports whether a title or description is that of a picture or drawing.
func isDescription(e element) bool {
	return strings.Contains(e.Space, "svg")
}

// page reads a slide. Its first heading is the text of its title.
func (d *odf) page() {
	d.slide++
	d.title = ""
	boxes := d.boxes()
	d.w.Heading(2, slideTitle(d.slide, d.title))
	for _, box := range boxes {
		d.w.Blocks(box.block)
	}
}

// boxes returns what is on a slide or in a group, in the order in which it is read.
func (d *odf) boxes() (boxes []placed) {
	d.Each(func(e element) {
		box := placed{place: place{number(e, "x"), number(e, "y"), number(e, "height")}}
		isTitle := e.Attribute("class") == "title" && e.Name != "g"
		box.block = d.inner(&markdown.Writer{}, func(inner *odf) {
			switch {
			case e.Name == "g":
				group := inner.boxes()
				for _, part := range group {
					inner.w.Blocks(part.block)
				}
				if len(group) > 0 {
					box.place = group[0].place
				}
			case isTitle:
				inner.blocks()
			case e.Name == "notes":
				box.y = math.Inf(1) // below all boxes
				inner.w.Heading(3, "Notes")
				inner.blocks()
			default:
				inner.Enter(e, inner.block)
			}
		})
		if isTitle {
			d.title, box.block = box.block, ""
		}
		boxes = append(boxes, box)
		d.hold(1)
	})
	return arrange(boxes)
}

func (d *odf) list(depth int, numbered bool) {
	d.Each(func(item element) {
		d.Walk(func(e element) {
			switch e.Name {
			case "p", "h":
				d.w.Item(depth, numbered, d.paragraph())
			case "list":
				d.list(depth+1, numbered)
			default:
				d.block(e)
			}
		}, nil)
	})
}

// paragraph returns the text of a paragraph, with its notes and comments behind it.
func (d *odf) paragraph() string {
	out := &strings.Builder{}
	var notes []string
	isNumber := false
	var read func(e element)
	add := func(text []byte) { out.Write(text) }
	read = func(e element) {
		switch e.Name {
		case "s", "tab":
			out.WriteByte(' ')
		case "line-break":
			out.WriteByte('\n')
		case "a":
			before := out
			out = &strings.Builder{}
			d.Walk(read, add)
			before.WriteString(markdown.Link(out.String(), e.Attribute("href")))
			out = before
		case "note-body", "annotation", "text-box":
			notes = append(notes, d.remark())
		case "object":
			notes = append(notes, markdown.Line(d.object(e)))
		case "object-ole":
			d.leave(e.Attribute("href"), errEmbedded)
		case "sheet-name", "page-number", "page-count":
			isNumber = true
			d.Skip()
		case "note-citation", "ruby-text", "annotation-end":
			d.Skip()
		case "title", "desc":
			if isDescription(e) {
				notes = append(notes, markdown.Line(d.Text()))
			}
		}
	}
	d.Walk(read, add)
	if isNumber && len(strings.Fields(out.String())) < 2 { // such as "Page 1"
		out.Reset()
	}
	return strings.Join(append([]string{out.String()}, notes...), "\n")
}

// table writes a table. In a sheet an empty row ends one.
func (d *odf) table() {
	var rows [][]string
	flush := func() {
		d.w.Table(trimColumns(rows))
		rows = nil
	}
	d.Walk(func(e element) {
		switch e.Name {
		case "table-row":
			if row := d.row(); len(row) > 0 {
				rows = append(rows, row)
			} else if d.isSheet {
				flush()
			}
			d.hold(1)
		case "table-columns", "table-column", "table-source":
			d.Skip()
		case "shapes": // on the sheet, beside its cells
			d.blocks()
		}
	}, nil)
	flush()
}

// row returns the cells up to the last one with text.
func (d *odf) row() (cells []string) {
	empty := 0
	d.Each(func(e element) {
		text := cmp.Or(d.inner(&markdown.Writer{Cell: true}, (*odf).blocks), cellValue(e))
		repeated, failed := strconv.Atoi(e.Attribute("number-columns-repeated"))
		if failed != nil || repeated < 1 {
			repeated = 1
		}
		if text == "" {
			empty = min(empty+repeated, 1<<14)
			d.hold(1)
			return
		}
		if d.hold(empty + 1); d.Err() == nil {
			cells = append(cells, make([]string, empty)...)
		}
		empty = 0
		if repeated > maxSpan {
			d.leaveOnce("some repeated cells", fmt.Errorf("there are more than %d in a row", maxSpan))
		}
		for range min(repeated, maxSpan) {
			if d.hold(1); d.Err() != nil {
				return
			}
			d.reuse(len(text))
			cells = append(cells, text)
		}
	})
	return cells
}

// cellValue returns the value of a cell that a program stored without its text.
func cellValue(e element) string {
	var hours, minutes, seconds int
	if _, err := fmt.Sscanf(e.Attribute("time-value"), "PT%dH%dM%dS", &hours, &minutes, &seconds); err == nil {
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	format := numberFormat{percent: e.Attribute("value-type") == "percentage"}
	return cmp.Or(e.Attribute("date-value"), e.Attribute("string-value"), e.Attribute("boolean-value"),
		format.show(e.Attribute("value"), time.Time{}))
}
