package ingest

import (
	"errors"
	"strings"

	"quarry/internal/guard"
	"quarry/server/ingest/markdown"
)

// contactFields are the properties of a vCard that are read.
var contactFields = [...]cardField{
	{"TITLE", "Title"}, {"ROLE", "Role"}, {"ORG", "Organization"}, {"EMAIL", "Email"}, {"TEL", "Phone"},
	{"IMPP", "Messages"}, {"ADR", "Address"}, {"LABEL", "Address"}, {"URL", "Link"}, {"BDAY", "Birthday"},
	{"ANNIVERSARY", "Anniversary"},
	{"RELATED", "Related"}, {"CATEGORIES", "Groups"}, {"NOTE", "Note"}, {"FN", ""}, {"N", ""}, {"NICKNAME", ""},
}

// fromContacts returns the Markdown of a vCard file: a section for each contact.
func fromContacts(r *fileReader, text string) extracted {
	_, contacts, err := readCards(text, contactFields[:], contactValue, "VCARD")
	if err != nil {
		r.leaveOut("further contacts", err)
	}
	var w markdown.Writer
	var m meta
	written := 0
	for _, contact := range contacts {
		name := ""
		for _, property := range [...]string{"FN", "N", "NICKNAME", "ORG", "EMAIL", "TEL"} {
			if name == "" {
				name = contact.value(property)
			}
		}
		if len(contact) > 0 {
			contact.write(&w, name, contactFields[:])
			m.Title = oneLine(name, longestTitle)
			written++
		}
	}
	switch {
	case written == 0:
		guard.Abort(errors.New("it contains no contacts"))
	case written > 1:
		m.Title = ""
	}
	return extracted{meta: m, body: guard.Must(w.Text())}
}

// contactValue returns a value, whose parts semicolons separate, as text.
func contactValue(_ string, _ map[string]string, value string) string {
	const escaped = "\x00" // no text has it
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(value, `\;`, escaped), ";") {
		part = strings.TrimSpace(strings.ReplaceAll(unescapeProperty(part), escaped, ";"))
		if strings.Trim(part, ", ") != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
