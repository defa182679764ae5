package ingest

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/mail"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/mbox"
)

const (
	mailSource  = "imap"
	gmailSource = "gmail"

	longestHeader = 1 << 20 // bytes of a message's header
	// longestThread bounds the text of a document; a longer thread is continued in the next.
	longestThread = 4 << 20
	longestMailID = 300 // bytes; of a longer id the hash counts
)

var (
	gmailBox = container{kind: "Gmail mailbox", source: gmailSource, starts: isGmail, read: readMbox}
	mboxFile = container{kind: "mailbox (mbox)", source: mailSource, starts: mbox.Is, read: readMbox}
)

// isGmail reports whether an mbox file was exported from Gmail.
func isGmail(start []byte) bool {
	return mbox.Is(start) &&
		(bytes.Contains(start, []byte("\nX-GM-THRID:")) || bytes.Contains(start, []byte("\nX-Gmail-Labels:")))
}

func readMbox(c *collector) {
	m := newMailReading(c, c.task.file.format.container.source)
	defer m.close()
	m.addMbox(".", nil)
	m.read()
}

// mailReading reads the messages of a mailbox: first their headers, then thread by thread all of them.
type mailReading struct {
	*collector
	source  string
	boxes   []mailBox
	threads *mailThreads
	left    int // messages not read because they are too many
}

// mailBox is a file of a mailbox.
type mailBox struct {
	name    string     // from the container's folder
	folders []string   // as mail programs show them
	mbox    randomFile // nil: the file is a message
}

func newMailReading(c *collector, source string) *mailReading {
	return &mailReading{collector: c, source: source, threads: newMailThreads()}
}

func (m *mailReading) close() {
	for _, box := range m.boxes {
		if box.mbox != nil {
			box.mbox.Close()
		}
	}
}

// addMbox adds the messages of an mbox file.
func (m *mailReading) addMbox(name string, folders []string) {
	file, size, err := m.random(name)
	if err != nil {
		m.unread(name, err)
		return
	}
	m.boxes = append(m.boxes, mailBox{name, folders, file})
	err = mbox.Split(file, size, func(found mbox.Message) {
		at, _ := lineTime(found.Line)
		m.addHead(mailHead{start: found.Start, end: found.End}, at)
	})
	if m.check(); err != nil {
		m.unread(name, m.failure(name, err))
	}
}

// addFile adds a file that is a message.
func (m *mailReading) addFile(name string, folders []string) {
	file, size, err := m.open(name)
	if err != nil {
		m.unread(name, err)
		return
	}
	_ = file.Close() // it was only read
	m.boxes = append(m.boxes, mailBox{name: name, folders: folders})
	m.addHead(mailHead{end: size}, time.Time{})
}

// open opens a message of a Maildir. A mail program may have given it other flags, and with them another name.
func (m *mailReading) open(name string) (fs.File, int64, error) {
	file, size, err := m.collector.open(name)
	if !errors.Is(err, errGone) {
		return file, size, err
	}
	folder, message := path.Split(name)
	unique, _ := cutFlags(message)
	for _, sub := range [...]string{"cur", "new"} {
		sub = path.Join(path.Dir(path.Clean(folder)), sub)
		entries, _ := fs.ReadDir(m.fs, sub)
		for _, entry := range entries {
			if other, flags := cutFlags(entry.Name()); other == unique && !strings.Contains(flags, "T") {
				return m.collector.open(path.Join(sub, entry.Name()))
			}
		}
	}
	return nil, 0, err
}

// unread reports what cannot be read, unless the whole mailbox cannot. A message that is gone the next sync sees.
func (m *mailReading) unread(name string, err error) {
	if m.check(); !errors.Is(err, errGone) {
		m.innerProblem(name, err)
	}
}

// addHead reads the header of a message. sent is a date for one without its own.
func (m *mailReading) addHead(head mailHead, sent time.Time) {
	if m.check(); len(m.threads.messages) >= mostMessages {
		m.left++
		return
	}
	head.box = int32(len(m.boxes) - 1)
	header, err := m.headerOf(head)
	id := ""
	if err == nil && !isDeletedMail(header) {
		id, err = m.idOf(header, head)
	}
	if err != nil {
		name := m.boxes[head.box].name
		if m.boxes[head.box].mbox != nil {
			name = fmt.Sprintf("message at byte %d", head.start)
		}
		m.unread(name, err)
	}
	if id == "" {
		return
	}
	if at, ok := mailDate(header); ok {
		sent = at
	}
	if !sent.IsZero() {
		head.at = sent.Unix()
	}
	references := referencesOf(header.Get("References"))
	if len(references) == 0 { // which may also name a person
		references = referencesOf(header.Get("In-Reply-To"))
		references = references[:min(1, len(references))]
	}
	if thread := header.Get("X-GM-THRID"); thread != "" {
		references = append(references, "X-GM-THRID:"+thread)
	}
	subject := decodeWords(header.Get("Subject"))
	known, same := m.threads.known(id, subject)
	if known && !same {
		head.isReused = true
		if id, err = m.idOf(header, head); err != nil {
			m.unread(m.boxes[head.box].name, err)
			return
		}
		known, _ = m.threads.known(id, subject)
	}
	if !known {
		m.threads.add(head, id, subject, references)
	}
}

// headerOf reads the header of a message: the first bytes, and more if they are not enough.
func (m *mailReading) headerOf(head mailHead) (mail.Header, error) {
	const usual = 16 << 10
	for _, length := range [...]int64{usual, longestHeader} {
		data, err := m.bytes(head, length)
		if err != nil {
			return nil, err
		}
		isWhole := int64(len(data)) == head.end-head.start || length == longestHeader ||
			bytes.Contains(data, []byte("\n\n")) || bytes.Contains(data, []byte("\n\r\n"))
		if isWhole {
			header, _, err := splitMessage(data)
			return header, err
		}
	}
	return nil, nil
}

// bytes returns the first bytes of a message.
func (m *mailReading) bytes(head mailHead, most int64) ([]byte, error) {
	box := m.boxes[head.box]
	if box.mbox == nil {
		file, _, err := m.open(box.name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, err := decompressed(file)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		rest := &damagedPart{in: in}
		data, err := io.ReadAll(io.LimitReader(rest, most))
		if _, failed := errors.AsType[*fs.PathError](rest.err); failed || err != nil {
			return nil, m.failure(box.name, cmp.Or(err, rest.err))
		}
		if rest.err != nil && most == largestFile {
			m.leaveOut(box.name, rest.err)
		}
		return data, nil
	}
	data := make([]byte, min(most, head.end-head.start))
	n, err := box.mbox.ReadAt(data, head.start)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, m.failure(box.name, err)
	}
	return data[:n], nil
}

// isDeletedMail reports whether a mail program deleted a message, which it has not yet removed from its file, or wrote
// the message for itself.
func isDeletedMail(header mail.Header) bool {
	const expunged = 0x8
	var flags int
	if _, err := fmt.Sscanf(header.Get("X-Mozilla-Status"), "%x", &flags); err == nil && flags&expunged != 0 {
		return true
	}
	return strings.Contains(header.Get("X-Status"), "D") ||
		header.Get("X-IMAP") != "" && strings.HasPrefix(header.Get("Subject"), "DON'T DELETE THIS MESSAGE")
}

// messageID returns the id in the header of a message; empty if it has none.
func messageID(header mail.Header) string {
	own := strings.TrimSpace(header.Get("Message-Id"))
	if ids := referencesOf(own); len(ids) > 0 {
		return ids[0]
	}
	return own
}

// messageLink returns by which mail programs find the message with an id; empty for an id that is not its own.
func messageLink(id string) string {
	if id == "" || len(id) > longestMailID || strings.HasPrefix(id, "sha256:") {
		return ""
	}
	return wire.MessageScheme + url.PathEscape(id)
}

// idOf returns the id of a message, or one made of its content if it has none of its own.
func (m *mailReading) idOf(header mail.Header, head mailHead) (string, error) {
	if own := messageID(header); own != "" && !head.isReused {
		return own, nil
	}
	data, err := m.bytes(head, largestFile)
	if err != nil {
		return "", err
	}
	return "sha256:" + hashOf(bytes.TrimSpace(data)), nil
}

// lineTime parses the time in the line before a message in an mbox file, which follows the sender.
func lineTime(line string) (time.Time, bool) {
	_, sender, _ := strings.Cut(line, " ")
	_, date, _ := strings.Cut(sender, " ")
	return dates.Parse(date)
}

// read reads the messages and passes a document of each thread on.
func (m *mailReading) read() {
	for heads := range m.threads.all() {
		m.thread(heads)
	}
	if m.threads.unjoined > 0 {
		const most = mostNodes - mostMessages
		m.problem(0, fmt.Errorf("it refers to over %d messages: some threads are not put together", most))
	}
	if m.left > 0 {
		m.problem(0, fmt.Errorf("it has more than %d messages; %d are left out", mostMessages, m.left))
	}
}

// thread reads a thread, and passes it on in parts if it is long.
func (m *mailReading) thread(heads []mailHead) {
	var doc mailDocument
	size, root := 0, ""
	for i, head := range heads {
		read, err := m.message(head)
		if m.check(); errors.Is(err, errGone) { // the next sync sees that
			continue
		}
		if err == nil && read.Meta.Title == "" && len(read.Body) == 0 {
			err = fmt.Errorf("%s: %w", read.name(), errEmpty)
		}
		if read != nil {
			root = cmp.Or(root, read.id)
		}
		if err != nil {
			m.problem(0, err)
			continue
		}
		if len(doc.messages) > 0 && size+len(read.Body) > longestThread {
			m.emit(&doc)
			doc, size = mailDocument{}, 0
		}
		if len(doc.messages) == 0 {
			if doc.ID = root; i > 0 && read.id != root {
				doc.ID = fmt.Sprintf("%s+%d", root, i)
			}
		}
		size += len(read.Body)
		doc.add(read, m.boxes[head.box].folders)
	}
	m.emit(&doc)
}

// message reads a message. The error names it.
func (m *mailReading) message(head mailHead) (*mailContent, error) {
	data, err := m.bytes(head, largestFile)
	if err != nil {
		return nil, err
	}
	if box := m.boxes[head.box]; box.mbox != nil {
		data = mbox.Unquote(data)
	} else if err := m.count(box.name, head.end); err != nil {
		return nil, err
	}
	if m.packed == nil && m.boxes[head.box].mbox != nil {
		m.part.bytes += head.end - head.start
	}
	a, err := m.do(job{Work: workMessage, Data: data}, nil)
	read := &a.Message // after an error a part of it
	if err == nil && len(read.Body) == 0 && read.IsEncrypted {
		err = errEncryptedMail
	}
	if id, failed := m.idOf(read.Header, head); failed == nil {
		read.id = id
	}
	if read.Meta.UpdatedAt.IsZero() && head.at != 0 {
		read.Meta.UpdatedAt, _ = dates.Plausible(time.Unix(head.at, 0))
	}
	name := read.name()
	if err != nil {
		return read, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) == largestFile {
		m.problem(0, fmt.Errorf("%s: it is larger than %d MB; the rest is left out", name, largestFile>>20))
	}
	return read, nil
}

// name names a message in reports.
func (m *mailContent) name() string {
	name := "a message without a subject"
	if m.Meta.Title != "" {
		name = strconv.Quote(m.Meta.Title)
	}
	if !m.Meta.UpdatedAt.IsZero() {
		name += m.Meta.UpdatedAt.Format(" (2006-01-02)")
	}
	return name
}

// mailDocument is a thread, or a part of it.
type mailDocument struct {
	index.Document
	folders  []string
	messages []threadMessage
}

// add adds a message, the first of which names the thread.
func (d *mailDocument) add(read *mailContent, folders []string) {
	if len(d.messages) == 0 {
		d.Title, _ = withoutReply(read.Meta.Title)
		d.folders = folders
	}
	link := read.link()
	d.Link = cmp.Or(d.Link, link)
	link = cmp.Or(link, messageLink(read.id))
	for _, field := range read.Meta.Metadata {
		d.Metadata = addField(d.Metadata, field.Key, field.Values, field.List)
	}
	d.Metadata = addField(d.Metadata, "labels", labelsOf(read.Header), true)
	d.messages = append(d.messages,
		threadMessage{read.Meta.UpdatedAt, read.Meta.Authors, link, string(read.Body), read.Blocks})
}

func (m *mailReading) emit(d *mailDocument) {
	text := func(message threadMessage) string { return message.body }
	if d.messages = withoutSecrets(m.collector, d.Title, d.messages, text); len(d.messages) == 0 {
		return
	}
	if len(d.ID) > longestMailID {
		d.ID = "sha256:" + hashOf(d.ID)
	}
	doc := m.conversation(m.source, d.ID, d.Title, d.Link, d.folders)
	doc.Title, doc.Untitled = cmp.Or(doc.Title, "No subject"), doc.Title == ""
	doc.Path, doc.Metadata = m.pathOf(d.folders), d.Metadata
	if doc = m.threadDocument(doc, d.messages, true); doc.UpdatedAt.IsZero() {
		doc.UpdatedAt = m.task.file.info.ModTime().UTC()
		dateByFile(&doc)
	}
	m.add(doc, 0)
}

// pathOf returns the name of the mailbox, and the folder of a message in it.
func (m *mailReading) pathOf(folders []string) []string {
	file := m.task.file.path
	return lastNames(append([]string{strings.TrimSuffix(path.Base(file), path.Ext(file))}, folders...))
}

// labelsOf returns the labels of a message in Gmail.
func labelsOf(header mail.Header) []string {
	quoted := csv.NewReader(strings.NewReader(oneLine(decodeWords(header.Get("X-Gmail-Labels")),
		mostTags*longestValue)))
	quoted.LazyQuotes, quoted.TrimLeadingSpace = true, true
	labels, _ := quoted.Read() // nothing is left that it refuses
	return labels
}

// link returns the address of a message: in its archive, or in Gmail.
func (m *mailContent) link() string {
	for _, name := range [...]string{"Archived-At", "X-Archived-At"} {
		address := strings.Trim(strings.TrimSpace(m.Header.Get(name)), "<>")
		if u, err := url.Parse(address); err == nil && slices.Contains([]string{"http", "https"}, u.Scheme) &&
			u.Host != "" {
			return cleanLink(u.String())
		}
	}
	if m.Header.Get("X-GM-THRID") != "" && m.id != "" && !strings.HasPrefix(m.id, "sha256:") {
		return "https://mail.google.com/mail/#search/" + url.PathEscape("rfc822msgid:"+m.id)
	}
	return ""
}
