package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/ingest/mbox"
	"quarry/server/ingest/office"
)

// format is a kind of file. A new one needs an entry in formats and one of the functions text and data.
type format struct {
	name       string // also the document type; empty: the extension
	extensions string
	source     string // of its documents, where none is given
	// text reads the text of a file, whose passages have places in it.
	text func(r *fileReader, text string, defaults index.Document) extracted
	// data reads a file that is not text, or has several encodings.
	data dataReader
	// markdown makes Markdown of text.
	markdown func(r *fileReader, text string) extracted
	page     bool // may declare its encoding as HTML does
	lines    bool // JSONL: each line is a document
	folded   bool // lines may be folded in the middle of a character
	code     bool // source code, configuration or data, which programs may have written
	// here is set for text whose document is at most a constant times as large, and whose reader needs as much time: it
	// is read in this process. All others are read in Readers.
	here      bool
	extension string // of the file; set by formatOf
	// mailbox is set where a file may also be a container, by its content.
	mailbox bool
	// container is set for a folder or archive with several documents.
	container *container
}

// several reports whether a file may have more than one document.
func (f format) several() bool { return f.lines || f.container != nil }

// kind returns what a folder or archive was taken for; "" for others.
func (f format) kind() string {
	if f.container == nil {
		return ""
	}
	return f.container.kind
}

// extracted is what a reader made of a file: Markdown, and the fields that the file sets.
type extracted struct {
	meta
	body   string
	blocks []block // nil: those of the Markdown

	text string // of the file that the body is made of; empty: passages have no places in it
	// finish completes the document, whose positions are those in the body. Without it they are dropped, and the body
	// need not be clean.
	finish func(*index.Document)
}

var formats = [...]format{
	{name: "md", extensions: ".md .markdown .mdx", text: fromMarkdown, here: true},
	{name: "txt", extensions: ".txt .text", text: plainText(kindProse), here: true, mailbox: true},
	{extensions: ".rst .org", text: fromMarkup, here: true},
	{name: "adoc", extensions: ".adoc .asciidoc", text: fromMarkup, here: true},
	{name: "log", extensions: ".log", text: plainText(kindLines), here: true},
	{name: "html", extensions: ".html .htm .xhtml", markdown: fromHTML, page: true},
	{name: "jsonl", extensions: ".jsonl .ndjson", lines: true, here: true},
	{extensions: ".csv .tsv", text: fromCSV, here: true},
	{name: "json", extensions: ".json", text: fromJSON, here: true, code: true},
	{name: "ipynb", extensions: ".ipynb", markdown: fromNotebook},
	{name: "ics", extensions: ".ics .vcs", markdown: fromCalendar, folded: true, here: true},
	{name: "vcf", extensions: ".vcf .vcard", markdown: fromContacts, folded: true, here: true},
	{name: "eml", extensions: ".eml", source: mailSource, data: fromMail},
	{name: "eml", extensions: ".mbox .mbx", source: mailSource, data: fromMail, mailbox: true},
	{name: "pdf", extensions: ".pdf", data: fromPDF},
	{name: "docx", extensions: ".docx .docm .dotx .dotm", data: fromArchive},
	{name: "pptx", extensions: ".pptx .pptm .ppsx .ppsm .potx .potm", data: fromArchive},
	{name: "xlsx", extensions: ".xlsx .xlsm .xltx .xltm", data: fromArchive},
	{name: "odt", extensions: ".odt .ott", data: fromArchive},
	{name: "ods", extensions: ".ods .ots", data: fromArchive},
	{name: "odp", extensions: ".odp .otp", data: fromArchive},
	{name: "epub", extensions: ".epub", data: fromArchive},
	{extensions: codeExtensions, text: fromCode, here: true, code: true},
}

var pdfStart = []byte("%PDF-")

// largestFile bounds files that are read at once, in bytes.
const largestFile = 64 << 20

var errTooLarge = fmt.Errorf("it is larger than %d MB", largestFile>>20)

var formatsByExtension = sync.OnceValue(func() map[string]format {
	known := map[string]format{}
	for _, f := range formats {
		name := f.name
		for extension := range strings.FieldsSeq(f.extensions) {
			f.name, f.extension = cmp.Or(name, strings.TrimPrefix(extension, ".")), extension
			known[extension] = f
		}
	}
	return known
})

// formatOf returns the format for a file's extension. A file without an extension is read as text.
func formatOf(file string) (f format, reason string) {
	extension := strings.ToLower(cmp.Or(path.Ext(file), ".txt"))
	f, known := formatsByExtension()[extension]
	if !known {
		reason = wire.ReasonNotRead(oneLine(extension, 32))
	}
	return f, reason
}

// pageFormat is the format of HTML from the web, which no file has.
var pageFormat = format{name: "html", extension: "web page", page: true, text: fromWebPage}

// The functions that make a document of a file abort with the reason why they cannot, for people.

// decodeText returns the bytes of a file as clean UTF-8.
func (r *fileReader) decodeText(data []byte, page bool) string {
	guard.Check(mismatch(data))
	decoded, assumed, err := decode(data, page)
	guard.Check(err)
	text := cleanText(string(decoded))
	if strings.TrimSpace(text) == "" {
		guard.Abort(errEmpty)
	}
	r.encoding = cmp.Or(r.encoding, assumed)
	return text
}

// document reads a file in its format, or in that which its content shows.
func (r *fileReader) document(f format, data []byte, defaults index.Document) index.Document {
	read := f.reader(data)
	if r.readers != nil && !f.isHere(data, read != nil) {
		j := job{Work: workDocument, Data: data, Extension: f.extension, Defaults: defaults}
		return guard.Must(r.do(j, nil)).Document
	}
	e := r.extract(f, read, data, defaults)
	doc := r.made(e, defaults)
	locate(&doc, data, e.text)
	return doc
}

// extract calls read, or the format's function for text if it is nil.
func (r *fileReader) extract(f format, read dataReader, data []byte, defaults index.Document) extracted {
	if read != nil {
		return read(r, data)
	}
	if f.folded {
		data = unfold(narrow(data))
	}
	text := r.decodeText(data, f.page)
	if f.text == nil {
		return f.markdown(r, text)
	}
	e := f.text(r, text, defaults)
	e.text = text
	return e
}

// made returns the document of what was read of a file.
func (r *fileReader) made(e extracted, defaults index.Document) index.Document {
	body := e.body
	if e.finish == nil {
		body = strings.TrimLeft(cleanText(body), "\n")
		e.finish = func(doc *index.Document) { doc.Positions = nil }
	}
	if e.blocks == nil || body != e.body {
		e.blocks = r.markdown.parse(body)
	}
	doc := r.build(body, e.blocks, e.meta, defaults)
	e.finish(&doc)
	return doc
}

// dataReader reads a file that is not text.
type dataReader = func(r *fileReader, data []byte) extracted

// reader returns the function that reads data; nil for text. The signature of a file decides, not its name.
func (f format) reader(data []byte) dataReader {
	switch {
	case len(data) == 0:
		guard.Abort(errEmpty)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")): // a ZIP archive
		return fromArchive
	case office.IsCompound(data):
		guard.Abort(office.CompoundReason(data))
	case f.isPDF(data):
		return fromPDF
	case f.name == "eml":
		guard.Check(mismatch(data))
	case f.data != nil:
		kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
		guard.Abort(fmt.Errorf("it contains %s, not %s", kind, strings.ToUpper(f.name)))
	}
	return f.data
}

// isHere reports whether data is read in this process. The pages of a PDF file come from another one as they are read.
func (f format) isHere(data []byte, hasReader bool) bool {
	if hasReader {
		return f.isPDF(data)
	}
	return f.here || f.text == nil && f.markdown == nil
}

func (f format) isPDF(data []byte) bool {
	return bytes.HasPrefix(data, pdfStart) || f.name == "pdf" && bytes.Contains(data[:min(len(data), 1024)], pdfStart)
}

// TextOf returns the text of an uploaded file: Markdown for documents and pages, the cleaned text for other text files.
// Errors are worded as for skipped files.
func TextOf(ctx context.Context, readers *Readers, name string, data []byte) (string, error) {
	if len(data) > largestFile {
		return "", errTooLarge
	}
	if isSecretName(name) {
		return "", errSecretName
	}
	f, _ := formatOf(path.Base(name))
	if f.mailbox && mbox.Is(data) { // all of its messages
		f = format{}
	}
	return guard.Result(func() string { return newFileReader(ctx, readers).textOf(f, data) })
}

func (r *fileReader) textOf(f format, data []byte) (text string) {
	defer func(before string) { r.encoding = before }(r.encoding)
	read := f.reader(data)
	if r.readers != nil && !f.isHere(data, read != nil) {
		j := job{Work: workText, Data: data, Extension: f.extension, Defaults: index.Document{Type: f.name}}
		return guard.Must(r.do(j, nil)).Text
	}
	if read != nil || f.markdown != nil {
		text = cleanText(r.extract(f, read, data, index.Document{}).body)
	} else {
		text = r.decodeText(data, f.page)
	}
	if strings.TrimSpace(text) == "" {
		guard.Abort(errEmpty)
	}
	guard.Check(secretIn(text, f.page || f.name == "md", true))
	if f.name == "md" { // whose front matter has settings
		fields, _, _ := splitFrontMatter(text)
		doc := index.Document(readMeta(fields, false))
		guard.Check(checkSecret(&doc))
	}
	return text
}

// mismatch returns an error with the actual type if the content is not text.
func mismatch(data []byte) error {
	data = data[:min(len(data), 512)]
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch {
	case kind == "application/pdf" || kind == "application/postscript":
	case strings.HasPrefix(kind, "text/") || kind == "application/octet-stream" || looksLikeText(data):
		return nil // some signatures are plain letters: a text may begin with "BM" without being a bitmap
	}
	return fmt.Errorf("it contains %s, not text", kind)
}

func looksLikeText(data []byte) bool {
	for len(data) > 0 {
		r, width := utf8.DecodeRune(data)
		if r == utf8.RuneError && width == 1 && utf8.FullRune(data) || isBinaryControl(r) {
			return false
		}
		data = data[width:]
	}
	return true
}

// isBinaryControl reports whether a character is a control that text does not contain.
func isBinaryControl(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) }

// openFlags do not block if the file became a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

func openRegular(file string) (*os.File, error) { return os.OpenFile(file, openFlags, 0) }
