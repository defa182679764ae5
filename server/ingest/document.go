package ingest

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
)

// AccessPublic is the access term of documents that everybody in the tenant may see.
const AccessPublic = "PUBLIC"

// FromMarkdown returns the document of a Markdown text with optional front matter in YAML (---) or TOML (+++): title;
// updated, updated_at, last_modified, lastmod or date; created or created_at; author or authors; tags, labels or
// categories; other keys with simple values become metadata. The error says why the text cannot be stored: binary, no
// id, or an unknown source.
//
// The fields of defaults apply where the text does not say otherwise; without a source it is file, without a type md,
// without access PUBLIC. Trusted texts also set id, source, link, type, sets, and tags as a map. Users' files must
// never be trusted: they could replace other documents or claim another source.
func FromMarkdown(data []byte, defaults index.Document, trusted bool) (index.Document, error) {
	r := &fileReader{markdown: newMarkdownReader()}
	return guard.Result(func() index.Document {
		d := r.made(r.parseMarkdown(r.decodeText(data, false), defaults, trusted), defaults)
		d.Positions = nil // there is no file
		return d
	})
}

func fromMarkdown(r *fileReader, text string, defaults index.Document) extracted {
	return r.parseMarkdown(text, defaults, false)
}

func (r *fileReader) parseMarkdown(text string, defaults index.Document, trusted bool) extracted {
	fields, body, lost := splitFrontMatter(text)
	if lost != nil {
		r.leaveOut("some lines of the front matter", lost)
	}
	body = strings.TrimLeft(body, "\n")
	if comment, _, isClosed := strings.Cut(body, "-->"); fields == nil && isClosed &&
		strings.HasPrefix(comment, "<!--") {
		fields = headFields(comment, "md") // of Nikola
	}
	m := readMeta(fields, trusted)
	m.dateByName(defaults.Origin)
	return endOf(text, body, r.markdown.parse(body), m)
}

// plainText returns the function that reads text without markup.
func plainText(kind blockKind) func(*fileReader, string, index.Document) extracted {
	return func(_ *fileReader, text string, _ index.Document) extracted {
		body := strings.TrimLeft(text, "\n")
		return endOf(text, body, paragraphs(body, 0, kind), meta{})
	}
}

// build assembles a document.
func (r *fileReader) build(body string, blocks []block, m meta, d index.Document) index.Document {
	doc := index.Document(m)
	doc.ID, doc.Source, doc.Type = cmp.Or(m.ID, d.ID), cmp.Or(m.Source, d.Source, "file"), cmp.Or(m.Type, d.Type, "md")
	doc.Link, doc.Path, doc.Place = cmp.Or(m.Link, d.Link), d.Path, d.Place
	doc.Origin, doc.Access = d.Origin, d.Access
	if doc.ID == "" {
		guard.Abort(errors.New("the document has no id"))
	}
	guard.Check(CheckSource(doc.Source))
	if doc.UpdatedAt.IsZero() {
		doc.UpdatedAt = d.UpdatedAt.UTC()
	}
	for _, date := range []*time.Time{&doc.CreatedAt, &doc.UpdatedAt} {
		if year := date.UTC().Year(); year < 1 || year > 9999 { // ISO 8601 requires four digits
			*date = time.Time{}
		}
	}
	if len(doc.Sets) == 0 {
		doc.Sets = d.Sets
	}
	if len(doc.Access) == 0 {
		doc.Access = []string{AccessPublic}
	}
	doc.Title = cmp.Or(m.Title, firstHeading(body, blocks))
	if doc.Title == "" {
		doc.Title, doc.Untitled = cmp.Or(d.Title, doc.ID), d.Untitled || d.Title == ""
	}
	made := chunked(body, blocks, doc.Title, doc.Link)
	doc.Chunks, doc.Outline, doc.Positions = made.chunks, made.outline, made.places
	if len(doc.Chunks) == 0 {
		if m.Title == "" {
			guard.Abort(errEmpty)
		}
		doc.Chunks = []index.Chunk{{Text: doc.Title}}
	}
	r.limit(&doc)
	return doc
}

var errEmpty = errors.New("it contains no text")

// firstHeading returns the first first-level heading near the beginning, of Markdown or of HTML in it.
func firstHeading(body string, blocks []block) string {
	const near = 200
	for i := range blocks[:min(near, len(blocks))] {
		b := &blocks[i]
		if b.Kind == kindHeading && b.Level == 1 && b.Title != "" {
			return b.Title
		}
		if b.Kind == kindLines {
			if title := headingOfHTML(body[b.Start:b.End]); title != "" {
				return title
			}
		}
	}
	return ""
}

// titleFromName turns a file name into a title: "release_notes-2024.md" becomes "Release notes 2024".
func titleFromName(name string) string {
	stem := cmp.Or(strings.TrimSuffix(name, path.Ext(name)), name)
	title := oneLine(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '+' {
			return ' '
		}
		return r
	}, stem), longestTitle)
	if title == "" {
		return oneLine(name, longestTitle)
	}
	if title == strings.ToLower(title) {
		runes := []rune(title)
		runes[0] = unicode.ToUpper(runes[0])
		title = string(runes)
	}
	return title
}

// CheckSource returns an error with the nearest value if documents cannot be stored under source: it is unknown, or
// internal to the server.
func CheckSource(source string) error {
	if s, ok := wire.LookupSource(source); ok && !s.Internal {
		return nil
	}
	var values []string
	for _, s := range wire.Sources() {
		if !s.Internal {
			values = append(values, s.Value)
		}
	}
	return fmt.Errorf("unknown source %q%s", text.Clip(source, 64), didYouMean(source, values))
}

// fileID returns the id of a file's document. Hidden characters in its name are escaped, and so are percent signs that
// look like such an escape: no two files have one id.
func fileID(file string) string { return "file:" + escapePath(file) }

// originOf returns the origin of a file's documents, which must be UTF-8.
func originOf(file string) string {
	if utf8.ValidString(file) {
		return file
	}
	return escapePath(file)
}

func escapePath(file string) string {
	return escapeHidden(file, true)
}

// escapeID returns a posted id without hidden characters. An id that was escaped before stays the same.
func escapeID(id string) string { return escapeHidden(id, false) }

// escapeHidden escapes the bytes of hidden characters with percent signs and two digits, as in URLs, and with percents
// also the percent signs that look like such an escape.
func escapeHidden(text string, percents bool) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+width]
		if r == utf8.RuneError && width == 1 || isHidden(r) || percents && r == '%' && readsAsEscape(text[i:]) {
			for _, b := range []byte(piece) {
				fmt.Fprintf(&out, "%%%02X", b)
			}
		} else {
			out.WriteString(piece)
		}
		i += width
	}
	return out.String()
}

// isHidden reports whether a character is invisible or changes how others are shown. Joiners are not hidden: some
// languages are spelled with them.
func isHidden(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner, softHyphen = 0x200C, 0x200D, 0xAD
	switch {
	case r == zeroWidthNonJoiner || r == zeroWidthJoiner || r == softHyphen:
		return false
	case r >= 0xE0000 && r <= 0xE007F: // tags, assigned or not
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// readsAsEscape reports whether text begins like the output of escapeHidden.
func readsAsEscape(text string) bool {
	if len(text) < 3 || text[1:3] != strings.ToUpper(text[1:3]) {
		return false
	}
	b, err := hex.DecodeString(text[1:3])
	return err == nil && (b[0] < ' ' || b[0] >= 0x7F || b[0] == '%')
}
