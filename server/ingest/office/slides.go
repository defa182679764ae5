package office

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"quarry/server/ingest/markdown"
)

var errNoContent = errors.New("it is damaged: it has no content")

// slide is what a slide shows.
type slide struct {
	*parser
	w     markdown.Writer
	title string
}

func readPPTX(a *Archive, w *markdown.Writer) error {
	const part = "ppt/presentation.xml"
	links, err := a.links(part)
	if err != nil {
		return err
	}
	var order []string
	err = a.parse(part, func(x *parser, _ xml.StartElement) error {
		return x.each(func(e xml.StartElement) error {
			if e.Name.Local != "sldIdLst" {
				return x.skip()
			}
			return x.each(func(e xml.StartElement) error {
				for _, at := range e.Attr { // the slide has an id of its own
					if at.Name.Local == "id" && links[at.Value].kind == "slide" {
						order = append(order, links[at.Value].target)
					}
				}
				return x.skip()
			})
		})
	})
	if err != nil {
		return err
	}
	if len(order) == 0 {
		return errNoContent
	}
	for i, name := range order {
		s := &slide{}
		if err := a.parse(name, s.read); err != nil {
			return err
		}
		links, err := a.links(name)
		if err != nil {
			return err
		}
		notes := &slide{}
		if err := a.parse(linked(links, "notesSlide"), notes.read); err != nil {
			return err
		}
		s.write(w, i+1, notes)
	}
	return nil
}

// slideTitle returns the heading of a slide.
func slideTitle(number int, title string) string {
	if title = markdown.Line(title); title == "" {
		return fmt.Sprintf("Slide %d", number)
	}
	return fmt.Sprintf("Slide %d: %s", number, title)
}

func (s *slide) write(w *markdown.Writer, number int, notes *slide) {
	w.Heading(2, slideTitle(number, s.title))
	text, _ := s.w.Text()
	w.Blocks(text)
	if text, _ := notes.w.Text(); text != "" {
		w.Heading(3, "Notes")
		w.Blocks(text)
	}
}

func (s *slide) read(x *parser, _ xml.StartElement) error {
	s.parser = x
	return x.each(s.element)
}

func (s *slide) element(e xml.StartElement) error {
	switch e.Name.Local {
	case "sp":
		return s.shape()
	case "tbl":
		rows, err := s.table()
		s.w.Table(rows)
		return err
	case "Fallback":
		return s.skip()
	}
	return s.each(s.element)
}

// shape reads a box of text. Numbers of slides, dates and footers are left out.
func (s *slide) shape() error {
	kind := ""
	var lines []slideLine
	var read func(e xml.StartElement) error
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "ph":
			kind = attribute(e, "type")
		case "p":
			line, err := s.line()
			lines = append(lines, line)
			return cmp.Or(err, s.hold(1))
		}
		return s.each(read)
	}
	if err := s.each(read); err != nil {
		return err
	}
	switch kind {
	case "title", "ctrTitle":
		for _, line := range lines {
			s.title = markdown.Line(s.title + " " + line.text)
		}
	case "sldNum", "dt", "ftr", "hdr", "sldImg":
	default:
		for _, line := range lines {
			if line.depth > 0 || line.bullet {
				s.w.Item(line.depth, false, line.text)
			} else {
				s.w.Paragraph(line.text)
			}
		}
	}
	return nil
}

// slideLine is a paragraph on a slide.
type slideLine struct {
	text   string
	depth  int
	bullet bool
}

func (s *slide) line() (line slideLine, err error) {
	var text strings.Builder
	var read func(e xml.StartElement) error
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "pPr":
			line.depth, _ = strconv.Atoi(attribute(e, "lvl"))
			return s.each(func(e xml.StartElement) error {
				line.bullet = line.bullet || e.Name.Local == "buChar" || e.Name.Local == "buAutoNum"
				return s.skip()
			})
		case "t":
			return s.appendText(&text)
		case "br":
			text.WriteByte('\n')
		case "rPr", "endParaRPr":
			return s.skip()
		}
		return s.each(read)
	}
	err = s.each(read)
	line.text = text.String()
	return line, err
}

func (s *slide) table() (rows [][]string, err error) {
	var cells []string
	var cell []string
	var read func(e xml.StartElement) error
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "tr":
			cells = nil
			err := s.each(read)
			rows = append(rows, cells)
			return cmp.Or(err, s.hold(1))
		case "tc":
			cell = nil
			err := s.each(read)
			cells = append(cells, strings.Join(cell, " "))
			return cmp.Or(err, s.hold(1))
		case "p":
			line, err := s.line()
			cell = append(cell, line.text)
			return cmp.Or(err, s.hold(1))
		}
		return s.each(read)
	}
	return rows, s.each(read)
}
