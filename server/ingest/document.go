package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/index"
)

// AccessPublic is the access term of what everybody in the tenant may see.
const AccessPublic = "PUBLIC"

// Defaults are what a text does not say of itself: where it came from and what it is stored as.
type Defaults struct {
	ID     string
	Source string // a value of DocumentSource; empty: file
	// Title is used where the text has neither a title in its front matter nor a first-level heading.
	Title     string
	Path      []string
	Link      string
	Type      string    // empty: md
	UpdatedAt time.Time // used where the text is undated
	Sets      []string
	Access    []string // empty: PUBLIC
	Origin    string
	// Trusted texts name their own id, source, link, type, sets and tag pairs in their front matter. The text of
	// anybody's file must never be trusted: it could replace other documents or pass for another source.
	Trusted bool
}

// FromMarkdown makes a document of a Markdown text with optional front matter in YAML (---) or TOML (+++): title;
// updated, updated_at, last_modified, lastmod or date; created or created_at; author or authors; tags, labels or
// categories; every other key with simple values becomes metadata. Trusted texts also give id, source, link, type,
// sets, and tags as a map. The error says why the text cannot be stored: binary, without an id, of an unknown source.
func FromMarkdown(data []byte, defaults Defaults) (index.Document, error) {
	text, _, err := decodeText(data, false)
	if err != nil {
		return index.Document{}, err
	}
	return fromMarkdown(newFileReader(), text, defaults)
}

func fromMarkdown(r *fileReader, text string, defaults Defaults) (index.Document, error) {
	fields, body := splitFrontMatter(text)
	m := readMeta(fields, defaults.Trusted)
	body = strings.TrimLeft(body, "\n")
	return build(body, r.markdown.parse(body), m, defaults)
}

func fromProse(_ *fileReader, text string, defaults Defaults) (index.Document, error) {
	return fromPlainText(text, kindProse, defaults)
}

func fromLog(_ *fileReader, text string, defaults Defaults) (index.Document, error) {
	return fromPlainText(text, kindLines, defaults)
}

func fromPlainText(text string, kind blockKind, defaults Defaults) (index.Document, error) {
	text = strings.TrimLeft(text, "\n")
	return build(text, paragraphs(text, 0, kind), meta{}, defaults)
}

// build puts a document together from its text, cut into blocks, and what it says of itself.
func build(body string, blocks []block, m meta, d Defaults) (index.Document, error) {
	doc := index.Document{
		ID: cmp.Or(m.id, d.ID), Source: cmp.Or(m.source, d.Source, "file"), Type: cmp.Or(m.kind, d.Type, "md"),
		Link: cmp.Or(m.link, d.Link), Path: d.Path, Origin: d.Origin,
		CreatedAt: m.created, UpdatedAt: m.updated,
		Authors: m.authors, Metadata: m.fields, Sets: m.sets, Access: d.Access,
	}
	if doc.ID == "" {
		return index.Document{}, errors.New("the document has no id")
	}
	if err := CheckSource(doc.Source); err != nil {
		return index.Document{}, err
	}
	if doc.UpdatedAt.IsZero() {
		doc.UpdatedAt = d.UpdatedAt.UTC()
	}
	for _, date := range []*time.Time{&doc.CreatedAt, &doc.UpdatedAt} {
		if !canBeWritten(*date) {
			*date = time.Time{}
		}
	}
	if len(doc.Sets) == 0 {
		doc.Sets = d.Sets
	}
	if len(doc.Access) == 0 {
		doc.Access = []string{AccessPublic}
	}
	doc.Title = cmp.Or(m.title, firstHeading(blocks), d.Title, doc.ID)
	doc.Chunks, doc.Outline = chunkBlocks(body, blocks, doc.Title, doc.Link)
	if len(doc.Chunks) == 0 {
		if m.title == "" {
			return index.Document{}, errEmpty
		}
		doc.Chunks = []index.Chunk{{Text: doc.Title}}
	}
	return doc, nil
}

// canBeWritten reports whether a date has a year of four digits, which is all that ISO 8601 and its readers know.
func canBeWritten(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

var errEmpty = errors.New("it holds no text")

// firstHeading is the first first-level heading among the first blocks.
func firstHeading(blocks []block) string {
	const near = 200
	for i := range blocks[:min(near, len(blocks))] {
		if b := &blocks[i]; b.kind == kindHeading && b.level == 1 && b.title != "" {
			return b.title
		}
	}
	return ""
}

// titleFromName makes a title of a file's name: "release_notes-2024.md" becomes "Release notes 2024".
func titleFromName(name string) string {
	stem := strings.TrimSuffix(name, path.Ext(name))
	if stem == "" {
		stem = name
	}
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

// CheckSource returns an error that names the nearest value when source is not one that documents can be stored under:
// unknown, or internal to the server.
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
	return fmt.Errorf("unknown source %q; did you mean %q?", text.Clip(source, 64), wire.Nearest(source, values))
}
