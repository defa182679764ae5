package segments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
func (x *Index) Embed(ctx context.Context, pass index.Embedding) error {
	if x.ReadOnly() {
		return fmt.Errorf("embed: %w", fault.ErrReadOnly)
	}
	if err := x.embeds.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	defer x.embeds.Release(1)
	if pass.Report == nil {
		pass.Report = func(index.Embedded) {}
	}
	e := &embedding{x: x, Embedding: pass, tried: make(map[string]bool), opened: make(map[string]bool),
		refused: make(map[string]int), seen: make(map[vector.Key]bool)}
	e.embedder = documents.Embedder{Ask: pass.Vectors, Put: e.put}
	e.vectorise = x.vectorStore.Vectorise(pass.Model, &e.embedder)
	if err := e.run(ctx); err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	return nil
}

func (e *embedding) run(ctx context.Context) error {
	store := e.x.vectorStore
	current, err := documents.CurrentModel(ctx, store.DB.Pool())
	if err == nil && current.Name != "" && current.Name != e.Model { // without vectors by it, that waits for the first
		err = store.Change(ctx, func(tx *sqldb.Tx) { documents.UseModel(tx, e.Model) })
	}
	if err != nil {
		return err
	}
	before, err := documents.RefusedTexts(ctx, store.DB.Pool(), e.Model)
	if err != nil {
		return err
	}
	e.known = len(before)
	for repairs := 0; ; {
		done, err := e.step(ctx)
		if suspects := damageOf(err); suspects != nil && repairs < openRepairs {
			repairs++
			err = e.x.repair(ctx, suspects)
		}
		if err != nil && !errors.Is(err, documents.ErrOvertaken) || err == nil && done {
			return err
		}
	}
}

// step embeds the opened documents of one segment, or completes one, or ends the pass.
func (e *embedding) step(ctx context.Context) (done bool, err error) {
	e.waiting = append(e.waiting, e.Fresh(e.opened)...)
	name, opened, err := e.next(ctx)
	switch {
	case err != nil:
		return false, err
	case len(opened) > 0:
		return false, e.fill(ctx, name, opened, false)
	case name != "":
		return false, e.complete(ctx, name)
	case len(e.tried) > 0:
		if err := e.x.dropUnusedVectors(ctx, e.Model); err != nil {
			return true, err
		}
	}
	return true, e.forgetRefused(ctx)
}

// embedding is one pass over all segments.
type embedding struct {
	x *Index
	index.Embedding
	embedder  documents.Embedder
	vectorise index.Vectorise // asks the embedder for what is not stored
	waiting   []string        // documents that were opened and not looked at since
	opened    map[string]bool // those that were waiting
	tried     map[string]bool // segments that were completed
	progress  index.Embedded

	known   int                 // texts that the model refused before
	refused map[string]int      // chunks that the model refuses, by segment
	seen    map[vector.Key]bool // texts of them
}

// next finds a segment with chunks that have no vector, and those of its documents that wait; "" if there is none. It
// also updates the progress.
func (e *embedding) next(ctx context.Context) (name string, opened []int, err error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	seen, err := e.x.openView(ctx)
	if err != nil {
		return "", nil, err
	}
	defer seen.close()
	e.progress = index.Embedded{}
	counted := 0
	for _, p := range slices.Backward(seen.state.parts) { // what was added last comes first
		chunks, err := p.liveChunks()
		if err != nil {
			return "", nil, blame([]*part{p}, err)
		}
		have := 0
		if p.vectors != nil && p.vectors.model == e.Model {
			if have, err = p.liveVectors(); err != nil && !isDamage(err) {
				return "", nil, err
			}
		}
		e.progress.Done, e.progress.Total = e.progress.Done+have, e.progress.Total+chunks
		counted += e.refused[p.name]
		if have >= chunks || e.tried[p.name] || len(opened) > 0 {
			continue
		}
		if opened, err = e.ofWaiting(p); err != nil {
			return "", nil, err
		}
		if len(opened) > 0 || name == "" {
			name = p.name
		}
	}
	if e.progress.Refused = counted; name != "" {
		e.progress.Refused = max(counted, e.known)
	}
	e.Report(e.progress)
	if len(opened) == 0 {
		e.waiting = nil // gone, or complete
	}
	return name, opened, nil
}

// ofWaiting returns the ordinals of the documents of a segment that wait, which no longer do.
func (e *embedding) ofWaiting(p *part) (opened []int, err error) {
	err = segment.Protect(p.segment.reader.Name, func() error {
		e.waiting = slices.DeleteFunc(e.waiting, func(id string) bool {
			ordinal, ok := p.segment.reader.Lookup(id)
			if ok = ok && !p.isDeleted(ordinal); ok {
				opened = append(opened, ordinal)
			}
			return ok
		})
		return nil
	})
	return opened, blame([]*part{p}, err)
}

// liveChunks counts the chunks of documents that are not deleted.
func (p *part) liveChunks() (n int, err error) {
	err = segment.Protect(p.segment.reader.Name, func() error {
		for _, ordinal := range p.liveOrdinals() {
			from, to := p.segment.reader.DocumentChunks(ordinal)
			n += to - from
		}
		return nil
	})
	return n, err
}

// complete embeds the texts of a segment that have no vector, or some of them, if documents are opened meanwhile.
func (e *embedding) complete(ctx context.Context, name string) error {
	e.refused[name] = 0
	order, err := e.newestFirst(ctx, name)
	if err != nil {
		return err
	}
	err = e.fill(ctx, name, order, true)
	e.tried[name] = err == nil && len(e.waiting) == 0
	return err
}

// fill embeds the texts of documents of a segment that have no vector, with yields until others wait. It writes the
// segment's vectors at the end, on failure, and from time to time.
func (e *embedding) fill(ctx context.Context, name string, order []int, yields bool) error {
	fresh, written := 0, 0
	due := time.Now().Add(searchedAfter)
	for at := 0; at >= 0; {
		found, err := e.gather(ctx, name, order, at)
		if err != nil {
			return err
		}
		vectors, err := e.vectorise(ctx, found.texts)
		if err != nil {
			// Vectors stored before the failure are searched. A program that ends does not wait for that.
			if fresh > written && ctx.Err() == nil {
				e.x.restoreVectors(context.WithoutCancel(ctx), name)
			}
			return err
		}
		settled, without := found.count(vectors)
		fresh += settled
		e.progress.Done += settled
		e.refused[name] += without
		e.progress.Refused = max(e.progress.Refused, e.refused[name])
		for key := range found.refused {
			e.seen[key] = true
		}
		e.Report(e.progress)
		at = found.next
		if began := time.Now(); at >= 0 && fresh > written && began.After(due) {
			if err := e.x.refreshVectors(ctx, name); err != nil {
				return err
			}
			written, due = fresh, time.Now().Add(max(searchedAfter, searchedShare*time.Since(began)))
			if yields {
				if e.waiting = e.Fresh(e.opened); len(e.waiting) > 0 {
					return nil
				}
			}
		}
	}
	if fresh == written {
		return nil
	}
	return e.x.refreshVectors(ctx, name)
}

// gathered are texts of a segment that have no vector.
type gathered struct {
	texts   []string
	keys    []vector.Key
	lacking map[vector.Key]int  // chunks that have no vector in the segment's file, by their text
	refused map[vector.Key]bool // texts that the model refuses
	next    int                 // the place of the next document in the order; −1 at the end

	has   []bool // by chunk: whether it has a vector in the file; nil: none has
	batch map[vector.Key]bool
	bytes int
}

// newestFirst returns the live ordinals of a segment.
func (e *embedding) newestFirst(ctx context.Context, name string) (order []int, err error) {
	seen, err := e.x.openView(ctx)
	if err != nil {
		return nil, err
	}
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		return nil, documents.ErrOvertaken
	}
	order = p.liveOrdinals()
	err = segment.Protect(p.segment.reader.Name, func() error {
		updated := p.segment.reader.Updated
		slices.SortStableFunc(order, func(a, b int) int { return updated(b).Compare(updated(a)) })
		return nil
	})
	return order, blame([]*part{p}, err)
}

// errEnough ends the search for texts without a vector.
var errEnough = errors.New("enough texts")

// gather looks through the documents of a segment in an order, from a place on, for some texts that have no vector.
func (e *embedding) gather(ctx context.Context, name string, order []int, from int) (*gathered, error) {
	seen, err := e.x.openView(ctx)
	if err != nil {
		return nil, err
	}
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		return nil, documents.ErrOvertaken
	}
	g := &gathered{next: from, batch: make(map[vector.Key]bool), lacking: make(map[vector.Key]int)}
	if g.refused, err = documents.RefusedTexts(ctx, e.x.vectorStore.DB.Pool(), e.Model); err != nil {
		return nil, err
	}
	if g.has, err = p.vectored(e.Model); err != nil {
		return nil, err
	}
	err = segment.Protect(p.segment.reader.Name, func() error {
		var some []int
		for ; g.next < len(order) && len(some) < e.embedder.AtOnce(); g.next++ {
			ordinal := order[g.next]
			first, end := p.segment.reader.DocumentChunks(ordinal)
			if !p.isDeleted(ordinal) && !complete(g.has, first, end) {
				some = append(some, ordinal)
			}
		}
		return seen.each(ctx, p, some, func(ordinal int, d *index.Document) error {
			if len(g.texts) >= e.embedder.AtOnce() || g.bytes >= embedBytes {
				g.next = from + slices.Index(order[from:], ordinal)
				return errEnough
			}
			first, _ := p.segment.reader.DocumentChunks(ordinal)
			g.addTexts(first, d)
			return nil
		})
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if g.next == len(order) {
		g.next = -1
	}
	return g, blame([]*part{p}, err)
}

// addTexts adds the texts of a document that the model does not refuse, each once.
func (g *gathered) addTexts(first int, d *index.Document) {
	for i := range d.Chunks {
		if d.Chunks[i].Damaged {
			continue
		}
		text := documents.EmbeddedText(d, i)
		key := documents.KeyOf(text)
		g.bytes += len(text)
		if g.has == nil || !g.has[first+i] {
			g.lacking[key]++
		}
		if g.batch[key] || g.refused[key] {
			continue
		}
		g.batch[key] = true
		g.texts, g.keys = append(g.texts, text), append(g.keys, key)
	}
}

// count returns how many chunks got one of the vectors of the texts, and how many stay without one.
func (g *gathered) count(vectors [][]float32) (settled, without int) {
	for i, values := range vectors {
		if values == nil {
			g.refused[g.keys[i]] = true
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
func (p *part) vectored(model string) (has []bool, err error) {
	if p.vectors == nil || p.vectors.model != model || p.vectors.file == nil {
		return nil, nil
	}
	file := p.vectors.file.reader
	err = segment.Protect(file.Name, func() error {
		has = make([]bool, p.segment.reader.Chunks())
		for _, chunk := range file.Chunks() {
			has[chunk] = true
		}
		return nil
	})
	if isDamage(err) {
		return nil, nil // the file is written again at the end
	}
	return has, err
}

// complete reports whether all chunks in a range have a vector.
func complete(has []bool, from, to int) bool {
	return from == to || has != nil && !slices.Contains(has[from:to], false)
}

// put stores the vectors of some texts, and which of them the model refuses.
func (e *embedding) put(ctx context.Context, keys []vector.Key, values [][]float32, dimensions int) error {
	return e.x.vectorStore.Change(ctx, func(tx *sqldb.Tx) {
		if documents.PutVectors(tx, e.Model, keys, values, dimensions) {
			e.tried = make(map[string]bool)
			if e.x.source == nil {
				bumpManifest(tx)
			}
		}
	})
}
