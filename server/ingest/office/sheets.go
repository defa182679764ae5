package office

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"quarry/internal/pattern"
	"quarry/server/ingest/markdown"
)

// workbook is what the sheets of an XLSX file share.
type workbook struct {
	*Archive
	strings []string
	formats []numberFormat // by cell format
	from    time.Time
	authors map[string]string // of threads
}

func readXLSX(a *Archive, w *markdown.Writer) error {
	const part = "xl/workbook.xml"
	links := a.links(part)
	var names, parts []string // of the sheets
	b := &workbook{Archive: a, from: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	err := a.parse(part, func(x *parser) {
		x.Walk(func(e element) {
			switch e.Name {
			case "workbookPr":
				if flag := e.Attribute("date1904"); flag == "1" || flag == "true" {
					b.from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
				}
			case "sheet":
				name, link := unescapeCharacters(e.Attribute("name")), links[e.Attribute("id")]
				if slices.Contains(sheetKinds[:], link.kind) {
					names, parts = append(names, name), append(parts, link.target)
				} else {
					a.leave("sheet "+name, errMissing)
				}
			}
		}, nil)
	})
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		return errNoContent
	}
	a.part("texts of cells", linked(links, "sharedStrings"), b.readStrings)
	a.part("formats of cells", linked(links, "styles"), b.readStyles)
	b.authors = a.people(links, "displayName", "person")
	return a.several("sheet", parts, func(i int, part string) error {
		w.Heading(2, names[i])
		return b.sheet(w, names[i], part)
	})
}

var sheetKinds = [...]string{"worksheet", "chartsheet", "dialogsheet"}

// sheet writes the tables of a sheet, and below them what is drawn on it, the targets of its links, its comments, and
// its headers and footers.
func (b *workbook) sheet(w *markdown.Writer, name, part string) error {
	s := sheet{workbook: b, w: w, links: b.links(part)}
	failed := b.body("sheet "+name, part, w, s.read)
	for _, drawing := range targets(s.links, "drawing") {
		drawn := &slide{figures: newFigures(b.Archive, drawing)}
		b.part("drawings on sheet "+name, drawing, drawn.read)
		w.Blocks(b.written(&drawn.w))
	}
	writeList(w, "Links", s.hyperlinks)
	b.remarks(w, b.authors, slices.Concat(targets(s.links, "threadedComment"), targets(s.links, "comments")))
	writeList(w, "Headers and footers", s.footers)
	return failed
}

func (b *workbook) readStrings(x *parser) {
	x.Each(func(element) {
		if text := richText(x); x.Err() == nil {
			b.strings = append(b.strings, text)
		}
		x.hold(1)
	})
}

// richText returns the text of runs, without its pronunciation, or a text without runs.
func richText(x *parser) string {
	var out, plain strings.Builder
	x.Walk(func(e element) {
		switch e.Name {
		case "t":
			x.AppendText(&out)
		case "rPh":
			x.Skip()
		}
	}, func(text []byte) { plain.Write(text) })
	return unescapeCharacters(cmp.Or(out.String(), strings.TrimSpace(plain.String())))
}

var escapedCharacters = pattern.Lazy(`(?:_x[0-9A-Fa-f]{4}_)+`)

// unescapeCharacters replaces _xHHHH_ by the character with that number, as Office writes what XML cannot contain
// (ECMA-376, 22.9.2.19).
func unescapeCharacters(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escapedCharacters().ReplaceAllStringFunc(text, func(run string) string {
		var units []uint16 // several may be a pair of surrogates
		for ; run != ""; run = run[len("_x0000_"):] {
			unit, _ := strconv.ParseUint(run[2:6], 16, 16)
			units = append(units, uint16(unit))
		}
		return string(utf16.Decode(units))
	})
}

// readStyles reads the number formats of cells.
func (b *workbook) readStyles(x *parser) {
	formats := map[string]numberFormat{}
	for id, code := range builtInFormats() {
		formats[strconv.Itoa(id)] = parseFormat(code)
	}
	x.Each(func(e element) {
		list := e.Name
		x.Each(func(e element) {
			id := e.Attribute("numFmtId")
			switch list {
			case "numFmts":
				formats[id] = parseFormat(e.Attribute("formatCode"))
			case "cellXfs":
				b.formats = append(b.formats, formats[id])
			}
			x.hold(1)
		})
	})
}

// sheet is a sheet that is read.
type sheet struct {
	*workbook
	w                   *markdown.Writer
	links               map[string]link
	hyperlinks, footers []string

	rows [][]string // of the table that is read
	last int        // number of the row before
}

func (s *sheet) read(x *parser) {
	x.Each(func(e element) {
		switch e.Name {
		case "sheetData":
			x.Each(func(e element) { s.readRow(x, e) })
		case "hyperlinks":
			x.Each(func(e element) {
				target := s.links[e.Attribute("id")].target
				if target != "" {
					s.hyperlinks = append(s.hyperlinks, e.Attribute("ref")+": "+markdown.Link(target, target))
				}
				x.hold(1)
				x.reuse(2 * len(target))
			})
		case "oleObjects":
			objects := figures{Archive: s.Archive, links: s.links}
			x.Find("oleObject", func(e element) { objects.figure(e) })
		case "headerFooter":
			x.Each(func(element) {
				s.footers = append(s.footers, headerText(unescapeCharacters(x.Text())))
				x.hold(1)
			})
		}
	})
	s.flush()
}

// readRow adds a row to the table; an empty row ends one.
func (s *sheet) readRow(x *parser, e element) {
	if s.w.Full() {
		x.Fail(errStop)
	}
	row := s.row(x)
	number, failed := strconv.Atoi(e.Attribute("r"))
	if failed != nil {
		number = s.last + 1
	}
	if len(row) == 0 || number > s.last+1 {
		s.flush()
	}
	if s.last = number; len(row) > 0 {
		s.rows = append(s.rows, row)
	}
	x.hold(1)
}

func (s *sheet) flush() {
	s.w.Table(trimColumns(s.rows))
	s.rows = nil
}

var headerCode = pattern.Lazy(`&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|.)`)

// headerText returns the text of a header or footer without its codes for fonts, page numbers and sides.
func headerText(text string) string {
	return headerCode().ReplaceAllStringFunc(text, func(code string) string {
		switch code {
		case "&&":
			return "&"
		case "&L", "&C", "&R":
			return " "
		}
		return ""
	})
}

// trimColumns removes the columns that are empty in all rows before the first one.
func trimColumns(rows [][]string) [][]string {
	from := math.MaxInt
	for _, row := range rows {
		for i, cell := range row {
			if cell != "" {
				from = min(from, i)
				break
			}
		}
	}
	for i, row := range rows {
		rows[i] = row[min(from, len(row)):]
	}
	return rows
}

// row returns the cells up to the last one with a value.
func (b *workbook) row(x *parser) (cells []string) {
	const mostColumns = 16_384 // of the format
	column := -1
	x.Each(func(e element) {
		if at := columnOf(e.Attribute("r")); at >= 0 {
			column = at
		} else {
			column++
		}
		value := b.cell(x, e)
		if column >= mostColumns {
			b.leaveOnce("cells beyond column XFD", errBeyond)
			return
		}
		for value != "" && len(cells) <= column && x.Err() == nil {
			cells = append(cells, "")
			x.hold(1)
		}
		if value != "" && x.Err() == nil {
			cells[column] = value
		}
	})
	return cells
}

var errBeyond = errors.New("the format has no such columns")

// columnOf returns the column of a reference like "BC12", from 0, or -1.
func columnOf(reference string) int {
	column := 0
	for i := 0; i < len(reference) && i < 4 && reference[i] >= 'A' && reference[i] <= 'Z'; i++ {
		column = 26*column + int(reference[i]-'A') + 1
	}
	return column - 1
}

func (b *workbook) cell(x *parser, e element) string {
	kind, style := e.Attribute("t"), e.Attribute("s")
	value := ""
	x.Each(func(e element) {
		switch e.Name {
		case "v":
			value = x.Text()
		case "is":
			value = richText(x)
		}
	})
	switch kind {
	case "s":
		if at, failed := strconv.Atoi(strings.TrimSpace(value)); failed == nil && at >= 0 && at < len(b.strings) {
			x.reuse(len(b.strings[at]))
			return b.strings[at]
		}
		b.leaveOnce("texts of some cells", errMissing)
		return ""
	case "b":
		return map[string]string{"0": "FALSE", "1": "TRUE"}[value]
	case "", "n":
		var format numberFormat
		if at, _ := strconv.Atoi(style); at >= 0 && at < len(b.formats) {
			format = b.formats[at]
		}
		return format.show(value, b.from)
	}
	return unescapeCharacters(value)
}
