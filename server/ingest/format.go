package ingest

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"quarry/client/wire"
)

// format is how a file is read.
type format uint8

const (
	formatNone format = iota
	formatMarkdown
	formatText
	formatLog
	formatHTML
	formatJSONL
)

// largestFile bounds files that are read at once, in bytes.
const largestFile = 64 << 20

var reasonTooLarge = fmt.Sprintf("it is larger than %d MB", largestFile>>20)

// formatOf decides by the extension; a file without one is text until its content says otherwise.
func formatOf(file string) (f format, reason string) {
	extension := strings.ToLower(path.Ext(file))
	switch extension {
	case ".md", ".markdown", ".mdx":
		return formatMarkdown, ""
	case "", ".txt", ".text", ".rst", ".org":
		return formatText, ""
	case ".log":
		return formatLog, ""
	case ".html", ".htm":
		return formatHTML, ""
	case ".jsonl", ".ndjson":
		return formatJSONL, ""
	}
	return formatNone, wire.ReasonNotRead(oneLine(extension, 32))
}

// typeName is the document type of a file.
func typeName(f format, file string) string {
	switch extension := strings.ToLower(strings.TrimPrefix(path.Ext(file), ".")); f {
	case formatMarkdown:
		return "md"
	case formatHTML:
		return "html"
	default:
		if extension == "" || extension == "text" {
			return "txt"
		}
		return extension
	}
}

// mismatch says what a file really holds when its content is not the text that its name promises.
func mismatch(data []byte) string {
	data = data[:min(len(data), 512)]
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch {
	case kind == "application/pdf" || kind == "application/postscript":
	case strings.HasPrefix(kind, "text/") || kind == "application/octet-stream" || looksLikeText(data):
		return "" // some signatures are plain letters: a text may begin with "BM" and be no bitmap
	}
	return fmt.Sprintf("it holds %s, not text", kind)
}

func looksLikeText(data []byte) bool {
	for len(data) > 0 {
		r, width := utf8.DecodeRune(data)
		if r == utf8.RuneError && width == 1 && utf8.FullRune(data) || r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) {
			return false
		}
		data = data[width:]
	}
	return true
}

// openFlags read without waiting, should the file have become a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

func openRegular(file string) (*os.File, error) { return os.OpenFile(file, openFlags, 0) }
