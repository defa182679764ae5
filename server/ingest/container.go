package ingest

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// container is a kind of folder or archive whose files are read together, as an export of another program. Its
// documents have the path of the folder or archive as their origin.
type container struct {
	kind   string // for people
	source string // of its documents
	// is reports whether a folder is one, by its layout; nil: no folder is.
	is    func(layout) bool
	whole bool // all of its folders are part of it, also those that look like a container
	// starts reports whether a file is one, by its start; nil: no file is.
	starts func(data []byte) bool
	// claims reports whether a file belongs to the container, by its name from the container's folder, and whether a
	// hidden folder does, whose name ends with a slash.
	claims func(name string) bool
	// state returns what shows that a file changed, or "" for one that is not read; nil: the name and the fingerprint.
	state func(name string, info fs.FileInfo) string
	// read reads the claimed files and passes their documents to c.
	read func(c *collector)
}

// layout is a folder that may be a container.
type layout struct {
	fs.FS
	name    string   // of the folder; "" for the files of an archive outside folders
	entries []string // their names, of folders with a slash at the end
}

func newLayout(folder fs.FS, name string, entries []fs.DirEntry) layout {
	l := layout{FS: folder, name: name}
	for _, entry := range entries {
		if entry.IsDir() {
			l.entries = append(l.entries, entry.Name()+"/")
		} else {
			l.entries = append(l.entries, entry.Name())
		}
	}
	return l
}

var containers = [...]*container{&slackExport, &notionExport, &notionParts, &confluenceExport, &confluenceXML, &maildir,
	&mhFolder, &takeoutMail, &takeout, &gmailBox, &mboxFile}

const (
	mostInner   = 1_000_000 // files in a container
	mostInArch  = 8 << 30   // bytes unpacked of an archive
	mostEntries = 256 << 20 // bytes of an archive's list of files
)

var (
	errUnpacked = fmt.Errorf("it unpacks to more than %d GB", mostInArch>>30)
	errGone     = errors.New(reasonOf(fs.ErrNotExist))
	errEntries  = fmt.Errorf("its list of files is larger than %d MB, or has more than %d files",
		mostEntries>>20, mostInner)
)

// innerName is the state and the size of a file in a folder that is a container.
type innerName struct {
	name, state string
	info        fs.FileInfo
}

// foundContainer is a container's folder during a walk.
type foundContainer struct {
	kind   *container
	folder string // from the root
	files  []innerName
}

// claim records a file that belongs to the container. The file's name is from the root.
func (c *foundContainer) claim(name string, info fs.FileInfo) bool {
	inner := ""
	if c != nil {
		inner = below(c.folder, name)
	}
	if c == nil || !info.Mode().IsRegular() || !c.kind.claims(inner) {
		return false
	}
	state := inner + "\x00" + fingerprint(info)
	if c.kind.state != nil {
		state = c.kind.state(inner, info)
	}
	if state != "" && len(c.files) < mostInner {
		c.files = append(c.files, innerName{inner, state, info})
	}
	return true
}

// hides reports whether a hidden folder belongs to the container.
func (c *foundContainer) hides(w *walker, name string) bool {
	if c == nil || !c.kind.claims(below(c.folder, name)+"/") {
		return false
	}
	entries, _ := os.ReadDir(w.absolute(name)) // reported by the walk
	inner := w.containerIn(name, entries)
	return inner != nil && inner.kind == c.kind
}

// containerIn returns the container that a folder is, by its layout; nil if it is none.
func (w *walker) containerIn(folder string, entries []fs.DirEntry) *foundContainer {
	absolute := w.absolute(folder)
	found := newLayout(os.DirFS(absolute), filepath.Base(absolute), entries)
	for _, kind := range containers {
		if kind.is != nil && kind.is(found) {
			return &foundContainer{kind: kind, folder: folder}
		}
	}
	return nil
}

// containerAt returns the container that a file is, by its start; nil if it is none.
func containerAt(handle *os.File) *container {
	const looked = 4 << 10
	start := make([]byte, looked)
	n, _ := handle.ReadAt(start, 0) // an error appears again when the file is read
	if isCompressed(start[:n]) {
		if in, err := decompressed(io.NewSectionReader(handle, 0, wholeFile)); err == nil {
			n, _ = io.ReadFull(in, start)
			_ = in.Close() // it was only read
		}
	}
	for _, kind := range containers {
		if kind.starts != nil && kind.starts(start[:n]) {
			return kind
		}
	}
	return nil
}

// widened returns the container around start, a path from the root, or start: its files are read together.
func (w *walker) widened(start string) string {
	if start == "" {
		return ""
	}
	for folder := ""; ; {
		if entries, err := os.ReadDir(w.absolute(folder)); err == nil && w.containerIn(folder, entries) != nil {
			return folder
		}
		rest := below(folder, start)
		if folder == start || rest == "" {
			return start
		}
		next, _, _ := strings.Cut(rest, "/")
		folder = path.Join(folder, next)
	}
}

// addContainer adds a container that is a folder to the walk's files.
func (w *walker) addContainer(c *foundContainer, source string) {
	info, err := os.Stat(w.absolute(c.folder))
	if err != nil {
		return
	}
	file := foundFile{path: path.Join(w.root, c.folder), name: c.folder, source: source,
		format: format{container: c.kind}}
	tree := statedInfo{FileInfo: info}
	slices.SortFunc(c.files, func(a, b innerName) int { return strings.Compare(a.state, b.state) })
	sum := sha256.New()
	for _, f := range c.files {
		file.inner = append(file.inner, f.name)
		fmt.Fprintf(sum, "%s\x00", f.state)
		tree.size += f.info.Size()
		if f.info.ModTime().After(tree.moment) {
			tree.moment = f.info.ModTime()
		}
	}
	tree.print = printOf(tree.size, printOf(tree.moment.UnixNano(), hashText(sum)))
	if time.Since(tree.moment) < racyAge {
		tree.print = racyPrint(tree.size)
	}
	file.info = tree
	if len(c.files) >= mostInner {
		file.reason = fmt.Sprintf("it has more than %d files", mostInner)
	}
	if c.folder == "" {
		w.source = c.kind.source
	}
	w.files = append(w.files, file)
}

// archiveFormat returns the format of an archive by its files' names, or why it is skipped.
func archiveFormat(file string) (format, string) {
	notRead := wire.ReasonNotRead(strings.ToLower(path.Ext(file)))
	handle, err := openRegular(filepath.FromSlash(file))
	if err != nil {
		return format{}, reasonOf(err)
	}
	defer handle.Close()
	archive, err := openZIP(handle)
	switch {
	case errors.Is(err, errEntries):
		return format{}, err.Error()
	case err != nil:
		return format{}, notRead
	}
	for _, kind := range containers {
		if kind.is == nil {
			continue
		}
		if _, ok := kind.inArchive(archive); ok {
			return format{container: kind}, ""
		}
	}
	return format{}, notRead
}

// inArchive returns the container's folder in an archive: its top, or a folder there.
func (k *container) inArchive(archive *zip.Reader) (folder string, ok bool) {
	top, _ := fs.ReadDir(archive, ".") // an archive with bad names is none
	if k.is(newLayout(archive, "", top)) {
		return ".", true
	}
	for _, entry := range top {
		if !entry.IsDir() {
			continue
		}
		entries, _ := fs.ReadDir(archive, entry.Name())
		if inner, err := fs.Sub(archive, entry.Name()); err == nil && k.is(newLayout(inner, entry.Name(), entries)) {
			return entry.Name(), true
		}
	}
	return "", false
}

// packedSizes returns the sizes of a container's files in an archive by their names from its folder.
func (k *container) packedSizes(archive *zip.Reader, folder string) map[string]int64 {
	packed := map[string]int64{}
	for _, file := range archive.File {
		if name, inside := innerOf(folder, file.Name); inside && file.Mode().IsRegular() && k.claims(name) {
			packed[name] = int64(min(file.CompressedSize64, uint64(mostInArch)))
		}
	}
	return packed
}

func innerOf(folder, name string) (string, bool) {
	if folder == "." {
		return name, fs.ValidPath(name)
	}
	name, inside := strings.CutPrefix(name, folder+"/")
	return name, inside && fs.ValidPath(name)
}

// openZIP reads the list of files in an archive, up to a bound.
func openZIP(handle *os.File) (*zip.Reader, error) {
	info, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	return readZIP(handle, info.Size())
}

func readZIP(handle io.ReaderAt, size int64) (*zip.Reader, error) {
	in := &boundedReader{ReaderAt: handle, left: mostEntries}
	archive, err := zip.NewReader(in, size)
	in.left = int64(^uint64(0) >> 1)
	if err == nil && len(archive.File) > mostInner {
		err = errEntries
	}
	return archive, err
}

// boundedReader fails after a number of bytes.
type boundedReader struct {
	io.ReaderAt
	left int64
}

func (b *boundedReader) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errEntries
	}
	return b.ReaderAt.ReadAt(p, at)
}

// readContainer reads the files of a container part by part. handle is that of an archive.
func (r *fileReader) readContainer(t *task, handle *os.File) part {
	files, closeFolder := t.innerFiles(handle)
	defer closeFolder()
	c := &collector{fileReader: r, innerFiles: files, task: t}
	err := guard.Ended(func() { t.file.format.container.read(c) })
	guard.Check(r.ctx.Err())
	if !errors.Is(c.failed, errUnpacked) {
		guard.Check(c.failed)
	}
	last := c.end()
	if err = cmp.Or(c.failed, err); err != nil {
		last.Reason = oneLine(err.Error(), longestValue)
	}
	return last
}

// innerFiles opens the folder or archive of a container.
func (t *task) innerFiles(handle *os.File) (files innerFiles, end func()) {
	kind := t.file.format.container
	files.seen, end = map[string]bool{}, func() {}
	if kind.starts != nil {
		files.fs, files.names = soleFile{handle}, []string{"."}
		return files, end
	}
	if handle == nil {
		folder := guard.Must(t.target.folder.OpenRoot(cmp.Or(filepath.FromSlash(t.file.name), ".")))
		files.fs, files.names, files.left = folder.FS(), t.file.inner, largestFile
		return files, func() { folder.Close() }
	}
	archive := guard.Must(openZIP(handle))
	folder, ok := kind.inArchive(archive)
	if !ok {
		guard.Abort(fs.ErrNotExist) // it changed since the walk
	}
	files.packed, files.left = kind.packedSizes(archive, folder), mostInArch
	files.names = slices.Sorted(maps.Keys(files.packed))
	files.fs = guard.Must(fs.Sub(archive, folder))
	return files, end
}

// collector collects the documents of a file of several into parts.
type collector struct {
	*fileReader
	innerFiles // of a container
	task       *task

	part        part
	text        int
	total       int
	bad         badLines
	datedByFile bool // at least one document
}

// check ends the reading of the container if the run ended, or if all of it cannot be read.
func (c *collector) check() { guard.Check(cmp.Or(c.ctx.Err(), c.failed)) }

// add adds a document of a line; number is 0 if there are no lines. It sends a part when it is full.
func (c *collector) add(doc index.Document, number int) {
	t := c.task.target
	if !c.task.includes(doc.Origin) {
		_, inner, _ := strings.Cut(doc.ID, "!")
		switch err := checkSecret(&doc); {
		case err != nil && number == 0:
			c.innerProblem(cmp.Or(doc.Origin, inner), err)
			return
		case err != nil:
			c.problem(number, err)
			return
		}
	}
	doc.Positions = nil // of a file that cannot be opened by itself
	doc.Origin = originOf(c.task.file.path)
	doc.Source = cmp.Or(t.state.As, doc.Source)
	doc.Sets = t.sets()
	if len(t.state.Access) > 0 && slices.Equal(doc.Access, []string{AccessPublic}) {
		doc.Access = t.state.Access
	}
	c.part.documents, c.part.numbers = append(c.part.documents, doc), append(c.part.numbers, number)
	c.text += documentBytes(&doc)
	c.total++
	c.datedByFile = c.datedByFile || c.task.datedByFile(&doc)
	c.sendIfFull()
}

// problem records why a line, or a file in the container, is not stored.
func (c *collector) problem(number int, err error) {
	c.part.skipped = append(c.part.skipped, c.bad.add(number, oneLine(err.Error(), longestValue))...)
}

// innerProblem records why a file in the container is not stored.
func (c *collector) innerProblem(name string, err error) {
	c.problem(0, errors.New(name+": "+reasonOf(err)))
}

func (c *collector) sendIfFull() {
	if len(c.part.documents) >= partDocuments || c.text >= partBytes {
		c.task.send(c.flush())
	}
}

func (c *collector) flush() part {
	taken := c.part
	c.part, c.text = part{}, 0
	return taken
}

// end returns the last part.
func (c *collector) end() part {
	last := c.flush()
	last.skipped = append(last.skipped, c.bad.further()...)
	last.Encoding = c.encoding
	last.last, last.OwnDates, last.Lines, last.Kind = true, !c.datedByFile, c.bad, c.task.file.format.kind()
	if c.total == 0 {
		last.Reason = errEmpty.Error()
		switch reasons := c.bad.Reasons; {
		case len(reasons) == 1 && c.bad.Secret == 0: // said once
			last.Reason, last.skipped, last.Lines = strings.Join(c.bad.listed(), "; "), nil, badLines{}
		case len(reasons) > 0:
			last.Reason = reasons[0]
		}
	}
	return last
}
