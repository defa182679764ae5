package ingest

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/internal/text"
	"quarry/server/index"
)

// webPage is what is special about a page of the web: its own address, and the anchors of its headings.
type webPage struct {
	canonical string
	headings  []pageHeading
}

type pageHeading struct{ title, id string }

// fromWebPage reads a page: its main content, with links to the anchors of its headings.
func fromWebPage(r *fileReader, page string, defaults index.Document) extracted {
	var web webPage
	e := r.page(page, web.reduce)
	if link := cleanLink(web.canonical); sameHost(link, defaults.Link) {
		e.Link = link
	}
	if e.body = strings.TrimLeft(cleanText(e.body), "\n"); e.blocks == nil {
		e.blocks = r.markdown.parse(e.body)
	}
	web.anchor(e.blocks)
	e.finish = web.cleanLinks
	return e
}

// reduce collects what is special about the page, and leaves only its main content.
func (p *webPage) reduce(tree *html.Node, _ *meta) {
	var mains, articles, unwanted []*html.Node
	var body *html.Node
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		switch role := strings.ToLower(attribute(node, "role")); {
		case node.DataAtom == atom.Body:
			body = node
		case node.DataAtom == atom.Link && strings.EqualFold(attribute(node, "rel"), "canonical"):
			p.canonical = cmp.Or(p.canonical, strings.TrimSpace(attribute(node, "href")))
		case hasAttribute(node, "hidden"), strings.EqualFold(attribute(node, "aria-hidden"), "true"),
			text.IsAmong(role, "navigation search dialog alertdialog"), isPermalink(node):
			unwanted = append(unwanted, node)
		case node.DataAtom == atom.Main, role == "main":
			mains = append(mains, node)
		case node.DataAtom == atom.Article:
			articles = append(articles, node)
		}
	}
	p.collectHeadings(tree)
	remove(unwanted)
	if len(mains) == 0 && len(articles) == 1 {
		mains = articles
	}
	if body == nil || len(mains) == 0 || !hasText(mains[0]) {
		remove(boilerplate(tree))
		return
	}
	leaveOnly(body, mains[:1])
}

// boilerplate returns what surrounds the content of a page that does not mark it.
func boilerplate(tree *html.Node) (unwanted []*html.Node) {
	for node := range tree.Descendants() {
		role := strings.ToLower(attribute(node, "role"))
		isPart := func(above *html.Node) bool {
			return above.DataAtom == atom.Article || above.DataAtom == atom.Section
		}
		isOuter := (node.DataAtom == atom.Header || node.DataAtom == atom.Footer) &&
			!containsNode(node.Ancestors(), isPart)
		if isOuter && !hasHeading(node) || node.DataAtom == atom.Aside ||
			text.IsAmong(role, "banner contentinfo complementary") {
			unwanted = append(unwanted, node)
		}
	}
	return unwanted
}

// hasHeading reports whether the first heading of the page is in a header.
func hasHeading(node *html.Node) bool {
	isFirst := func(inner *html.Node) bool { return inner.DataAtom == atom.H1 }
	return node.DataAtom == atom.Header && containsNode(node.Descendants(), isFirst)
}

// containsNode reports whether one of some nodes is as wanted.
func containsNode(nodes iter.Seq[*html.Node], isWanted func(*html.Node) bool) bool {
	for node := range nodes {
		if isWanted(node) {
			return true
		}
	}
	return false
}

func remove(nodes []*html.Node) {
	for _, node := range nodes {
		if node.Parent != nil {
			node.Parent.RemoveChild(node)
		}
	}
}

// leaveOnly makes nodes below another one all that it has.
func leaveOnly(outer *html.Node, kept []*html.Node) {
	remove(kept)
	remove(slices.Collect(outer.ChildNodes()))
	for _, node := range kept {
		outer.AppendChild(node)
	}
}

func hasText(node *html.Node) bool {
	return containsNode(node.Descendants(), func(inner *html.Node) bool {
		return inner.Type == html.TextNode && strings.TrimSpace(inner.Data) != ""
	})
}

func hasAttribute(node *html.Node, key string) bool {
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func isHeading(node *html.Node) bool {
	return slices.Contains([]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}, node.DataAtom)
}

// isPermalink reports whether a node is a sign beside a heading that links to it.
func isPermalink(node *html.Node) bool {
	if node.DataAtom != atom.A || node.Parent == nil || !isHeading(node.Parent) ||
		!strings.HasPrefix(attribute(node, "href"), "#") {
		return false
	}
	return slices.Contains([]string{"", "#", "¶", "§", "🔗", "link"}, strings.ToLower(textBelow(node)))
}

// collectHeadings lists the headings with their anchors: an id of the heading, of something in it, or of a section that
// it begins.
func (p *webPage) collectHeadings(tree *html.Node) {
	for node := range tree.Descendants() {
		if !isHeading(node) || len(p.headings) >= mostHeadings {
			continue
		}
		heading := pageHeading{id: attribute(node, "id")}
		for inner := range node.Descendants() {
			heading.id = cmp.Or(heading.id, attribute(inner, "id"), attribute(inner, "name"))
			if isPermalink(inner) {
				heading.id = cmp.Or(heading.id, strings.TrimPrefix(attribute(inner, "href"), "#"))
			}
		}
		if parent := node.Parent; heading.id == "" && parent != nil &&
			(parent.DataAtom == atom.Section || parent.DataAtom == atom.Div) {
			first := parent.FirstChild
			for first != nil && first.Type != html.ElementNode {
				first = first.NextSibling
			}
			if first == node {
				heading.id = attribute(parent, "id")
			}
		}
		heading.title = strings.TrimRight(oneLine(textBelow(node), longestHeading), " #¶§")
		p.headings = append(p.headings, heading)
	}
}

// anchor gives the headings of the text the anchors that they have on the page.
func (p *webPage) anchor(blocks []block) {
	at := 0
	for i := range blocks {
		if blocks[i].Kind != kindHeading {
			continue
		}
		title := strings.TrimRight(text.OneLine(blocks[i].Title), " #¶§")
		for n := at; n < len(p.headings); n++ {
			if p.headings[n].title == title {
				blocks[i].Slug, at = cleanAnchor(p.headings[n].id), n+1
				break
			}
		}
	}
}

// cleanAnchor returns an id that can end a link; "" if it cannot.
func cleanAnchor(id string) string {
	if len(id) > longestHeading || strings.ContainsAny(id, " \t\n#<>\"") || oneLine(id, longestHeading) != id {
		return ""
	}
	return id
}

// cleanLinks removes anchors that the page does not have, and places: nobody opens its source.
func (p *webPage) cleanLinks(doc *index.Document) {
	doc.Positions = nil
	known := map[string]bool{}
	for _, heading := range p.headings {
		known[heading.id] = true
	}
	for i := range doc.Chunks {
		if link, anchor, ok := strings.Cut(doc.Chunks[i].Link, "#"); ok && !known[anchor] {
			doc.Chunks[i].Link = link
		}
	}
}
