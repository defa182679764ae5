package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"quarry/server/index"
	"quarry/server/ingest/markdown"
)

// mostEvents bounds the entries of a calendar.
const mostEvents = 50_000

// entry is an event, task or journal entry of a calendar: the first value of each property, by name.
type entry struct {
	values map[string]string
	zone   map[string]string // of times
	guests []string
}

// fromCalendar returns the document of an iCalendar file: a section for each entry, in order of time.
func fromCalendar(r *fileReader, text string, d index.Document) (index.Document, error) {
	calendar, entries, err := parseCalendar(text)
	if err != nil {
		return index.Document{}, err
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return strings.Compare(a.values["DTSTART"], b.values["DTSTART"]) })
	m := meta{Title: oneLine(calendar["X-WR-CALNAME"], longestTitle)}
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
	if err != nil {
		return index.Document{}, err
	}
	body = cleanText(body)
	doc, err := build(body, r.markdown.parse(body), m, d)
	doc.Positions = nil
	return doc, err
}

// parseCalendar returns the properties of the calendar and its entries.
func parseCalendar(text string) (calendar map[string]string, entries []*entry, err error) {
	calendar = map[string]string{}
	var open []string // components
	var current *entry
	for line := range unfolded(text) {
		name, parameters, value := splitProperty(line)
		switch inner := len(open) > 0 && slices.Contains([]string{"VEVENT", "VTODO", "VJOURNAL"}, open[len(open)-1]); {
		case name == "BEGIN":
			if len(open) >= deepestPart {
				return nil, nil, errors.New("its parts are nested too deeply")
			}
			if value = strings.ToUpper(value); value == "VEVENT" || value == "VTODO" || value == "VJOURNAL" {
				current = &entry{values: map[string]string{}, zone: map[string]string{}}
				if entries = append(entries, current); len(entries) > mostEvents {
					return nil, nil, fmt.Errorf("it has more than %d entries", mostEvents)
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
	if len(entries) == 0 {
		return nil, nil, errEmpty
	}
	return calendar, entries, nil
}

// unfolded yields the lines of a calendar, of which a line that begins with a space continues the one before.
func unfolded(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var line strings.Builder
		for physical := range strings.Lines(text) {
			physical = strings.TrimRight(physical, "\n")
			if continued := strings.TrimLeft(physical, " \t"); line.Len() > 0 && len(continued) < len(physical) {
				line.WriteString(physical[1:])
				continue
			}
			if line.Len() > 0 && !yield(line.String()) {
				return
			}
			line.Reset()
			line.WriteString(physical)
		}
		if line.Len() > 0 {
			yield(line.String())
		}
	}
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
	value = unescapeProperty(value)
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
