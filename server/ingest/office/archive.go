// Package office reads documents that are archives of XML: DOCX, PPTX, XLSX, OpenDocument, and the frame of EPUB.
package office

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"

	"quarry/server/ingest/markdown"
)

// Limits bound what is read of one archive.
type Limits struct {
	Unpacked int64 // bytes that are unpacked
	Entries  int   // files in the archive
	Depth    int   // elements of XML in each other
	Token    int   // bytes of one tag, or of one text without tags
	Pieces   int   // cells, rows and lines that are held at once
	Text     int   // bytes of Markdown
}

// DefaultLimits returns those with which reading one archive needs less than 400 MB of memory.
func DefaultLimits() Limits {
	return Limits{Unpacked: 128 << 20, Entries: 20_000, Depth: 200, Token: 4 << 20, Pieces: 4_000_000, Text: markdown.MaxBytes}
}

// ErrEncrypted is returned for archives that need a password.
var ErrEncrypted = errors.New("it is encrypted; a password is needed")

var (
	errDamaged = errors.New("it is damaged")
	errMissing = errors.New("it is missing from the file")
)

// limitError says which limit an archive exceeds.
type limitError string

func (e limitError) Error() string { return string(e) }

func exceeds(format string, limit any) error { return limitError(fmt.Sprintf(format, limit)) }

// Archive is a ZIP archive of which a bounded amount is read.
type Archive struct {
	ctx    context.Context
	files  map[string]*zip.File // by lower-cased name
	limits Limits
	left   int64 // bytes that may still be unpacked
	reused int   // bytes that reuse counted

	leave func(part string, why error) // is called for what cannot be read
	noted map[string]bool              // what leaveOnce reported
}

// Open opens an archive. Reading from it ends with ctx. Document calls leave for each part that cannot be read while
// the rest is.
func Open(ctx context.Context, data []byte, limits Limits, leave func(part string, why error)) (*Archive, error) {
	if bytes.Count(data, []byte("PK\x01\x02")) > limits.Entries { // before the directory is read into memory
		return nil, exceeds("it is an archive of more than %d files", limits.Entries)
	}
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, damaged(err)
	}
	a := &Archive{ctx: ctx, files: make(map[string]*zip.File, len(in.File)), limits: limits, left: limits.Unpacked,
		leave: leave, noted: map[string]bool{}}
	for _, file := range in.File {
		name := strings.ToLower(strings.ReplaceAll(file.Name, `\`, "/"))
		if _, again := a.files[name]; !again {
			a.files[name] = file
		}
	}
	return a, nil
}

func damaged(err error) error { return fmt.Errorf("%w: %w", errDamaged, err) }

// Has reports whether the archive has a file.
func (a *Archive) Has(name string) bool { return a.files[clean(name)] != nil }

// hasBelow reports whether the archive has files in a folder.
func (a *Archive) hasBelow(folder string) bool {
	for name := range a.files {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

func clean(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

// Read returns a file of the archive; nil if it does not exist.
func (a *Archive) Read(name string) ([]byte, error) {
	in, err := a.open(name)
	if in == nil || err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, reason(err)
	}
	return data, nil
}

// open returns nil for a file that does not exist.
func (a *Archive) open(name string) (io.ReadCloser, error) {
	file := a.files[clean(name)]
	if file == nil {
		return nil, nil
	}
	const encrypted = 1
	if file.Flags&encrypted != 0 {
		return nil, ErrEncrypted
	}
	in, err := file.Open()
	if err != nil {
		return nil, damaged(err)
	}
	return &entry{in, a}, nil
}

// reuse counts bytes that stand in the archive once and in the text several times: the target of a link, a shared
// string, a repeated cell, the name of an author.
func (a *Archive) reuse(bytes int) error {
	if a.reused += bytes; a.reused > a.limits.Text {
		return limitError(markdown.TooLong(a.limits.Text).Error())
	}
	return nil
}

// leaveOnce reports a part that many cells may lack.
func (a *Archive) leaveOnce(part string, why error) {
	if !a.noted[part] {
		a.noted[part] = true
		a.leave(part, why)
	}
}

// written returns the text of a part of the document, such as a box or a cell.
func (a *Archive) written(w *markdown.Writer) string {
	text, err := w.Text()
	if err != nil {
		a.leaveOnce("a box, a cell or a note", err)
	}
	return text
}

// entry is a file that is being unpacked.
type entry struct {
	io.ReadCloser
	archive *Archive
}

func (e *entry) Read(p []byte) (int, error) {
	if err := e.archive.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := e.ReadCloser.Read(p)
	if e.archive.left -= int64(n); e.archive.left < 0 {
		return n, exceeds("it unpacks to more than %d MB", e.archive.limits.Unpacked>>20)
	}
	return n, err
}

// reason words an error of reading: those of bounds as they are, others as damage.
func reason(err error) error {
	if limit, exceeded := errors.AsType[limitError](err); exceeded {
		return limit
	}
	for _, known := range []error{ErrEncrypted, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	return damaged(err)
}

// parser reads XML element by element.
type parser struct {
	*xml.Decoder
	in     *tokens
	limits Limits
	depth  int
	pieces int
}

// tokens bounds what is read for one token.
type tokens struct {
	io.Reader
	size, most int
}

func (t *tokens) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if t.size += n; t.size > t.most {
		return n, exceeds("it has a tag or text of more than %d MB", t.most>>20)
	}
	return n, err
}

func (x *parser) next() (xml.Token, error) {
	x.in.size = 0
	return x.Token()
}

// hold counts things that are held in memory.
func (x *parser) hold(n int) error {
	if x.pieces += n; x.pieces > x.limits.Pieces {
		return exceeds("it has more than %d cells and lines", x.limits.Pieces)
	}
	return nil
}

// errStop ends the reading of a part before its end.
var errStop = errors.New("stop")

// parse calls f for the root element of a part, if the part exists.
func (a *Archive) parse(name string, f func(*parser, xml.StartElement) error) error {
	in, err := a.open(name)
	if in == nil || err != nil {
		return err
	}
	defer in.Close()
	if err := parse(in, a.limits, f); err != nil {
		return reason(err)
	}
	return nil
}

// part parses a part that the rest of a document can do without. What was read of it before an error stays.
func (a *Archive) part(label, name string, f func(*parser, xml.StartElement) error) {
	if name == "" {
		return
	}
	err := errMissing
	if a.Has(name) {
		err = a.parse(name, f)
	}
	if err != nil {
		a.leave(label, err)
	}
}

// body parses the part that has a document's text, or much of it. If it is damaged, what was written before stays;
// other errors are those of the document.
func (a *Archive) body(label, name string, w *markdown.Writer, f func(*parser, xml.StartElement) error) error {
	if !a.Has(name) {
		return errMissing
	}
	before, _ := w.Text()
	err := a.parse(name, f)
	if after, _ := w.Text(); errors.Is(err, errDamaged) && len(after) > len(before) {
		a.leave("the end of "+label, err)
		return nil
	}
	return err
}

func parse(in io.Reader, limits Limits, f func(*parser, xml.StartElement) error) error {
	limited := &tokens{Reader: in, most: limits.Token}
	x := &parser{Decoder: xml.NewDecoder(limited), in: limited, limits: limits}
	x.CharsetReader = charset.NewReaderLabel
	for {
		token, err := x.next()
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok {
			if err := f(x, start); err != nil && !errors.Is(err, errStop) {
				return err
			}
			return nil
		}
	}
}

// each calls f for every child of the current element, up to its end. f reads the child to its end.
func (x *parser) each(f func(xml.StartElement) error) error {
	return x.content(f, nil)
}

// content is each that also passes on the text between the children.
func (x *parser) content(f func(xml.StartElement) error, text func([]byte)) error {
	if x.depth++; x.depth > x.limits.Depth {
		return limitError("its elements are nested too deeply")
	}
	defer func() { x.depth-- }()
	for {
		token, err := x.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := f(token); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		case xml.CharData:
			if text != nil {
				text(token)
			}
		}
	}
}

// skip reads the current element to its end.
func (x *parser) skip() error { return x.children(func(xml.StartElement) {}) }

// children calls f for every child of the current element, and passes over what is in it.
func (x *parser) children(f func(xml.StartElement)) error {
	return x.each(func(e xml.StartElement) error {
		f(e)
		return x.skip()
	})
}

// find calls f for every element of a name below the current one.
func (x *parser) find(name string, f func(xml.StartElement)) error {
	return x.each(func(e xml.StartElement) error {
		if e.Name.Local == name {
			f(e)
		}
		return x.find(name, f)
	})
}

// text returns the text of the current element and of those in it.
func (x *parser) text() (string, error) {
	var out strings.Builder
	err := x.appendText(&out)
	return out.String(), err
}

func (x *parser) appendText(out *strings.Builder) error {
	return x.content(func(xml.StartElement) error { return x.appendText(out) }, func(text []byte) { out.Write(text) })
}

// table returns the texts of the cells of a table. cell reads one to its end, and returns the columns that it takes.
func (x *parser) table(cell func() (text string, span int, err error)) (rows [][]string, err error) {
	var cells []string
	var read func(e xml.StartElement) error
	read = func(e xml.StartElement) error {
		switch e.Name.Local {
		case "tr":
			cells = nil
			err := x.each(read)
			rows = append(rows, cells)
			return cmp.Or(err, x.hold(1))
		case "tc":
			text, span, err := cell()
			cells = append(append(cells, text), make([]string, span-1)...)
			return cmp.Or(err, x.hold(span))
		case "tblPr", "tblGrid", "trPr", "Fallback", "del":
			return x.skip()
		}
		return x.each(read)
	}
	return rows, x.each(read)
}

// attribute returns the value of an attribute in any name space.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// link is a relationship of a part.
type link struct {
	kind   string // the last part of its type
	target string // of another part: its name in the archive
}

// links returns the relationships of a part by id.
func (a *Archive) links(part string) map[string]link {
	folder, name := path.Split(part)
	links := map[string]link{}
	name = folder + "_rels/" + name + ".rels"
	if !a.Has(name) {
		return links
	}
	a.part(name, name, func(x *parser, _ xml.StartElement) error {
		return x.children(func(e xml.StartElement) {
			target := attribute(e, "Target")
			if attribute(e, "TargetMode") != "External" && !strings.HasPrefix(target, "/") {
				target = path.Join(folder, target)
			}
			links[attribute(e, "Id")] = link{path.Base(attribute(e, "Type")), target}
		})
	})
	return links
}

// targets returns the targets of the relationships of some kinds, in order and each once.
func targets(links map[string]link, kinds ...string) (names []string) {
	for _, l := range links {
		if slices.Contains(kinds, l.kind) && l.target != "" {
			names = append(names, l.target)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// linked returns the target of the first relationship of a kind, or "".
func linked(links map[string]link, kind string) string {
	return slices.Concat(targets(links, kind), []string{""})[0]
}

// unescape decodes the name of a file in a link.
func unescape(name string) string {
	if decoded, err := url.PathUnescape(name); err == nil {
		return decoded
	}
	return name
}
