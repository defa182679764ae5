package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/dates"
)

const driveSource = "google_drive"

var (
	takeoutMail = container{kind: "Google Takeout export", source: gmailSource, claims: inTakeout, read: readTakeout,
		is: func(l layout) bool { return isTakeout(l) && slices.Contains(l.entries, "Mail/") }}
	takeout = container{kind: "Google Takeout export", source: driveSource, claims: inTakeout, read: readTakeout,
		is: isTakeout}
)

// isTakeout reports whether a folder is an export of a Google account by two of its name, its page of contents, and a
// service. The folder has one name in all languages; services have not.
func isTakeout(l layout) bool {
	var signs [3]int
	if l.name == "Takeout" {
		signs[0] = 1
	}
	for _, name := range l.entries {
		switch name {
		case "archive_browser.html":
			signs[1] = 1
		case "Mail/", "Drive/", "Calendar/", "Keep/", "Contacts/", "Tasks/", "Google Chat/", "Google Photos/",
			"My Activity/", "Chrome/":
			signs[2] = 1
		}
	}
	return signs[0]+signs[1]+signs[2] > 1
}

func inTakeout(name string) bool { return !strings.HasSuffix(name, "/") }

func readTakeout(c *collector) {
	t := &takeoutReading{collector: c, mail: newMailReading(c, gmailSource), unread: map[string]map[string]int{}}
	defer t.mail.close()
	defer t.report() // of one that unpacks to too much, too
	for _, name := range c.names {
		t.file(name)
	}
	t.mail.read()
}

// takeoutReading reads a Takeout export: a folder for each service of Google.
type takeoutReading struct {
	*collector
	mail   *mailReading
	unread map[string]map[string]int // files, by service and extension
}

func (t *takeoutReading) file(name string) {
	service, inner, isInService := strings.Cut(name, "/")
	extension := strings.ToLower(path.Ext(name))
	bare := strings.TrimSuffix(name, path.Ext(name))
	_, isPart := slices.BinarySearch(t.names, bare+".json") // of a note
	if !isInService {
		service = "Takeout"
	}
	source := "file"
	if service == "Drive" {
		source = driveSource
	}
	f, reason := t.formatOf(name)
	switch {
	case extension == ".html" && (isPart || !isInService): // the page of contents
	case extension == ".mbox":
		t.mail.addMbox(name, []string{path.Base(bare)})
	case extension == ".json" && service != "Drive" && !strings.Contains(inner, "/"):
		t.note(name, service)
	case extension == ".json" && service != "Drive", reason != "", f.lines:
		t.skip(service, extension)
	default:
		t.addDocument(name, func() index.Document { return t.innerDocument(name, source) })
	}
}

// skip counts a file that is not read.
func (t *takeoutReading) skip(service, extension string) {
	if t.unread[service] == nil {
		t.unread[service] = map[string]int{}
	}
	t.unread[service][cmp.Or(oneLine(extension, 32), "no extension")]++
}

// report lists what is not read, a line for each service.
func (t *takeoutReading) report() {
	for _, service := range slices.Sorted(maps.Keys(t.unread)) {
		var kinds []string
		total := 0
		for _, extension := range slices.Sorted(maps.Keys(t.unread[service])) {
			count := t.unread[service][extension]
			total += count
			kinds = append(kinds, fmt.Sprintf("%d %s", count, extension))
		}
		t.problem(0, fmt.Errorf("%s: %s not read: %s", service, text.Count(total, "file"), strings.Join(kinds, ", ")))
	}
}

// keepNote is a note of Google Keep. Times are in microseconds.
type keepNote struct {
	Title     string      `json:"title"`
	Text      string      `json:"textContent"`
	List      []keepItem  `json:"listContent"`
	Labels    []keepLabel `json:"labels"`
	Links     []keepLink  `json:"annotations"`
	Created   int64       `json:"createdTimestampUsec"`
	Edited    *int64      `json:"userEditedTimestampUsec"`
	IsTrashed bool        `json:"isTrashed"`
}

type keepLabel struct{ Name string }

type keepItem struct {
	Text      string `json:"text"`
	IsChecked bool   `json:"isChecked"`
}

type keepLink struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// note reads a file that may be a note of Google Keep. Other JSON files are data of programs, and those that were
// deleted are left out.
func (t *takeoutReading) note(name, service string) {
	var note keepNote
	data, err := t.content(name)
	if err == nil && (wire.Unmarshal(data, &note) != nil || note.Edited == nil) {
		t.skip(service, ".json")
		return
	}
	if !note.IsTrashed {
		t.addDocument(name, func() index.Document {
			guard.Check(err)
			return t.noteDocument(name, note)
		})
	}
}

func (t *takeoutReading) noteDocument(name string, note keepNote) index.Document {
	var body strings.Builder
	body.WriteString(note.Text + "\n\n")
	for _, item := range note.List {
		mark := "☐ "
		if item.IsChecked {
			mark = "☑ "
		}
		body.WriteString(mark + strings.TrimSpace(item.Text) + "\n")
	}
	for _, link := range note.Links {
		body.WriteString("\n" + link.Title + " " + cleanLink(link.URL) + "\n")
	}
	m := meta{Title: oneLine(note.Title, longestTitle)}
	m.CreatedAt, _ = dates.Plausible(time.UnixMicro(note.Created))
	m.UpdatedAt, _ = dates.Plausible(time.UnixMicro(*note.Edited))
	m.addField("labels", exslices.CastFunc(note.Labels, func(label keepLabel) string { return label.Name }), true)
	clean := strings.TrimSpace(cleanText(body.String()))
	if first, _, _ := strings.Cut(clean, "\n"); m.Title == "" {
		m.Title, m.Untitled = oneLine(first, longestTitle), true
	}
	if m.Title == "" {
		guard.Abort(errEmpty)
	}
	defaults := t.defaults(name, "file")
	defaults.Type = "note"
	return t.made(extracted{meta: m, body: clean, blocks: paragraphs(clean, 0, kindLines)}, defaults)
}
