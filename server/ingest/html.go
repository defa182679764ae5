package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/internal/text"
	"quarry/server/index"
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
		commonmark.NewCommonmarkPlugin(commonmark.WithHeadingStyle(commonmark.HeadingStyleATX)),
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone),
			table.WithHeaderPromotion(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		),
	)
	return &htmlReader{converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), plugins)}
}

func fromHTML(r *fileReader, text string, defaults index.Document) (index.Document, error) {
	return r.page(text, nil, defaults)
}

// page returns the document of a page. Pages that are too large or too deeply nested are stored as plain text.
func (r *fileReader) page(text string, inspect inspector, defaults index.Document) (index.Document, error) {
	m, body, err := r.pages.inspected(text, inspect)
	if err != nil {
		m, body = meta{}, tokenText(text)
		d, err := build(body, paragraphs(body, 0, kindProse), m, defaults)
		d.Positions = nil
		return d, err
	}
	body = strings.TrimLeft(cleanText(body), "\n")
	d, err := build(body, r.markdown.parse(body), m, defaults)
	d.Positions = nil // of the Markdown made of it
	return d, err
}

// inspector reads what a kind of page says of itself, and may change the page before it is converted.
type inspector func(tree *html.Node, m *meta)

// read converts a page to Markdown and returns its title, dates and authors.
func (h *htmlReader) read(text string) (m meta, body string, err error) {
	return h.inspected(text, nil)
}

func (h *htmlReader) inspected(text string, inspect inspector) (m meta, body string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("convert HTML: %v", p)
		}
	}()
	if len(text) > largestTree || strings.Count(text, "<") > mostElements {
		return meta{}, "", errors.New("convert HTML: too large")
	}
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return meta{}, "", fmt.Errorf("parse HTML: %w", err)
	}
	m = pageMeta(tree)
	if err := pruneTree(tree); err != nil {
		return meta{}, "", err
	}
	if inspect != nil {
		inspect(tree, &m)
	}
	markdown, err := h.convert.ConvertNode(tree)
	if err != nil {
		return meta{}, "", fmt.Errorf("convert HTML: %w", err)
	}
	return m, string(markdown), nil
}

// pageMeta reads <title> and <meta>.
func pageMeta(tree *html.Node) meta {
	var m meta
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
			m.pageMeta(strings.ToLower(cmp.Or(attribute(node, "name"), attribute(node, "property"))),
				attribute(node, "content"))
		}
	}
	return m
}

func (m *meta) pageMeta(name, content string) {
	switch name {
	case "author", "article:author", "dc.creator":
		m.Authors = addNames(m.Authors, content)
	case "date", "last-modified", "article:modified_time", "dcterms.modified", "dc.date":
		if t, ok := parseDate(content); ok && t.After(m.UpdatedAt) {
			m.UpdatedAt = t
		}
	case "article:published_time", "dcterms.created":
		if t, ok := parseDate(content); ok {
			m.CreatedAt = t
		}
	case "description":
		m.addField("description", []string{content}, false)
	case "keywords":
		m.addField("keywords", splitTags(text.Clip(content, longestValue)), true)
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

// pruneTree removes what is not text. It returns an error for more nodes, or wider tables, than can be converted.
func pruneTree(tree *html.Node) error {
	const mostCells = 50_000
	nodes, cells := 0, 0
	var unwanted []*html.Node
	for node := range tree.Descendants() {
		if nodes++; nodes > mostElements {
			return errors.New("convert HTML: too many elements")
		}
		switch node.DataAtom {
		case atom.Script, atom.Style, atom.Nav, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Svg:
			unwanted = append(unwanted, node)
		case atom.Td, atom.Th:
			if cells++; cells > mostCells || len(attribute(node, "colspan")) > 2 || len(attribute(node, "rowspan")) > 3 {
				return errors.New("convert HTML: tables are too large")
			}
		case atom.Img:
			// Inline images are long and have no text.
			if strings.HasPrefix(attribute(node, "src"), "data:") {
				unwanted = append(unwanted, node)
			}
		}
	}
	for _, node := range unwanted {
		if node.Parent != nil {
			node.Parent.RemoveChild(node)
		}
	}
	return nil
}

// tokenText returns the text of a page without its structure, in one pass and without recursion.
func tokenText(page string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(page))
	tokens.SetMaxBuf(largestTree)
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
			case skip == "" && (tag == "script" || tag == "style"):
				skip = tag
			case slices.Contains(blockTags[:], tag):
				out.WriteString("\n\n")
			}
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == skip {
				skip = ""
			}
		}
	}
}

var blockTags = [...]string{
	"p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table", "section", "article",
}
