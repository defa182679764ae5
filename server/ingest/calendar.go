package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"quarry/internal/guard"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/mailmime"
	"quarry/server/ingest/markdown"
)

// mostEvents bounds the entries of a calendar.
const mostEvents = 50_000

var errTooManyEntries = fmt.Errorf("it has more than %d entries", mostEvents)

// card is an entry of a calendar or a contact: the values of its properties that are shown, as text.
type card map[string][]string

// cardField is a property that is read. One without a label is not a line of its own.
type cardField struct{ property, label string }

var entryFields = [...]cardField{
	{"DTSTART", "When"}, {"DURATION", "Duration"}, {"DUE", "Due"}, {"RRULE", "Repeats"}, {"RDATE", "Also"},
	{"EXDATE", "Except"}, {"LOCATION", "Where"}, {"STATUS", "Status"}, {"ORGANIZER", "Organizer"},
	{"ATTENDEE", "Attendees"}, {"CONTACT", "Contact"}, {"RESOURCES", "Resources"}, {"CATEGORIES", "Categories"},
	{"URL", "Link"}, {"COMMENT", "Comment"},
	{"DTEND", ""}, {"SUMMARY", ""}, {"DESCRIPTION", ""}, {"LAST-MODIFIED", ""}, {"DTSTAMP", ""}, {"X-WR-CALNAME", ""},
}

// fromCalendar returns the Markdown of an iCalendar file: a section for each entry, in order of time.
func fromCalendar(r *fileReader, text string) extracted {
	calendar, entries, err := readCards(text, entryFields[:], entryValue, "VEVENT", "VTODO", "VJOURNAL")
	if calendar == nil {
		guard.Abort(errors.New("it is not a calendar"))
	}
	if err != nil {
		r.leaveOut("further entries", err)
	}
	if len(entries) == 0 {
		guard.Abort(cmp.Or(err, errEmpty))
	}
	slices.SortStableFunc(entries, func(a, b card) int {
		return strings.Compare(a.value("DTSTART"), b.value("DTSTART"))
	})
	m := meta{Title: oneLine(calendar.value("X-WR-CALNAME"), longestTitle)}
	if len(entries) == 1 && m.Title == "" {
		m.Title = oneLine(entries[0].value("SUMMARY"), longestTitle)
	}
	var w markdown.Writer
	for _, e := range entries {
		if end := e.value("DTEND"); end != "" {
			e["DTSTART"] = []string{e.value("DTSTART") + " to " + end}
		}
		e.write(&w, cmp.Or(e.value("SUMMARY"), "Untitled"), entryFields[:])
		for part := range strings.SplitSeq(e.value("DESCRIPTION"), "\n\n") {
			w.Paragraph(part)
		}
		if organizer := e.value("ORGANIZER"); organizer != "" {
			m.Authors = addPerson(m.Authors, parsePerson(organizer))
		}
		if t, _ := dates.Parse(cmp.Or(e.value("LAST-MODIFIED"), e.value("DTSTAMP"))); t.After(m.UpdatedAt) {
			m.UpdatedAt = t
		}
	}
	return extracted{meta: m, body: guard.Must(w.Text())}
}

// readCards returns the components of some kinds, and what is around them; nil if there is no component at all. After
// an error, the components before it are complete.
func readCards(text string, fields []cardField,
	valueOf func(name string, parameters map[string]string, value string) string, kinds ...string,
) (around card, cards []card, err error) {
	var open []string // components
	for line := range strings.SplitSeq(text, "\n") {
		name, parameters, value := splitProperty(line)
		name = name[strings.LastIndexByte(name, '.')+1:] // of a group
		var current card
		isCard := len(open) > 0 && slices.Contains(kinds, open[len(open)-1])
		switch value := strings.ToUpper(strings.TrimSpace(value)); {
		case name == "BEGIN":
			if isCard && open[len(open)-1] == value { // after one that was cut off
				open = open[:len(open)-1]
			}
			if len(open) >= deepestPart {
				return around, cards, errors.New("its parts are nested too deeply")
			}
			if open = append(open, value); around == nil {
				around = card{}
			}
			if slices.Contains(kinds, value) {
				if len(cards) >= mostEvents {
					return around, cards, errTooManyEntries
				}
				cards = append(cards, card{})
			}
			continue
		case name == "END" && len(open) > 0:
			open = open[:len(open)-1]
			continue
		case isCard:
			current = cards[len(cards)-1]
		case len(open) == 1:
			current = around
		}
		if current != nil && slices.ContainsFunc(fields, func(f cardField) bool { return f.property == name }) {
			if value := valueOf(name, parameters, decodeProperty(parameters, value)); value != "" {
				current[name] = append(current[name], value)
			}
		}
	}
	return around, cards, nil
}

// value returns the values of a property, or "".
func (c card) value(name string) string { return strings.Join(c[name], ", ") }

// write writes a card below its name.
func (c card) write(w *markdown.Writer, name string, fields []cardField) {
	w.Heading(2, name)
	var lines []string
	for _, field := range fields {
		if value := c.value(field.property); value != "" && field.label != "" {
			lines = append(lines, field.label+": "+markdown.Line(value))
		}
	}
	w.Paragraph(strings.Join(lines, "\n"))
}

// unfold joins the lines of a calendar or of contacts that were folded, before they are decoded: programs fold between
// any two bytes (RFC 5545 3.1). Text in quoted-printable (vCard 2.1, vCalendar) goes on after an equals sign.
func unfold(data []byte) []byte {
	unfolded := make([]byte, 0, len(data)+1)
	start, isQuoted := 0, false // of the line that is joined
	for len(data) > 0 {
		end := lineEnd(data, 0)
		line := bytes.TrimRight(data[:end], "\r\n")
		data = data[end:]
		switch joined := unfolded[start:]; {
		case isQuoted && bytes.HasSuffix(joined, []byte("=")):
			unfolded = append(unfolded[:len(unfolded)-1], line...)
		case len(joined) > 0 && len(line) > 0 && (line[0] == ' ' || line[0] == '\t'):
			unfolded = append(unfolded, line[1:]...)
		default:
			if len(joined) > 0 {
				unfolded = append(unfolded, '\n')
			}
			start = len(unfolded)
			unfolded = append(unfolded, line...)
			head, _, _ := bytes.Cut(line[:min(len(line), longestTag)], []byte(":"))
			isQuoted = bytes.Contains(bytes.ToUpper(head), []byte(quotedPrintable))
		}
	}
	return unfolded
}

const (
	quotedPrintable = "QUOTED-PRINTABLE"
	longestTag      = 1_000 // bytes of a property's name and parameters that are looked through
)

// decodeProperty decodes a value with the encoding and the charset of its parameters. The value of an encoding may be
// without a name, as in vCard 2.1.
func decodeProperty(parameters map[string]string, value string) string {
	data := []byte(value)
	_, isQuoted := parameters[quotedPrintable]
	_, isBase64 := parameters["BASE64"]
	switch encoding := strings.ToUpper(parameters["ENCODING"]); {
	case isQuoted || encoding == quotedPrintable:
		data = mailmime.DecodeQuoted(data)
	case isBase64 || encoding == "BASE64" || encoding == "B":
		data, _ = mailmime.DecodeTransfer(data, "base64")
	default:
		return value
	}
	return cleanText(decodeDeclared(data, parameters["CHARSET"], false))
}

// splitProperty splits NAME;PARAMETER=VALUE:VALUE. A quoted parameter may contain a colon.
func splitProperty(line string) (name string, parameters map[string]string, value string) {
	quoted := false
	colon := strings.IndexFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ':' && !quoted
	})
	if colon < 0 {
		return "", nil, ""
	}
	parts := strings.Split(line[:colon], ";")
	parameters = map[string]string{}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		parameters[strings.ToUpper(key)] = strings.Trim(value, `"`)
	}
	return strings.ToUpper(parts[0]), parameters, line[colon+1:]
}

func unescapeProperty(value string) string {
	return strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`).Replace(value)
}

// entryValue returns the value of a property of an entry: people with their names, times with their zones.
func entryValue(name string, parameters map[string]string, value string) string {
	value = unescapeProperty(value)
	switch name {
	case "ATTENDEE", "ORGANIZER":
		address := value
		if len(value) > 7 && strings.EqualFold(value[:7], "mailto:") {
			address = value[7:]
		}
		if named := parameters["CN"]; named != "" && named != address {
			return named + " <" + address + ">"
		}
		return address
	case "DTSTART", "DTEND", "DUE", "RDATE", "EXDATE":
		times := strings.Split(value, ",")
		for i, at := range times {
			times[i] = shownTime(at, parameters["TZID"])
		}
		return strings.Join(times, ", ")
	}
	return value
}

// shownTime returns a time of a calendar as text, with its zone.
func shownTime(value, zone string) string {
	if _, name := dates.Zone(zone); name != "" { // without the name of the program that defines it
		zone = name
	}
	switch t, err := time.Parse("20060102T150405", strings.TrimSuffix(value, "Z")); {
	case err == nil && strings.HasSuffix(value, "Z"):
		return t.Format("2006-01-02 15:04 UTC")
	case err == nil:
		return strings.TrimSpace(t.Format("2006-01-02 15:04 ") + zone)
	}
	if t, err := time.Parse("20060102", value); err == nil {
		return t.Format(time.DateOnly)
	}
	return value
}
