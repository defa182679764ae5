package ingest

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/server/index"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/xmlreader"
)

// confluenceXML is the export of spaces as XML: the objects of the site, of which pages, blog posts, spaces and people
// are read.
var confluenceXML = container{kind: "Confluence export", source: confluenceSource, is: isConfluenceXML,
	claims: isEntities, read: readConfluenceXML}

const entitiesFile = "entities.xml"

func isEntities(name string) bool { return name == entitiesFile }

func isConfluenceXML(l layout) bool {
	return slices.Contains(l.entries, entitiesFile) && slices.Contains(l.entries, "exportDescriptor.properties") &&
		strings.Contains(startOf(l.FS, entitiesFile), "<hibernate-generic")
}

// entity is an object of an export.
type entity struct {
	Class      string `xml:"class,attr"`
	ID         string `xml:"id"`
	Properties []struct {
		Name string `xml:"name,attr"`
		Text string `xml:",chardata"`
		ID   string `xml:"id"` // of another object
	} `xml:"property"`
	Collections []struct {
		Name string   `xml:"name,attr"`
		IDs  []string `xml:"element>id"`
	} `xml:"collection"`
}

// value returns the text of a property, and the id of the object that it refers to; "" if the object does not have it.
func (e *entity) value(name string) (text, id string) {
	for _, p := range e.Properties {
		if p.Name == name {
			return p.Text, oneLine(p.ID, longestValue)
		}
	}
	return "", ""
}

var errTooManyEntities = fmt.Errorf("it has more than %d pages or people", mostInner)

// entityReader passes XML on, a part at a time: an object may not be larger than the largest file.
type entityReader struct {
	io.Reader
	left int64 // of the object
}

func (r *entityReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return n, errTooLarge
	}
	for i, b := range p[:n] { // XML does not allow what people paste
		if b < ' ' && b != '\n' && b != '\t' && b != '\r' {
			p[i] = ' '
		}
	}
	return n, err
}

// eachEntity passes the objects of some classes to use.
func eachEntity(in io.Reader, use func(*entity), classes ...string) {
	reader := &entityReader{in, largestFile}
	decoder := xml.NewDecoder(reader)
	decoder.Strict = false
	for {
		reader.left = largestFile
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		guard.Check(err)
		start, isStart := token.(xml.StartElement)
		if !isStart || start.Name.Local != "object" ||
			!slices.Contains(classes, xmlreader.Element{Attr: start.Attr}.Attribute("class")) {
			continue
		}
		var e entity
		guard.Check(decoder.DecodeElement(&e, &start))
		use(&e)
	}
}

// entityPage is a page or blog post of the export.
type entityPage struct {
	title, parent, space string
	creator, modifier    string // ids of people, or their names
	created, modified    time.Time
}

// site has what is read of an export before the texts.
type site struct {
	pages  map[string]entityPage
	spaces map[string]string // names
	people map[string]index.Person
	pageOf map[string]string // of texts
}

func readConfluenceXML(c *collector) {
	s := site{map[string]entityPage{}, map[string]string{}, map[string]index.Person{}, map[string]string{}}
	damage := guard.Ended(func() { c.entities(s.add, "Space", "Page", "BlogPost", "ConfluenceUserImpl") })
	c.entities(func(e *entity) {
		_, id := e.value("content")
		id = cmp.Or(id, s.pageOf[e.ID])
		page, known := s.pages[id]
		if !known {
			return // of a comment, a draft or an older version
		}
		body, _ := e.value("body")
		c.addDocument(page.title, func() index.Document {
			doc := s.read(c, body, s.document(c, id, page))
			doc.CreatedAt, doc.Authors = page.created, s.authors(page)
			for i := range doc.Chunks {
				doc.Chunks[i].Link = "" // it is that of the export
			}
			return c.dated(doc)
		})
	}, "BodyContent")
	guard.Check(damage) // what is not damaged is stored
}

// entities reads the file of the objects once.
func (c *collector) entities(use func(*entity), classes ...string) {
	file, size, err := c.open(entitiesFile)
	guard.Check(err)
	defer file.Close()
	guard.Check(c.count(entitiesFile, size))
	eachEntity(io.LimitReader(file, size), func(e *entity) {
		c.check()
		use(e)
	}, classes...)
}

func (s *site) add(e *entity) {
	value := func(names ...string) string {
		for _, name := range names {
			text, id := e.value(name)
			if text = cmp.Or(id, oneLine(text, longestTitle)); text != "" {
				return text
			}
		}
		return ""
	}
	if len(s.pages)+len(s.people)+len(s.spaces) >= mostInner || len(s.pageOf) > 2*mostInner {
		guard.Abort(errTooManyEntities)
	}
	switch e.Class {
	case "Space":
		s.spaces[e.ID] = value("name", "key")
	case "ConfluenceUserImpl":
		person := index.Person{Name: value("fullName", "displayName", "name"),
			Email: email(value("email", "emailAddress"))}
		if strings.Contains(person.Name, "@") {
			person = index.Person{Email: email(person.Name)}
		}
		s.people[e.ID] = person
	default:
		if status := value("contentStatus"); status != "" && status != "current" || value("originalVersion") != "" {
			return
		}
		page := entityPage{title: value("title"), parent: value("parent"), space: value("space"),
			creator: value("creator", "creatorName"), modifier: value("lastModifier", "lastModifierName")}
		page.created, _ = dates.Parse(value("creationDate"))
		page.modified, _ = dates.Parse(value("lastModificationDate"))
		s.pages[e.ID] = page
		for _, texts := range e.Collections {
			for _, id := range texts.IDs {
				if texts.Name == "bodyContents" {
					s.pageOf[oneLine(id, longestValue)] = e.ID
				}
			}
		}
	}
}

// document returns what is known of a page without its text.
func (s *site) document(c *collector, id string, page entityPage) index.Document {
	var above []string
	seen := []string{"", id}
	for at := page.parent; len(above) < mostPath && !slices.Contains(seen, at); at = s.pages[at].parent {
		seen = append(seen, at)
		above = append(above, s.pages[at].title)
	}
	if name := s.spaces[page.space]; name != "" {
		above = append(above, name)
	}
	slices.Reverse(above)
	doc := c.exported(confluenceSource, id+".html", id, page.title, above)
	doc.Link = fileLink(c.task.file.path)
	if !page.modified.IsZero() {
		doc.UpdatedAt = page.modified
	}
	return doc
}

func (s *site) authors(page entityPage) (authors []index.Person) {
	for _, id := range []string{page.creator, page.modifier} {
		person, known := s.people[id]
		if !known {
			person.Name = id
		}
		authors = addPerson(authors, person)
	}
	return authors
}

var storageEmpty = pattern.Lazy(`<((?:ac|ri):[\w-]{1,50}|time)([^<>]*)/>`)

// storageHTML returns a text in the storage format of Confluence as HTML, which has no CDATA and no empty elements.
func storageHTML(body string) string {
	if !strings.Contains(body, "<") { // the markup of a wiki, until 2011
		return strings.ReplaceAll(html.EscapeString(body), "\n", "<br>")
	}
	body = storageEmpty().ReplaceAllString(strings.ReplaceAll(body, "]] >", "]]>"), "<$1$2></$1>")
	body = strings.NewReplacer("<ac:plain-text-body>", "<pre><code>", "</ac:plain-text-body>",
		"</code></pre>").Replace(body)
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(body, "<![CDATA[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		content, after, _ := strings.Cut(rest, "]]>")
		out.WriteString(html.EscapeString(content))
		body = after
	}
}

// read returns the document of a page in the storage format.
func (s *site) read(c *collector, body string, defaults index.Document) index.Document {
	j := job{Work: workStorage, Data: []byte(body), Defaults: defaults, People: s.mentioned(c.fileReader, body)}
	return guard.Must(c.do(j, nil)).Document
}

// mentioned returns the people whose keys stand in a text.
func (s *site) mentioned(r *fileReader, body string) map[string]index.Person {
	const most = 1_000
	people := map[string]index.Person{}
	keys := regexp.MustCompile(`ri:(?:userkey|account-id)="([^"]{1,200})"`).FindAllStringSubmatch(body, most+1)
	for _, key := range atMost(r, keys, most, "names of mentioned people") {
		if person, known := s.people[key[1]]; known {
			people[key[1]] = person
		}
	}
	return people
}

// inspectStorage removes the parameters of macros, and writes what links, mentions, dates, emoticons, tasks, and the
// titles of statuses and panels show.
func (s *site) inspectStorage(tree *html.Node, _ *meta) {
	var removed []*html.Node
	show := func(node *html.Node, text string) {
		node.InsertBefore(textNode(text), node.FirstChild)
	}
	for node := range tree.Descendants() {
		switch node.Data {
		case "ac:parameter":
			if isTitle := attribute(node, "ac:name") == "title"; isTitle && node.Parent != nil &&
				attribute(node.Parent, "ac:name") == "status" {
				show(node, " ")
				continue
			} else if isTitle { // of a panel
				become(node, atom.P)
				continue
			}
			if attribute(node, "ac:name") == "language" && node.Parent != nil {
				setLanguage(node.Parent, textBelow(node))
			}
			removed = append(removed, node)
		case "ac:task-list":
			become(node, atom.Ul)
		case "ac:task":
			become(node, atom.Li)
		case "ac:task-status":
			isDone := textBelow(node) == "complete"
			leaveOnly(node, nil)
			show(node, checkBox(isDone))
		case "ac:task-id", "ac:task-uuid":
			removed = append(removed, node)
		case "ac:emoticon":
			node.AppendChild(signOf(node, "ac:emoji-fallback", "ac:emoji-shortname", "ac:name"))
		case "ac:image":
			show(node, attribute(node, "ac:alt"))
		case "time":
			if textBelow(node) == "" || node.FirstChild == nil {
				show(node, attribute(node, "datetime"))
			}
		case "ri:user":
			key := cmp.Or(attribute(node, "ri:userkey"), attribute(node, "ri:account-id"))
			if person := s.people[key]; node.Parent != nil && textBelow(node.Parent) == "" {
				show(node, cmp.Or(person.Name, person.Email, attribute(node, "ri:username")))
			}
		case "ri:page", "ri:attachment":
			if link := node.Parent; link != nil && textBelow(link) == "" {
				show(node, cmp.Or(attribute(node, "ri:content-title"), attribute(node, "ri:filename")))
			}
		}
	}
	remove(removed)
}

func setLanguage(macro *html.Node, language string) {
	for code := range macro.Descendants() {
		if code.DataAtom == atom.Code {
			code.Attr = []html.Attribute{{Key: "class", Val: "language-" + language}}
			return
		}
	}
}
