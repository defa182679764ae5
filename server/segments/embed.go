package segments

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

const (
	// embedBytes bounds the text that is read to find some without a vector.
	embedBytes = 8 << 20
	// searchedAfter the first moment of a pass, what was made for a segment is searched: its file is written again, and
	// from then on each time that searchedShare of the time was enough for it, which reads the segment's texts.
	searchedAfter = 2 * time.Second
	searchedShare = 30
)

// Embed implements index.Index. One segment after the other is completed; the ones that are merged away meanwhile cost
// nothing, as what was embedded is found by its text.
func (x *Index) Embed(ctx context.Context, pass index.Embedding) (err error) {
	defer guard.EndWhile("embed", &err)
	if x.ReadOnly() {
		return fault.ErrReadOnly
	}
	guard.Check(x.embeds.Acquire(ctx, 1))
	defer x.embeds.Release(1)
	if pass.Report == nil {
		pass.Report = func(index.Embedded) {}
	}
	e := &embedding{ctx: ctx, x: x, Embedding: pass, tried: make(map[string]bool), opened: make(map[string]bool),
		refused: make(map[string]int), seen: make(map[vector.Key]bool)}
	e.embedder = documents.Embedder{Pass: pass, In: x.vectorStore, Renewed: e.renewed}
	e.run()
	return nil
}

func (e *embedding) run() {
	store := e.x.vectorStore
	current := documents.CurrentModel(store.Newest(e.ctx))
	if current.Name != "" && current.Name != e.Model { // without vectors by it, that waits for the first
		guard.Check(store.Change(e.ctx, func(tx *sqldb.Tx) { documents.UseModel(tx, e.Model) }))
	}
	e.known = len(documents.RefusedTexts(store.Newest(e.ctx), e.Model))
	for repairs, done := 0, false; !done; {
		err := guard.Ended(func() { done = e.step() })
		if suspects := damageOf(err); suspects != nil && repairs < openRepairs {
			repairs++
			err = e.x.repair(e.ctx, suspects)
		}
		if !errors.Is(err, documents.ErrOvertaken) {
			guard.Check(err)
		}
	}
}

// step embeds the opened documents of one segment, or completes one, unless documents are opened meanwhile, or ends the
// pass.
func (e *embedding) step() (done bool) {
	e.waiting = append(e.waiting, e.Fresh(e.opened)...)
	name, order, opened := e.next()
	switch {
	case opened:
		e.fill(name, order, false)
		return false
	case name != "":
		e.refused[name], e.tried[name] = 0, false
		e.fill(name, order, true)
		e.tried[name] = len(e.waiting) == 0
		return false
	case len(e.tried) > 0:
		e.x.dropUnusedVectors(e.ctx, e.Model)
	}
	e.forgetRefused()
	return true
}

// embedding is one pass over all segments. What it does aborts it with an error, see guard.Abort.
type embedding struct {
	ctx context.Context
	x   *Index
	index.Embedding
	embedder documents.Embedder
	waiting  []string        // documents that were opened and not looked at since
	opened   map[string]bool // those that were waiting
	tried    map[string]bool // segments, and whether they were completed
	progress index.Embedded

	known   int                 // texts that the model refused before
	refused map[string]int      // chunks that the model refuses, by segment
	seen    map[vector.Key]bool // texts of them
}

// next finds a segment with chunks that have no vector, "" if there is none, and those of its documents that wait or,
// if none is opened, all of them. It also updates the progress.
func (e *embedding) next() (name string, order []int, opened bool) {
	guard.Check(e.ctx.Err())
	seen := e.x.openView(e.ctx)
	defer seen.close()
	e.progress = index.Embedded{}
	counted := 0
	var found *part
	for _, p := range slices.Backward(seen.state.parts) { // what was added last comes first
		chunks, have := p.liveChunks(), 0
		if p.vectors != nil && p.vectors.model == e.Model {
			_ = damageIn(func() { have = p.liveVectors() })
		}
		e.progress.Done, e.progress.Total = e.progress.Done+have, e.progress.Total+chunks
		counted += e.refused[p.name]
		if have >= chunks || e.tried[p.name] || opened {
			continue
		}
		order = e.ofWaiting(p)
		if opened = len(order) > 0; opened || found == nil {
			found = p
		}
	}
	if e.progress.Refused = counted; found != nil {
		e.progress.Refused = max(counted, e.known)
	}
	e.Report(e.progress)
	if !opened {
		e.waiting = nil // gone, or complete
	}
	if found == nil {
		return "", nil, false
	}
	if !opened {
		order = found.newestFirst()
	}
	return found.name, order, opened
}

// ofWaiting returns the ordinals of the documents of a segment that wait, which no longer do.
func (e *embedding) ofWaiting(p *part) (opened []int) {
	p.protect(func() {
		e.waiting = slices.DeleteFunc(e.waiting, func(id string) bool {
			ordinal, ok := p.segment.reader.Lookup(id)
			if ok = ok && !p.isDeleted(ordinal); ok {
				opened = append(opened, ordinal)
			}
			return ok
		})
	})
	return opened
}

// liveChunks counts the chunks of documents that are not deleted.
func (p *part) liveChunks() (n int) {
	p.protect(func() {
		for _, ordinal := range p.liveOrdinals() {
			from, to := p.segment.reader.DocumentChunks(ordinal)
			n += to - from
		}
	})
	return n
}

// newestFirst returns the live ordinals, of the documents that were updated last first.
func (p *part) newestFirst() []int {
	order := p.liveOrdinals()
	p.protect(func() {
		updated := p.segment.reader.Updated
		slices.SortStableFunc(order, func(a, b int) int { return updated(b).Compare(updated(a)) })
	})
	return order
}

// fill embeds the texts of documents of a segment that have no vector, with yields until others wait. It writes the
// segment's vectors at the end, on failure, and from time to time.
func (e *embedding) fill(name string, order []int, yields bool) {
	fresh, written := 0, 0
	due := time.Now().Add(searchedAfter)
	for at := 0; at >= 0; {
		found := e.gather(name, order, at)
		vectors, err := e.embedder.Vectorise(e.ctx, found.texts)
		if err != nil {
			// Vectors stored before the failure are searched. A program that ends does not wait for that.
			if fresh > written && e.ctx.Err() == nil {
				e.x.restoreVectors(context.WithoutCancel(e.ctx), name)
			}
			guard.Abort(err)
		}
		settled, without := found.count(vectors)
		fresh += settled
		e.progress.Done += settled
		e.refused[name] += without
		e.progress.Refused = max(e.progress.Refused, e.refused[name])
		maps.Copy(e.seen, found.refused)
		e.Report(e.progress)
		at = found.next
		if began := time.Now(); at >= 0 && fresh > written && began.After(due) {
			guard.Check(e.x.refreshVectors(e.ctx, name))
			written, due = fresh, time.Now().Add(max(searchedAfter, searchedShare*time.Since(began)))
			if yields {
				if e.waiting = e.Fresh(e.opened); len(e.waiting) > 0 {
					return
				}
			}
		}
	}
	if fresh > written {
		guard.Check(e.x.refreshVectors(e.ctx, name))
	}
}

// gathered are texts of a segment that have no vector.
type gathered struct {
	texts   []string
	lacking map[vector.Key]int  // chunks that have no vector in the segment's file, by their text
	refused map[vector.Key]bool // texts that the model refuses
	next    int                 // the place of the next document in the order; −1 at the end

	has   []bool // by chunk: whether it has a vector in the file; nil: none has
	bytes int
}

// gather looks through the documents of a segment in an order, from a place on, for some texts that have no vector.
func (e *embedding) gather(name string, order []int, from int) *gathered {
	seen := e.x.openView(e.ctx)
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		guard.Abort(documents.ErrOvertaken)
	}
	g := &gathered{next: from, lacking: make(map[vector.Key]int),
		refused: documents.RefusedTexts(e.x.vectorStore.Newest(e.ctx), e.Model), has: p.vectored(e.Model)}
	p.protect(func() {
		var some []int
		for ; g.next < len(order) && len(some) < e.embedder.AtOnce(); g.next++ {
			ordinal := order[g.next]
			first, end := p.segment.reader.DocumentChunks(ordinal)
			if !p.isDeleted(ordinal) && !complete(g.has, first, end) {
				some = append(some, ordinal)
			}
		}
		for ordinal, d := range seen.each(p, some) {
			if len(g.texts) >= e.embedder.AtOnce() || g.bytes >= embedBytes {
				g.next = from + slices.Index(order[from:], ordinal)
				break
			}
			first, _ := p.segment.reader.DocumentChunks(ordinal)
			g.addTexts(first, d)
		}
	})
	if g.next == len(order) {
		g.next = -1
	}
	return g
}

// addTexts adds the texts of a document that have no vector and that the model does not refuse, each once.
func (g *gathered) addTexts(first int, d *index.Document) {
	for i := range d.Chunks {
		if d.Chunks[i].Damaged || g.has != nil && g.has[first+i] {
			continue
		}
		text := documents.EmbeddedText(d, i)
		key := documents.KeyOf(text)
		g.bytes += len(text)
		if g.lacking[key]++; g.lacking[key] == 1 && !g.refused[key] {
			g.texts = append(g.texts, text)
		}
	}
}

// count returns how many chunks got one of the vectors of the texts, and how many stay without one.
func (g *gathered) count(vectors [][]float32) (settled, without int) {
	for i, values := range vectors {
		if values == nil {
			g.refused[documents.KeyOf(g.texts[i])] = true
		}
	}
	for key, chunks := range g.lacking {
		if g.refused[key] {
			without += chunks
		} else {
			settled += chunks
		}
	}
	for key := range g.refused { // those of other documents are not looked at here
		if g.lacking[key] == 0 {
			delete(g.refused, key)
		}
	}
	return settled, without
}

// vectored returns which chunks of a part have a vector by a model; nil if none has.
func (p *part) vectored(model string) (has []bool) {
	if p.vectors == nil || p.vectors.model != model || p.vectors.file == nil {
		return nil
	}
	file := p.vectors.file.reader
	if segment.Protect(file.Name, func() {
		has = make([]bool, p.segment.reader.Chunks())
		for _, chunk := range file.Chunks() {
			has[chunk] = true
		}
	}) != nil {
		return nil // the file is written again at the end
	}
	return has
}

// complete reports whether all chunks in a range have a vector.
func complete(has []bool, from, to int) bool {
	return from == to || has != nil && !slices.Contains(has[from:to], false)
}

// renewed begins again with the segments, whose files have vectors of another length.
func (e *embedding) renewed(tx *sqldb.Tx) {
	e.tried = make(map[string]bool)
	if e.x.source == nil {
		bumpManifest(tx)
	}
}
