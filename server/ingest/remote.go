package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/mail"
	"path"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/web"
)

// Some roots are no files: a document that was piped to quarry, or an address. Their path is an id such as stdin:Title
// and "!", so that none is below another one. The path of a page is that of its root, a slash, and its address.
const (
	pipedPrefix = "stdin:"
	remoteEnd   = "!"
	longestName = 300 // bytes of a piped document's title: its id is at most three times as long
)

func remoteRoot(id string) string { return strings.ReplaceAll(id, remoteEnd, "%21") + remoteEnd }

// isRemote reports whether a path is, or is below, a root that is no file or folder.
func isRemote(path string) bool { return strings.HasPrefix(path, pipedPrefix) || wire.IsURL(path) }

// shownPath returns what people see of a path.
func shownPath(path string) string {
	if !isRemote(path) {
		return path
	}
	if _, page, ok := strings.Cut(path, remoteEnd+"/"); ok {
		return page
	}
	return strings.TrimSuffix(path, remoteEnd)
}

// remoteFile is a document of a root that is no file or folder.
type remoteFile struct {
	id    string
	title string // empty: that of the content
	// fetch returns the content: errNotFetched if it did not change, a web.RefusedError if it is no more.
	fetch func(ctx context.Context) (fetched, error)
}

// fetched is the content of a remoteFile.
type fetched struct {
	data   []byte
	format format

	// Of the web.
	link    string
	place   []string
	author  string
	at      time.Time // when it was fetched
	updated time.Time // if the page does not say; zero: unknown
	web     webState
	stamp   string // the date in the list
	print   string // fingerprint; empty: of size and stamp
}

// statedInfo describes a remoteFile, or the files of a folder together, to the walk.
type statedInfo struct {
	fs.FileInfo // of the folder; nil: it is none
	size        int64
	moment      time.Time
	print       string
}

func (i statedInfo) Size() int64         { return i.size }
func (i statedInfo) ModTime() time.Time  { return i.moment }
func (i statedInfo) Mode() fs.FileMode   { return 0 }
func (i statedInfo) IsDir() bool         { return i.FileInfo != nil }
func (i statedInfo) fingerprint() string { return i.print }

// Piped is a document without a file.
type Piped struct {
	Title   string
	Content []byte
}

// AddPiped adds a document, or replaces the one that was added under its title; it reports as Add does. Sync keeps it.
func AddPiped(ctx context.Context, idx index.Index, document Piped, options Options, report Report) (
	done wire.LibraryEvent, err error) {
	title := oneLine(document.Title, longestName)
	switch {
	case title != document.Title || title == "":
		return done, fmt.Errorf("%q is not a valid title", text.Clip(document.Title, longestName))
	case len(document.Content) > wire.MaxContent:
		return done, fmt.Errorf("the document is larger than %d MB", wire.MaxContent>>20)
	}
	return inRun(libraryIndex{ctx, idx}, options, report, func(r *run) {
		t := guard.Must(addRemote(remoteRoot(pipedPrefix+title), options, r.roots))
		t.state.File, t.piped = true, &document
		r.sync([]*target{t})
	})
}

// addRemote adds a root that is no file or folder.
func addRemote(root string, options Options, roots map[string]rootState) (*target, error) {
	state, known := roots[root]
	if state.damaged {
		state = rootState{}
	}
	state.apply(options)
	if err := state.nameNew(root, options.Name, roots); err != nil {
		return nil, err
	}
	roots[root] = state
	return &target{path: root, state: state, force: true, fresh: !known}, nil
}

// planPiped plans to store a piped document. Without its content, as in a sync, it stays as it is.
func (r *run) planPiped(t *target, known map[string]fileState) *plan {
	if t.piped == nil {
		for _, state := range known {
			r.done.Unchanged += state.Documents
		}
		return nil
	}
	f := formatOfContent(t.piped.Title, t.piped.Content)
	t.state.Source = cmp.Or(t.state.As, f.source, "file")
	size := int64(len(t.piped.Content))
	print := printOf(size, hashOf(t.piped.Content))
	file := foundFile{path: t.path, format: f, info: statedInfo{size: size, moment: r.now(), print: print},
		remote: &remoteFile{id: shownPath(t.path), title: t.piped.Title, fetch: func(context.Context) (fetched, error) {
			return fetched{data: t.piped.Content, format: f, updated: r.now(), print: print}, nil
		}},
	}
	p := &plan{target: t, complete: true}
	p.compare([]foundFile{file}, known)
	return p
}

// readRemote reads a document that is no file.
func (r *fileReader) readRemote(t *task) part {
	last := part{last: true}
	got, err := t.file.remote.fetch(r.ctx)
	last.bytes, last.OwnDates, last.Web = int64(len(got.data)), true, got.web
	last.Print = cmp.Or(got.print, printOf(last.bytes, got.stamp))
	refused, isRefused := errors.AsType[*web.RefusedError](err)
	switch {
	case errors.Is(err, errNotFetched):
		size, _, _ := strings.Cut(t.known.Print, ".")
		last.same, last.Print, last.Reason = true, size+"."+got.stamp, t.known.Reason
		return last
	case isRefused:
		last.Reason = refused.Error()
		return last
	}
	guard.Check(err)
	defaults := t.target.defaults(t.file)
	defaults.ID, defaults.Link, defaults.Path, defaults.Type = t.file.remote.id, got.link, got.place, got.format.name
	defaults.Title, defaults.UpdatedAt = cmp.Or(t.file.remote.title, defaults.Title), got.updated
	return r.readData(t, got.format, got.data, defaults, last, func(last *part) {
		doc := &last.documents[0]
		if doc.Positions = nil; t.file.remote.title != "" {
			doc.Title, doc.Untitled = t.file.remote.title, false
		}
		got.complete(doc)
	})
}

// formatOfContent returns the format of a document by its content, or by the extension of its name.
func formatOfContent(name string, data []byte) format {
	if f, reason := formatOf(name); reason == "" && path.Ext(name) != "" && !f.several() {
		return f
	}
	kind := ".md"
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(data, markUTF8))
	switch {
	case bytes.HasPrefix(data, pdfStart):
		kind = ".pdf"
	case strings.HasPrefix(http.DetectContentType(trimmed), "text/html"):
		kind = ".html"
	case bytes.HasPrefix(trimmed, []byte("BEGIN:VCALENDAR")):
		kind = ".ics"
	case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed):
		if kind = ".json"; bytes.Contains(trimmed, []byte(`"nbformat"`)) {
			kind = ".ipynb"
		}
	case isMessage(data):
		kind = ".eml"
	}
	f, _ := formatOf(kind)
	return f
}

// isMessage reports whether data begins with the header of a mail message.
func isMessage(data []byte) bool {
	message, err := mail.ReadMessage(bytes.NewReader(data[:min(len(data), 64<<10)]))
	return err == nil && message.Header.Get("From") != "" &&
		cmp.Or(message.Header.Get("Date"), message.Header.Get("Message-Id"), message.Header.Get("Subject")) != ""
}
