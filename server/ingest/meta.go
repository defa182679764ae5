package ingest

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/index"
)

const (
	mostMetadata  = 64    // keys of a document
	mostTags      = 200   // values of a key
	mostPeople    = 50    // authors of a document
	mostSets      = 50    // document sets of a document
	longestValue  = 500   // bytes of a metadata value or name
	longestTitle  = 500   // bytes
	longestLink   = 4_000 // bytes
	longestAccess = 500   // bytes of an access term
)

// meta has the fields of a document that its text sets.
type meta index.Document

// updatedKeys in order of preference.
var updatedKeys = [...]string{
	"updated", "updated_at", "last_modified", "lastmod", "last_updated", "lastupdated", "modified", "date",
}

// readMeta interprets front matter. Only trusted documents set their own id, source, link, type and sets; in others
// these keys are plain metadata.
func readMeta(fields []field, trusted bool) meta {
	var m meta
	dates := map[string]time.Time{}
	for _, f := range fields {
		key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(f.key)), "-", "_")
		switch {
		case trusted && m.trusted(key, f.value):
		case slices.Contains(updatedKeys[:], key):
			if t, ok := parseDate(scalar(f.value)); ok {
				dates[key] = t
			}
		default:
			m.other(key, f)
		}
	}
	for _, key := range updatedKeys {
		if m.UpdatedAt = dates[key]; m.UpdatedAt.IsZero() {
			continue
		}
		if m.CreatedAt.IsZero() && key != "date" {
			m.CreatedAt = dates["date"]
		}
		break
	}
	return m
}

// trusted handles the keys reserved for the bundled library.
func (m *meta) trusted(key string, value any) bool {
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
		m.Sets = texts(value, mostSets)
	case "tags":
		pairs, ok := value.([]field)
		if !ok {
			return false
		}
		for _, pair := range pairs {
			_, list := pair.value.([]any)
			m.addField(pair.key, texts(pair.value, mostTags), list)
		}
	default:
		return false
	}
	return true
}

func (m *meta) other(key string, f field) {
	switch key {
	case "title":
		m.Title = oneLine(scalar(f.value), longestTitle)
	case "created", "created_at", "date_created", "published", "published_at":
		if t, ok := parseDate(scalar(f.value)); ok {
			m.CreatedAt = t
		}
	case "author", "authors", "owner", "owners":
		m.Authors = addPeople(m.Authors, f.value)
	case "tags", "labels", "categories", "tag", "label", "category", "keywords":
		if text, ok := f.value.(string); ok {
			m.addField(key, splitTags(text), true)
			return
		}
		m.addField(key, texts(f.value, mostTags), true)
	case "access", "external_access":
		// A document's own permissions are ignored; as a tag they would mislead.
	default:
		switch f.value.(type) {
		case string:
			m.addField(f.key, texts(f.value, 1), false)
		case []any:
			m.addField(f.key, texts(f.value, mostTags), true)
		}
	}
}

func (m *meta) addField(key string, values []string, list bool) {
	m.Metadata = addField(m.Metadata, key, values, list)
}

// addField adds values to a metadata key.
func addField(fields []index.Field, key string, values []string, list bool) []index.Field {
	key = oneLine(key, longestValue/4)
	if key == "" || len(values) == 0 {
		return fields
	}
	at := slices.IndexFunc(fields, func(f index.Field) bool { return f.Key == key })
	if at < 0 {
		if len(fields) >= mostMetadata {
			return fields
		}
		fields, at = append(fields, index.Field{Key: key, List: list}), len(fields)
	}
	f := &fields[at]
	for _, value := range values {
		value = oneLine(value, longestValue)
		if value != "" && len(f.Values) < mostTags && !slices.Contains(f.Values, value) {
			f.Values = append(f.Values, value)
		}
	}
	if len(f.Values) == 0 {
		return fields[:at]
	}
	f.List = f.List || list || len(f.Values) > 1
	return fields
}

func scalar(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case []any:
		if len(value) > 0 {
			return scalar(value[0])
		}
	}
	return ""
}

// texts returns the strings of a list, or a string.
func texts(value any, most int) []string {
	var out []string
	switch value := value.(type) {
	case string:
		if value = oneLine(value, longestValue); value != "" {
			out = append(out, value)
		}
	case []any:
		for _, item := range value {
			if text, ok := item.(string); ok && len(out) < most {
				out = append(out, texts(text, 1)...)
			}
		}
	}
	return out
}

// splitTags splits tags at commas or semicolons.
func splitTags(tags string) []string {
	tags = strings.Trim(strings.TrimSpace(text.Clip(tags, mostTags*longestValue)), "[]")
	return strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ';' })
}

// addPeople adds authors in any of the common forms: "Name <mail>", a list, a map with name and email.
func addPeople(people []index.Person, value any) []index.Person {
	switch value := value.(type) {
	case string:
		separator := ","
		if strings.Contains(value, ";") {
			separator = ";"
		}
		for part := range strings.SplitSeq(text.Clip(value, mostPeople*longestValue), separator) {
			people = addPerson(people, parsePerson(part))
		}
	case []any:
		for _, item := range value {
			people = addPeople(people, item)
		}
	case []field:
		var p index.Person
		for _, f := range value {
			switch strings.ToLower(f.key) {
			case "name", "display_name":
				p.Name = oneLine(scalar(f.value), longestValue)
			case "email", "mail":
				p.Email = email(scalar(f.value))
			}
		}
		people = addPerson(people, p)
	}
	return people
}

func parsePerson(text string) index.Person {
	text = oneLine(text, longestValue)
	if !strings.Contains(text, "@") {
		return index.Person{Name: text}
	}
	if address, err := mail.ParseAddress(text); err == nil {
		return index.Person{Name: oneLine(address.Name, longestValue), Email: email(address.Address)}
	}
	name, rest, found := strings.Cut(text, "<")
	if mailbox, _, closed := strings.Cut(rest, ">"); found && closed {
		return index.Person{Name: strings.TrimSpace(name), Email: email(mailbox)}
	}
	return index.Person{Name: text}
}

func addPerson(people []index.Person, p index.Person) []index.Person {
	if p == (index.Person{}) || len(people) >= mostPeople || slices.Contains(people, p) {
		return people
	}
	return append(people, p)
}

func email(text string) string { return strings.ToLower(oneLine(text, longestValue)) }

var dateLayouts = [...]string{
	"2006-1-2", "2006/1/2", "2006.1.2", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -0700 MST", "2006-01",
	"January 2, 2006", "January 2 2006", "2 January 2006", "Jan 2, 2006", "2 Jan 2006", "2.1.2006",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.UnixDate, "20060102", "2006",
}

// parseDate parses dates in common formats, to UTC. Other numbers and implausible years are no dates.
func parseDate(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if len(text) > 64 {
		return time.Time{}, false
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return plausible(t)
		}
	}
	const leastEpoch = 1e8 // seconds; smaller numbers are counts
	if n, err := strconv.ParseFloat(text, 64); err == nil && n < leastEpoch {
		return time.Time{}, false
	}
	t, err := wire.ParseTime(text)
	if err != nil {
		return time.Time{}, false
	}
	return plausible(t)
}

func plausible(t time.Time) (time.Time, bool) {
	t = t.UTC()
	return t, t.Year() >= 1900 && t.Year() <= 2200
}

const (
	longestFrontMatter = 64 << 10
	deepestValue       = 6
	mostValues         = 2_000 // of one front matter; aliases count each time they are used
)

var errFrontMatter = errors.New("front matter is too large or nested too deeply")

// field is one key of front matter. A value is a string, a []any of values, or a []field.
type field struct {
	key   string
	value any
}

// splitFrontMatter parses the front matter at the beginning of text: YAML between --- lines or TOML between +++ lines.
// If the syntax is invalid, its plain "key: value" lines are used. Without front matter, body is the whole text.
func splitFrontMatter(text string) (fields []field, body string) {
	text = strings.TrimLeft(text, "\n")
	fence, _, _ := strings.Cut(text, "\n")
	fence = strings.TrimRight(fence, " \t")
	if fence != "---" && fence != "+++" {
		return nil, text
	}
	start := lineEnd(text, 0)
	for at := start; at < len(text) && at-start <= longestFrontMatter; {
		end := lineEnd(text, at)
		line := strings.TrimRight(text[at:end], " \t\n")
		if line == fence || fence == "---" && line == "..." {
			fields, err := parseFields(fence, text[start:at])
			if err != nil {
				fields = parsePlainLines(text[start:at])
			}
			if len(fields) == 0 && strings.TrimSpace(text[start:at]) != "" { // text between two rules
				return nil, text
			}
			return fields, text[end:]
		}
		at = end
	}
	return nil, text
}

func parseFields(fence, text string) (fields []field, err error) {
	defer func() { // the libraries have panicked on hostile input before
		if p := recover(); p != nil {
			fields, err = nil, fmt.Errorf("read front matter: %v", p)
		}
	}()
	var node yaml.Node
	if fence == "+++" {
		var table map[string]any
		if err = toml.Unmarshal([]byte(text), &table); err == nil {
			err = node.Encode(table) // sorts the keys, so that the document stays the same
		}
	} else if err = yaml.Unmarshal([]byte(text), &node); len(node.Content) > 0 {
		node = *node.Content[0]
	}
	if err != nil || node.IsZero() {
		return nil, err
	}
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("front matter is not a mapping")
	}
	budget := mostValues
	value, err := yamlValue(&node, 0, &budget)
	if err != nil {
		return nil, err
	}
	return value.([]field), nil
}

// yamlValue walks the syntax tree, because decoding would expand nested aliases.
func yamlValue(node *yaml.Node, depth int, budget *int) (any, error) {
	if *budget--; *budget < 0 || depth > deepestValue {
		return nil, errFrontMatter
	}
	switch node.Kind {
	case yaml.AliasNode:
		return yamlValue(node.Alias, depth+1, budget)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := yamlValue(item, depth+1, budget)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.MappingNode:
		fields := make([]field, 0, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			value, err := yamlValue(node.Content[i+1], depth+1, budget)
			if err != nil {
				return nil, err
			}
			fields = append(fields, field{node.Content[i].Value, value})
		}
		return fields, nil
	}
	if node.Tag == "!!null" {
		return "", nil
	}
	return node.Value, nil
}

// parsePlainLines reads front matter that is not quite YAML, such as a title with a colon.
func parsePlainLines(text string) []field {
	var fields []field
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		if !found || len(fields) >= mostMetadata || !plainKey().MatchString(key) {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		fields = append(fields, field{key, value})
	}
	return fields
}

var plainKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w-]{1,64}$`) })
