package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Bounds of an export.
const (
	maxConversation = 4 << 20  // bytes of one conversation; a longer one is continued in the next
	maxHeld         = 64 << 20 // bytes of a channel's messages while its threads are put together
)

// exportLists are the files of an export beside the channels' folders. Those with true list channels.
var exportLists = map[string]bool{
	"channels.json": true, "groups.json": true, "dms.json": true, "mpims.json": true,
	usersFile: false, orgUsersFile: false, "integration_logs.json": false, "canvases.json": false, "lists.json": false,
	"file_conversations.json": false, "huddle_transcripts.json": false,
}

const usersFile, orgUsersFile = "users.json", "org_users.json"

// InExport reports whether a file of an export belongs to it by its name from the export's folder: a list, or the
// messages of a channel on a day.
func InExport(name string) bool {
	folder, file := path.Split(name)
	if folder == "" {
		_, isList := exportLists[file]
		return isList
	}
	return strings.Count(name, "/") == 1 && isDay(file)
}

func isDay(file string) bool {
	_, err := time.Parse(time.DateOnly+".json", file)
	return err == nil
}

// IsExport reports whether a folder with entries, of which folders have a slash at the end, is an export: it has
// users.json, a list of channels, and messages of a day in a folder.
func IsExport(folder fs.FS, entries []string) bool {
	if !slices.Contains(entries, usersFile) ||
		!slices.ContainsFunc(entries, func(name string) bool { return exportLists[name] }) {
		return false
	}
	for _, name := range entries {
		channel, isFolder := strings.CutSuffix(name, "/")
		if !isFolder {
			continue
		}
		files, _ := fs.ReadDir(folder, channel)
		if slices.ContainsFunc(files, func(file fs.DirEntry) bool { return !file.IsDir() && isDay(file.Name()) }) {
			return true
		}
	}
	return false
}

// Person is a member of the workspace, or a program that wrote a message.
type Person struct{ Name, Email string }

// Channel is a channel, group or direct conversation of an export.
type Channel struct {
	ID      string
	Name    string // as it is shown, such as #general
	Private bool
	Members []Person // of a private one

	folder string
}

// Conversation is a thread, or the messages of a channel on a day outside threads.
type Conversation struct {
	ID       string // in its channel
	Channel  *Channel
	Title    string
	Messages []Message
	File     string // with the first message, from the export's folder

	thread bool
}

// Message is a message of a conversation, its text in Markdown. Link is empty where the export does not show the
// address of the workspace.
type Message struct {
	At     time.Time
	Author Person
	Text   string
	Link   string

	summary string // its first line, without markup
}

// Export reads the files of an export.
type Export struct {
	// LeaveOut is called for parts of messages that are beyond their bounds.
	LeaveOut func(part string, why error)

	read     func(name string) ([]byte, error)
	names    map[string]string // of users and channels, by id
	people   map[string]Person // the same
	byName   map[string]*Channel
	host     string // of the workspace, such as acme.slack.com; empty: unknown
	hosts    map[string]int
	problems []error
}

type exportUser struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	RealName string        `json:"real_name"`
	Profile  exportProfile `json:"profile"`
}

type exportProfile struct {
	RealName    string `json:"real_name"`
	DisplayName string `json:"display_name"`
	Name        string `json:"name"`
	Email       string `json:"email"`
}

type exportChannel struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	IsPrivate bool     `json:"is_private"`
	Members   []string `json:"members"`
}

// OpenExport reads the lists of an export, and looks through its messages for who wrote them. read returns the content
// of a file, by its name from the export's folder. What of the lists cannot be read, Conversations reports.
func OpenExport(read func(name string) ([]byte, error), names []string) *Export {
	e := &Export{LeaveOut: func(string, error) {}, read: read,
		names: map[string]string{}, people: map[string]Person{}, byName: map[string]*Channel{}, hosts: map[string]int{}}
	for _, list := range [...]string{usersFile, orgUsersFile} {
		if list == usersFile || slices.Contains(names, list) {
			e.note(each(e, list, e.addUser))
		}
	}
	for _, name := range names {
		if isDay(path.Base(name)) && path.Dir(name) != "." {
			e.survey(name)
		}
	}
	for _, list := range names {
		if exportLists[list] {
			e.note(each(e, list, func(listed exportChannel) { e.addChannel(list, listed) }))
		}
	}
	return e
}

// note remembers what of the lists cannot be read. The channels of a list that is not known are private.
func (e *Export) note(err error) {
	if err != nil {
		e.problems = append(e.problems, err)
	}
}

func (e *Export) addUser(user exportUser) {
	p := Person{plain(cmp.Or(user.Profile.RealName, user.RealName, user.Profile.DisplayName, user.Name, user.ID)),
		user.Profile.Email}
	e.people[user.ID], e.names[user.ID] = p, p.Name
}

// survey looks through a day for the address of the workspace, and for the names of people of other workspaces, who are
// in no list.
func (e *Export) survey(name string) {
	learn := func(id, name string) {
		if _, known := e.people[id]; !known && id != "" && name != "" {
			e.people[id], e.names[id] = Person{Name: name}, name
		}
	}
	_ = each(e, name, func(m exportMessage) { // what cannot be read is reported later
		learn(m.User, plain(cmp.Or(m.UserProfile.RealName, m.UserProfile.DisplayName, m.UserProfile.Name)))
		var attached []struct {
			ID   string `json:"author_id"`
			Name string `json:"author_name"`
		}
		if len(m.Attachments) > 0 && wire.Unmarshal(m.Attachments, &attached) == nil {
			for _, a := range attached {
				learn(a.ID, plain(a.Name))
			}
		}
		for _, f := range append(m.files(), exportFile{Permalink: m.Permalink}) {
			host := hostOf(f.Permalink)
			if host == "" {
				continue
			}
			e.hosts[host]++
			if n, most := e.hosts[host], e.hosts[e.host]; n > most || n == most && host < e.host {
				e.host = host
			}
		}
	})
}

// each calls use with each object of a list. The error counts the entries that are none, after use was called with the
// others.
func each[T any](e *Export, name string, use func(T)) error {
	data, err := e.read(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var entries []json.RawMessage
	if err := wire.Unmarshal(data, &entries); err != nil {
		return fmt.Errorf("%s: it is not a list in JSON", name)
	}
	unread := 0
	for _, entry := range entries {
		var value T
		if wire.Unmarshal(entry, &value) != nil {
			unread++
			continue
		}
		use(value)
	}
	if unread > 0 {
		return fmt.Errorf("%s: %d of its %d entries cannot be read", name, unread, len(entries))
	}
	return nil
}

// addChannel adds a channel under the names that its folder may have. Where two have one, only the owner of the library
// may know whose messages they are.
func (e *Export) addChannel(list string, listed exportChannel) {
	if !identifiers().MatchString(listed.ID) {
		return
	}
	if list == "channels.json" && listed.Name != "" {
		e.names[listed.ID] = plain(listed.Name)
	}
	c := &Channel{ID: listed.ID, Name: "#" + plain(cmp.Or(listed.Name, listed.ID)),
		Private: listed.IsPrivate || list != "channels.json"}
	for _, id := range listed.Members {
		if p, known := e.people[id]; known && c.Private {
			c.Members = append(c.Members, p)
		}
	}
	if list == "dms.json" || list == "mpims.json" {
		names := exslices.CastFunc(c.Members, func(p Person) string { return p.Name })
		c.Name = text.Shorten("Messages of "+cmp.Or(strings.Join(names, ", "), c.ID), maxName)
	}
	for _, folder := range slices.Compact([]string{listed.Name, listed.ID}) {
		if folder == "" {
			continue
		}
		if other, exists := e.byName[folder]; exists && other.ID != c.ID {
			e.byName[folder] = &Channel{ID: c.ID, Name: c.Name, Private: true}
			continue
		}
		e.byName[folder] = c
	}
}

// channel returns the channel of a folder. One that no list has is private.
func (e *Export) channel(folder string) *Channel {
	if c := e.byName[folder]; c != nil {
		known := *c
		known.folder = folder
		return &known
	}
	return &Channel{ID: plain(folder), Name: "#" + plain(folder), Private: true, folder: folder}
}

// Conversations passes on the conversations of the named files, which InExport accepts, channel by channel, and what
// cannot be read.
func (e *Export) Conversations(names []string, pass func(Conversation, error)) {
	for _, err := range e.problems {
		pass(Conversation{}, err)
	}
	rest := slices.DeleteFunc(slices.Sorted(slices.Values(names)),
		func(name string) bool { return path.Dir(name) == "." })
	for len(rest) > 0 {
		folder, n := path.Dir(rest[0]), 1
		for n < len(rest) && path.Dir(rest[n]) == folder {
			n++
		}
		r := channelReader{export: e, channel: e.channel(folder), threads: map[string]*Conversation{}, pass: pass}
		for _, name := range rest[:n] {
			r.day(name)
		}
		rest = rest[n:]
		r.flush()
	}
}

// channelReader puts the messages of a channel together to conversations.
type channelReader struct {
	export  *Export
	channel *Channel
	threads map[string]*Conversation // by the timestamp of their first message
	held    int                      // bytes of their messages
	pass    func(Conversation, error)
}

type exportMessage struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Hidden      bool            `json:"hidden"`
	User        string          `json:"user"`
	Username    string          `json:"username"`
	UserProfile exportProfile   `json:"user_profile"`
	BotProfile  exportProfile   `json:"bot_profile"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	ReplyCount  int             `json:"reply_count"`
	Permalink   string          `json:"permalink"`
	Files       []exportFile    `json:"files"`
	File        exportFile      `json:"file"` // before 2018
	Attachments json.RawMessage `json:"attachments"`
	Blocks      json.RawMessage `json:"blocks"`
}

type exportFile struct {
	Title     string `json:"title"`
	Name      string `json:"name"`
	Permalink string `json:"permalink"`
}

// day reads the messages of a day: those of threads are held until the channel's end.
func (r *channelReader) day(name string) {
	date := strings.TrimSuffix(path.Base(name), ".json")
	outside := Conversation{ID: date, Channel: r.channel, File: name}
	undated := 0
	err := each(r.export, name, func(m exportMessage) {
		message, known := r.export.message(r.channel, m)
		switch first := cmp.Or(m.ThreadTS, m.TS); {
		case !known && !isNotice(m):
			undated++
		case !known || message.Text == "":
		case m.ThreadTS == "" && m.ReplyCount == 0:
			outside.Messages = append(outside.Messages, message)
		default:
			t := r.threads[first]
			if t == nil {
				t = &Conversation{ID: first, Channel: r.channel, File: name, thread: true}
				r.threads[first] = t
			}
			t.Messages = append(t.Messages, message)
			r.held += len(message.Text)
		}
	})
	if err != nil {
		r.pass(Conversation{}, err)
	}
	if undated > 0 {
		r.pass(Conversation{}, fmt.Errorf("%s: %s without a valid time", name, text.Count(undated, "message")))
	}
	if r.emit(outside); r.held > maxHeld {
		r.flush()
	}
}

// isNotice reports whether an entry is not a message of a person or a program.
func isNotice(m exportMessage) bool {
	switch m.Subtype {
	case "channel_join", "channel_leave", "group_join", "group_leave", "tombstone", "message_changed",
		"message_deleted":
		return true
	}
	return m.Hidden || m.Type != "message" && m.Type != ""
}

func (e *Export) message(channel *Channel, m exportMessage) (message Message, ok bool) {
	at, dated := timeOf(m.TS)
	if !dated || isNotice(m) {
		return Message{}, false
	}
	author := e.people[m.User]
	if author.Name == "" {
		author.Name = cmp.Or(plain(cmp.Or(m.UserProfile.RealName, m.UserProfile.DisplayName, m.UserProfile.Name,
			m.Username, m.BotProfile.Name, m.User)), "somebody")
	}
	message = Message{At: at, Author: author, Text: e.text(m), Link: e.permalink(channel, m)}
	message.summary = e.summaryOf(cmp.Or(m.Text, escape(message.Text)), author)
	return message, true
}

// files returns the files that were shared with a message.
func (m exportMessage) files() []exportFile {
	if m.File != (exportFile{}) {
		return append(m.Files, m.File)
	}
	return m.Files
}

// permalink returns the address of a message: the export's own, or one made as Slack makes them.
func (e *Export) permalink(channel *Channel, m exportMessage) string {
	if link := linkOf(m.Permalink); link != nil {
		return *link
	}
	if e.host == "" || !identifiers().MatchString(channel.ID) {
		return ""
	}
	link := "https://" + e.host + "/archives/" + channel.ID + "/p" + strings.ReplaceAll(m.TS, ".", "")
	if m.ThreadTS != "" && m.ThreadTS != m.TS {
		link += "?" + url.Values{"thread_ts": {m.ThreadTS}, "cid": {channel.ID}}.Encode()
	}
	return link
}

// emit passes a conversation on, in parts if it is long.
func (r *channelReader) emit(c Conversation) {
	slices.SortStableFunc(c.Messages, func(a, b Message) int { return a.At.Compare(b.At) })
	for start := 0; start < len(c.Messages); {
		end, size := start, 0
		for end < len(c.Messages) && (end == start || size+len(c.Messages[end].Text) <= maxConversation) {
			size += len(c.Messages[end].Text)
			end++
		}
		part := c
		part.Messages = c.Messages[start:end]
		if start > 0 {
			part.ID = fmt.Sprintf("%s+%d", c.ID, start)
		}
		if part.Title = c.Channel.Name + " · "; c.thread {
			part.Title += part.Messages[0].summary
		} else {
			part.Title += daysOf(part.Messages)
		}
		r.pass(part, nil)
		start = end
	}
}

// daysOf returns the days of messages in UTC, as their times are shown: the days of an export's files are in another
// zone.
func daysOf(messages []Message) string {
	first := messages[0].At.UTC().Format(time.DateOnly)
	if last := messages[len(messages)-1].At.UTC().Format(time.DateOnly); last != first {
		return first + " – " + last
	}
	return first
}

// summaryOf returns the first line of a message without markup, or who wrote it.
func (e *Export) summaryOf(said string, author Person) string {
	for line := range strings.Lines(unwrapped(text.Clip(visible(said), maxText), e.names)) {
		if line = plain(strings.NewReplacer("*", "", "`", "", "&nbsp;", " ").Replace(line)); line != "" {
			return line
		}
	}
	return author.Name
}

// flush passes on the threads.
func (r *channelReader) flush() {
	for _, start := range slices.Sorted(maps.Keys(r.threads)) {
		r.emit(*r.threads[start])
	}
	clear(r.threads)
	r.held = 0
}

// text returns a message as Markdown.
func (e *Export) text(m exportMessage) string {
	said, lost := textOf(m.Text, m.Blocks, m.Attachments, e.names)
	parts := []string{said}
	for _, f := range m.files() {
		if title := plain(cmp.Or(f.Title, f.Name)); title != "" {
			parts = append(parts, "File: "+linked(title, f.Permalink))
		}
	}
	for _, part := range lost {
		e.LeaveOut(part, fmt.Errorf("the message of %s has too much", m.TS))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
