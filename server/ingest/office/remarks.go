package office

import (
	"path"
	"strconv"
	"strings"

	"quarry/server/ingest/markdown"
)

// remarks are the comments on a slide or on the cells of a sheet, as lines with the cell and the author.
type remarks struct {
	*Archive
	lines   []string
	authors map[string]string // names, by id
}

// remarks writes the comments in some parts.
func (a *Archive) remarks(w *markdown.Writer, authors map[string]string, parts []string) {
	r := remarks{Archive: a, authors: authors}
	for _, part := range parts {
		a.part(path.Base(part), part, r.read)
	}
	writeList(w, "Comments", r.lines)
}

// people returns the names in the linked parts of some kinds, by id.
func (a *Archive) people(links map[string]link, name string, kinds ...string) map[string]string {
	people := map[string]string{}
	for _, part := range targets(links, kinds...) {
		a.part(path.Base(part), part, func(x *parser) {
			x.Each(func(e element) { people[e.Attribute("id")] = e.Attribute(name) })
		})
	}
	return people
}

// read reads comments of cells and their threads, and those of slides, old and new, with the replies to them. Excel
// keeps a copy of each thread as an old comment, by an author who is named like the thread.
func (r *remarks) read(x *parser) {
	x.Walk(func(e element) {
		switch e.Name {
		case "authors": // of cells: an author's id is the place in the list
			r.authors = map[string]string{}
		case "author":
			r.authors[strconv.Itoa(len(r.authors))] = x.Text()
		case "cm", "reply", "comment", "threadedComment":
			r.remark(x, e)
		}
	}, nil)
}

func (r *remarks) remark(x *parser, e element) {
	author := r.authors[e.Attribute("authorId")+e.Attribute("personId")]
	if strings.HasPrefix(author, "tc=") {
		x.Skip()
		return
	}
	at := len(r.lines)
	var said strings.Builder
	r.lines = append(r.lines, "") // replies come before the text
	x.Walk(func(e element) {
		switch e.Name {
		case "p", "text":
			said.WriteString(" " + richText(x))
		case "reply":
			r.remark(x, e)
		}
	}, nil)
	if said := markdown.Line(said.String()); said != "" {
		r.lines[at] = strings.TrimPrefix(strings.Join([]string{e.Attribute("ref"), author, said}, ": "), ": ")
	}
	x.hold(1)
	x.reuse(len(author))
}

// writeList writes a list below a heading, if it has items.
func writeList(w *markdown.Writer, title string, items []string) {
	for _, item := range items {
		if item == "" {
			continue
		}
		if title != "" {
			w.Heading(3, title)
			title = ""
		}
		w.Item(0, false, item)
	}
}
