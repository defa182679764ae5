package office

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"quarry/server/ingest/markdown"
)

// figures reads what the pictures, diagrams and charts of a part say, from the parts that it links.
type figures struct {
	*Archive
	links map[string]link
	shown map[string]bool // parts that were read, each once
}

func newFigures(a *Archive, part string) *figures {
	return &figures{a, a.links(part), map[string]bool{}}
}

// figure returns what an element stands for, as Markdown: the alternative text of a picture, the words in a diagram,
// the titles and series of a chart. Of other elements it is empty.
func (f *figures) figure(e element) string {
	text := ""
	switch e.Name {
	case "OLEObject", "oleObj", "oleObject":
		f.leave(path.Base("/"+f.links[e.Attribute("id")].target), errEmbedded)
		return ""
	case "relIds":
		return f.linkedFigure("diagram", e.Attribute("dm"), diagram)
	case "chart":
		return f.linkedFigure("chart", e.Attribute("id"), chart)
	case "docPr", "cNvPr":
		text = cmp.Or(e.Attribute("descr"), e.Attribute("title"))
	case "textpath": // letters drawn as a picture, such as a watermark
		text = e.Attribute("string")
	case "imagedata":
		text = e.Attribute("title")
	default:
		text = e.Attribute("alt") // of shapes in VML
	}
	var w markdown.Writer
	w.Paragraph(text)
	text, _ = w.Text()
	return text
}

var errEmbedded = errors.New("embedded files are not read")

func (f *figures) linkedFigure(kind, id string, read func(*parser, *markdown.Writer)) string {
	name := f.links[id].target
	if f.shown[name] {
		return ""
	}
	f.shown[name] = true
	var w markdown.Writer
	f.part(kind+" "+name, name, func(x *parser) { read(x, &w) })
	return f.written(&w)
}

// diagram writes the texts of a SmartArt as a list.
func diagram(x *parser, w *markdown.Writer) {
	s := &slide{parser: x}
	x.Find("p", func(element) { w.Item(0, false, s.line().text) })
}

// chart writes the titles of a chart, and a line for each series: its name, and the categories with their values.
func chart(x *parser, w *markdown.Writer) {
	s := &slide{parser: x}
	var of map[string][]string // texts of the series that is read, by what they are
	kind := ""
	var read func(e element)
	read = func(e element) {
		switch name := e.Name; name {
		case "p":
			w.Paragraph(s.line().text)
		case "ser", "data":
			of = map[string][]string{}
			x.Walk(read, nil)
			w.Item(0, false, seriesLine(of))
			of, kind = nil, ""
		case "pt", "v":
			text := unescapeCharacters(x.Text())
			if of == nil { // a title that is in a cell
				w.Paragraph(text)
			} else {
				of[kind] = append(of[kind], strings.TrimSpace(text))
			}
			x.hold(1)
		case "tx", "cat", "val", "xVal", "yVal", "strDim", "numDim":
			kind = name
		}
	}
	x.Walk(read, nil)
}

func seriesLine(of map[string][]string) string {
	pairs := slices.Concat(of["cat"], of["xVal"], of["strDim"])
	for i, value := range slices.Concat(of["val"], of["yVal"], of["numDim"]) {
		if i < len(pairs) {
			pairs[i] += " " + value
		} else {
			pairs = append(pairs, value)
		}
	}
	line := strings.Join(pairs, ", ")
	if name := strings.Join(of["tx"], " "); name != "" {
		line = name + ": " + line
	}
	return line
}
