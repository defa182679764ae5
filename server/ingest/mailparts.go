package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/server/ingest/mailmime"
	"quarry/server/ingest/mbox"
)

// mailPlace is where a part is in its message.
type mailPlace struct {
	depth int
	kind  string // of a part that does not say
	// encoding is that of the whole multipart: some programs declare it there, and not for the parts.
	encoding string
	// isVersion is set for the parts of an alternative, and isOther in those that are not shown: only attachments in
	// them are read.
	isVersion, isOther bool
}

// mailPart is a part of a message.
type mailPart struct {
	header mail.Header
	body   []byte
	kind   string // such as text/plain
	values map[string]string
	name   string
	// isAttached is set for what a mail program offers as a file.
	isAttached bool
}

func newMailPart(header mail.Header, body []byte, at mailPlace) mailPart {
	kind, values := mailmime.ParseField(header.Get("Content-Type"))
	disposition, named := mailmime.ParseField(header.Get("Content-Disposition"))
	if !strings.Contains(kind, "/") {
		kind = at.kind
	}
	name := decodeWords(cmp.Or(named["filename"], values["name"], values["filename"], named["name"]))
	if plain, err := url.PathUnescape(name); err == nil && utf8.ValidString(plain) { // of programs for the web
		name = plain
	}
	if name != "" {
		name = oneLine(path.Base(strings.ReplaceAll("/"+name, `\`, "/")), 200)
	}
	if name == "/" || name == "." {
		name = ""
	}
	isNamed := name != ""
	// Programs name the type of texts for themselves, but files for people.
	if kind == "text/plain" || kind == "text/html" {
		isNamed = named["filename"] != "" && !at.isVersion
	}
	return mailPart{header, body, kind, values, name, disposition == "attachment" || isNamed}
}

const transferEncoding = "Content-Transfer-Encoding"

// decode returns the content of a part. What does not have the encoding of the whole multipart has none.
func (p mailPart) decode(at mailPlace) (data []byte, damaged bool) {
	own := p.header.Get(transferEncoding)
	data, damaged = mailmime.DecodeTransfer(p.body, cmp.Or(own, at.encoding))
	if damaged && own == "" {
		return p.body, false
	}
	return data, damaged
}

// isVersion reports whether a part is a version of its message's text.
func (p mailPart) isVersion() bool {
	_, isFile := kindExtensions(p.kind)
	return !p.isAttached && (strings.HasPrefix(p.kind, "text/") && !isFile || strings.HasPrefix(p.kind, "multipart/"))
}

// part reads a part of a message, and those in it.
func (m *mailReader) part(header mail.Header, body []byte, at mailPlace) {
	guard.Check(m.ctx.Err())
	if m.parts++; m.parts > mostParts || at.depth > deepestPart {
		m.leaveOut("further parts", errors.New("they are too many or nested too deeply"))
		return
	}
	p := newMailPart(header, body, at)
	data, damaged := p.decode(at)
	if p.kind == "multipart/encrypted" {
		p.kind = "application/pgp-encrypted"
	} else if strings.HasPrefix(p.kind, "multipart/") {
		if m.multipart(p, data, at) {
			return
		}
		p.kind = "text/plain" // it has no parts
	}
	if damaged {
		m.leaveOut(p.label(), errors.New("its encoding is damaged; the rest is read"))
	}
	switch {
	case p.kind == "message/rfc822" || p.kind == "message/global" || p.kind == "message/news":
		if p.name != "" {
			m.attached = append(m.attached, p.name)
		}
		m.inner(data, at.depth+1)
	case p.kind == "application/pgp-encrypted" || strings.HasSuffix(p.kind, "pkcs7-mime"):
		if strings.HasPrefix(p.values["smime-type"], "signed") {
			m.leaveOut(p.label(), errors.New("it is signed in a form that is not read (S/MIME)"))
			return
		}
		m.IsEncrypted = true
		m.leaveOut(p.label(), errors.New("it is encrypted"))
	case strings.HasSuffix(p.kind, "-signature"), p.kind == "application/applefile": // the icon and place of a file
	case !strings.HasPrefix(p.kind, "message/") && !p.isVersion():
		m.attachment(p, data, at.depth)
	case !at.isOther:
		m.text(p.kind, p.values, data)
	}
}

// partEncoding matches the encoding of a part of a multipart.
var partEncoding = pattern.Lazy(`(?im)^content-transfer-encoding:[ \t]*(?:quoted|base64)`)

// multipart reads the parts of a part; isRead is false if there are none. Some programs declare an encoding for all
// parts, together or each: data is the decoded body.
func (m *mailReader) multipart(p mailPart, data []byte, at mailPlace) (isRead bool) {
	at.encoding = cmp.Or(p.header.Get(transferEncoding), at.encoding)
	kind, _ := mailmime.ParseField(at.encoding)
	if (kind == "quoted-printable" || kind == "base64") && !partEncoding().Match(p.body) {
		whole, decoded := p, at
		whole.body, decoded.encoding = data, ""
		if m.eachPart(whole, decoded) {
			return true
		}
	}
	return m.eachPart(p, at)
}

// eachPart reads the parts of a multipart. Of alternatives the first plain text with words is shown, else the last
// version; what is no version of the text is read in any case.
func (m *mailReader) eachPart(p mailPart, at mailPlace) (isRead bool) {
	inner := mailPlace{depth: at.depth + 1, kind: "text/plain", encoding: at.encoding}
	inner.isVersion = p.kind == "multipart/alternative"
	if p.kind == "multipart/digest" {
		inner.kind = "message/rfc822"
	}
	shown := -1
	if inner.isVersion && !at.isOther {
		shown = shownVersion(p, inner)
	}
	number := 0
	for data := range mailmime.Parts(p.body, p.values["boundary"]) {
		header, body := mailmime.SplitHeader(data)
		inner.isOther = at.isOther || shown >= 0 && number != shown
		m.part(header, body, inner)
		if number++; m.parts > mostParts {
			break
		}
	}
	return number > 0
}

// shownVersion returns the number of the version that is shown, or -1.
func shownVersion(p mailPart, at mailPlace) int {
	shown, number := -1, -1
	for data := range mailmime.Parts(p.body, p.values["boundary"]) {
		number++
		header, body := mailmime.SplitHeader(data)
		version := newMailPart(header, body, at)
		body, _ = version.decode(at)
		switch {
		case !version.isVersion():
		case version.kind == "text/plain" && len(bytes.TrimSpace(body)) > 0:
			return number
		case version.kind != "text/plain" || shown < 0:
			shown = number
		}
	}
	return shown
}

// text adds a text part, and the files that are uuencoded in it.
func (m *mailReader) text(kind string, values map[string]string, data []byte) {
	for range mostParts {
		rest, name, file, found := mailmime.CutFile(data)
		if !found {
			break
		}
		data = rest
		m.attachment(mailPart{name: oneLine(path.Base(name), 200)}, file, 0)
	}
	charset := values["charset"]
	text := decodeDeclared(data, charset, kind == "text/html")
	if _, known := mailmime.Decode(nil, charset); !known && charset != "" &&
		strings.ContainsRune(text, utf8.RuneError) {
		m.leaveOut("some characters", fmt.Errorf("their encoding is not known (%s)", oneLine(charset, 40)))
	}
	parse := func(text string) []block { return paragraphs(text, 0, kindProse) }
	switch {
	case kind == "text/enriched" || kind == "text/richtext":
		text = tokenText(text)
	case kind == "text/html":
		text, parse = m.page(text, nil).body, m.markdown.parse
	case strings.EqualFold(values["format"], "flowed"):
		text = mailmime.Unflow(text, strings.EqualFold(values["delsp"], "yes"))
	}
	m.append(text, func(text string) []block {
		blocks := parse(text)
		if m.inThread {
			withoutHeadings(blocks)
		}
		return blocks
	})
}

// decodeDeclared decodes text with a declared charset. Many programs declare what they do not send: valid UTF-8 is
// taken as that, and where the charset does not fit, what the bytes show counts before it.
func decodeDeclared(data []byte, charset string, page bool) string {
	if utf8.Valid(data) && bytes.ContainsFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }) {
		charset = ""
	}
	declared, known := mailmime.Decode(data, charset)
	if known && !bytes.Contains(declared, replacement) && !bytes.ContainsFunc(declared, isC1) {
		return string(declared)
	}
	if text, _, err := decode(data, page); err == nil && (!known || !utf8.Valid(data)) {
		return string(text)
	}
	if known {
		return string(declared)
	}
	return string(bytes.ToValidUTF8(data, replacement))
}

// attachment adds the text of an attachment below its name. One that cannot be read is reported, unless it
// is a picture or the like.
func (m *mailReader) attachment(p mailPart, data []byte, depth int) {
	if p.name != "" {
		m.attached = append(m.attached, p.name)
	}
	f, reason := m.formatOf(p)
	isMailbox := f.mailbox && mbox.Is(data)
	if isSecretName(p.name) {
		reason = wire.SecretName
	}
	switch media, _, _ := strings.Cut(p.kind, "/"); {
	case (reason != "" || path.Ext(p.name) == "") && (media == "image" || media == "audio" || media == "video"):
		return
	case reason != "":
		m.leaveOut(p.label(), errors.New(reason))
		return
	case len(bytes.TrimSpace(data)) == 0:
		return
	case f.name == "eml" && !isMailbox:
		m.inner(data, depth+1)
		return
	case f.lines || isMailbox:
		f = format{}
	case f.data == nil && p.values["charset"] != "":
		data = []byte(decodeDeclared(data, p.values["charset"], f.page))
	}
	outer := m.member
	m.member = strings.TrimPrefix(outer+": "+p.label(), ": ")
	text, err := guard.Result(func() string { return m.textOf(f, data) })
	m.member = outer
	const room = 1 << 10 // for the heading
	if err == nil && len(m.Body)+len(text)+room > mostText {
		err = errTooMuchText
	}
	if err != nil {
		m.leaveOut(p.label(), err)
		return
	}
	if text == m.lastAttached { // invitations are sent as a version of the text and as a file
		return
	}
	m.lastAttached = text
	heading := "Attachment"
	if p.name != "" {
		heading += ": " + p.name
	} else if f.name == "ics" {
		heading = "Invitation"
	}
	m.append("## "+heading, m.markdown.parse)
	m.append(text, func(text string) []block {
		blocks := m.markdown.parse(text)
		for i := range blocks {
			blocks[i].Level += 2
		}
		return blocks
	})
}

// formatOf returns the format of an attachment by its name, else by its type.
func (m *mailReader) formatOf(p mailPart) (f format, reason string) {
	f, reason = m.fileReader.formatOf(cmp.Or(p.name, "x"))
	if reason == "" && path.Ext(p.name) != "" {
		return f, reason
	}
	if extension, known := kindExtensions(p.kind); known {
		return m.fileReader.formatOf("x" + extension)
	}
	if strings.HasPrefix(p.kind, "text/") {
		return m.fileReader.formatOf("x.txt")
	}
	return f, reason
}

// label names a part in notes.
func (p mailPart) label() string {
	return cmp.Or(p.name, fmt.Sprintf("a part of type %s", oneLine(p.kind, 100)))
}

// kindExtensions has the extension of files of a type that readers know; not the text of a message.
var kindExtensions = text.Table(`.ics: text/calendar text/x-vcalendar application/ics
	.vcf: text/vcard text/x-vcard text/directory; .csv: text/csv application/csv; .tsv: text/tab-separated-values
	.md: text/markdown text/x-markdown; .json: application/json; .xml: application/xml; .rtf: text/rtf application/rtf
	.pdf: application/pdf; .epub: application/epub+zip; .html: application/xhtml+xml; .doc: application/msword
	.xls: application/vnd.ms-excel; .ppt: application/vnd.ms-powerpoint
	.docx: application/vnd.openxmlformats-officedocument.wordprocessingml.document
	.xlsx: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
	.pptx: application/vnd.openxmlformats-officedocument.presentationml.presentation
	.odt: application/vnd.oasis.opendocument.text; .ods: application/vnd.oasis.opendocument.spreadsheet
	.odp: application/vnd.oasis.opendocument.presentation`)
