package ingest

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/markdown"
)

// Pages of more bytes or elements are not parsed as a tree: only their words are read.
const (
	largestTree  = 8 << 20
	mostElements = 500_000
)

// htmlReader converts pages to Markdown. It is not safe for concurrent use.
type htmlReader struct{ convert *converter.Converter }

func newHTMLReader() *htmlReader {
	// Escapes would split identifiers (snake\_case), and placing them takes quadratic time.
	plugins := converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithHeadingStyle(commonmark.HeadingStyleATX),
			commonmark.WithListEndComment(false)), // its words would be found
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone),
			table.WithHeaderPromotion(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		),
	)
	return &htmlReader{converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), plugins)}
}

func fromHTML(r *fileReader, text string) extracted { return r.page(text, nil) }

// page returns what a page says. Of one that is too large or too deeply nested it is the text without its structure.
func (r *fileReader) page(text string, inspect inspector) (e extracted) {
	if recovered(func() { e.meta, e.body = r.pages.read(text, inspect) }) != nil {
		body := tokenText(text)
		return extracted{body: body, blocks: paragraphs(body, 0, kindProse)}
	}
	return e
}

// pageDocument returns the document of a page, from which inspect reads what its kind says of itself.
func (r *fileReader) pageDocument(data []byte, inspect inspector, defaults index.Document) index.Document {
	return r.made(r.page(r.decodeText(data, true), inspect), defaults)
}

// inspector reads what a kind of page says of itself, and may change the page before it is converted.
type inspector func(tree *html.Node, m *meta)

// errLargePage: a page has more than can be converted.
var errLargePage = errors.New("the page is too large")

// read converts a page to Markdown and returns its title, dates and authors. It calls inspect unless that is nil.
func (h *htmlReader) read(text string, inspect inspector) (m meta, body string) {
	if len(text) > largestTree || strings.Count(text, "<") > mostElements {
		guard.Abort(errLargePage)
	}
	tree := guard.Must(html.Parse(strings.NewReader(text)))
	m = pageMeta(tree)
	if pruneTree(tree); inspect != nil {
		inspect(tree, &m)
	}
	return m, string(guard.Must(h.convert.ConvertNode(tree)))
}

// pageMeta reads <title> and <meta>.
func pageMeta(tree *html.Node) meta {
	var m meta
	shared := "" // the title in other programs
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		switch node.DataAtom {
		case atom.Title:
			if m.Title == "" && node.FirstChild != nil && node.Parent.DataAtom == atom.Head {
				m.Title = oneLine(node.FirstChild.Data, longestTitle)
			}
		case atom.Meta:
			name := strings.ToLower(cmp.Or(attribute(node, "name"), attribute(node, "property"),
				attribute(node, "itemprop")))
			if name == "og:title" {
				shared = oneLine(attribute(node, "content"), longestTitle)
			}
			m.pageMeta(name, attribute(node, "content"))
		}
	}
	m.Title = cmp.Or(m.Title, shared)
	return m
}

func (m *meta) pageMeta(name, content string) {
	switch name {
	case "author", "article:author", "dc.creator":
		m.Authors = addNames(m.Authors, content, ",")
	case "date", "last-modified", "article:modified_time", "dcterms.modified", "dc.date", "datemodified":
		if t, ok := dates.Parse(content); ok && t.After(m.UpdatedAt) {
			m.UpdatedAt = t
		}
	case "article:published_time", "dcterms.created", "datepublished":
		if t, ok := dates.Parse(content); ok {
			m.CreatedAt = t
		}
	case "description":
		m.addField("description", []string{content}, false)
	case "keywords":
		m.addField("keywords", splitTags(content), true)
	}
}

func attribute(node *html.Node, key string) string {
	for _, a := range node.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textNode(text string) *html.Node { return &html.Node{Type: html.TextNode, Data: text} }

// pruneTree removes what is not text and the readings beside ruby, parts words that a browser shows apart where the
// converter does not, and escapes what would break the Markdown. It aborts for more nodes, or wider tables, than
// can be converted.
func pruneTree(tree *html.Node) {
	const mostCells, mostPlaces = 50_000, 500_000 // the converter makes all rows as wide as the widest one
	nodes, cells, rows, width, widest := 0, 0, 0, 0, 0
	var unwanted, apart []*html.Node
	for node := range tree.Descendants() {
		if nodes++; nodes > mostElements {
			guard.Abort(errLargePage)
		}
		if node.Type == html.TextNode {
			node.Data = escapedText(node)
		}
		restyle(node)
		switch node.DataAtom {
		case atom.Svg:
			shown := drawnText(node)
			leaveOnly(node, nil)
			replaceByText(node, " "+shown+" ")
		case atom.Nav, atom.Iframe, atom.Object:
			apart = append(apart, node)
			fallthrough
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Rt, atom.Rp, atom.Rtc,
			atom.Annotation, atom.AnnotationXml: // of a formula, in TeX
			unwanted = append(unwanted, node)
		case atom.Tr:
			rows, width = rows+1, 0
		case atom.Td, atom.Th:
			size := spanOf(node, "colspan") * spanOf(node, "rowspan")
			cells, width = cells+size, width+size
			widest = max(widest, width)
			apart = append(apart, node)
		case atom.Button, atom.Label, atom.Select, atom.Meter, atom.Progress, atom.Caption, atom.Canvas, atom.Embed,
			atom.Frame, atom.Marquee, atom.Datalist, atom.Audio, atom.Video:
			apart = append(apart, node)
		default:
			if style := attribute(node, "style"); style != "" && blockStyle().MatchString(style) {
				apart = append(apart, node)
			}
		}
		if cells > mostCells || widest*rows > mostPlaces {
			guard.Abort(errLargePage)
		}
	}
	for _, node := range apart {
		for _, before := range []*html.Node{node, node.NextSibling} {
			if node.Parent != nil && node.Parent.DataAtom != atom.Tr && node.Parent.DataAtom != atom.Table {
				node.Parent.InsertBefore(textNode(" "), before)
			} else {
				node.InsertBefore(textNode(" "), node.FirstChild)
			}
		}
	}
	remove(unwanted)
}

// drawnText returns the text in a drawing: its title and description, and the words in it.
func drawnText(svg *html.Node) string {
	var texts []string
	if strings.EqualFold(attribute(svg, "aria-hidden"), "true") { // a sign beside the word that it stands for
		return ""
	}
	for node := range svg.Descendants() {
		if node.Type == html.TextNode && node.Parent.DataAtom != atom.Style && node.Parent.DataAtom != atom.Script {
			texts = append(texts, markdown.Line(node.Data))
		}
	}
	return markdown.Line(strings.Join(texts, " "))
}

// spanOf returns how many columns or rows a cell takes.
func spanOf(cell *html.Node, key string) int {
	const most = 1 << 20 // more than any table may have
	n, err := strconv.Atoi(attribute(cell, key))
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 1
	}
	return min(max(n, 1), most)
}

// blockStyle matches the style of an element that is shown as a block.
var blockStyle = pattern.Lazy(`(?i)\bdisplay\s*:\s*(?:block|flex|grid|table|list-item|flow-root)`)

// restyle gives an element the form in which a browser shows it, where the converter does not know it.
func restyle(node *html.Node) {
	switch node.DataAtom {
	case atom.Option, atom.Optgroup:
		if label := attribute(node, "label"); label != "" { // is shown for the text of an option, and above a group
			if node.DataAtom == atom.Option {
				leaveOnly(node, nil)
			}
			node.InsertBefore(textNode(label+" "), node.FirstChild)
		}
		become(node, atom.Div)
	case atom.Legend, atom.Summary, atom.Search, atom.Center, atom.Textarea, atom.Slot:
		become(node, atom.Div)
	case atom.Template:
		if hasAttribute(node, "shadowrootmode") { // the inside of an element
			become(node, atom.Div)
		}
	case atom.Span:
		if blockStyle().MatchString(attribute(node, "style")) {
			become(node, atom.Div)
		}
	case atom.Menu, atom.Dir:
		become(node, atom.Ul)
	case atom.Listing, atom.Xmp, atom.Plaintext:
		become(node, atom.Pre)
	case atom.Img:
		if src := attribute(node, "src"); src == "" || strings.HasPrefix(src, "data:") {
			// An inline image is long and no text, but what it shows may be said.
			replaceByText(node, " "+attribute(node, "alt")+" ")
		}
	case atom.Area:
		replaceByText(node, " "+attribute(node, "alt")+" ")
	case atom.Input:
		switch strings.ToLower(attribute(node, "type")) {
		case "checkbox":
			replaceByText(node, checkBox(hasAttribute(node, "checked")))
		case "submit", "button", "reset":
			replaceByText(node, " "+attribute(node, "value")+" ")
		case "image":
			replaceByText(node, " "+attribute(node, "alt")+" ")
		default:
			replaceByText(node, " ")
		}
	}
	for i := range node.Attr {
		if at := &node.Attr[i]; at.Key == "alt" || at.Key == "title" {
			at.Val = strings.ReplaceAll(at.Val, "|", `\|`)
		}
	}
}

// become makes an element one of another kind.
func become(node *html.Node, kind atom.Atom) { node.Data, node.DataAtom = kind.String(), kind }

func replaceByText(node *html.Node, text string) {
	node.Type, node.DataAtom, node.Data = html.TextNode, 0, text
	node.Data = escapedText(node)
}

// checkBox returns the mark of a task in a list.
func checkBox(checked bool) string {
	if checked {
		return "[x] "
	}
	return "[ ] "
}

// escapedText returns the text of a node without marks of Markdown that would break what it is in: bars in cells,
// unbalanced brackets in links, and those of headings, fences and lines at the beginning of a line.
func escapedText(node *html.Node) string {
	text := node.Data
	within := func(elements ...atom.Atom) bool {
		return containsNode(node.Ancestors(), func(above *html.Node) bool {
			return slices.Contains(elements, above.DataAtom)
		})
	}
	if strings.Contains(text, "|") && within(atom.Td, atom.Th) {
		text = strings.ReplaceAll(text, "|", `\|`)
	}
	if strings.Count(text, "[") != strings.Count(text, "]") && within(atom.A) && !within(atom.Code) {
		text = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(text)
	}
	rest := strings.TrimLeft(text, " \t\n")
	if rest != "" && strings.Contains("#=-`~", rest[:1]) && beginsLine(node) && !within(atom.Pre, atom.Td, atom.Th) {
		text = markdown.Literal(strings.TrimRight(rest, " \t\n")) + text[len(strings.TrimRight(text, " \t\n")):]
	}
	return text
}

// beginsLine reports whether nothing is before a node on its line.
func beginsLine(node *html.Node) bool {
	before := node.PrevSibling
	for before != nil &&
		(before.Type == html.CommentNode || before.Type == html.TextNode && strings.TrimSpace(before.Data) == "") {
		before = before.PrevSibling
	}
	isBlock := func(a atom.Atom) bool {
		return a == atom.Br || slices.Contains(blockTags, a.String())
	}
	if before != nil {
		return isBlock(before.DataAtom)
	}
	parent := node.Parent
	switch {
	case parent == nil || isHeading(parent):
		return false
	case parent.DataAtom == atom.Span || parent.DataAtom == atom.Font || parent.DataAtom == atom.Small:
		return beginsLine(parent)
	}
	return isBlock(parent.DataAtom)
}

// tokenText returns the text of a page without its structure, in one pass and without recursion.
func tokenText(page string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(page))
	skip := ""
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(cleanText(out.String()))
		case html.TextToken:
			if skip == "" {
				out.Write(tokens.Text())
			}
		case html.StartTagToken:
			name, _ := tokens.TagName()
			switch tag := string(name); {
			case skip == "" && text.IsAmong(tag, "script style rt rp"):
				skip = tag
			case slices.Contains(blockTags, tag):
				out.WriteString("\n\n")
			}
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == skip {
				skip = ""
			}
		}
	}
}

var blockTags = strings.Fields(`p div br tr li h1 h2 h3 h4 h5 h6 pre table section article body main aside header footer
	address blockquote center dd dt dl ul ol details summary dialog fieldset legend figure figcaption form hgroup hr
	menu
	dir nav search caption option optgroup td th textarea button label select meter progress input listing plaintext
	xmp`)
