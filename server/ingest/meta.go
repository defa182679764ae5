package ingest

import (
	"fmt"
	"iter"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/dates"
)

const (
	mostMetadata  = 64    // keys of a document
	mostTags      = 200   // values of a key
	mostPeople    = 50    // authors of a document
	longestValue  = 500   // bytes of a metadata value or name
	longestTitle  = 500   // bytes
	longestLink   = 4_000 // bytes
	longestAccess = 500   // bytes of an access term
)

// meta has the fields of a document that its text sets.
type meta index.Document

// updatedKeys in order of preference, and createdKeys, without the signs between their words.
var (
	updatedKeys = strings.Fields("updated updatedat updatedon updateddate lastmodified lastmodifiedat lastmod " +
		"lastupdated lastupdate lastedited modified modifiedat datemodified dateupdated modificationdate edited " +
		"mtime revdate revisiondate date")
	createdKeys = strings.Fields("created createdat createdon createdtime datecreated creationdate ctime published " +
		"publishedat publishedon datepublished publishdate publisheddate pubdate posted timestamp")
)

// readMeta interprets front matter. Only trusted documents set their own id, source, link, type and sets; in others
// these keys are plain metadata.
func readMeta(fields *yaml.Node, trusted bool) meta {
	var m meta
	stated := map[string]time.Time{}
	for name, value := range headFieldsOf(fields) {
		key := strings.ToLower(strings.TrimSpace(name))
		plain := strings.NewReplacer("-", "", " ", "", "_", "").Replace(key)
		if plain == "lastupdate" && value.Kind == yaml.MappingNode { // of Docusaurus: the date and the author
			for name, detail := range pairs(value) {
				if name == "author" {
					m.people(name, detail)
				} else if name == "date" {
					value = detail
				}
			}
		}
		isUpdate := slices.Contains(updatedKeys, plain)
		var at time.Time
		if isUpdate || slices.Contains(createdKeys, plain) {
			at, _ = dates.Parse(scalar(value))
		}
		switch {
		case trusted && m.trusted(key, value):
		case at.IsZero():
			m.other(key, name, value)
		case isUpdate:
			stated[plain] = at
		default:
			m.CreatedAt = at
		}
	}
	for _, key := range updatedKeys {
		if m.UpdatedAt = stated[key]; m.UpdatedAt.IsZero() {
			continue
		}
		if m.CreatedAt.IsZero() && key != "date" {
			m.CreatedAt = stated["date"]
		}
		break
	}
	if m.UpdatedAt.IsZero() {
		m.UpdatedAt = m.CreatedAt
	}
	return m
}

// headFieldsOf yields the fields of front matter, and those in maps that only group them.
func headFieldsOf(fields *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for name, value := range pairs(fields) {
			grouped := []*yaml.Node{{Kind: yaml.ScalarNode, Value: name}, value}
			switch strings.ToLower(name) {
			case "dates", "meta", "metadata", "extra", "taxonomies":
				if value.Kind == yaml.MappingNode {
					grouped = value.Content
				}
			}
			for pair := range slices.Chunk(grouped, 2) {
				if !yield(pair[0].Value, pair[1]) {
					return
				}
			}
		}
	}
}

// trusted handles the keys reserved for the bundled library.
func (m *meta) trusted(key string, value *yaml.Node) bool {
	switch key {
	case "id":
		m.ID = oneLine(scalar(value), longestID)
	case "source":
		m.Source = oneLine(scalar(value), longestValue)
	case "link":
		m.Link = oneLine(scalar(value), longestLink)
	case "type":
		m.Type = oneLine(scalar(value), longestValue)
	case "sets":
		for _, item := range append([]*yaml.Node{value}, value.Content...) {
			if set := oneLine(item.Value, longestValue); set != "" {
				m.Sets = append(m.Sets, set)
			}
		}
	case "tags":
		for name, tags := range pairs(value) {
			m.field(name, tags, false)
		}
		return value.Kind == yaml.MappingNode
	default:
		return false
	}
	return true
}

func (m *meta) other(key, name string, value *yaml.Node) {
	switch key {
	case "title":
		m.Title = oneLine(scalar(value), longestTitle)
	case "author", "authors", "owner", "owners":
		m.people(key, value)
	case "access", "external_access":
		// A document's own permissions are ignored; as a tag they would mislead.
	default:
		switch isTags := isTagName(key); {
		case isTags && value.Kind == yaml.ScalarNode:
			m.addField(key, splitTags(value.Value), true)
		case isTags:
			m.field(key, value, true)
		default:
			m.field(name, value, false)
		}
	}
}

// field adds a value of front matter: of a list all values, of a map each under its own name below the key.
func (m *meta) field(name string, value *yaml.Node, isList bool) {
	switch value.Kind {
	case yaml.ScalarNode:
		m.addField(name, []string{value.Value}, isList)
	case yaml.SequenceNode:
		for _, item := range value.Content {
			m.field(name, item, true)
		}
	default:
		for key, inner := range pairs(value) {
			m.field(name+"."+key, inner, isList)
		}
	}
}

func (m *meta) addField(key string, values []string, list bool) {
	m.Metadata = addField(m.Metadata, key, values, list)
}

// limit cuts what the document at hand has more of than is stored, and records that. What collects such lists keeps at
// least one more than their bounds.
func (r *fileReader) limit(doc *index.Document) {
	authors := len(doc.Authors)
	doc.Authors = atMost(r, doc.Authors, mostPeople, "authors")
	doc.Secondary = max(0, doc.Secondary-(authors-len(doc.Authors)))
	doc.Metadata = atMost(r, doc.Metadata, mostMetadata, "keys of its metadata")
	doc.Outline = atMost(r, doc.Outline, mostHeadings, "headings in its outline")
	doc.Access = atMost(r, doc.Access, mostTerms, "people and groups with access")
	for i := range doc.Metadata {
		field := &doc.Metadata[i]
		field.Values = atMost(r, field.Values, mostTags, "values of "+field.Key)
		for j, value := range field.Values {
			if len(value) > longestValue {
				r.leaveOut("the end of "+field.Key, fmt.Errorf("it is longer than %d bytes", longestValue))
				field.Values[j] = oneLine(value, longestValue)
			}
		}
	}
}

// atMost returns the first items of a list, and records that there are further ones.
func atMost[T any](r *fileReader, list []T, most int, what string) []T {
	if len(list) <= most {
		return list
	}
	r.leaveOut("further "+what, fmt.Errorf("it has more than %s", text.Number(most)))
	return list[:most]
}

// addField adds values to a metadata key.
func addField(fields []index.Field, key string, values []string, list bool) []index.Field {
	key = oneLine(key, longestValue/4)
	if key == "" || len(values) == 0 {
		return fields
	}
	at := slices.IndexFunc(fields, func(f index.Field) bool { return f.Key == key })
	if at < 0 {
		if len(fields) > mostMetadata {
			return fields
		}
		fields, at = append(fields, index.Field{Key: key, List: list}), len(fields)
	}
	f := &fields[at]
	for _, value := range values {
		value = oneLine(value, longestValue+utf8.UTFMax)
		if value != "" && len(f.Values) <= mostTags && !slices.Contains(f.Values, value) {
			f.Values = append(f.Values, value)
		}
	}
	if len(f.Values) == 0 {
		return fields[:at]
	}
	f.List = f.List || list || len(f.Values) > 1
	return fields
}

// scalar returns a value, or the first one of a list or map.
func scalar(value *yaml.Node) string {
	switch {
	case len(value.Content) == 0:
		return value.Value
	case value.Kind == yaml.MappingNode:
		return scalar(value.Content[1])
	}
	return scalar(value.Content[0])
}

// splitTags splits tags at commas or semicolons.
func splitTags(tags string) []string {
	tags = strings.Trim(strings.TrimSpace(text.Clip(tags, longestFrontMatter)), "[]")
	return strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ';' })
}

// people adds authors in any of the common forms: "Name <mail>", a list, a map with name and email, or a map of such
// maps. What else it says of them is metadata.
func (m *meta) people(key string, value *yaml.Node) {
	switch value.Kind {
	case yaml.ScalarNode:
		m.Authors = addNames(m.Authors, value.Value, ",")
	case yaml.SequenceNode:
		for _, item := range value.Content {
			m.people(key, item)
		}
	default:
		var p index.Person
		for name, detail := range pairs(value) {
			switch strings.ToLower(name) {
			case "name", "display_name", "given", "family", "first_name", "last_name":
				p.Name = oneLine(p.Name+" "+detail.Value, longestValue)
				for _, part := range pairs(detail) { // of Quarto
					p.Name = oneLine(p.Name+" "+part.Value, longestValue)
				}
			case "email", "mail":
				p.Email = email(scalar(detail))
			default:
				if detail.Kind == yaml.MappingNode {
					m.people(key, detail)
				} else {
					m.field(key+"."+name, detail, false)
				}
			}
		}
		m.Authors = addPerson(m.Authors, p)
	}
}

// addNames adds authors that semicolons separate, and where there are none the other separator. Programs separate those
// of a document's properties by semicolons only: a comma is part of a name, as in "Ortiz, Ana" and "Acme, Inc.".
func addNames(people []index.Person, names, other string) []index.Person {
	if strings.Contains(names, ";") {
		other = ";"
	}
	for part := range strings.SplitSeq(text.Clip(names, longestFrontMatter), other) {
		people = addPerson(people, parsePerson(part))
	}
	return people
}

func person(name, address string) index.Person {
	return index.Person{Name: oneLine(name, longestValue), Email: email(address)}
}

func parsePerson(text string) index.Person {
	text = oneLine(strings.NewReplacer("[[", "", "]]", "").Replace(text), longestValue) // in notes, a link to a person
	if !strings.Contains(text, "@") {
		return index.Person{Name: text}
	}
	if address, err := mail.ParseAddress(text); err == nil {
		return person(address.Name, address.Address)
	}
	name, rest, found := strings.Cut(text, "<")
	if mailbox, _, closed := strings.Cut(rest, ">"); found && closed {
		return index.Person{Name: strings.TrimSpace(name), Email: email(mailbox)}
	}
	return index.Person{Name: text}
}

func addPerson(people []index.Person, p index.Person) []index.Person {
	if p == (index.Person{}) || len(people) > mostTags || slices.Contains(people, p) {
		return people
	}
	return append(people, p)
}

func email(text string) string { return strings.ToLower(oneLine(text, longestValue)) }
