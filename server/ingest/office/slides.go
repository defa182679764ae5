package office

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"quarry/server/ingest/markdown"
)

var errNoContent = errors.New("it is damaged: it has no content")

// slide is what a slide, the notes to it, or a drawing on a sheet shows.
type slide struct {
	*parser
	*figures
	w       markdown.Writer
	titles  []string // parts of its title
	footers []string // and headers
	layout  map[string]place
	parts   []placed // that are read but not written

	placed        // the box or group that is read
	kind   string // of the placeholder that it is; "" for none
}

// place is where a box is: its upper left corner, and its height. The zero place is unknown.
type place struct{ x, y, height float64 }

// placed is a box or group of boxes.
type placed struct {
	place
	block string   // Markdown
	keys  []string // of the placeholder that it is
}

// arrange orders boxes as they are read: from top to bottom, those beside each other from left to right. A box is
// beside another one that begins above it if it begins above that one's middle. On a slide, the order in the file is
// that of drawing.
func arrange(parts []placed) []placed {
	slices.SortStableFunc(parts, func(a, b placed) int { return cmp.Compare(a.y, b.y) })
	for start := 0; start < len(parts); {
		end := start + 1
		first := parts[start]
		for end < len(parts) && (parts[end].y == first.y || parts[end].y < first.y+first.height/2) {
			end++
		}
		slices.SortStableFunc(parts[start:end], func(a, b placed) int { return cmp.Compare(a.x, b.x) })
		start = end
	}
	return parts
}

func readPPTX(a *Archive, w *markdown.Writer) error {
	const part = "ppt/presentation.xml"
	links := a.links(part)
	var order []string
	err := a.parse(part, func(x *parser) {
		x.Each(func(e element) {
			isList := e.Name == "sldIdLst"
			x.Each(func(e element) {
				if !isList {
					return
				}
				target := ""
				for _, at := range e.Attr { // the slide has an id of its own
					if at.Name.Local == "id" && links[at.Value].kind == "slide" {
						target = links[at.Value].target
					}
				}
				order = append(order, target) // a missing one keeps its number
			})
		})
	})
	if err != nil {
		return err
	}
	if len(order) == 0 {
		return errNoContent
	}
	p := presentation{Archive: a, w: w}
	p.authors = a.people(links, "name", "commentAuthors", "authors")
	err = a.several("slide", order, func(i int, name string) error { return p.slide(i+1, name) })
	writeFooters(w, p.footers)
	return err
}

// several reads parts of one kind. What cannot be read is left out, unless it is all of them.
func (a *Archive) several(kind string, names []string, read func(i int, name string) error) error {
	var first error
	failed := 0
	for i, name := range names {
		err := read(i, name)
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if err != nil {
			first = cmp.Or(first, err)
			failed++
			a.leave(fmt.Sprintf("%s %d", kind, i+1), err)
		}
	}
	if failed == len(names) {
		return first
	}
	return nil
}

// presentation is what the slides of a file share.
type presentation struct {
	*Archive
	w       *markdown.Writer
	authors map[string]string
	footers []string
}

func (p *presentation) slide(number int, name string) error {
	s := &slide{figures: newFigures(p.Archive, name), layout: map[string]place{}}
	layout := linked(s.links, "slideLayout")
	for _, part := range []string{layout, linked(p.links(layout), "slideMaster")} {
		p.part(path.Base(part), part, (&slide{figures: newFigures(p.Archive, part), layout: s.layout}).read)
	}
	failed := p.body(path.Base(name), name, &s.w, s.read)
	p.w.Heading(2, slideTitle(number, strings.Join(s.titles, " ")))
	p.w.Blocks(p.written(&s.w))
	p.footers = append(p.footers, s.footers...)
	for _, name := range targets(s.links, "notesSlide") {
		notes := &slide{figures: newFigures(p.Archive, name)}
		p.part(path.Base(name), name, notes.read)
		if text := p.written(&notes.w); text != "" {
			p.w.Heading(3, "Notes")
			p.w.Blocks(text)
		}
	}
	p.remarks(p.w, p.authors, targets(s.links, "comments"))
	return failed
}

// slideTitle returns the heading of a slide.
func slideTitle(number int, title string) string {
	if title = markdown.Line(title); title == "" {
		return fmt.Sprintf("Slide %d", number)
	}
	return fmt.Sprintf("Slide %d: %s", number, title)
}

func writeFooters(w *markdown.Writer, footers []string) {
	slices.Sort(footers)
	if footers = slices.Compact(footers); len(footers) > 0 {
		w.Heading(2, "Headers and footers")
		for _, footer := range footers {
			w.Paragraph(footer)
		}
	}
}

func (s *slide) read(x *parser) {
	s.parser = x
	x.Walk(s.element, nil)
	s.flush()
}

func (s *slide) flush() {
	for _, part := range arrange(s.parts) {
		s.w.Blocks(part.block)
	}
}

func (s *slide) element(e element) {
	switch e.Name {
	case "sp", "pic", "graphicFrame", "grpSp", "cxnSp":
		s.box()
	case "off":
		s.x, s.y = number(e, "x"), number(e, "y")
	case "ext":
		s.height = number(e, "cy")
	case "ph":
		s.kind = e.Attribute("type")
		if s.keys = []string{s.kind}; e.Attribute("idx") != "" {
			s.keys = []string{"index " + e.Attribute("idx"), s.kind}
		}
	case "p":
		s.write(s.line())
		s.hold(1)
	case "tbl":
		s.w.Table(s.parser.table(s.cell))
	case "Fallback", "clientData":
		s.Skip()
	default:
		s.w.Blocks(s.figure(e))
	}
}

// number returns a measure in an attribute: on a slide a number, in OpenDocument with a unit, of which all are
// centimetres in practice.
func number(e element, name string) float64 {
	n, _ := strconv.ParseFloat(strings.TrimRight(e.Attribute(name), "abcdefghijklmnopqrstuvwxyz"), 64)
	return n
}

// box reads a shape, or a group of them with its own coordinates. A placeholder without a place has that of the layout
// with its index, else of its type.
func (s *slide) box() {
	inner := &slide{parser: s.parser, figures: s.figures, layout: s.layout}
	s.Walk(inner.element, nil)
	inner.flush()
	inner.block = s.written(&inner.w)
	for _, key := range inner.keys {
		if inner.place == (place{}) {
			inner.place = s.layout[key]
		} else if _, known := s.layout[key]; !known && s.layout != nil {
			s.layout[key] = inner.place
		}
	}
	s.titles = append(s.titles, inner.titles...)
	s.footers = append(s.footers, inner.footers...)
	s.parts = append(s.parts, inner.placed)
	s.hold(1)
}

// write writes a paragraph of a box. Numbers of slides and dates are left out, titles and footers are kept for later.
func (s *slide) write(line slideLine) {
	switch {
	case s.kind == "title" || s.kind == "ctrTitle":
		s.titles = append(s.titles, line.text)
	case s.kind == "sldNum" || s.kind == "dt" || s.kind == "sldImg":
	case s.kind == "ftr" || s.kind == "hdr":
		s.footers = append(s.footers, markdown.Line(line.text))
	case line.depth > 0 || line.bullet:
		s.w.Item(line.depth, false, line.text)
	default:
		s.w.Paragraph(line.text)
	}
}

// slideLine is a paragraph on a slide.
type slideLine struct {
	text   string
	depth  int
	bullet bool
}

func (s *slide) line() (line slideLine) {
	var text strings.Builder
	target := ""
	s.Walk(func(e element) {
		switch e.Name {
		case "pPr":
			line.depth, _ = strconv.Atoi(e.Attribute("lvl"))
			s.Each(func(e element) {
				line.bullet = line.bullet || e.Name == "buChar" || e.Name == "buAutoNum"
			})
		case "r", "fld":
			target = ""
		case "t":
			run := unescapeCharacters(s.Text())
			if target != "" {
				run = markdown.Link(run, target)
				s.reuse(len(target))
			}
			text.WriteString(run)
		case "br":
			text.WriteByte('\n')
		case "rPr":
			s.Each(func(e element) {
				if e.Name == "hlinkClick" && s.figures != nil {
					target = s.links[e.Attribute("id")].target
				}
			})
		case "endParaRPr":
			s.Skip()
		}
	}, nil)
	line.text = text.String()
	return line
}

func (s *slide) cell() (string, int) {
	var lines []string
	s.Find("p", func(element) {
		lines = append(lines, s.line().text)
		s.hold(1)
	})
	return strings.Join(lines, " "), 1
}
