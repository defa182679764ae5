package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
)

const (
	longestID    = 1_000 // bytes
	mostSections = 20_000
	mostText     = 64 << 20 // bytes of all sections
	mostTerms    = 5_000    // users and groups of one document
)

// FromIngestion returns the document of a post or of a JSONL line. now is the date of documents without one. Without
// external_access it is public; the caller may set Access. A section starts a chunk unless it has the same link as the
// one before. The error is worded for the sender.
func FromIngestion(in wire.IngestionDocument, now time.Time) (index.Document, error) {
	return guard.Result(func() index.Document {
		return (&fileReader{markdown: newMarkdownReader()}).fromIngestion(in, now)
	})
}

func (r *fileReader) fromIngestion(in wire.IngestionDocument, now time.Time) index.Document {
	doc := index.Document{
		Source:    in.Source,
		CreatedAt: moment(in.DocCreatedAt),
		UpdatedAt: moment(in.DocUpdatedAt),
		Authors:   owners(nil, in.PrimaryOwners),
	}
	primary := len(doc.Authors)
	doc.Authors = owners(doc.Authors, in.SecondaryOwners)
	doc.Secondary = len(doc.Authors) - primary
	if doc.Source == "" || doc.Source == "ingestion_api" {
		doc.Source = "file" // as Onyx stores posts without a source
	}
	guard.Check(CheckSource(doc.Source))
	if doc.UpdatedAt.IsZero() {
		doc.UpdatedAt = now.UTC()
	}
	named := in.SemanticIdentifier
	if in.Title != nil && strings.TrimSpace(named) == "" {
		named = *in.Title
	}
	doc.Title = oneLine(named, longestTitle)
	for _, section := range in.Sections {
		if doc.Link = cleanLink(section.Link); doc.Link != "" {
			break
		}
	}
	cutSections(r.markdown, in.Sections, &doc)
	doc.ID = ingestionID(in, &doc)
	if doc.Untitled = doc.Title == ""; doc.Untitled {
		line, _, _ := strings.Cut(strings.TrimLeft(doc.Chunks[0].Text, " \t\n#>-*"), "\n")
		doc.Title = cmp.Or(oneLine(line, 120), oneLine(doc.ID, longestTitle))
	}
	doc.Type = cmp.Or(ingestionMetadata(in.Metadata, &doc), typeOf(doc.Link, doc.Source))
	doc.Access = ingestionAccess(in.ExternalAccess, doc.Source)
	r.limit(&doc)
	return doc
}

func moment(t *wire.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// cutSections sets the chunks and the outline.
func cutSections(reader *markdownReader, sections []wire.IngestionSection, doc *index.Document) {
	if len(sections) > mostSections {
		guard.Abort(fmt.Errorf("the document has %d sections; at most %d are allowed", len(sections), mostSections))
	}
	total := 0
	for i := 0; i < len(sections); {
		link := cleanLink(sections[i].Link)
		var text strings.Builder
		for ; i < len(sections) && cleanLink(sections[i].Link) == link; i++ {
			if total += len(sections[i].Text); total > mostText {
				guard.Abort(fmt.Errorf("the document is too large; at most %d MB of text are allowed", mostText>>20))
			}
			text.WriteString(strings.TrimRight(cleanText(sections[i].Text), " \t\n"))
			text.WriteString("\n\n")
		}
		body := strings.TrimLeft(text.String(), "\n")
		made := chunked(body, reader.parse(body), doc.Title, link)
		chunks, outline := made.chunks, made.outline
		for j := range chunks {
			chunks[j].Link = cmp.Or(chunks[j].Link, link)
		}
		for j := range outline {
			outline[j].Chunk += len(doc.Chunks)
		}
		if n := len(doc.Chunks); n > 0 && len(chunks) > 0 {
			doc.Chunks[n-1].Text += "\n\n"
		}
		doc.Chunks = append(doc.Chunks, chunks...)
		if len(doc.Outline) <= mostHeadings {
			doc.Outline = append(doc.Outline, outline...)
		}
	}
	if len(doc.Chunks) > 0 {
		return
	}
	if doc.Title == "" {
		guard.Abort(errors.New("the document has neither text nor a title"))
	}
	doc.Chunks = []index.Chunk{{Text: doc.Title, Link: doc.Link}}
}

// ingestionID returns the document's id, or one made from its source, name and link, so that posting it again replaces
// it.
func ingestionID(in wire.IngestionDocument, doc *index.Document) string {
	switch id := escapeID(in.ID); {
	case len(id) > longestID:
		guard.Abort(fmt.Errorf("the id has %d bytes; at most %d are allowed", len(id), longestID))
	case strings.TrimSpace(id) != id:
		guard.Abort(errors.New("the id begins or ends with white space"))
	case id != "":
		return id
	}
	name := cmp.Or(doc.Title, doc.Chunks[0].Text)
	return "ingestion:" + hashOf(doc.Source+"\x00"+name+"\x00"+doc.Link)
}

// cleanLink returns a link that is safe to show and open: on one line, without a scheme that runs code. Otherwise it
// returns "".
func cleanLink(link string) string {
	if link == "" || len(link) > longestLink {
		return ""
	}
	link = oneLine(link, longestLink)
	scheme, _, found := strings.Cut(link, ":")
	if !found {
		return link
	}
	switch strings.ToLower(strings.TrimSpace(scheme)) {
	case "javascript", "data", "vbscript":
		return ""
	}
	return link
}

// owners appends experts to people, each person once.
func owners(people []index.Person, experts []wire.Expert) []index.Person {
	for _, expert := range experts {
		name := expert.DisplayName
		if strings.TrimSpace(name) == "" {
			name = strings.Join([]string{expert.FirstName, expert.MiddleInitial, expert.LastName}, " ")
		}
		people = addPerson(people, person(name, expert.Email))
	}
	return people
}

// ingestionMetadata sets the metadata, sorted by key because JSON objects have no order, and returns document_type.
func ingestionMetadata(metadata map[string]wire.Metadata, doc *index.Document) (kind string) {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		values := metadata[key].Values
		switch key {
		case "ignore_for_qa": // an instruction for Onyx's indexing
			continue
		case "document_type":
			if len(values) == 1 {
				kind = strings.ToLower(oneLine(values[0], 64))
				continue
			}
		}
		doc.Metadata = addField(doc.Metadata, key, values, metadata[key].List)
	}
	return kind
}

// ingestionAccess converts the permissions of the original system to access terms.
func ingestionAccess(access *wire.ExternalAccess, source string) []string {
	if access == nil {
		return []string{AccessPublic}
	}
	terms := []string{}
	if access.IsPublic {
		terms = append(terms, AccessPublic)
	}
	add := func(prefix string, names []string) {
		for _, name := range names {
			name = strings.ToLower(oneLine(name, longestAccess+1))
			// Names that are too long are dropped: cut, they might name somebody else.
			if name != "" && len(name) <= longestAccess && len(terms) <= mostTerms {
				terms = append(terms, prefix+name)
			}
		}
	}
	add("user_email:", access.UserEmails)
	add("external_group:"+source+"_", access.UserGroupIDs)
	slices.Sort(terms)
	return slices.Compact(terms)
}

var (
	// linkTypes are the document types of files by their extension, sourceTypes those of sources.
	linkTypes = text.Table(`md: md markdown mdx; html: html htm; txt: txt; pdf: pdf; docx: docx; doc: doc; pptx: pptx
		ppt: ppt; xlsx: xlsx; xls: xls; csv: csv; tsv: tsv; odt: odt; epub: epub; rtf: rtf; eml: eml; ics: ics
		json: json; ipynb: ipynb; rst: rst; org: org`)
	sourceTypes = text.Table(`thread: slack teams discord zulip discourse xenforo; email: gmail imap
		ticket: jira linear zendesk freshdesk asana clickup productboard testrail; issue: github gitlab bitbucket
		transcript: gong fireflies`)
)

// typeOf returns the document type for the file name in a link, or for a source.
func typeOf(link, source string) string {
	kind := ""
	if u, err := url.Parse(link); err == nil {
		kind, _ = linkTypes(strings.ToLower(strings.TrimPrefix(path.Ext(u.Path), ".")))
	}
	ofSource, _ := sourceTypes(source)
	return cmp.Or(kind, ofSource, "page")
}
