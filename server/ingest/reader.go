package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/pdf"
	"quarry/server/ingest/worker"
)

const (
	partDocuments = 256     // documents of one part
	partBytes     = 1 << 20 // text of one part
	// racyAge is the age below which a file's times do not prove that it was not written again.
	racyAge = 50 * time.Millisecond
)

// printOf returns a fingerprint of a size and of what else shows a change.
func printOf(size int64, rest string) string { return strconv.FormatInt(size, 36) + "." + rest }

// racyPrint returns a text with the size that matches no fingerprint: another write at the same clock tick would not
// show.
func racyPrint(size int64) string { return printOf(size, "racy") }

// fileReader reads tasks until ctx ends. It is not safe for concurrent use.
type fileReader struct {
	ctx      context.Context
	markdown *markdownReader
	pages    *htmlReader
	// formatOf is the function: the formats of attachments are among those that contain them.
	formatOf func(file string) (f format, reason string)
	readers  *Readers // nil: all formats are read in this process
	// pdf sends what a PDF file contains, as pdf.Engine does.
	pdf      func(data []byte, send func(pdf.Message) error) error
	leftOut  badLines    // parts of the documents of the task at hand; leaveOut adds to it
	encoding string      // assumed, of the first such document of the task
	member   string      // the file or message of a container that is read; empty: the task's file
	large    *sync.Mutex // locked while a large text is read, which takes several times its size
	isShort  bool        // no descriptor was free for the last file

	largeText int64 // bytes of a file that is read alone, and whose words are counted
	mostWords int   // different words of such a file
}

func newFileReader(ctx context.Context, readers *Readers) *fileReader {
	r := &fileReader{ctx: ctx, markdown: newMarkdownReader(), pages: newHTMLReader(), formatOf: formatOf,
		readers: readers, large: new(sync.Mutex), largeText: 4 << 20, mostWords: 1_000_000}
	r.pdf = r.remotePDF
	return r
}

// read sends the contents of the task's file. What aborts the reading of it keeps its documents, as they cannot be read
// now.
func (r *fileReader) read(t *task) {
	defer close(t.parts)
	r.leftOut, r.encoding = badLines{}, ""
	last := part{last: true}
	err := guard.Call(func() error { last = r.readFile(t); return nil })
	if panicked, ok := errors.AsType[*guard.PanicError](err); ok { // of one document: the run continues
		last.Print, last.Reason = fingerprint(t.file.info), readingFailed(panicked).Error()
	} else if err != nil {
		last.unknown, last.Reason = true, reasonOf(err)
	}
	last.LeftOut = r.leftOut
	t.send(last)
}

func (r *fileReader) readFile(t *task) part {
	last := part{last: true}
	if t.file.remote != nil {
		return r.readRemote(t)
	}
	if t.file.info.IsDir() { // of the walk: its fingerprint is that of the files in it
		last = r.readContainer(t, nil)
		last.Print = fingerprint(t.file.info)
		return last
	}
	handle := guard.Must(r.open(t))
	defer handle.Close()
	info := guard.Must(handle.Stat())
	if !info.Mode().IsRegular() {
		last.Print, last.Reason = fingerprint(info), specialReason(info.Mode())
		return last
	}
	t.file.info = info
	if t.file.format.mailbox || t.file.format.name == "eml" {
		content, end, damage, err := unpack(handle)
		if _, failed := errors.AsType[*fs.PathError](err); failed {
			guard.Abort(err) // the disk may be full
		}
		if err != nil {
			last.Print, last.Reason = fingerprint(info), err.Error()
			return last
		}
		defer end()
		if damage != nil {
			r.leaveOut("the rest", damage)
		}
		handle = content
	}
	if t.file.format.mailbox {
		if kind := containerAt(handle); kind != nil {
			t.file.format = format{container: kind}
		}
	}
	switch {
	case t.file.format.container != nil:
		last = r.readContainer(t, handle)
	case t.file.format.lines:
		last = r.readLines(t, handle)
	default:
		last = r.readWhole(t, handle)
	}
	if last.Print = fingerprint(info); time.Since(info.ModTime()) < racyAge {
		last.Print = racyPrint(info.Size())
	}
	return last
}

// open opens the task's file. If no descriptor is free it waits a second for one, unless it did so for the file before,
// and then ends processes that read other formats.
func (r *fileReader) open(t *task) (handle *os.File, err error) {
	const tries, pause = 20, 50 * time.Millisecond
	for n := 1; ; n++ {
		r.readers.apart(func() { handle, err = t.target.open(t.file) })
		isShort := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		if !isShort || r.isShort || n == tries || guard.Sleep(r.ctx, pause) != nil {
			r.isShort = isShort
			return handle, err
		}
		if n > tries/4 {
			r.readers.shrink()
		}
	}
}

// leaveOut records that a part of the document at hand cannot be read, and why. The rest of the document is stored.
func (r *fileReader) leaveOut(part string, why error) {
	part = text.Clip(part, longestValue) // a document may have millions of them, and each may have any length
	if r.member != "" {
		part = r.member + ": " + part
	}
	r.leftOut.add(0, oneLine(part+": "+why.Error(), longestValue))
}

func (r *fileReader) readWhole(t *task, handle io.ReadCloser) part {
	last := part{last: true}
	if t.file.info.Size() > largestFile {
		last.Reason = errTooLarge.Error()
		return last
	}
	if t.file.format.text != nil && t.file.info.Size() >= r.largeText {
		r.large.Lock()
		defer r.large.Unlock()
	}
	var content bytes.Buffer
	content.Grow(int(min(t.file.info.Size(), largestFile)) + bytes.MinRead)
	guard.Must(content.ReadFrom(io.LimitReader(handle, largestFile+1)))
	_ = handle.Close() // there may be no other descriptor for a process that reads it
	data := content.Bytes()
	last.bytes = int64(len(data))
	if len(data) > largestFile {
		last.Reason = errTooLarge.Error()
		return last
	}
	return r.readData(t, t.file.format, data, t.target.defaults(t.file), last, func(last *part) {
		doc := &last.documents[0]
		last.Head = t.file.repository.date(doc, t.file.path, data, t.datedByFile(doc))
		if t.file.format.data != nil && t.datedByFile(doc) { // a document that could have a date, and has none
			dateByFile(doc)
		}
		last.OwnDates = !t.datedByFile(doc)
	})
}

// readData reads the data of a task with one document. complete is called with the part that has it, unless that is as
// it was.
func (r *fileReader) readData(t *task, f format, data []byte, defaults index.Document, last part,
	complete func(*part)) part {
	last.Hash = hashOf(data)
	if t.comparable() && last.Hash == t.known.Hash {
		last.same, last.Reason = true, t.known.Reason
		return last
	}
	isIncluded := t.includes("")
	if doc, state, ok := t.renamed(last.Hash); ok && (isIncluded || checkSecret(&doc) == nil) {
		last.documents, last.OwnDates, last.Encoding = []index.Document{doc}, state.OwnDates, state.Encoding
		return last
	}
	if last.Reason = generatedBy(f, data); last.Reason != "" && t.file.name != "" && !isIncluded {
		return last
	}
	last.Reason = ""
	doc, err := guard.Result(func() index.Document { return r.document(f, data, defaults) })
	if err == nil && !isIncluded {
		err = checkSecret(&doc)
	}
	if err == nil && int64(len(data)) >= r.largeText && distinctWords(&doc) > r.mostWords {
		err = fmt.Errorf("it has more than %s different words, as dumps of data have", text.Number(r.mostWords))
	}
	if guard.Check(r.ctx.Err()); err != nil {
		last.unknown = errors.Is(err, worker.ErrNoWorker)
		last.Reason = oneLine(err.Error(), longestValue)
		return last
	}
	last.Encoding, last.documents = r.encoding, []index.Document{doc}
	complete(&last)
	return last
}

// hashOf returns what tells a content, or an id, from others.
func hashOf[T ~string | ~[]byte](data T) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:16])
}

// readLines reads JSONL of any length, part by part.
func (r *fileReader) readLines(t *task, handle io.ReadSeeker) part {
	last := part{last: true}
	sum := sha256.New()
	if t.comparable() {
		size := guard.Must(io.Copy(sum, handle))
		if last.Hash = hashText(sum); last.Hash == t.known.Hash {
			last.same, last.Reason, last.bytes = true, t.known.Reason, size
			return last
		}
		guard.Must(handle.Seek(0, io.SeekStart))
		sum.Reset()
	}
	lines := newLineReader(io.TeeReader(handle, sum))
	collect := collector{fileReader: r, task: t}
	for number := 1; ; number++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if !errors.Is(err, errLongLine) {
			guard.Check(err)
		}
		collect.line(lines, number, line, err)
		collect.check()
	}
	last = collect.end()
	last.Hash, last.Encoding = hashText(sum), lines.encoding
	return last
}

func hashText(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:16]) }

// line reads a line of JSONL.
func (c *collector) line(lines *lineReader, number int, line []byte, err error) {
	c.part.bytes += int64(len(line)) + 1
	if number == 1 {
		line = bytes.TrimPrefix(line, markUTF8)
	}
	if err == nil && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	doc, err := guard.Result(func() index.Document {
		guard.Check(err)
		return c.parseLine(guard.Must(lines.decode(line)), c.task.file.info.ModTime())
	})
	if err != nil {
		c.problem(number, err)
		return
	}
	c.add(doc, number)
}

func documentBytes(doc *index.Document) int {
	bytes := len(doc.ID) + len(doc.Title) + len(doc.Link) + 200
	for i := range doc.Chunks {
		bytes += len(doc.Chunks[i].Text) + len(doc.Chunks[i].Link)
	}
	return bytes
}

// target is a root, or the part of it below start, to be read.
type target struct {
	path     string // of the root, absolute, with slashes
	state    rootState
	start    string // from the root; "" for all of it
	force    bool   // also read the removed documents
	refill   bool   // only store missing documents, do not replace those of other files
	fresh    bool   // a new root
	again    bool   // also read unchanged files
	replaces []string
	vanished map[string]vanished      // by the hash of their content
	library  libraryIndex             // that has their documents
	piped    *Piped                   // of AddPiped
	folder   *os.Root                 // nil if the root is a file
	isOwn    func(origin string) bool // reports whether a document belongs to the root
}

func (t *target) open(file foundFile) (*os.File, error) {
	if file.name == "" || t.folder == nil {
		return openRegular(filepath.FromSlash(file.path))
	}
	// Resolved inside the folder, even if its parts were replaced since the walk.
	return t.folder.OpenFile(filepath.FromSlash(file.name), openFlags, 0)
}

func (t *target) config(file foundFile) string { return t.state.config(file.source) }

func (t *target) sets() []string {
	if t.state.Set == "" {
		return nil
	}
	return []string{t.state.Set}
}

func (t *target) defaults(file foundFile) index.Document {
	return index.Document{
		ID:        fileID(file.path),
		Source:    cmp.Or(t.state.As, file.format.source, file.source, "file"),
		Title:     titleFromName(path.Base(file.path)),
		Path:      t.folders(file),
		Link:      fileLink(file.path),
		Type:      file.format.name,
		UpdatedAt: file.info.ModTime().UTC(),
		Sets:      t.sets(),
		Access:    t.state.Access,
		Origin:    originOf(file.path),
	}
}

// folders returns the last two folders of a file, at most from the root's own name: what is above reveals the machine
// and its user.
func (t *target) folders(file foundFile) []string {
	from := path.Join(path.Base(t.path), path.Dir(file.name))
	if file.name == "" {
		from = path.Base(path.Dir(t.path))
	}
	return lastNames(strings.Split(from, "/"))
}

// lastNames returns the last two names of folders.
func lastNames(folders []string) (names []string) {
	for _, name := range folders {
		if name = oneLine(name, longestValue); name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names[max(0, len(names)-2):]
}

func fileLink(file string) string {
	if !strings.HasPrefix(file, "/") {
		file = "/" + file // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: file}).String()
}

// longestLine bounds one line of JSONL, in bytes.
const longestLine = 16 << 20

var errLongLine = fmt.Errorf("the line is longer than %d MB", longestLine>>20)

// lineReader reads lines of bounded length from a stream of any length, and decodes them. The first line that is not
// UTF-8 decides the encoding.
type lineReader struct {
	in       *bufio.Reader
	line     []byte
	wide     string // UTF-16 or UTF-32; empty: another encoding
	encoding string // assumed
	isUTF8   bool   // a line had valid non-ASCII UTF-8
}

// newLineReader reads UTF-8, UTF-16, or marked UTF-32. In other encodings newlines are as in ASCII, and decode decodes
// the lines.
func newLineReader(in io.Reader) *lineReader {
	const buffered, looked = 256 << 10, 4 << 10
	l := &lineReader{in: bufio.NewReaderSize(in, buffered)}
	start, _ := l.in.Peek(looked)
	w := markedWide(start)
	_, _ = l.in.Discard(len(w.mark)) // it was peeked
	if w.unit == 0 && bytes.IndexByte(start, 0) >= 0 {
		w = unmarkedUTF16(start[:len(start)&^1], true)
		l.encoding = w.name
	}
	if l.wide = w.name; w.unit > 0 {
		l.in = bufio.NewReaderSize(w.encoding.NewDecoder().Reader(l.in), buffered)
	}
	return l
}

func (l *lineReader) decode(line []byte) ([]byte, error) {
	if l.wide != "" && bytes.Contains(line, replacement) {
		return nil, fmt.Errorf("it is not valid %s", l.wide)
	}
	if utf8.Valid(line) {
		l.isUTF8 = l.isUTF8 ||
			l.encoding == "" && bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf })
		return line, nil
	}
	if isDamagedUTF8(line) {
		return decodeAs(line, damagedEncoding)
	}
	if l.isUTF8 {
		return nil, errors.New("it is not valid UTF-8")
	}
	if l.encoding == "" {
		ahead, _ := l.in.Peek(min(l.in.Buffered(), detectionSample))
		encoding, err := detect(append(slices.Clip(line), ahead...))
		if err != nil {
			return nil, err
		}
		l.encoding = encoding
	}
	return decodeAs(line, l.encoding)
}

// next returns the next line without its newline, valid until the next call. After errLongLine the following line can
// be read.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for size := 0; ; {
		part, err := l.in.ReadSlice('\n')
		if size += len(part); size <= longestLine+1 {
			l.line = append(l.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (size == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		case size > longestLine+1:
			return nil, errLongLine
		default:
			return bytes.TrimSuffix(l.line, []byte("\n")), nil
		}
	}
}

// parseLine parses an ingestion document, bare or as {"document":{…}}.
func (r *fileReader) parseLine(line []byte, now time.Time) index.Document {
	var request struct {
		Document *wire.IngestionDocument `json:"document"`
		wire.IngestionDocument
	}
	guard.While("not an ingestion document", wire.Unmarshal(line, &request))
	document := request.IngestionDocument
	if request.Document != nil {
		document = *request.Document
	}
	if document.Sections == nil {
		guard.Abort(errors.New("not an ingestion document: it has no sections"))
	}
	return r.fromIngestion(document, now)
}
