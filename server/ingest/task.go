package ingest

import (
	"context"
	"slices"

	"quarry/server/index"
)

// task is a file of a target. A reader sends its contents in parts, in the order in which they are written.
type task struct {
	file   foundFile
	target *target
	known  fileState
	parts  chan part // nil: the file is not read

	// Set by the writer.
	isOwn    func(origin string) bool // reports whether a document belongs to the file's root
	lines    map[string]int           // of the stored documents by id; 0 in a file of one document
	read     bool                     // to its end: base is final
	base     fileState                // without what depends on lines and owned
	owned    badLines                 // whose documents belong to others
	omitted  bool                     // documents removed by hand were left out
	counted  bool                     // as a file with documents
	reported bool                     // as a file without documents
}

func newTask(file foundFile, t *target, known fileState) *task {
	return &task{file: file, target: t, known: known, parts: make(chan part, 2)}
}

// part is a part of a file's contents.
type part struct {
	documents []index.Document
	numbers   []int // of their lines; nil: the whole file
	bytes     int64
	skipped   []string // reasons for lines
	last      bool

	// In the last part.
	fileState
	same    bool // its content did not change
	unknown bool // it cannot be read now: its documents stay
}

// send sends a part; it returns false if ctx ended.
func (t *task) send(ctx context.Context, p part) bool {
	select {
	case t.parts <- p:
		return true
	case <-ctx.Done():
		return false
	}
}

// comparable reports whether the same content would give the stored documents: it was read with the same options, and
// they are not dated by a time that the file no longer has.
func (t *task) comparable() bool {
	return t.known.Hash != "" && t.known.Flag == "" && !t.target.refill && t.known.Config == t.target.config(t.file) &&
		(t.known.OwnDates || sameTime(t.known.Print, t.file.info))
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
	if t.file.format.lines {
		reasons := slices.Concat(state.Lines.Reasons, t.owned.Reasons)
		state.Lines = badLines{state.Lines.Count + t.owned.Count, reasons[:min(len(reasons), mostRemembered)]}
	}
	if t.omitted {
		state.Flag = flagLeft
	}
	if state.Documents == 0 && state.Reason == "" && state.Foreign > 0 {
		state.Reason = t.owned.Reasons[0]
	}
	return state
}
