package ingest

import (
	"cmp"
	"context"
	"errors"
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
	"quarry/server/ingest/web"
)

// run reads targets into an index.
type run struct {
	*batcher
	gone  map[string]bool // ids that were removed by hand
	local Local
	now   func() time.Time

	web          *web.Client            // nil: not needed yet
	repositories map[string]*repository // by folder
}

// inRun calls do with a run, and reports the result. It returns what was done until then or until the error that the
// run was aborted with.
func inRun(l libraryIndex, options Options, report Report, do func(r *run)) (done wire.LibraryEvent, err error) {
	err = guard.Ended(func() {
		guard.Check(options.check())
		if options.DryRun {
			stored := l.openSnapshot()
			defer stored.Close()
			l.idx = &dryIndex{l.idx, stored, map[string]string{}, map[string]*wire.LibraryEvent{}}
		}
		r := newRun(l, options, report)
		defer func() { done = r.done }()
		do(r)
		if r.dry == nil {
			_ = CompleteHashes(r.ctx, r.idx) // all documents are stored; the next run tries it again
		}
		r.report(r.done)
	})
	return done, err
}

// newRun loads the roots and what was removed by hand.
func newRun(l libraryIndex, options Options, report Report) *run {
	batcher := newBatcher(l, l.loadRoots(), report)
	batcher.most, batcher.readers = cmp.Or(options.batch, batcher.most), options.Readers
	for root, state := range batcher.roots {
		if state.unnamed && !state.damaged {
			batcher.cursor(rootPrefix+root, encode(state))
		}
	}
	r := &run{batcher: batcher, local: options.Local, now: options.Now, repositories: map[string]*repository{},
		gone: load(l, gonePrefix, "", "the removed documents", func(string) bool { return true })}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// plan lists what to do for one target.
type plan struct {
	target    *target
	files     []*task
	removed   []string // files whose documents are deleted
	untracked []string // files of which only the state is deleted
	unread    []foundFile
	leftOut   wire.LeftOut
	complete  bool // the whole root was listed
}

// sync reads targets.
func (r *run) sync(targets []*target) {
	r.refill(nil) // before files are reported as skipped for documents that are free now
	var plans []*plan
	for _, t := range targets {
		p := r.plan(t)
		if t.folder != nil {
			defer t.folder.Close()
		}
		if p != nil {
			plans = append(plans, p)
		}
	}
	r.applyAll(plans, true)
	r.flush()
	r.reportHistories()
	if r.dry != nil {
		r.dry.report(r.report)
	}
}

// applyAll reads and writes what plans require. With refill, documents that a plan deletes are stored from other files
// before the next plan, so that they stay with their root.
func (r *run) applyAll(plans []*plan, refill bool) {
	var unread []*task
	for _, p := range plans {
		r.durable.Total += len(p.files)
		for _, t := range p.files {
			if t.parts != nil {
				r.durable.TotalBytes += t.file.info.Size()
				unread = append(unread, t)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	tasks := r.startReaders(ctx, unread, cancel)
	defer tasks.Wait()
	defer cancel(nil)
	for _, p := range plans {
		r.apply(p)
		if r.flush(); refill {
			r.refill(p.target)
		}
	}
}

// plan lists a target and compares it with its state. It returns nil for a root that does not exist.
func (r *run) plan(t *target) *plan {
	if !isRemote(t.path) {
		t.start = (&walker{root: t.path}).widened(t.start)
	}
	t.library = r.libraryIndex
	known := r.known(t)
	switch {
	case strings.HasPrefix(t.path, pipedPrefix):
		return r.planPiped(t, known)
	case isRemote(t.path):
		return r.planSite(t, known)
	}
	p := &plan{target: t, complete: t.start == ""}
	if reason, gone := t.missing(); reason != "" {
		if !gone {
			r.unreadable(t, reason)
			return nil
		}
		r.skip(t.path, reason)
		p.markRemoved(known)
		return p
	}
	w := &walker{root: t.path, own: r.local.Own, roots: r.roots, include: t.state.Include,
		repository: r.repositoryOf, clones: map[string]string{}}
	if t.start != "" {
		maps.Copy(w.clones, t.state.Clones) // in other folders than those that are walked
	}
	err := w.walk(r.ctx, t.start)
	if err == nil {
		err = t.prepare(w)
	}
	guard.Check(r.ctx.Err())
	switch {
	case t.start != "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnreachable)):
		p.markRemoved(known) // as in a walk of the whole root
		return p
	case err != nil:
		r.unreadable(t, reasonOf(err))
		return nil
	}
	p.unread, p.leftOut = w.unread, w.leftOut
	p.compare(w.files, known)
	return p
}

// prepare opens the root's folder and stores what the walk found.
func (t *target) prepare(w *walker) error {
	t.state.Source, t.state.Problem = cmp.Or(t.state.As, w.source, "file"), ""
	t.state.Clones = w.clones
	info, err := os.Stat(filepath.FromSlash(t.path))
	if err == nil {
		t.state.File = !info.IsDir()
		_, _, t.state.Device = statIdentity(info)
	}
	if err == nil && info.IsDir() {
		t.folder, err = os.OpenRoot(filepath.FromSlash(t.path))
	}
	return err
}

// known returns the state of a target's files, without those of inner roots.
func (r *run) known(t *target) map[string]fileState {
	start := t.path
	if t.start != "" {
		start = path.Join(t.path, t.start)
	}
	files := r.loadFiles(start)
	maps.DeleteFunc(files, func(file string, _ fileState) bool { return owner(r.roots, file) != t.path })
	return files
}

// compare sorts files into those to read, unchanged ones, and deleted ones.
func (p *plan) compare(files []foundFile, known map[string]fileState) {
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		seen[file.path] = true
		state, wasKnown := known[file.path]
		if p.target.again {
			state.Print, state.Hash = "", ""
		}
		t := &task{file: file, target: p.target, known: state}
		switch {
		case file.reason != "":
			if wasKnown && file.info != nil { // it had documents before
				p.removed = append(p.removed, file.path)
			}
		case !p.target.force && state.Flag == flagRemoved:
			continue
		case p.unchanged(file, state):
		default:
			t = newTask(file, p.target, state)
		}
		p.files = append(p.files, t)
	}
	rest := map[string]fileState{}
	p.target.vanished = map[string]vanished{}
	for path, state := range known {
		if seen[path] || slices.ContainsFunc(p.unread, func(f foundFile) bool { return within(f.path, path) }) {
			continue
		}
		rest[path] = state
		if state.Hash != "" && state.Documents == 1 && state.Flag == "" && state.Head == "" && !state.several(path) {
			p.target.vanished[state.Hash] = vanished{path, state}
		}
	}
	p.markRemoved(rest)
}

func (p *plan) unchanged(file foundFile, state fileState) bool {
	if state.Print != fingerprint(file.info) || state.Head != "" && file.repository.moved(state.Head) {
		return false
	}
	switch state.Flag {
	case flagIncomplete: // reading it would restore what was removed
		return !p.target.force
	case flagLeft:
		return !p.target.force && state.Config == p.target.config(file)
	}
	return state.Flag == "" && state.Config == p.target.config(file)
}

// markRemoved adds files that no longer exist, in a stable order.
func (p *plan) markRemoved(files map[string]fileState) {
	for path, state := range files {
		if state.Flag == "" && state.Documents == 0 || state.Flag == flagRemoved {
			p.untracked = append(p.untracked, path)
		} else {
			p.removed = append(p.removed, path)
		}
	}
	slices.Sort(p.removed)
	slices.Sort(p.untracked)
}

// apply writes what a plan requires.
func (r *run) apply(p *plan) {
	t := p.target
	t.isOwn = ownsBelow(outermost(r.roots, t.path))
	r.setOwner(t.owns())
	for _, inner := range t.replaces {
		r.cursor(rootPrefix+inner, "")
		r.cursor(refillKey, refillDue) // documents of others may belong to the root now
	}
	if !t.refill {
		// Stored with the first batch, so that an interrupted run can be continued or removed.
		r.cursor(rootPrefix+t.path, encode(t.state))
	}
	r.done.LeftOut.Add(p.leftOut)
	storedBefore := r.stored()
	for _, folder := range p.unread {
		r.skip(folder.path, folder.reason)
	}
	for _, file := range p.files {
		r.file(file)
	}
	for _, file := range p.removed {
		r.removeStale(file, nil)
		r.cursor(filePrefix+file, "")
	}
	for _, file := range p.untracked {
		r.cursor(filePrefix+file, "")
	}
	if t.fresh && t.state.File {
		r.flush() // shows whether the document belongs to others
	}
	switch {
	case t.fresh && t.state.File && r.stored() == storedBefore:
		// A named file without documents is not kept as a root: every sync would report it.
		for _, t := range p.files {
			r.cursor(filePrefix+t.file.path, "")
		}
		r.cursor(rootPrefix+t.path, "")
	case p.complete:
		t.state.Begun, t.state.SyncedAt = "", r.now().UTC().Format(time.RFC3339)
		t.state.Unopened, t.state.LeftOut = p.unopened(), p.leftOut
		r.cursor(rootPrefix+t.path, encode(t.state))
	}
	r.flushIfFull()
}

// unopened returns the files and folders that a plan skips without reading them.
func (p *plan) unopened() (u unopened) {
	for _, folder := range p.unread {
		u.add(folder)
	}
	for _, t := range p.files {
		if t.file.reason != "" && !wire.IsLeftOut(t.file.reason) {
			u.add(t.file)
		}
	}
	return u
}

// file writes what a file contains.
func (r *run) file(t *task) {
	path := t.file.path
	switch {
	case t.file.reason != "":
		r.skip(path, t.file.reason)
		r.fileDone(path, 0, false)
	case t.parts != nil:
		t.lines = map[string]int{}
		for !t.done {
			r.part(t)
		}
	default:
		r.unchanged(t)
		r.fileDone(path, 0, t.known.Documents > 0)
	}
}

// part writes the next part of a file when it is read.
func (r *run) part(t *task) {
	path := t.file.path
	var p *part
	select {
	case p = <-t.parts:
	case <-t.ahead.ctx.Done():
	}
	if p == nil { // a reader panicked, or the run ended
		guard.Abort(cmp.Or(r.ctx.Err(), context.Cause(t.ahead.ctx), context.Canceled))
	}
	t.ahead.add(-p.size())
	r.skipLines(path, p.skipped)
	if len(p.documents) > 0 && len(t.lines) == 0 && (!p.last || t.file.format.several()) {
		// With the first of its documents, as the batch may be full before the last.
		r.cursor(filePrefix+path, encode(fileState{Flag: flagPartial, Documents: 1, Kind: t.file.format.kind()}))
	}
	if !t.file.format.several() && p.last && len(p.documents) > 0 {
		// The document of an ordinary file and its fingerprint are stored together.
		t.finish(*p)
	}
	r.documents(t, *p)
	if !p.last {
		r.addBytes(path, p.bytes)
		return
	}
	if p.Encoding != "" && !r.quiet {
		r.report(wire.LibraryEvent{Type: wire.LibraryAssumed, Path: path, Encoding: p.Encoding})
	}
	if p.Kind != "" && !r.quiet {
		r.report(wire.LibraryEvent{Type: wire.LibraryTaken, Path: path, Kind: p.Kind})
	}
	r.finish(t, *p)
	t.counted = len(t.lines) > 0 || (p.same || p.unknown) && t.known.Documents > 0
	t.done = true
	r.fileDone(path, p.bytes, t.counted)
	if r.states[filePrefix+path] != t { // its last batch is stored
		t.releaseIfDone()
	}
}

// documents writes the documents of a part, except those that were removed by hand.
func (r *run) documents(t *task, p part) {
	for i, doc := range p.documents {
		switch gone := r.gone[doc.ID]; {
		case gone && !t.target.force:
			t.omitted = true
			r.cursor(gonePrefix+doc.ID, goneByHand)
			continue
		case gone:
			delete(r.gone, doc.ID)
			r.cursor(gonePrefix+doc.ID, "")
			r.cursor(refillKey, refillDue) // for other files that have it
		}
		t.lines[doc.ID] = 0
		if t.file.format.several() {
			t.lines[doc.ID] = p.numbers[i]
		}
		r.upsert(doc, t)
	}
}

// finish stores the state of a file after its last part.
func (r *run) finish(t *task, last part) {
	path := t.file.path
	if last.same {
		r.unchanged(t)
		state := t.known
		state.Print, state.Web = last.Print, cmp.Or(last.Web, state.Web)
		r.cursor(filePrefix+path, encode(state))
		return
	}
	r.leaveOut(path, last.LeftOut)
	r.done.LeftOut.Add(last.leftOut())
	if last.Reason != "" {
		r.skip(path, last.Reason)
	}
	if last.unknown || t.read && !t.omitted { // it is stored with its document
		return
	}
	if t.file.format.several() || t.known.several(path) || len(t.lines) == 0 && t.known.Documents > 0 {
		r.removeStale(path, t.lines)
	}
	t.finish(last)
	r.state(t)
	r.skipUnstored(t)
}

// removeStale deletes the stored documents of a file except those to keep.
func (r *run) removeStale(file string, kept map[string]int) {
	for {
		stale := slices.DeleteFunc(r.storedIDs(index.Selector{Origin: originOf(file)}),
			func(id string) bool { _, isKept := kept[id]; return isKept })
		if len(stale) == 0 {
			return
		}
		// A document in it may have moved to another file, which the snapshot does not show.
		if len(r.batch.Upsert) > 0 {
			r.flush()
			continue
		}
		for _, id := range stale {
			r.remove(id)
		}
		return
	}
}
