package ingest

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/server/index"
)

// format is a kind of file. A new one needs an entry in formats and a function that turns the text of a file into a
// document.
type format struct {
	name       string // also the document type; empty: the extension
	extensions []string
	read       func(r *fileReader, text string, defaults index.Document) (index.Document, error)
	page       bool // may declare its encoding as HTML does
	lines      bool // JSONL: each line is a document
}

var formats = [...]format{
	{name: "md", extensions: []string{".md", ".markdown", ".mdx"}, read: fromMarkdown},
	{name: "txt", extensions: []string{"", ".txt", ".text"}, read: plainText(kindProse)},
	{extensions: []string{".rst", ".org"}, read: plainText(kindProse)},
	{name: "log", extensions: []string{".log"}, read: plainText(kindLines)},
	{name: "html", extensions: []string{".html", ".htm"}, read: fromHTML, page: true},
	{name: "jsonl", extensions: []string{".jsonl", ".ndjson"}, lines: true},
}

// largestFile bounds files that are read at once, in bytes.
const largestFile = 64 << 20

var errTooLarge = fmt.Errorf("it is larger than %d MB", largestFile>>20)

// formatOf returns the format for a file's extension. A file without an extension is read as text.
func formatOf(file string) (f format, reason string) {
	extension := strings.ToLower(path.Ext(file))
	for _, f := range formats {
		if slices.Contains(f.extensions, extension) {
			f.name = cmp.Or(f.name, strings.TrimPrefix(extension, "."))
			return f, ""
		}
	}
	return format{}, wire.ReasonNotRead(oneLine(extension, 32))
}

// decodeText returns the bytes of a file as clean UTF-8. assumed is that of decode. The error says why it is not text.
func decodeText(data []byte, page bool) (text, assumed string, err error) {
	if err := mismatch(data); err != nil {
		return "", "", err
	}
	decoded, assumed, err := decode(data, page)
	if err != nil {
		return "", "", err
	}
	if text = cleanText(string(decoded)); strings.TrimSpace(text) == "" {
		return "", "", errEmpty
	}
	return text, assumed, nil
}

// TextOf returns the text of an uploaded file: Markdown for a page, the cleaned text for other text files. Errors are
// worded as for skipped files.
func TextOf(name string, data []byte) (string, error) {
	if len(data) > largestFile {
		return "", errTooLarge
	}
	f, _ := formatOf(path.Base(name))
	text, _, err := decodeText(data, f.page)
	if err != nil || !f.page {
		return text, err
	}
	if _, body, err := newHTMLReader().read(text); err == nil {
		text = cleanText(body)
	}
	if strings.TrimSpace(text) == "" {
		return "", errEmpty
	}
	return text, nil
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
