package ingest

import (
	"path"
	"strings"

	"quarry/server/index"
)

// vanished is a file with a document that no longer exists. A new file with its content is a renamed one: it gets the
// stored document.
type vanished struct {
	path  string
	state fileState
}

// renamed returns the document of a vanished file with the content of the task's file, as the task's file would have
// it. A file of a repository is read instead, because its history goes by its name, and so is one whose title is its
// old name.
func (t *task) renamed(hash string) (doc index.Document, state fileState, ok bool) {
	from, found := t.target.vanished[hash]
	file := t.file
	if !found || file.remote != nil || file.repository.head() != "" || t.target.refill ||
		from.state.Config != t.target.config(file) || !strings.EqualFold(path.Ext(from.path), path.Ext(file.path)) ||
		!from.state.OwnDates && !sameTime(from.state.Print, file.info) {
		return doc, state, false
	}
	snapshot, err := t.target.library.idx.Snapshot(t.target.library.ctx)
	if err != nil {
		return doc, state, false
	}
	defer snapshot.Close()
	id := fileID(from.path)
	stored, err := snapshot.Documents(t.target.library.ctx, []string{id}, index.Everything())
	if err != nil || len(stored) != 1 || stored[0].Damaged || stored[0].Origin != originOf(from.path) {
		return doc, state, false
	}
	texts, err := snapshot.Texts(t.target.library.ctx, []index.Range{{DocumentID: id, To: stored[0].ChunkCount - 1}},
		index.Everything())
	if err != nil || len(texts[0]) != stored[0].ChunkCount {
		return doc, state, false
	}
	doc = stored[0].Document
	doc.Chunks = texts[0]
	now, oldLink := t.target.defaults(file), doc.Link
	if doc.Title == titleFromName(path.Base(from.path)) && doc.Title != now.Title {
		return doc, state, false
	}
	if oldLink == fileLink(from.path) {
		doc.Link = now.Link
	}
	doc.ID, doc.Path, doc.Origin = now.ID, now.Path, now.Origin
	for i := range doc.Chunks {
		chunk := &doc.Chunks[i]
		if rest, below := strings.CutPrefix(chunk.Link, oldLink); below && chunk.Link != "" {
			chunk.Link = doc.Link + rest
		}
		if chunk.Damaged {
			return doc, state, false
		}
	}
	return doc, from.state, true
}
