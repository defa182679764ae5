package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"quarry/server/ingest/mailmime"
	"quarry/server/ingest/markdown"
)

// mostEvents bounds the entries of a calendar.
const mostEvents = 50_000

var errTooManyEntries = fmt.Errorf("it has more than %d entries", mostEvents)

// entry is an event, task or journal entry of a calendar: the first value of each property, by name.
type entry struct {
	values map[string]string
	zone   map[string]string // of times
	guests []string
}

// fromCalendar returns the Markdown of an iCalendar file: a section for each entry, in order of time.
func fromCalendar(r *fileReader, text string) (meta, string, error) {
	calendar, entries, err := parseCalendar(text)
	if len(entries) == 0 {
		return meta{}, "", cmp.Or(err, errEmpty)
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return strings.Compare(a.values["DTSTART"], b.values["DTSTART"]) })
	m := meta{Title: oneLine(calendar["X-WR-CALNAME"], longestTitle)}
	if err != nil {
		r.leaveOut("further entries", err)
	}
	if len(entries) == 1 && m.Title == "" {
		m.Title = oneLine(entries[0].values["SUMMARY"], longestTitle)
	}
	var w markdown.Writer
	for _, e := range entries {
		e.write(&w)
		if organizer := e.values["ORGANIZER"]; organizer != "" {
			m.Authors = addPerson(m.Authors, parsePerson(organizer))
		}
		for _, name := range []string{"LAST-MODIFIED", "DTSTAMP"} {
			if t, _, ok := calendarTime(e.values[name]); ok {
				if t.After(m.UpdatedAt) {
					m.UpdatedAt = t
				}
				break
			}
		}
	}
	body, err := w.Text()
	return m, body, err
}

// parseCalendar returns the properties of the calendar and its entries; with an error, those before it.
func parseCalendar(text string) (calendar map[string]string, entries []*entry, err error) {
	calendar = map[string]string{}
	var open []string // components
	var current *entry
	for line := range properties(text) {
		name, parameters, value := splitProperty(line)
		switch inner := len(open) > 0 && slices.Contains([]string{"VEVENT", "VTODO", "VJOURNAL"}, open[len(open)-1]); {
		case name == "BEGIN":
			if len(open) >= deepestPart {
				return calendar, entries, errors.New("its parts are nested too deeply")
			}
			if value = strings.ToUpper(value); value == "VEVENT" || value == "VTODO" || value == "VJOURNAL" {
				current = &entry{values: map[string]string{}, zone: map[string]string{}}
				if entries = append(entries, current); len(entries) > mostEvents {
					return calendar, entries[:mostEvents], errTooManyEntries
				}
			}
			open = append(open, value)
		case name == "END" && len(open) > 0:
			open = open[:len(open)-1]
		case inner:
			current.set(name, parameters, value)
		case len(open) == 1 && len(calendar) < mostMetadata:
			calendar[name] = unescapeProperty(value)
		case len(open) == 0 && name != "":
			return nil, nil, errors.New("it is not a calendar")
		}
	}
	return calendar, entries, nil
}

// unfold joins the lines of a calendar or of contacts that were folded, before they are decoded: programs fold between
// any two bytes (RFC 5545 3.1). Text in quoted-printable (vCard 2.1, vCalendar) goes on after an equals sign.
func unfold(data []byte) []byte {
	if isUTF16(data) {
		return data
	}
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

// properties yields the lines of a calendar or of contacts. Text that was in UTF-16 is unfolded here.
func properties(text string) iter.Seq[string] {
	return strings.SplitSeq(string(unfold([]byte(text))), "\n")
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

func (e *entry) set(name string, parameters map[string]string, value string) {
	value = unescapeProperty(decodeProperty(parameters, value))
	switch name {
	case "ATTENDEE", "ORGANIZER":
		address := value
		if len(value) > 7 && strings.EqualFold(value[:7], "mailto:") {
			address = value[7:]
		}
		value = address
		if named := parameters["CN"]; named != "" && named != address {
			value = named + " <" + address + ">"
		}
		if name == "ATTENDEE" {
			if len(e.guests) < mostPeople {
				e.guests = append(e.guests, value)
			}
			return
		}
	}
	if _, again := e.values[name]; !again && len(e.values) < mostMetadata {
		e.values[name], e.zone[name] = value, parameters["TZID"]
	}
}

func (e *entry) write(w *markdown.Writer) {
	summary := e.values["SUMMARY"]
	if summary == "" {
		summary = "Untitled"
	}
	w.Heading(2, summary)
	var lines []string
	add := func(label, value string) {
		if value != "" {
			lines = append(lines, label+": "+markdown.Line(value))
		}
	}
	when := e.time("DTSTART")
	if end := e.time("DTEND"); end != "" {
		when += " to " + end
	}
	add("When", when)
	add("Due", e.time("DUE"))
	add("Repeats", e.values["RRULE"])
	add("Where", e.values["LOCATION"])
	add("Status", e.values["STATUS"])
	add("Organizer", e.values["ORGANIZER"])
	add("Attendees", strings.Join(e.guests, ", "))
	add("Link", e.values["URL"])
	w.Paragraph(strings.Join(lines, "\n"))
	for part := range strings.SplitSeq(e.values["DESCRIPTION"], "\n\n") {
		w.Paragraph(part)
	}
}

// time returns a time as text, with its zone.
func (e *entry) time(name string) string {
	t, isDay, ok := calendarTime(e.values[name])
	switch {
	case !ok:
		return e.values[name]
	case isDay:
		return t.Format(time.DateOnly)
	case e.zone[name] != "":
		return t.Format("2006-01-02 15:04") + " " + e.zone[name]
	case strings.HasSuffix(e.values[name], "Z"):
		return t.Format("2006-01-02 15:04") + " UTC"
	}
	return t.Format("2006-01-02 15:04")
}

// calendarTime parses the times of calendars, without their zone.
func calendarTime(value string) (t time.Time, isDay, ok bool) {
	for _, layout := range []string{"20060102T150405Z", "20060102T150405", "20060102"} {
		if t, err := time.Parse(layout, value); err == nil {
			t, ok := plausible(t)
			return t, layout == "20060102", ok
		}
	}
	return time.Time{}, false, false
}
