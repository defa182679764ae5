package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/mailmime"
	"quarry/server/ingest/markdown"
)

const (
	mostParts   = 500 // of a message, with those of the messages in it
	deepestPart = 12
)

var errEncryptedMail = errors.New("its message is encrypted")

var errTooMuchText = fmt.Errorf("it has more than %d MB of text", mostText>>20)

// mailReader reads one message, with the messages and documents in it.
type mailReader struct {
	*fileReader
	mailContent
	parts    int
	attached []string // names
	// lastAttached is the text of the last attachment.
	lastAttached string
	inThread     bool // the message is a section of a document: its own headings do not structure that
}

// fromMail reads a message: its text, the messages it contains, and its attachments as far as there are readers for
// them.
func fromMail(r *fileReader, data []byte) extracted {
	if len(bytes.TrimSpace(data)) == 0 {
		guard.Abort(errEmpty)
	}
	data = narrow(data)
	if !bytes.Contains(data, []byte("\n")) { // of an old Mac
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	m := &mailReader{fileReader: r}
	m.message(data)
	if len(m.Body) == 0 && m.IsEncrypted {
		guard.Abort(errEncryptedMail)
	}
	if m.Meta.Title == "" && len(m.Body) == 0 {
		if reasons := r.leftOut.Reasons; len(reasons) > 0 {
			guard.Abort(errors.New(reasons[0]))
		}
		guard.Abort(errEmpty)
	}
	if m.Meta.Link = m.link(); m.Meta.Link == "" {
		m.Meta.Permalink = messageLink(messageID(m.Header))
	}
	return extracted{meta: m.Meta, body: string(m.Body), blocks: m.Blocks}
}

// narrow returns UTF-16 as UTF-8, and other data as it is.
func narrow(data []byte) []byte {
	if isUTF16(data) {
		text, _, err := decode(data, false)
		guard.Check(err)
		return text
	}
	return data
}

func isUTF16(data []byte) bool {
	const looked = 512
	start := data[:min(len(data), looked)&^1]
	return markedWide(start).unit > 0 || bytes.IndexByte(start, 0) >= 0 && unmarkedUTF16(start, true).unit > 0
}

// message reads the message of the file.
func (m *mailReader) message(data []byte) {
	header, body, err := splitMessage(data)
	guard.Check(err)
	m.header(header)
	if m.inThread {
		m.member = m.name()
	}
	defer func() {
		m.Meta.addField("attachments", m.attached, true)
		m.member = ""
	}()
	m.part(header, body, mailPlace{kind: "text/plain"})
}

// inner reads a message in another one, at a depth from 1.
func (m *mailReader) inner(data []byte, depth int) {
	header, body, err := splitMessage(data)
	if err != nil {
		m.text("text/plain", nil, data)
		return
	}
	var w markdown.Writer
	w.Heading(2, "Message: "+decodeWords(header.Get("Subject")))
	for _, name := range []string{"From", "To", "Date"} {
		if value := decodeWords(header.Get(name)); value != "" {
			w.Paragraph(name + ": " + value)
		}
	}
	text, _ := w.Text() // fields of a header are within the limit
	m.append(text, m.markdown.parse)
	m.part(header, body, mailPlace{depth: depth, kind: "text/plain"})
}

// splitMessage splits a message into its header and its body. Lines before the header that are no fields are left out.
func splitMessage(data []byte) (mail.Header, []byte, error) {
	const mostJunk = 10
	rest := bytes.TrimLeft(bytes.TrimPrefix(data, markUTF8), "\r\n")
	for range mostJunk {
		if header, body := mailmime.SplitHeader(rest); len(header) > 0 {
			return header, body, nil
		}
		if _, rest, _ = bytes.Cut(rest, []byte("\n")); len(bytes.TrimLeft(rest, "\r\n")) < len(rest) {
			break // the header has ended
		}
	}
	return nil, nil, errors.New("it is not a message: it has no header")
}

// header sets what the header of the file's message says.
func (m *mailReader) header(header mail.Header) {
	m.Header = header
	m.Meta.Title = oneLine(decodeWords(header.Get("Subject")), longestTitle)
	m.Meta.Authors = addressesOf(header, "From")
	if t, ok := mailDate(header); ok {
		m.Meta.CreatedAt, m.Meta.UpdatedAt = t, t
	}
	var to []string
	for _, name := range []string{"To", "Cc"} {
		for _, person := range addressesOf(header, name) {
			to = append(to, cmp.Or(person.Email, person.Name))
		}
	}
	m.Meta.addField("to", to, true)
}

// mailDate returns when a message was sent, else when it was received.
func mailDate(header mail.Header) (time.Time, bool) {
	received := header.Get("Received")
	for _, text := range [...]string{header.Get("Date"), header.Get("Resent-Date"),
		received[strings.LastIndexByte(received, ';')+1:]} {
		if t, ok := dates.Parse(decodeWords(text)); ok {
			return t, true
		}
	}
	return time.Time{}, false
}

// addressesOf returns the people of a field. Where it is not valid as a whole, each address is read by itself.
func addressesOf(header mail.Header, name string) (people []index.Person) {
	field := decodeBytes(header.Get(name))
	if list, err := mail.ParseAddressList(field); err == nil {
		for _, address := range list {
			people = addPerson(people, person(decodeWords(address.Name), address.Address))
		}
		return people
	}
	quoted, inAngles := false, false
	for _, part := range strings.FieldsFunc(field, func(r rune) bool {
		switch r {
		case '"':
			quoted = !quoted
		case '<', '>':
			inAngles = r == '<'
		}
		return (r == ',' || r == ';') && !quoted && !inAngles
	}) {
		person := parsePerson(part)
		person.Name = oneLine(decodeWords(strings.Trim(person.Name, "\"' ")), longestValue)
		if people = addPerson(people, person); len(people) > mostTags {
			break // it is named where the document is cut to its bounds
		}
	}
	return people
}

// decodeWords decodes a field of a header.
func decodeWords(field string) string { return decodeBytes(mailmime.DecodeWords(field)) }

// decodeBytes decodes bytes without a declared charset like a file.
func decodeBytes(field string) string {
	if decoded, _, err := decode([]byte(field), false); err == nil {
		return string(decoded)
	}
	return field
}

// append adds text with the blocks that parse finds in it.
func (m *mailReader) append(text string, parse func(string) []block) {
	text = strings.Trim(cleanText(text), "\n")
	if len(m.Body)+len(text) > mostText {
		m.leaveOut("further text", errTooMuchText)
		text = ""
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	text += "\n\n"
	blocks := parse(text)
	shift(blocks, len(m.Body))
	m.Blocks = append(m.Blocks, blocks...)
	m.Body = append(m.Body, text...)
}
