package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"quarry/server/index"
	"quarry/server/ingest/markdown"
)

const (
	mostParts   = 500 // of a message, with those of the messages in it
	deepestPart = 12
)

var errTooMuchText = fmt.Errorf("it has more than %d MB of text", mostText>>20)

// mailReader reads one message, with the messages and documents in it.
type mailReader struct {
	ctx       context.Context
	files     *fileReader
	meta      meta
	body      strings.Builder
	blocks    []block
	parts     int
	attached  []string // names
	encrypted bool
	inThread  bool // the message is a section of a document: its own headings do not structure that
	id        string
	top       mail.Header
}

// fromMail reads a message: its text, the messages it contains, and its attachments as far as there are readers for them.
func fromMail(ctx context.Context, r *fileReader, data []byte) (extracted, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return extracted{}, errEmpty
	}
	if isUTF16(data) {
		text, _, err := decode(data, false)
		if err != nil {
			return extracted{}, err
		}
		data = text
	}
	m := &mailReader{ctx: ctx, files: r}
	if err := m.message(data, 0); err != nil {
		return extracted{}, err
	}
	if m.body.Len() == 0 && m.encrypted {
		return extracted{}, errors.New("its message is encrypted")
	}
	if m.meta.Title == "" && m.body.Len() == 0 {
		return extracted{}, errEmpty
	}
	return extracted{meta: m.meta, body: m.body.String(), blocks: m.blocks}, nil
}

func isUTF16(data []byte) bool {
	const looked = 512
	start := data[:min(len(data), looked)&^1]
	return len(start) > 1 && (marksOfUTF16[string(start[:2])] != "" || bytes.IndexByte(start, 0) >= 0 && unmarkedUTF16(start, true) != "")
}

// message reads a message; depth is 0 for the file itself.
func (m *mailReader) message(data []byte, depth int) error {
	header, body, err := splitMessage(data)
	if err != nil {
		return err
	}
	if depth == 0 {
		m.header(header)
		defer func() { m.meta.addField("attachments", m.attached, true) }()
	} else {
		var w markdown.Writer
		w.Heading(2, "Message: "+decodeWords(header.Get("Subject")))
		for _, name := range []string{"From", "To", "Date"} {
			if value := decodeWords(header.Get(name)); value != "" {
				w.Paragraph(name + ": " + value)
			}
		}
		if err := m.add(&w, 0); err != nil {
			return err
		}
	}
	return m.part(textproto.MIMEHeader(header), bytes.NewReader(body), depth)
}

// splitMessage parses the header of a message. Lines that are no fields are left out.
func splitMessage(data []byte) (mail.Header, []byte, error) {
	const longestHeader = 1 << 20
	var kept bytes.Buffer
	rest := bytes.TrimLeft(bytes.TrimPrefix(data, markUTF8), "\r\n")
	isField := false
	for len(rest) > 0 && kept.Len() < longestHeader {
		end := lineEnd(rest, 0)
		line := bytes.TrimRight(rest[:end], "\r\n")
		rest = rest[end:]
		if len(line) == 0 {
			break
		}
		if line[0] != ' ' && line[0] != '\t' {
			name, _, found := bytes.Cut(line, []byte(":"))
			isField = found && len(name) > 0 && bytes.IndexFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7F }) < 0
		}
		if isField {
			kept.Write(line)
			kept.WriteString("\r\n")
		}
	}
	if kept.Len() == 0 {
		return nil, nil, errors.New("it is not a message: it has no header")
	}
	kept.WriteString("\r\n")
	message, err := mail.ReadMessage(&kept)
	if err != nil {
		return nil, nil, fmt.Errorf("it is not a message: %w", err)
	}
	return message.Header, rest, nil
}

// header sets what the header of the file's message says.
func (m *mailReader) header(header mail.Header) {
	m.top = header
	m.meta.Title = oneLine(decodeWords(header.Get("Subject")), longestTitle)
	m.meta.Authors = addressesOf(header, "From")
	if t, ok := mailDate(header); ok {
		m.meta.CreatedAt, m.meta.UpdatedAt = t, t
	}
	var to []string
	for _, name := range []string{"To", "Cc"} {
		for _, person := range addressesOf(header, name) {
			to = append(to, cmp.Or(person.Email, person.Name))
		}
	}
	m.meta.addField("to", to, true)
}

// mailDate returns when a message was sent, else when it was received.
func mailDate(header mail.Header) (time.Time, bool) {
	_, received, _ := strings.Cut(header.Get("Received"), ";")
	for _, text := range [...]string{header.Get("Date"), received} {
		text = strings.TrimSpace(text)
		t, err := mail.ParseDate(text)
		if err != nil {
			t, err = time.Parse(time.RFC3339, text)
		}
		if t, ok := plausible(t); err == nil && ok {
			return t, true
		}
	}
	return time.Time{}, false
}

func addressesOf(header mail.Header, name string) (people []index.Person) {
	parser := mail.AddressParser{WordDecoder: wordDecoder()}
	if list, err := parser.ParseList(header.Get(name)); err == nil {
		for _, address := range list {
			people = addPerson(people, index.Person{Name: oneLine(address.Name, longestValue), Email: email(address.Address)})
		}
		return people
	}
	return addNames(nil, decodeWords(header.Get(name)))
}

func wordDecoder() *mime.WordDecoder { return &mime.WordDecoder{CharsetReader: charset.NewReaderLabel} }

// decodeWords decodes a field of a header. Without a declared encoding it is decoded like a file.
func decodeWords(field string) string {
	if decoded, err := wordDecoder().DecodeHeader(field); err == nil {
		field = decoded
	}
	if decoded, _, err := decode([]byte(field), false); err == nil {
		return string(decoded)
	}
	return field
}

// part reads a part of a message, and those in it.
func (m *mailReader) part(header textproto.MIMEHeader, body io.Reader, depth int) error {
	if m.parts++; m.parts > mostParts || depth > deepestPart {
		return errors.New("its parts are too many or nested too deeply")
	}
	if err := m.ctx.Err(); err != nil {
		return err
	}
	kind, values, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	if strings.HasPrefix(kind, "multipart/") && values["boundary"] != "" {
		return m.multipart(kind, multipart.NewReader(body, values["boundary"]), depth)
	}
	data, err := io.ReadAll(transferDecoder(header.Get("Content-Transfer-Encoding"), body))
	if err != nil && len(data) == 0 {
		return nil // damaged beyond reading; the other parts are kept
	}
	name := partName(header, values)
	isAttached := strings.HasPrefix(strings.ToLower(strings.TrimSpace(header.Get("Content-Disposition"))), "attachment")
	switch {
	case kind == "message/rfc822":
		return m.message(data, depth+1)
	case strings.HasSuffix(kind, "pkcs7-mime") || kind == "application/pgp-encrypted":
		m.encrypted = true
		return nil
	case strings.HasPrefix(kind, "text/") && !isAttached && (name == "" || kind != "text/calendar"):
		return m.text(kind, values["charset"], data)
	}
	return m.attachment(name, data)
}

// multipart reads the parts of a part. Of alternatives the first plain text counts, else the last one.
func (m *mailReader) multipart(kind string, parts *multipart.Reader, depth int) error {
	type alternative struct {
		header  textproto.MIMEHeader
		data    []byte
		isPlain bool
	}
	var best *alternative
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			break // at the end, or where the message is cut off: what was read is kept
		}
		if kind != "multipart/alternative" {
			if err := m.part(part.Header, part, depth+1); err != nil {
				return err
			}
			continue
		}
		data, _ := io.ReadAll(part)
		partKind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if best == nil || partKind != "text/calendar" && !best.isPlain {
			best = &alternative{part.Header, data, partKind == "text/plain" && len(bytes.TrimSpace(data)) > 0}
		}
		if m.parts++; m.parts > mostParts {
			return errors.New("its parts are too many or nested too deeply")
		}
	}
	if best == nil {
		return nil
	}
	return m.part(best.header, bytes.NewReader(best.data), depth+1)
}

// transferDecoder decodes base64 and quoted-printable as far as they are valid.
func transferDecoder(encoding string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &base64Reader{body})
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	}
	return body
}

// base64Reader leaves out what is not base64: spaces, and damage.
type base64Reader struct{ in io.Reader }

func (b *base64Reader) Read(p []byte) (int, error) {
	for {
		n, err := b.in.Read(p)
		kept := p[:0]
		for _, c := range p[:n] {
			if isASCIILetter(c) || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' {
				kept = append(kept, c)
			}
		}
		if len(kept) > 0 || err != nil {
			return len(kept), err
		}
	}
}

func partName(header textproto.MIMEHeader, values map[string]string) string {
	_, disposition, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	return oneLine(path.Base(strings.ReplaceAll("/"+decodeWords(cmp.Or(disposition["filename"], values["name"])), `\`, "/")), 200)
}

// text adds a text part.
func (m *mailReader) text(kind, declared string, data []byte) error {
	var text []byte
	var err error
	isUTF8 := utf8.Valid(data) && bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
	if declared != "" && !isUTF8 { // many programs declare what they do not send
		text, err = decodeAs(data, declared)
	}
	if text == nil || err != nil {
		if text, _, err = decode(data, kind == "text/html"); err != nil {
			text = bytes.ToValidUTF8(data, replacement)
		}
	}
	if kind != "text/html" {
		return m.plain(cleanText(string(text)))
	}
	_, body, err := m.files.pages.read(string(text))
	if err != nil {
		body = tokenText(string(text))
	}
	return m.append(cleanText(body), func(text string) []block {
		blocks := m.files.markdown.parse(text)
		if m.inThread {
			withoutHeadings(blocks)
		}
		return blocks
	})
}

// plain adds text that is not Markdown: its blocks are paragraphs.
func (m *mailReader) plain(text string) error {
	return m.append(text, func(text string) []block { return paragraphs(text, 0, kindProse) })
}

func (m *mailReader) markdown(text string, below int) error {
	return m.append(text, func(text string) []block {
		blocks := m.files.markdown.parse(text)
		for i := range blocks {
			blocks[i].level += below
		}
		return blocks
	})
}

func (m *mailReader) add(w *markdown.Writer, below int) error {
	text, err := w.Text()
	if err != nil {
		return err
	}
	return m.markdown(text, below)
}

func (m *mailReader) append(text string, parse func(string) []block) error {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if m.body.Len()+len(text) > mostText {
		return errTooMuchText
	}
	text += "\n\n"
	blocks := parse(text)
	shift(blocks, m.body.Len())
	m.blocks = append(m.blocks, blocks...)
	m.body.WriteString(text)
	return nil
}

// attachment adds the text of an attachment below its name. Of one that cannot be read, only the name is kept.
func (m *mailReader) attachment(name string, data []byte) error {
	if name == "/" || name == "." || name == "" {
		return nil
	}
	m.attached = append(m.attached, name)
	f, reason := m.files.formatOf(name)
	if reason != "" || f.lines || f.name == "eml" {
		return nil
	}
	text, err := m.files.textOf(m.ctx, f, data)
	if err != nil {
		return m.ctx.Err()
	}
	var w markdown.Writer
	w.Heading(2, "Attachment: "+name)
	if err := m.add(&w, 0); err != nil {
		return err
	}
	return m.markdown(text, 2)
}
