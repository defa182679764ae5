package ingest

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// A batch is written when it reaches one of these.
const (
	batchDocuments = 1_000
	batchBytes     = 8 << 20
	batchTime      = 250 * time.Millisecond
)

// batcher collects changes and writes them in batches. A file counts as done when all of it is written. An error ends
// the run, see inRun.
type batcher struct {
	libraryIndex
	report Report
	roots  map[string]rootState
	owns   func(origin string) bool // of every batch
	quiet  bool                     // skipped files were reported before
	dry    *dryIndex                // nil: batches are stored
	names  *Names                   // nil: not needed yet
	most   int                      // documents of a batch

	readers *Readers // nil: none

	batch   index.Batch
	upserts map[string]int     // ids in batch.Upsert
	tasks   map[string][]*task // the files of those documents
	states  map[string]*task   // files whose states are in the batch, by cursor
	deletes map[string]bool
	bytes   int
	started time.Time

	durable, pending wire.LibraryEvent // progress
	done             wire.LibraryEvent
	reported         time.Time
}

func newBatcher(l libraryIndex, roots map[string]rootState, report Report) *batcher {
	if report == nil {
		report = func(wire.LibraryEvent) {}
	}
	b := &batcher{libraryIndex: l, roots: roots, most: batchDocuments, report: func(event wire.LibraryEvent) {
		event.Path = shownPath(event.Path)
		report(event)
	}}
	b.dry, _ = l.idx.(*dryIndex)
	b.durable.Type, b.done.Type = wire.LibraryProgress, wire.LibraryDone
	b.reset()
	return b
}

func (b *batcher) reset() {
	b.batch, b.bytes = index.Batch{Cursors: map[string]string{}, Owns: b.owns}, 0
	b.upserts, b.deletes = map[string]int{}, map[string]bool{}
	b.tasks, b.states = map[string][]*task{}, map[string]*task{}
}

// setOwner sets whose documents the following batches may replace and delete.
func (b *batcher) setOwner(owns func(origin string) bool) {
	b.flush()
	b.owns, b.batch.Owns = owns, owns
}

func (b *batcher) empty() bool {
	return len(b.batch.Upsert) == 0 && len(b.batch.Delete) == 0 && len(b.batch.Cursors) == 0 && len(b.states) == 0
}

// startTimer starts the timer of a new batch.
func (b *batcher) startTimer() {
	if b.empty() && b.started.IsZero() {
		b.started = time.Now()
	}
}

// upsert stores a document of a file, and the file's state once it was read to its end.
func (b *batcher) upsert(doc index.Document, t *task) {
	if b.deletes[doc.ID] {
		b.flush()
	}
	b.startTimer()
	if t.read {
		b.state(t)
	}
	b.tasks[doc.ID] = append(b.tasks[doc.ID], t)
	doc.Place = t.place(&doc)
	if at, again := b.upserts[doc.ID]; again {
		b.batch.Upsert[at] = doc
	} else {
		b.upserts[doc.ID] = len(b.batch.Upsert)
		b.batch.Upsert = append(b.batch.Upsert, doc)
	}
	b.bytes += documentBytes(&doc)
	b.flushIfFull()
}

func (b *batcher) remove(id string) {
	if _, stored := b.upserts[id]; stored {
		b.flush()
	}
	b.startTimer()
	if !b.deletes[id] {
		b.deletes[id] = true
		b.batch.Delete = append(b.batch.Delete, id)
	}
	b.flushIfFull()
}

// cursor sets an entry of the state; an empty value deletes it.
func (b *batcher) cursor(key, value string) {
	b.startTimer()
	delete(b.states, key)
	b.batch.Cursors[key] = value
}

// state stores the state of a file as of the time when the batch is written.
func (b *batcher) state(t *task) {
	b.startTimer()
	b.states[filePrefix+t.file.path] = t
}

func (b *batcher) flushIfFull() {
	if len(b.batch.Upsert)+len(b.batch.Delete) >= b.most || b.bytes >= batchBytes ||
		len(b.batch.Cursors)+len(b.states) >= 4*b.most || !b.started.IsZero() && time.Since(b.started) >= batchTime {
		b.flush()
	}
}

// fileDone counts a file as done with the next batch; stored reports whether it has documents in the library.
func (b *batcher) fileDone(path string, bytes int64, stored bool) {
	b.pending.Done++
	if stored {
		b.pending.Stored++
	}
	b.addBytes(path, bytes)
}

// addBytes counts bytes of a file whose documents are in the next batch or written already.
func (b *batcher) addBytes(path string, bytes int64) {
	b.pending.Bytes += bytes
	b.pending.Path = path
	if b.empty() {
		b.advance()
		return
	}
	b.flushIfFull()
}

// flush writes the batch. If that fails, nothing of it is stored or counted.
func (b *batcher) flush() {
	guard.Check(b.ctx.Err())
	if !b.empty() {
		addCounts(&b.done, b.write())
		for _, t := range b.states {
			t.releaseIfDone()
		}
		b.reset()
		b.reported = time.Time{}
	}
	b.started = time.Time{}
	b.advance()
}

func addCounts(to *wire.LibraryEvent, written index.Written) {
	to.Added += written.Added
	to.Updated += written.Updated
	to.Unchanged += written.Unchanged
	to.Removed += written.Removed
}

// write writes the batch without documents that belong to others.
func (b *batcher) write() index.Written {
	if len(b.batch.Delete) > 0 {
		b.batch.Cursors[refillKey] = refillDue
	}
	if b.names == nil {
		b.names = newNames(b.roots)
	}
	b.names.AddHashes(&b.batch)
	for {
		for key, t := range b.states {
			b.batch.Cursors[key] = encode(t.state())
		}
		var written index.Written
		var err error
		b.readers.apart(func() { written, err = b.idx.Write(b.ctx, b.batch) })
		before := len(b.batch.Upsert)
		if owned, isOwned := errors.AsType[*index.OwnedError](err); isOwned {
			b.batch.Upsert = slices.DeleteFunc(b.batch.Upsert, func(doc index.Document) bool {
				origin, others := owned.Origins[doc.ID]
				if others {
					for _, t := range b.tasks[doc.ID] {
						b.refuse(t, doc.ID, origin)
					}
				}
				return others
			})
		}
		if len(b.batch.Upsert) == before {
			guard.While("write to the library", err)
			return written
		}
	}
}

// refuse removes a document from the state of its file because it belongs to others.
func (b *batcher) refuse(t *task, id, origin string) {
	line, stored := t.lines[id]
	if !stored || t.target.isOwn(origin) { // stored by another file of the root
		return
	}
	delete(t.lines, id)
	byLine := t.file.format.several()
	reason := ownedReason(id, origin, byLine, b.roots)
	if !byLine {
		t.owned = badLines{Count: 1, Reasons: []string{reason}}
	} else {
		b.skipLines(t.file.path, t.owned.add(line, reason))
	}
	if t.counted && len(t.lines) == 0 {
		t.counted = false
		b.pending.Stored--
	}
	b.skipUnstored(t)
}

// skipUnstored reports a file whose documents all belong to others.
func (b *batcher) skipUnstored(t *task) {
	if t.read && !t.reported && len(t.lines) == 0 && t.owned.Count > 0 {
		t.reported = true
		b.skip(t.file.path, t.state().Reason)
	}
}

// advance adds the pending progress and reports it, at most every 100 ms for files that need no write.
func (b *batcher) advance() {
	const often = 100 * time.Millisecond
	if b.pending == (wire.LibraryEvent{}) {
		return
	}
	b.durable.Done += b.pending.Done
	b.durable.Stored += b.pending.Stored
	b.durable.Bytes += b.pending.Bytes
	b.durable.Path = b.pending.Path
	b.pending = wire.LibraryEvent{}
	if now := time.Now(); now.Sub(b.reported) >= often || b.durable.Done == b.durable.Total {
		b.reported = now
		b.report(b.durable)
	}
}

// stored returns the number of files with documents, including the next batch.
func (b *batcher) stored() int { return b.durable.Stored + b.pending.Stored }

// unchanged reports a file that is as it was, and counts its documents.
func (b *batcher) unchanged(t *task) {
	b.skipLines(t.file.path, t.known.Lines.listed())
	b.leaveOut(t.file.path, t.known.LeftOut)
	b.done.LeftOut.Add(t.known.leftOut())
	if t.known.Reason != "" {
		b.skip(t.file.path, t.known.Reason)
	}
	b.done.Unchanged += t.known.Documents
	if b.dry != nil && t.known.Documents > 0 {
		b.dry.unchanged(b.ctx, t.file)
	}
}

// skip reports a file that is not stored.
func (b *batcher) skip(path, reason string) {
	if !b.quiet && !wire.IsLeftOut(reason) {
		b.done.Skipped++
		if b.dry != nil {
			b.dry.of(typeOfSkipped(path)).Skipped++
		}
	}
	b.skipLines(path, []string{reason})
}

// skipLines reports lines of a file that are not stored.
func (b *batcher) skipLines(path string, reasons []string) {
	for _, reason := range reasons {
		if b.quiet {
			return
		}
		b.report(wire.LibraryEvent{Type: wire.LibrarySkipped, Path: path, Reason: reason})
	}
}

// leaveOut reports the parts of a file's documents that could not be read.
func (b *batcher) leaveOut(path string, parts badLines) {
	if b.quiet {
		return
	}
	b.done.LeftOut.Parts += parts.Count - parts.Secret
	for _, reason := range parts.listed() {
		b.report(wire.LibraryEvent{Type: wire.LibraryLeftOut, Path: path, Reason: reason})
	}
}

// task is a file of a target. A reader sends its contents in parts, in the order in which they are written.
type task struct {
	file   foundFile
	target *target
	known  fileState
	parts  chan *part // nil: the file is not read
	ahead  *backlog   // of the parts that were sent

	// Set by the writer.
	done     bool           // nothing of it follows
	lines    map[string]int // of the stored documents by id; 0 in a file of one document
	read     bool           // to its end: base is final
	base     fileState      // without what depends on lines and owned
	owned    badLines       // whose documents belong to others
	omitted  bool           // documents removed by hand were left out
	counted  bool           // as a file with documents
	reported bool           // as a file without documents
}

func newTask(file foundFile, t *target, known fileState) *task {
	return &task{file: file, target: t, known: known, parts: make(chan *part, 2)}
}

// releaseIfDone frees what is only needed until the file's last batch is stored: the plan keeps its tasks to the end.
func (t *task) releaseIfDone() {
	if t.done {
		t.lines, t.base, t.owned = nil, fileState{}, badLines{}
	}
}

// part is a part of a file's contents.
type part struct {
	documents []index.Document
	numbers   []int // of their lines; 0 in a container, nil for the whole file
	bytes     int64
	skipped   []string // reasons for lines
	last      bool

	// In the last part.
	fileState
	same    bool // its content did not change
	unknown bool // it cannot be read now: its documents stay
}

// send sends a part, unless the context of the backlog ended.
func (t *task) send(p part) {
	t.ahead.add(p.size())
	select {
	case t.parts <- &p:
	case <-t.ahead.ctx.Done():
	}
}

func (p *part) size() int {
	bytes := 0
	for i := range p.documents {
		bytes += documentBytes(&p.documents[i])
	}
	return bytes
}

// includes reports whether the task's file, or one in it, is read although it looks like a secret.
func (t *task) includes(inner string) bool {
	patterns := t.target.state.Include
	return len(patterns) > 0 &&
		(includes(patterns, cmp.Or(t.file.name, shownPath(t.file.path))) || inner != "" && includes(patterns, inner))
}

// comparable reports whether the same content would give the stored documents: it was read with the same options, and
// they are not dated by a time that the file no longer has.
func (t *task) comparable() bool {
	return t.known.Hash != "" && t.known.Flag == "" && t.known.Head == "" && !t.target.refill &&
		t.known.Config == t.target.config(t.file) && (t.known.OwnDates || sameTime(t.known.Print, t.file.info))
}

// datedByFile reports whether a document may be dated by its file's time.
func (t *task) datedByFile(doc *index.Document) bool {
	return doc.UpdatedAt.IsZero() || doc.UpdatedAt.Equal(t.file.info.ModTime())
}

// finish sets the state after the last part.
func (t *task) finish(last part) {
	t.read, t.base = true, last.fileState
	t.base.Config = t.target.config(t.file)
}

// state returns the state of the file as far as it was written.
func (t *task) state() fileState {
	state := t.base
	state.Documents, state.Foreign = len(t.lines), t.owned.Count
	if t.file.format.several() {
		reasons := slices.Concat(state.Lines.Reasons, t.owned.Reasons)
		state.Lines = badLines{state.Lines.Count + t.owned.Count, reasons[:min(len(reasons), mostRemembered)],
			state.Lines.Secret}
	}
	if t.omitted {
		state.Flag = flagLeft
	}
	if state.Documents == 0 && state.Reason == "" && state.Foreign > 0 {
		state.Reason = t.owned.Reasons[0]
	}
	return state
}
