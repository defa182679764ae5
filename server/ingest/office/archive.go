// Package office reads documents that are archives of XML: DOCX, PPTX, XLSX, OpenDocument, and the frame of EPUB.
package office

import (
	"archive/zip"
	"bytes"
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
	"quarry/server/ingest/xmlreader"
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
	return Limits{Unpacked: 128 << 20, Entries: 20_000, Depth: 200, Token: 4 << 20, Pieces: 4_000_000,
		Text: markdown.MaxBytes}
}

// ErrEncrypted is returned for archives that need a password.
var ErrEncrypted = errors.New("it is encrypted; a password is needed")

var (
	errDamaged = errors.New("it is damaged")
	errMissing = errors.New("it is missing from the file")
)

const errTooDeep = limitError("its elements are nested too deeply")

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

// parser reads the XML of a part, within the limits of its archive.
type parser struct {
	xmlreader.Reader
	archive *Archive
	pieces  int
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

// hold counts things that are held in memory.
func (x *parser) hold(n int) {
	if x.pieces += n; x.pieces > x.archive.limits.Pieces {
		x.Fail(exceeds("it has more than %d cells and lines", x.archive.limits.Pieces))
	}
}

// reuse counts bytes that stand in the archive once and in the text several times: the target of a link, a shared
// string, a repeated cell, the name of an author.
func (x *parser) reuse(bytes int) {
	if x.archive.reused += bytes; x.archive.reused > x.archive.limits.Text {
		x.Fail(limitError(markdown.TooLong(x.archive.limits.Text).Error()))
	}
}

// errStop ends the reading of a part before its end.
var errStop = errors.New("stop")

// parse calls f for the root element of a part, if the part exists.
func (a *Archive) parse(name string, f func(*parser)) error {
	in, err := a.open(name)
	if in == nil || err != nil {
		return err
	}
	defer in.Close()
	limited := &tokens{Reader: in, most: a.limits.Token}
	decoder := xml.NewDecoder(limited)
	decoder.CharsetReader = charset.NewReaderLabel
	x := &parser{Reader: xmlreader.New(decoder, a.limits.Depth, errTooDeep), archive: a}
	x.Before = func() { limited.size = 0 }
	x.Each(func(element) {
		f(x)
		x.Fail(errStop) // nothing follows it
	})
	if errors.Is(x.Err(), errStop) {
		return nil
	}
	return reason(x.Err())
}

// part parses a part that the rest of a document can do without. What was read of it before an error stays.
func (a *Archive) part(label, name string, f func(*parser)) {
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
func (a *Archive) body(label, name string, w *markdown.Writer, f func(*parser)) error {
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

// table returns the texts of the cells of a table. cell reads one to its end, and returns the columns that it takes.
func (x *parser) table(cell func() (text string, span int)) (rows [][]string) {
	var cells []string
	var read func(e element)
	read = func(e element) {
		switch e.Name {
		case "tr":
			cells = nil
			x.Walk(read, nil)
			rows = append(rows, cells)
			x.hold(1)
		case "tc":
			text, span := cell()
			cells = append(append(cells, text), make([]string, span-1)...)
			x.hold(span)
		case "tblPr", "tblGrid", "trPr", "Fallback", "del":
			x.Skip()
		}
	}
	x.Walk(read, nil)
	return rows
}

type element = xmlreader.Element

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
	a.part(name, name, func(x *parser) {
		x.Each(func(e element) {
			target := e.Attribute("Target")
			if e.Attribute("TargetMode") != "External" && !strings.HasPrefix(target, "/") {
				target = path.Join(folder, target)
			}
			links[e.Attribute("Id")] = link{path.Base(e.Attribute("Type")), target}
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
