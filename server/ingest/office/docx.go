package office

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"quarry/internal/pattern"
	"quarry/server/ingest/markdown"
)

// docx reads WordprocessingML.
type docx struct {
	*parser
	*figures
	w       *markdown.Writer
	levels  map[string]int    // of headings, by style; -1: none, whatever the style is based on
	bullets map[string]string // number formats, by list and level: "3/0"
	note    string            // before the next paragraph: the author of a comment
}

// writtenBeside are the parts of a DOCX beside its text, and the headings that are made up for them.
var writtenBeside = [...]struct {
	title string
	kinds []string
}{
	{"Headers and footers", []string{"header", "footer"}},
	{"Footnotes", []string{"footnotes"}}, {"Endnotes", []string{"endnotes"}}, {"Comments", []string{"comments"}},
}

func readDOCX(a *Archive, w *markdown.Writer) error {
	part := linked(a.links(""), "officeDocument")
	if !a.Has(part) {
		part = "word/document.xml"
	}
	if !a.Has(part) {
		return errNoContent
	}
	d := &docx{w: w, figures: newFigures(a, part), levels: map[string]int{}, bullets: map[string]string{}}
	for kind, read := range map[string]func(*parser){
		"styles": d.readStyles, "numbering": d.readLists} {
		if name := linked(d.links, kind); a.Has(name) {
			a.part(kind, name, read)
		}
	}
	if err := a.body("the text", part, w, d.body); err != nil {
		return err
	}
	level := 2 // the title of a document is its first heading of level 1, which none of these may become
	if text, _ := w.Text(); strings.HasPrefix(text, "# ") || strings.Contains(text, "\n# ") {
		level = 1
	}
	for _, beside := range writtenBeside {
		if text := d.beside(beside.kinds); text != "" {
			w.Heading(level, beside.title)
			w.Blocks(text)
		}
	}
	return nil
}

// beside returns the texts of parts of some kinds, equal ones once.
func (d *docx) beside(kinds []string) string {
	var texts []string
	seen := map[string]bool{"": true}
	for _, name := range targets(d.links, kinds...) {
		inner := d.inner(&markdown.Writer{})
		inner.figures = newFigures(d.Archive, name)
		d.Archive.part(path.Base(name), name, inner.body)
		if text := d.written(inner.w); !seen[text] {
			seen[text], texts = true, append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// inner returns a reader of what is in the current element, which writes elsewhere.
func (d *docx) inner(w *markdown.Writer) *docx {
	inner := *d
	inner.w, inner.note = w, ""
	return &inner
}

// readStyles finds the styles of headings: by their name, their outline level, or the style they are based on.
func (d *docx) readStyles(x *parser) {
	based := map[string]string{}
	x.Each(func(e element) {
		id := e.Attribute("styleId")
		if e.Name != "style" {
			return
		}
		x.Each(func(e element) {
			value := e.Attribute("val")
			switch e.Name {
			case "name":
				if level := headingLevel(value); level > 0 {
					d.levels[id] = level
				}
			case "basedOn":
				based[id] = value
			case "pPr":
				x.Each(func(e element) {
					level, err := strconv.Atoi(e.Attribute("val"))
					if e.Name == "outlineLvl" && err == nil && d.levels[id] == 0 {
						// Text, though based on a heading, as in "TOC Heading".
						if d.levels[id] = level + 1; level >= 9 {
							d.levels[id] = -1
						}
					}
				})
			}
		})
	})
	for id := range based {
		at := id
		for range 10 { // styles may be based on each other in a circle
			if level := d.levels[at]; level != 0 {
				d.levels[id] = level
				break
			}
			at = based[at]
		}
	}
}

// headingLevel returns the level that the name of a built-in style stands for, or 0.
func headingLevel(style string) int {
	style = strings.ToLower(style)
	if style == "title" {
		return 1
	}
	number, found := strings.CutPrefix(style, "heading ")
	level, err := strconv.Atoi(number)
	if !found || err != nil {
		return 0
	}
	return level
}

// readLists reads the number formats of lists.
func (d *docx) readLists(x *parser) {
	abstract, lists := map[string]string{}, map[string]string{}
	x.Each(func(e element) {
		id := e.Attribute("abstractNumId")
		number := e.Attribute("numId")
		x.Each(func(e element) {
			level := e.Attribute("ilvl")
			if e.Name == "abstractNumId" {
				lists[number] = e.Attribute("val")
			}
			x.Each(func(inner element) {
				if e.Name == "lvl" && inner.Name == "numFmt" {
					abstract[id+"/"+level] = inner.Attribute("val")
				}
			})
		})
	})
	for number, id := range lists {
		for level := range 9 {
			d.bullets[number+"/"+strconv.Itoa(level)] = abstract[id+"/"+strconv.Itoa(level)]
		}
	}
}

// body reads a part with paragraphs.
func (d *docx) body(x *parser) {
	d.parser = x
	x.Walk(d.block, nil)
}

func (d *docx) block(e element) {
	if d.w.Full() {
		d.Fail(errStop)
	}
	switch e.Name {
	case "p":
		if p := d.paragraph(); d.Err() == nil {
			d.write(p)
		}
	case "tbl":
		if rows := d.parser.table(d.cell); d.Err() == nil {
			d.w.Table(rows)
		}
	case "comment":
		if d.note = e.Attribute("author"); d.note != "" {
			d.note += ": "
		}
	case "footnote", "endnote":
		if kind := e.Attribute("type"); kind != "" && kind != "normal" { // a separator
			d.Skip()
		}
	case "Fallback", "sdtPr", "sectPr", "del", "moveFrom":
		d.Skip()
	case "altChunk":
		d.leave(path.Base(d.links[e.Attribute("id")].target), errors.New("files in other formats are not read"))
	}
}

// paragraph is what a paragraph says and how.
type paragraph struct {
	text   *strings.Builder
	level  int // of a heading; 0: none
	list   string
	depth  int
	frames []string // Markdown of the text boxes and figures in it
	fields []field  // that are open
}

// field is a field of a paragraph. What one that is a hyperlink shows leads to its target.
type field struct {
	code   string
	before *strings.Builder // the text of the paragraph before what a link shows; nil: it is no link
}

var hyperlinkField = pattern.Lazy(`^\s*HYPERLINK\s+"([^"]*)"`)

// fieldMark reads the begin of a field, the begin of what it shows, or its end.
func (d *docx) fieldMark(p *paragraph, kind string) {
	last := len(p.fields) - 1
	switch {
	case kind == "begin":
		p.fields = append(p.fields, field{})
		d.hold(1)
	case last >= 0 && kind == "separate" && hyperlinkField().MatchString(p.fields[last].code):
		p.fields[last].before, p.text = p.text, &strings.Builder{}
	case last >= 0 && kind == "end":
		f, shown := p.fields[last], p.text
		if p.fields = p.fields[:last]; f.before == nil {
			return
		}
		p.text = f.before
		target := hyperlinkField().FindStringSubmatch(f.code)[1]
		p.text.WriteString(markdown.Link(shown.String(), target))
		d.reuse(len(target))
	}
}

func (d *docx) write(p *paragraph) {
	text := d.note + p.text.String()
	d.note = ""
	format := d.bullets[p.list+"/"+strconv.Itoa(p.depth)]
	switch {
	case p.level > 0:
		d.w.Heading(p.level, text)
	case p.list != "" && p.list != "0" && format != "none":
		d.w.Item(p.depth, format != "" && format != "bullet", text)
	default:
		d.w.Paragraph(text)
	}
	for _, frame := range p.frames {
		if d.w.Cell {
			d.w.Paragraph(frame)
		} else {
			d.w.Blocks(frame)
		}
	}
}

func (d *docx) paragraph() *paragraph {
	p := &paragraph{text: &strings.Builder{}}
	d.Walk(func(e element) { d.run(p, e) }, nil)
	for len(p.fields) > 0 { // they end in another paragraph
		d.fieldMark(p, "end")
	}
	return p
}

// run reads an element of a paragraph.
func (d *docx) run(p *paragraph, e element) {
	switch e.Name {
	case "pPr":
		d.Each(func(e element) { d.property(p, e) })
	case "t":
		d.AppendText(p.text)
	case "tab", "ptab":
		p.text.WriteByte(' ')
	case "br", "cr":
		p.text.WriteByte('\n')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	case "sym":
		p.text.WriteString(symbol(e.Attribute("font"), e.Attribute("char")))
	case "hyperlink", "fldSimple":
		linked := d.paragraph()
		target := d.links[e.Attribute("id")].target
		if code := hyperlinkField().FindStringSubmatch(e.Attribute("instr")); code != nil {
			target = code[1]
		}
		p.text.WriteString(markdown.Link(linked.text.String(), target))
		p.frames = append(p.frames, linked.frames...)
		d.reuse(len(target))
	case "fldChar":
		d.fieldMark(p, e.Attribute("fldCharType"))
	case "instrText":
		const longest = 4_000 // bytes
		code := d.Text()
		if last := len(p.fields) - 1; last >= 0 && len(p.fields[last].code) < longest {
			p.fields[last].code += code[:min(len(code), longest)]
		}
	case "txbxContent":
		frame := d.inner(&markdown.Writer{Cell: d.w.Cell})
		d.Walk(frame.block, nil)
		p.frames = append(p.frames, d.written(frame.w))
	case "delText", "del", "moveFrom", "Fallback", "rPr", "rt": // rt has the reading of a ruby
		d.Skip()
	default:
		if text := d.figure(e); text != "" {
			p.frames = append(p.frames, text)
		}
	}
}

// symbol returns a character of a font of signs as that of Unicode, as far as people write with them. In other fonts
// the number is that of Unicode.
func symbol(font, number string) string {
	code, err := strconv.ParseUint(number, 16, 32)
	if err != nil {
		return ""
	}
	const private = 0xF000 // where such fonts have the characters of a byte
	const upper, lower = "ΑΒΧ∆ΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
	at := int(code) &^ private
	letters := map[bool]string{true: upper, false: lower}[at < 'a']
	switch i := (at - 'A') % ('a' - 'A'); {
	case font == "Symbol" && at >= 'A' && at <= 'z' && i < 26:
		return string([]rune(letters)[i])
	case strings.HasPrefix(font, "Wingdings"):
		return cmp.Or(map[int]string{0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐",
			0x78: "☒", 0xE0: "→", 0xDF: "←", 0xE8: "→", 0xF0: "⇨", 0x4A: "☺", 0x4C: "☹", 0xA7: "•", 0x6C: "•"}[at], "�")
	case code >= private && code < private+0x100:
		return "�"
	}
	return string(rune(code))
}

func (d *docx) property(p *paragraph, e element) {
	value := e.Attribute("val")
	switch e.Name {
	case "pStyle":
		p.level = d.levels[value]
	case "outlineLvl":
		if level, err := strconv.Atoi(value); err == nil && level < 9 {
			p.level = level + 1
		}
	case "ilvl":
		p.depth, _ = strconv.Atoi(value)
	case "numId":
		p.list = value
	case "numPr":
		d.Each(func(e element) { d.property(p, e) })
	}
}

// cell returns the text of a cell, in which a table is a part of the text, and the columns that it takes.
func (d *docx) cell() (text string, span int) {
	cell := d.inner(&markdown.Writer{Cell: true})
	d.Walk(func(e element) {
		if e.Name != "tcPr" {
			cell.block(e)
			return
		}
		d.Find("gridSpan", func(e element) { span, _ = strconv.Atoi(e.Attribute("val")) })
	}, nil)
	if span > maxSpan {
		d.leaveOnce("some columns", fmt.Errorf("a cell takes more than %d", maxSpan))
	}
	return d.written(cell.w), min(max(span, 1), maxSpan)
}

// maxSpan bounds the columns that one cell takes: Word has 63 at most.
const maxSpan = 256
