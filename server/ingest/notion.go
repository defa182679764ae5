package ingest

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/dates"
)

// notionExport is a folder or archive of pages whose names end with their ids, as Markdown or HTML, with databases as
// CSV. notionParts is an archive of such archives.
var (
	notionExport = container{kind: "Notion export", source: notionSource, is: isNotionExport, whole: true,
		claims: isExported, read: readNotionExport}
	notionParts = container{kind: "Notion export", source: notionSource, is: isNotionParts, claims: isNotionPart,
		read: readNotionParts}
)

const notionSource, notionAddress = "notion", "https://www.notion.so/"

// notionName splits the name of a page, database or folder into its title and id. all reports whether it is a database
// with all of its rows, not only those of a view.
func notionName(name string) (title, id string, all bool) {
	const idLength = 32
	title, all = strings.CutSuffix(strings.TrimSuffix(name, path.Ext(name)), "_all")
	at := len(title) - idLength
	if at < 0 || at > 0 && title[at-1] != ' ' && title[at-1] != '-' || strings.ToLower(title[at:]) != title[at:] {
		return title, "", all
	}
	if _, err := hex.DecodeString(title[at:]); err != nil {
		return title, "", all
	}
	return strings.TrimRight(title[:at], " -"), title[at:], all
}

// notionFolder returns the name of a folder for people: exports until 2023 have ids in it.
func notionFolder(name string) string {
	if title, id, _ := notionName(name + ".md"); id != "" {
		return title
	}
	return name
}

func isNotionPage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".html", ".csv":
		_, id, _ := notionName(name)
		return id != ""
	}
	return false
}

// isNotionExport looks at the pages of a folder. Those of a whole workspace are one folder deeper.
func isNotionExport(l layout) bool {
	isWhole := l.name == "" || strings.HasPrefix(l.name, "Export-") || strings.HasPrefix(l.name, "ExportBlock-")
	if hasNotionPages(l, isWhole) {
		return true
	}
	if !isWhole && !slices.Contains(l.entries, "Private & Shared/") {
		return false
	}
	const most = 50 // folders
	for _, name := range l.entries[:min(most, len(l.entries))] {
		folder, isFolder := strings.CutSuffix(name, "/")
		if strings.HasPrefix(folder, "Export-") && isFolder {
			continue // it is an export itself
		}
		if !isFolder {
			if !isNotionPage(name) && name != "index.html" {
				return false
			}
			continue
		}
		entries, _ := fs.ReadDir(l.FS, folder)
		if inner, err := fs.Sub(l.FS, folder); err == nil && hasNotionPages(newLayout(inner, folder, entries), true) {
			return true
		}
	}
	return false
}

// hasNotionPages reports whether all files of a folder are named as Notion does, and one begins as its name says. A
// single page proves nothing by its name, unless it is in an archive or has a folder.
func hasNotionPages(l layout, isWhole bool) bool {
	var pages []string
	for _, name := range l.entries {
		switch {
		case strings.HasSuffix(name, "/") || strings.HasPrefix(name, ".") || name == "index.html":
		case isNotionPage(name):
			pages = append(pages, name)
		default:
			return false
		}
	}
	const most = 10 // pages to look at
	for _, name := range pages[:min(most, len(pages))] {
		title, id, all := notionName(name)
		hasFolder := slices.Contains(l.entries, title+"/") || slices.Contains(l.entries, title+" "+id+"/")
		start := startOf(l.FS, name)
		switch path.Ext(name) {
		case ".html":
			uuid := strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
			if strings.Contains(start, `id="`+uuid+`" class="page`) {
				return true
			}
		case ".md":
			heading, _, _ := strings.Cut(strings.TrimPrefix(start, "\uFEFF"), "\n")
			heading, isHeading := strings.CutPrefix(heading, "# ")
			if isHeading && strings.HasPrefix(text.Letters(heading), text.Letters(title)) &&
				(isWhole || hasFolder || len(pages) > 1) {
				return true
			}
		case ".csv":
			if hasFolder || all {
				return true
			}
		}
	}
	return false
}

// startOf returns the beginning of a file; the style of an HTML page is longer than its beginning.
func startOf(folder fs.FS, name string) string {
	const most = 64 << 10
	file, err := folder.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	data, _ := io.ReadAll(io.LimitReader(file, most))
	return string(data)
}

func isNotionParts(l layout) bool {
	return len(l.entries) > 0 && l.name == "" &&
		!slices.ContainsFunc(l.entries, func(name string) bool { return !isNotionPart(name) })
}

func isNotionPart(name string) bool {
	return strings.HasPrefix(name, "Export") &&
		regexp.MustCompile(`^Export(Block)?-[0-9a-f-]{36}-Part-\d+\.zip$`).MatchString(name)
}

// readNotionParts reads the archives in an archive as one export.
func readNotionParts(c *collector) {
	names, packed := []string(nil), map[string]int64{}
	var parts joinedFS
	const mostParts = 200 // each has 5 GB
	if len(c.names) > mostParts {
		guard.Abort(fmt.Errorf("it has more than %d parts", mostParts))
	}
	for _, name := range c.names {
		archive, opened, err := c.openNested(name)
		if err != nil {
			c.innerProblem(name, err)
			continue
		}
		defer opened.Close()
		folder, ok := notionExport.inArchive(archive)
		if !ok {
			folder = "." // of a part with attachments only
		}
		parts = append(parts, guard.Must(fs.Sub(archive, folder)))
		for inner, size := range notionExport.packedSizes(archive, folder) {
			if _, known := packed[inner]; !known && len(names) <= mostInner {
				names, packed[inner] = append(names, inner), size
			}
		}
	}
	slices.Sort(names)
	c.names, c.packed = atMost(c.fileReader, names, mostInner, "files of the export"), packed
	c.fs, c.seen = parts, map[string]bool{}
	readNotionExport(c)
}

// notionReader reads the files of an export.
type notionReader struct {
	*fileReader
	columns map[string][]string // of the databases, by their path without ids
	pages   map[string]bool     // ids
}

func readNotionExport(c *collector) {
	n := notionReader{c.fileReader, map[string][]string{}, map[string]bool{}}
	whole := map[string]bool{} // ids of databases with all rows
	for _, name := range c.names {
		_, id, all := notionName(name)
		n.pages[id] = true
		whole[id] = whole[id] || all
	}
	if delete(n.pages, ""); len(n.pages) == 0 {
		guard.Abort(errors.New("it contains no pages of Notion"))
	}
	var tables, pages []string // the columns of databases are needed to read their pages
	for _, name := range c.names {
		_, id, all := notionName(name)
		switch {
		// Its rows are in the other one.
		case path.Base(name) == "index.html" || path.Ext(name) == ".csv" && whole[id] && !all:
		case path.Ext(name) == ".csv":
			tables = append(tables, name)
		default:
			pages = append(pages, name)
		}
	}
	c.addExported(append(tables, pages...), func(name string, data []byte) index.Document {
		return n.file(c, name, data)
	})
}

// file returns the document of a page, database or attachment.
func (n *notionReader) file(c *collector, name string, data []byte) (doc index.Document) {
	title, id, _ := notionName(path.Base(name))
	var above []string
	if folder := path.Dir(name); folder != "." {
		for part := range strings.SplitSeq(folder, "/") {
			above = append(above, notionFolder(part))
		}
	}
	if id == "" || !isNotionPage(name) {
		f, _ := formatOf(name)
		return n.document(f, data, c.exported(notionSource, name, name, titleFromName(path.Base(name)), above))
	}
	page := c.exported(notionSource, name, id, title, above)
	page.Link = notionAddress + id
	f, _ := formatOf(name)
	switch {
	case path.Ext(name) == ".csv":
		page.ID += ".csv"
		page.Title = title
		// Without them the pages say less.
		columns, _ := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, markUTF8))).Read()
		n.columns[path.Join(append(slices.Clone(above), title)...)] = columns
		doc = n.document(f, data, page)
	case f.page:
		j := job{Work: workNotion, Data: data, Defaults: page, Pages: n.linked(data)}
		doc = guard.Must(n.do(j, nil)).Document
	default:
		text := n.relinked(strings.TrimLeft(n.decodeText(data, false), "\n"))
		properties := notionProperties(text, n.columns[path.Join(above...)])
		doc = n.made(extracted{meta: properties, body: text}, page)
	}
	for i := range doc.Chunks {
		doc.Chunks[i].Link = "" // Notion has no addresses for headings in exports
	}
	return doc
}

// linked returns the exported pages whose ids stand in a page.
func (n *notionReader) linked(page []byte) map[string]bool {
	const idLength = 32
	digits, ids := 0, map[string]bool{}
	for at, c := range page {
		if digits++; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			digits = 0
		}
		if digits < idLength {
			continue
		}
		if id := string(page[at+1-idLength : at+1]); n.pages[id] {
			ids[id] = true
		}
	}
	return ids
}

// address returns the address of the exported page that a link leads to; "" for other links.
func (n *notionReader) address(link string) string {
	target, err := url.Parse(link)
	if err != nil {
		return ""
	}
	_, id, _ := notionName(path.Base(target.Path))
	if target.Host != "" || id == "" || !n.pages[id] {
		return ""
	}
	return notionAddress + id
}

// markdownLink matches the address of a link, which may have parentheses.
var markdownLink = pattern.Lazy(`\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)`)

// notionRelation matches the file behind the title of a page in a property.
var notionRelation = pattern.Lazy(` \([^()]*\.(?:md|csv)\)`)

// relinked returns Markdown in which links to files of the export lead to the pages.
func (n *notionReader) relinked(text string) string {
	return markdownLink().ReplaceAllStringFunc(text, func(link string) string {
		if address := n.address(link[2 : len(link)-1]); address != "" {
			return "](" + address + ")"
		}
		return link
	})
}

// inspect reads the properties of a page in HTML and changes its links.
func (n *notionReader) inspect(tree *html.Node, m *meta) {
	for node := range tree.Descendants() {
		switch {
		case node.DataAtom == atom.A:
			if address := n.address(attribute(node, "href")); address != "" {
				setAttribute(node, "href", address)
			}
		case hasClass(node, "checkbox"): // before the words of a task
			replaceByText(node, checkBox(hasClass(node, "checkbox-on")))
		case node.DataAtom == atom.Tr && hasClass(node, "property-row"):
			_, kind, _ := strings.Cut(attribute(node, "class"), "property-row-")
			var name string
			var values []string
			for cell := range node.ChildNodes() {
				switch cell.DataAtom {
				case atom.Th:
					name = textBelow(cell)
				case atom.Td:
					values = propertyValues(cell)
				}
			}
			m.property(name, kind, values)
		}
	}
}

// propertyValues returns the values in a cell: choices, people and dates have elements of their own.
func propertyValues(cell *html.Node) (values []string) {
	for node := range cell.Descendants() {
		switch {
		case hasClass(node, "checkbox-on"):
			return []string{"yes"}
		case hasClass(node, "checkbox-off"):
			return []string{"no"}
		case hasClass(node, "selected-value") || hasClass(node, "user") || node.DataAtom == atom.Time:
			values = append(values, textBelow(node))
		}
	}
	if len(values) == 0 {
		values = []string{textBelow(cell)}
	}
	return values
}

// notionProperties reads the lines below the title of a page in a database, which are "Name: value". Without the
// columns of the database every line of the paragraph must be one, and there must be two.
func notionProperties(text string, columns []string) (m meta) {
	_, rest, _ := strings.Cut(text, "\n")
	rest = strings.TrimLeft(rest, "\n")
	paragraph, _, _ := strings.Cut(rest, "\n\n")
	lines := strings.Split(strings.TrimSpace(paragraph), "\n")
	const longestName = 100
	var found [][2]string
	for _, line := range lines {
		name, value, isProperty := strings.Cut(line, ": ")
		if !isProperty || len(name) > longestName || len(columns) > 0 && !slices.Contains(columns, name) {
			break
		}
		found = append(found, [2]string{name, value})
	}
	if len(columns) == 0 && (len(found) < 2 || len(found) < len(lines)) || !strings.HasPrefix(text, "# ") {
		return m
	}
	for _, property := range found {
		values := []string{notionRelation().ReplaceAllString(property[1], "")}
		if isTagName(property[0]) {
			values = splitTags(values[0])
		}
		m.property(property[0], "", values)
	}
	return m
}

func isTagName(name string) bool {
	return slices.Contains(strings.Fields("tags labels categories tag label category keywords"), strings.ToLower(name))
}

// property sets what a property says. kind is its type, where that is known.
func (m *meta) property(name, kind string, values []string) {
	if len(values) == 0 {
		return
	}
	value := strings.TrimPrefix(values[0], "@")
	date, _, _ := strings.Cut(value, " → ")
	date, _, _ = strings.Cut(date, " (")
	at, isDate := dates.Parse(date)
	switch key := strings.ToLower(name); {
	case isDate && (kind == "created_time" ||
		slices.Contains([]string{"created", "created time", "created at", "date created"}, key)):
		m.CreatedAt = at
	case isDate && (kind == "last_edited_time" ||
		slices.Contains([]string{"last edited", "last edited time", "last updated", "updated", "updated at",
			"last modified"}, key)):
		m.UpdatedAt = at
	case kind == "created_by" ||
		slices.Contains([]string{"author", "authors", "owner", "owners", "created by", "writer"}, key):
		for _, person := range values {
			if kind == "" { // the names are in one text
				m.Authors = addNames(m.Authors, person, ",")
			} else {
				m.Authors = addPerson(m.Authors, parsePerson(person))
			}
		}
	default:
		m.addField(name, values, kind == "multi_select" || len(values) > 1)
	}
}
