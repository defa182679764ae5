package ingest

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"quarry/server/ingest/markdown"
)

// contactFields are the properties of a vCard that are shown, with their labels.
var contactFields = [...]struct{ property, label string }{
	{"TITLE", "Title"}, {"ROLE", "Role"}, {"ORG", "Organization"}, {"EMAIL", "Email"}, {"TEL", "Phone"}, {"ADR", "Address"},
	{"URL", "Link"}, {"BDAY", "Birthday"}, {"CATEGORIES", "Groups"}, {"NOTE", "Note"},
}

// fromContacts returns the Markdown of a vCard file: a section for each contact.
func fromContacts(r *fileReader, text string) (meta, string, error) {
	var w markdown.Writer
	var contact map[string][]string
	var names []string
	var m meta
	end := func() {
		if strings.Trim(strings.Join(slices.Concat(slices.Collect(maps.Values(contact))...), ""), ", ") != "" {
			names = append(names, writeContact(&w, contact))
		}
		contact = nil
	}
	for line := range properties(text) {
		name, parameters, value := splitProperty(line)
		name = name[strings.LastIndexByte(name, '.')+1:] // of a group
		switch {
		case name == "BEGIN" && strings.EqualFold(value, "VCARD"):
			end() // of one that was cut off
			if len(names) >= mostEvents {
				r.leaveOut("further contacts", errTooManyEntries)
			} else {
				contact = map[string][]string{}
			}
		case contact == nil:
		case name == "END":
			end()
		case len(contact[name]) < mostTags && len(contact) < mostMetadata:
			contact[name] = append(contact[name], contactValue(decodeProperty(parameters, value)))
		}
	}
	end()
	if len(names) == 0 {
		return meta{}, "", errors.New("it contains no contacts")
	}
	if len(names) == 1 {
		m.Title = oneLine(names[0], longestTitle)
	}
	body, err := w.Text()
	return m, body, err
}

// contactValue returns a value, whose parts semicolons separate, as text.
func contactValue(value string) string {
	const escaped = "\x00" // no text has it
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(value, `\;`, escaped), ";") {
		if part = strings.TrimSpace(strings.ReplaceAll(unescapeProperty(part), escaped, ";")); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// writeContact writes a contact and returns its name.
func writeContact(w *markdown.Writer, contact map[string][]string) (name string) {
	for _, property := range [...]string{"FN", "N", "NICKNAME", "ORG", "EMAIL", "TEL"} {
		if name == "" {
			name = strings.Join(contact[property], ", ")
		}
	}
	w.Heading(2, name)
	var lines []string
	for _, field := range contactFields {
		if value := strings.Join(contact[field.property], ", "); value != "" {
			lines = append(lines, field.label+": "+markdown.Line(value))
		}
	}
	w.Paragraph(strings.Join(lines, "\n"))
	return name
}
