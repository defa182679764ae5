package office

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"quarry/server/ingest/markdown"
)

// workbook is what the sheets of an XLSX file share.
type workbook struct {
	strings []string
	dates   []bool // by cell format: whether its numbers are dates
	from    time.Time
}

func readXLSX(a *Archive, w *markdown.Writer) error {
	const part = "xl/workbook.xml"
	links, err := a.links(part)
	if err != nil {
		return err
	}
	type sheet struct{ name, part string }
	var sheets []sheet
	b := &workbook{from: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	err = a.parse(part, func(x *parser, root xml.StartElement) error {
		var read func(e xml.StartElement) error
		read = func(e xml.StartElement) error {
			switch e.Name.Local {
			case "workbookPr":
				if flag := attribute(e, "date1904"); flag == "1" || flag == "true" {
					b.from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
				}
			case "sheet":
				for _, at := range e.Attr {
					if link := links[at.Value]; at.Name.Local == "id" && link.kind == "worksheet" {
						sheets = append(sheets, sheet{attribute(e, "name"), link.target})
					}
				}
			}
			return x.each(read)
		}
		return read(root)
	})
	if err != nil {
		return err
	}
	if len(sheets) == 0 {
		return errNoContent
	}
	if err := a.parse(linked(links, "sharedStrings"), b.readStrings); err != nil {
		return err
	}
	if err := a.parse(linked(links, "styles"), b.readStyles); err != nil {
		return err
	}
	for _, s := range sheets {
		w.Heading(2, s.name)
		if err := a.parse(s.part, func(x *parser, _ xml.StartElement) error { return b.readSheet(x, w) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *workbook) readStrings(x *parser, _ xml.StartElement) error {
	return x.each(func(xml.StartElement) error {
		text, err := richText(x)
		if err != nil {
			return err
		}
		b.strings = append(b.strings, text)
		return x.hold(1)
	})
}

// richText returns the text of runs, without its pronunciation.
func richText(x *parser) (string, error) {
	var out strings.Builder
	var read func(e xml.StartElement) error
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "t":
			return x.appendText(&out)
		case "rPh":
			return x.skip()
		}
		return x.each(read)
	}
	err := x.each(read)
	return out.String(), err
}

// readStyles finds the cell formats that show numbers as dates.
func (b *workbook) readStyles(x *parser, _ xml.StartElement) error {
	isDate := map[string]bool{}
	for _, span := range [][2]int{{14, 22}, {27, 36}, {45, 47}, {50, 58}} { // built in
		for id := span[0]; id <= span[1]; id++ {
			isDate[strconv.Itoa(id)] = true
		}
	}
	return x.each(func(e xml.StartElement) error {
		formats := e.Name.Local
		return x.each(func(e xml.StartElement) error {
			id := attribute(e, "numFmtId")
			switch {
			case formats == "numFmts":
				isDate[id] = isDateFormat(attribute(e, "formatCode"))
			case formats == "cellXfs":
				b.dates = append(b.dates, isDate[id])
			}
			if err := x.skip(); err != nil {
				return err
			}
			return x.hold(1)
		})
	})
}

// isDateFormat reports whether a number format shows a day or a time. Quoted text and brackets, such as colours, do not
// count.
func isDateFormat(code string) bool {
	inQuotes, inBrackets := false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case c == '\\':
			i++
		case c == '[' || c == ']':
			inBrackets = c == '['
		case !inBrackets && strings.IndexByte("yYdDhHmMsS", c) >= 0:
			return true
		}
	}
	return false
}

// readSheet writes the rows as tables; an empty row ends a table.
func (b *workbook) readSheet(x *parser, w *markdown.Writer) error {
	var rows [][]string
	last := 0
	flush := func() {
		w.Table(trimColumns(rows))
		rows = nil
	}
	err := x.each(func(e xml.StartElement) error {
		if e.Name.Local != "sheetData" {
			return x.skip()
		}
		return x.each(func(e xml.StartElement) error {
			if w.Full() {
				return errStop
			}
			row, err := b.row(x)
			number, failed := strconv.Atoi(attribute(e, "r"))
			if failed != nil {
				number = last + 1
			}
			if len(row) == 0 || number > last+1 {
				flush()
			}
			if last = number; len(row) > 0 {
				rows = append(rows, row)
			}
			if err != nil {
				return err
			}
			return x.hold(1)
		})
	})
	flush()
	return err
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
func (b *workbook) row(x *parser) ([]string, error) {
	const mostColumns = 16_384 // of the format
	var cells []string
	column := -1
	err := x.each(func(e xml.StartElement) error {
		if at := columnOf(attribute(e, "r")); at >= 0 {
			column = at
		} else {
			column++
		}
		value, err := b.cell(x, e)
		if err != nil || value == "" || column >= mostColumns {
			return err
		}
		for len(cells) <= column {
			cells = append(cells, "")
			if err := x.hold(1); err != nil {
				return err
			}
		}
		cells[column] = value
		return nil
	})
	return cells, err
}

// columnOf returns the column of a reference like "BC12", from 0, or -1.
func columnOf(reference string) int {
	column := 0
	for i := 0; i < len(reference) && i < 4 && reference[i] >= 'A' && reference[i] <= 'Z'; i++ {
		column = 26*column + int(reference[i]-'A') + 1
	}
	return column - 1
}

func (b *workbook) cell(x *parser, e xml.StartElement) (string, error) {
	kind, style := attribute(e, "t"), attribute(e, "s")
	value := ""
	err := x.each(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "v":
			value, err = x.text()
			return err
		case "is":
			value, err = richText(x)
			return err
		}
		return x.skip()
	})
	switch kind {
	case "s":
		if at, failed := strconv.Atoi(strings.TrimSpace(value)); failed == nil && at >= 0 && at < len(b.strings) {
			return b.strings[at], err
		}
		return "", err
	case "b":
		return map[string]string{"0": "FALSE", "1": "TRUE"}[value], err
	case "", "n":
		at, _ := strconv.Atoi(style)
		return b.number(value, at >= 0 && at < len(b.dates) && b.dates[at]), err
	}
	return value, err
}

// number returns a number as a sheet shows it: dates as ISO 8601, others with at most 15 digits.
func (b *workbook) number(text string, isDate bool) string {
	const lastDay = 2_958_465 // of the year 9999
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return text
	}
	if !isDate || n < 0 || n > lastDay {
		return strconv.FormatFloat(n, 'f', decimals(n), 64)
	}
	t := b.from.Add(time.Duration(math.Round(n*24*60*60)) * time.Second)
	switch {
	case n < 1:
		return t.Format(time.TimeOnly)
	case n == math.Trunc(n):
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// decimals returns how many decimals are within the precision of sheets; -1 for as many as needed.
func decimals(n float64) int {
	const precision = 15
	short, err := strconv.ParseFloat(strconv.FormatFloat(n, 'g', precision, 64), 64)
	if err != nil || short == n {
		return -1
	}
	text := strconv.FormatFloat(short, 'f', -1, 64)
	_, fraction, _ := strings.Cut(text, ".")
	return len(fraction)
}
