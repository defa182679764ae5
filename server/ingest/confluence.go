package ingest

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/server/index"
	"quarry/server/ingest/dates"
)

// confluenceExport is the export of a space as HTML: pages whose names end with their ids, and attachments.
var confluenceExport = container{
	kind: "Confluence export", source: confluenceSource, is: isConfluenceExport, claims: inConfluenceExport,
	read: readConfluenceExport,
}

const (
	confluenceSource = "confluence"
	confluenceIndex  = "index.html" // the list of the pages
)

// confluencePage returns the id in the name of a page, such as Rolling-back_31431588.html or 31431588.html; "" for
// others.
func confluencePage(name string) string {
	const shortest = 3
	stem, isPage := strings.CutSuffix(name, ".html")
	id := stem[strings.LastIndexByte(stem, '_')+1:]
	if !isPage || strings.Contains(name, "/") || len(id) < shortest || strings.Trim(id, "0123456789") != "" {
		return ""
	}
	return id
}

func inConfluenceExport(name string) bool {
	return name == confluenceIndex || confluencePage(name) != "" ||
		strings.HasPrefix(name, "attachments/") && isExported(name)
}

// isConfluenceExport looks at the pages beside an index.
func isConfluenceExport(l layout) bool {
	if !slices.Contains(l.entries, confluenceIndex) {
		return false
	}
	looked := 0
	for _, name := range l.entries {
		const most = 5
		if confluencePage(name) == "" || looked >= most {
			continue
		}
		looked++
		start := startOf(l.FS, name)
		if strings.Contains(start, `class="page-metadata"`) && strings.Contains(start, `id="main-content"`) {
			return true
		}
	}
	return false
}

// confluenceReader reads the pages of an export.
type confluenceReader struct {
	*fileReader
	base  string // address of the site; "" if the export does not have it
	files map[string]attachment
}

// attachment is what the pages say of a file.
type attachment struct {
	Title string
	Above []string // the pages above it
}

func readConfluenceExport(c *collector) {
	reader := confluenceReader{fileReader: c.fileReader, files: map[string]attachment{}}
	var pages, others []string
	for _, name := range c.names {
		switch {
		case name == confluenceIndex:
		case confluencePage(name) != "":
			pages = append(pages, name)
		default:
			others = append(others, name)
		}
	}
	reader.findBase(c, pages)
	c.addExported(slices.Concat(pages, others), func(name string, data []byte) index.Document {
		return reader.file(c, name, data)
	})
}

// findBase looks for the address of the site, which pictures and links to people have.
func (r *confluenceReader) findBase(c *collector, pages []string) {
	const most = 200 // pages to look at
	found := regexp.MustCompile(`data-base-url="(https?://[^"\s]{1,500})"`)
	for _, name := range pages[:min(most, len(pages))] {
		data, _ := c.content(name) // an error appears again when it is read
		if match := found.FindSubmatch(data); match != nil {
			if base, err := url.Parse(string(match[1])); err == nil && base.Host != "" && base.User == nil {
				r.base = strings.TrimSuffix(base.String(), "/")
				return
			}
		}
	}
}

// address returns the address of a page; "" if it is unknown.
func (r *confluenceReader) address(id string) string {
	if r.base == "" {
		return ""
	}
	return r.base + "/pages/viewpage.action?pageId=" + id
}

// file returns the document of a page or attachment.
func (r *confluenceReader) file(c *collector, name string, data []byte) index.Document {
	f, _ := formatOf(name)
	id := confluencePage(name)
	if id == "" {
		known := r.files[name]
		doc := c.exported(confluenceSource, name, name, cmp.Or(known.Title, titleFromName(path.Base(name))),
			known.Above)
		return r.document(f, data, doc)
	}
	defaults := c.exported(confluenceSource, name, id, id, nil)
	if address := r.address(id); address != "" {
		defaults.Link = address
	}
	a, err := r.do(job{Work: workConfluence, Data: data, Address: r.base, Defaults: defaults}, nil)
	maps.Copy(r.files, a.Linked)
	guard.Check(err)
	return a.Document
}

// page returns the document of a page, and remembers the attachments that it links to.
func (r *confluenceReader) page(data []byte, defaults index.Document) index.Document {
	var above []string
	doc := r.pageDocument(data, func(tree *html.Node, m *meta) { above = r.inspect(tree, m) }, defaults)
	doc.Place, doc.Path = field.JoinPlace(above...), above[max(0, len(above)-mostPath):]
	for i := range doc.Chunks {
		doc.Chunks[i].Link = "" // Confluence names its headings otherwise
	}
	return doc
}

// inspect reads who wrote a page and what is above it, and leaves only the page and its comments in the tree.
func (r *confluenceReader) inspect(tree *html.Node, m *meta) (above []string) {
	var body *html.Node
	var kept, emoticons []*html.Node
	for node := range tree.Descendants() {
		id := attribute(node, "id")
		switch {
		case node.DataAtom == atom.Body:
			body = node
		case id == "title-text":
			m.Title = textBelow(node)
			if len(above) > 0 {
				m.Title = strings.TrimPrefix(m.Title, above[0]+" : ")
			}
		case node.DataAtom == atom.A && isBelow(node, "breadcrumb-section"):
			if above = append(above, textBelow(node)); len(above) > 2*mostPath {
				above = slices.Delete(above, 1, 2) // the first is the space, and the last are shown
			}
		case node.DataAtom == atom.Pre: // "brush: java; gutter: false"
			_, brush, _ := strings.Cut(attribute(node, "data-syntaxhighlighter-params"), "brush: ")
			if language, _, _ := strings.Cut(brush, ";"); language != "" {
				setAttribute(node, "class", "language-"+language)
			}
		case hasClass(node, "page-metadata"):
			m.written(node)
		case node.DataAtom == atom.Li && node.Parent != nil && hasClass(node.Parent, "inline-task-list"):
			mark := textNode(checkBox(hasClass(node, "checked")))
			node.InsertBefore(mark, node.FirstChild)
		case hasClass(node, "emoticon"):
			emoticons = append(emoticons, node)
		case id == "main-content":
			kept = append(kept, node)
		case id == "comments" && node.Parent != nil && hasClass(node.Parent, "pageSection"):
			kept = append(kept, node.Parent)
		case node.DataAtom == atom.A && attribute(node, "rel") == "tag" || hasClass(node, "aui-label"):
			m.addField("labels", []string{textBelow(node)}, true)
		case node.DataAtom == atom.A:
			r.link(node, append(slices.Clone(above), m.Title))
		}
	}
	for _, node := range emoticons {
		sign := signOf(node, "data-emoji-fallback", "data-emoji-shortname", "data-emoticon-name", "alt")
		node.Parent.InsertBefore(sign, node)
	}
	remove(emoticons)
	if body != nil && len(kept) > 0 {
		leaveOnly(body, kept)
	}
	return above
}

// link makes a link to another page lead to its address, and remembers the name of an attachment.
func (r *confluenceReader) link(node *html.Node, above []string) {
	target, err := url.Parse(attribute(node, "href"))
	if err != nil || target.Host != "" {
		return
	}
	if id := confluencePage(target.Path); id != "" && r.base != "" {
		setAttribute(node, "href", r.address(id))
	}
	if name := textBelow(node); strings.HasPrefix(target.Path, "attachments/") && name != "" {
		r.files[target.Path] = attachment{name, above}
	}
}

// isBelow reports whether an element is in the one with an id.
func isBelow(node *html.Node, id string) bool {
	return containsNode(node.Ancestors(), func(above *html.Node) bool { return attribute(above, "id") == id })
}

var createdBy = pattern.Lazy(`^Created by ([^,]+?)(?:,| on )`)

// written reads who wrote a page and when: "Created by Ana Ortiz, last modified by Bo Lund on Mar 06, 2019", in the
// language of the site. The names are marked; what is between the author and the date shows whether it is that of a
// change.
func (m *meta) written(node *html.Node) {
	rest, isChanged := textBelow(node), false
	for inner := range node.Descendants() {
		isEditor := hasClass(inner, "editor")
		if name := oneLine(textBelow(inner), longestValue); name != "" && (isEditor || hasClass(inner, "author")) {
			m.Authors = addPerson(m.Authors, index.Person{Name: name})
			_, rest, _ = strings.Cut(rest, name)
			isChanged = isChanged || isEditor
		}
	}
	if match := createdBy().FindStringSubmatch(rest); match != nil { // a name that is not marked
		m.Authors = addPerson(m.Authors, index.Person{Name: oneLine(match[1], longestValue)})
	}
	at, ok := dates.Find(rest)
	if !ok {
		return
	}
	before := rest[:strings.IndexAny(rest, "0123456789")]
	if m.UpdatedAt = at; !isChanged && !strings.ContainsAny(before, ",、，") {
		m.CreatedAt = at
	}
}

// signOf returns what an emoticon shows, or its name, from the attributes that have it; the first is the best.
func signOf(node *html.Node, attributes ...string) *html.Node {
	for _, key := range attributes {
		if sign := strings.TrimSpace(attribute(node, key)); sign != "" {
			return textNode(" " + sign + " ")
		}
	}
	return textNode(" ")
}
