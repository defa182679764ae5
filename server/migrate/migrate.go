// Package migrate copies the documents of one index to another, of any engine. A copy that was interrupted continues
// where it stopped, and ends when a whole pass finds nothing to change, so that it is also right when the first index
// changes meanwhile. Then it searches both for sampled documents.
package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/postgres"
)

const (
	// stateKey is the cursor of the target with the state of the copy. Cursors with this prefix are not copied.
	stateKey    = statePrefix + "state"
	statePrefix = "migrate/"
	// batchDocuments are read and written at once.
	batchDocuments = 200
	batchCursors   = 2000
	// maxPasses bounds the copies of an index that changes all the time.
	maxPasses = 5
)

// Source is an index that can be copied.
type Source interface {
	index.Index
	index.Exporter
}

// Options of a copy.
type Options struct {
	// DryRun counts what a first pass would change, and stores nothing.
	DryRun bool
	// Embed makes the vectors of the target; nil: it gets none.
	Embed func(ctx context.Context, target index.Index) error

	batch int // replaces batchDocuments in tests; 0: does not
}

// state is what the target remembers of a copy.
type state struct {
	After   string `json:"after,omitempty"`   // the pass has copied up to this id
	Copied  int    `json:"copied,omitempty"`  // documents up to there
	Changed int    `json:"changed,omitempty"` // documents and cursors, in this pass
	Done    string `json:"done,omitempty"`    // version of the target at the end of the copy
}

// Report is called with the number of documents that were compared in a pass and the number there are.
type Report func(done, total int)

// Result is what a copy did.
type Result struct {
	Documents, Chunks int // of the target
	Written           index.Written
	Resumed           bool // an interrupted copy was continued
	Passes            int
	Compared          Comparison
}

// Documents copies all documents and cursors from one index to another, and removes from it what the first does not
// have.
func Documents(ctx context.Context, from Source, to index.Index, options Options, report Report) (Result, error) {
	c := &copying{ctx: ctx, from: from, to: to, options: options, report: report}
	err := guard.Ended(func() {
		c.begin()
		for c.result.Passes < maxPasses {
			version, err := from.Version(ctx)
			guard.While("read the state of the library", err)
			if changed := c.pass(); options.DryRun || changed == 0 && c.finish(version) {
				return
			}
		}
		guard.Abort(fault.ErrChanging)
	})
	return c.result, err
}

// copying is a copy at work. Its methods abort it with their error, see guard.Abort.
type copying struct {
	ctx     context.Context
	from    Source
	to      index.Index
	options Options
	report  Report
	state   state
	samples []sample
	result  Result
}

// begin reads how far an earlier copy came. A target that others write to is refused.
func (c *copying) begin() {
	stored, storedErr := c.to.Cursors(c.ctx, stateKey)
	there, thereErr := statsOf(c.ctx, c.to)
	now, err := c.to.Version(c.ctx)
	err = cmp.Or(storedErr, thereErr, err)
	text := stored[stateKey]
	if text != "" && err == nil {
		err = wire.Unmarshal([]byte(text), &c.state)
	}
	guard.While("read the state of the target", err)
	if text == "" && there.Documents > 0 || c.state.Done != "" && c.state.Done != now {
		guard.While("copy the documents", fault.ErrInUse)
	}
	if c.state.Done != "" {
		c.state = state{}
	}
	c.result.Resumed = c.state.After != ""
}

func statsOf(ctx context.Context, documents index.Index) (index.Stats, error) {
	snapshot, err := documents.Snapshot(ctx)
	if err != nil {
		return index.Stats{}, err
	}
	defer snapshot.Close()
	return snapshot.Stats(ctx)
}

// pass brings the target up to date, and returns how much differed.
func (c *copying) pass() (changed int) {
	c.result.Passes++
	c.samples = nil
	here, err := statsOf(c.ctx, c.from)
	guard.While("count the documents", err)
	for there := c.targetIDs(); c.step(there, here.Documents); {
		c.report(min(c.state.Copied, here.Documents), here.Documents)
	}
	c.copyCursors()
	changed = c.state.Changed
	if c.result.Resumed && c.result.Passes == 1 {
		changed++ // the next pass compares what was copied earlier
	}
	c.state = state{}
	return changed
}

// batch returns how many documents are read and written at once.
func (c *copying) batch() int { return cmp.Or(c.options.batch, batchDocuments) }

// step copies the next documents. there are the ids of all documents of the target.
func (c *copying) step(there []string, total int) (more bool) {
	documents, err := c.from.Export(c.ctx, c.state.After, c.batch())
	guard.While("read the documents", err)
	last := ""
	if more = len(documents) > 0; more {
		last = documents[len(documents)-1].ID
	}
	gone := missing(there, documents, c.state.After, last)
	for len(gone) > c.batch() {
		c.write(index.Batch{Delete: gone[:c.batch()]})
		gone = gone[c.batch():]
	}
	if more {
		c.sample(documents, total)
		c.state.After, c.state.Copied = last, c.state.Copied+len(documents)
	}
	c.write(index.Batch{Upsert: documents, Delete: gone})
	return more
}

// targetIDs returns the ids of all documents of the target, ascending.
func (c *copying) targetIDs() []string {
	const doing = "list the documents of the target"
	snapshot, err := c.to.Snapshot(c.ctx)
	guard.While(doing, err)
	defer snapshot.Close()
	ids, err := snapshot.DocumentIDs(c.ctx, index.Selector{All: true})
	guard.While(doing, err)
	slices.Sort(ids)
	return ids
}

// missing returns the ids of there that follow after, up to last, and are not among the documents. Without last: all
// that follow.
func missing(there []string, documents []index.Document, after, last string) (gone []string) {
	from, _ := slices.BinarySearch(there, after)
	for _, id := range there[from:] {
		if last != "" && id > last {
			break
		}
		_, found := slices.BinarySearchFunc(documents, id,
			func(d index.Document, id string) int { return strings.Compare(d.ID, id) })
		if id > after && !found {
			gone = append(gone, id)
		}
	}
	return gone
}

// write writes a batch together with the state of the copy.
func (c *copying) write(batch index.Batch) {
	batch.DryRun = c.options.DryRun
	if batch.Cursors == nil {
		batch.Cursors = map[string]string{}
	}
	encoded := guard.Must(json.Marshal(c.state))
	batch.Cursors[stateKey] = string(encoded)
	written, err := c.to.Write(c.ctx, batch)
	guard.While("write to the target", err)
	c.state.Changed += written.Added + written.Updated + written.Removed
	written.Unchanged = 0 // each pass finds what those before it have copied
	c.result.Written.Add(written)
}

// copyCursors brings the bookkeeping of the target up to date.
func (c *copying) copyCursors() {
	here, err := c.from.Cursors(c.ctx, "")
	guard.While("read the bookkeeping", err)
	there, err := c.to.Cursors(c.ctx, "")
	guard.While("read the bookkeeping of the target", err)
	changes := map[string]string{}
	for key, value := range here {
		if there[key] != value {
			changes[key] = value
		}
	}
	for key := range there {
		if _, kept := here[key]; !kept {
			changes[key] = "" // which removes it
		}
	}
	maps.DeleteFunc(changes, func(key, _ string) bool {
		return strings.HasPrefix(key, statePrefix) || key == ingest.HashesKey // which says what else is stored
	})
	c.state.Changed += len(changes)
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(changes)), batchCursors) {
		batch := index.Batch{Cursors: map[string]string{}}
		for _, key := range keys {
			batch.Cursors[key] = changes[key]
		}
		c.write(batch)
	}
}

// finish makes vectors, compares both indexes, and marks the copy as complete. version is that of the source which was
// copied; finish returns false if the source has changed since.
func (c *copying) finish(version string) bool {
	c.settle()
	if c.options.Embed != nil {
		guard.While("make the vectors", c.options.Embed(c.ctx, c.to))
		c.settle()
	}
	if !c.compare(version) {
		return false
	}
	version, err := c.to.Version(c.ctx)
	guard.While("read the state of the target", err)
	c.state = state{Done: version}
	c.write(index.Batch{})
	return true
}

// settle waits until searches of the target find all that was copied.
func (c *copying) settle() {
	if follower, ok := c.to.(index.Follower); ok {
		guard.While("wait for the index of the target", follower.Settle(c.ctx, nil))
	}
}

// begun is the state of a part while it is copied.
const begun = "begun"

// Replace replaces a part of a library that is copied as a whole, such as the conversations of a tenant, and returns
// the number of rows. fault.ErrInUse: others have changed it in the target since the last copy, which the documents of
// the target remember by name.
func Replace(ctx context.Context, documents index.Index, name string, to, from postgres.Copied) (rows int, err error) {
	key := statePrefix + name
	stored, err := documents.Cursors(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("read the state of the target: %w", err)
	}
	now, err := to.Changes(ctx)
	if err != nil {
		return 0, err
	}
	if last := stored[key]; last == "" && now > 0 || last != "" && last != begun && last != strconv.FormatInt(now, 10) {
		return 0, fmt.Errorf("copy the %s: %w", name, fault.ErrInUse)
	}
	remember := func(value string) error {
		if _, err := documents.Write(ctx, index.Batch{Cursors: map[string]string{key: value}}); err != nil {
			return fmt.Errorf("write to the target: %w", err)
		}
		return nil
	}
	if err = remember(begun); err == nil {
		rows, err = to.Replace(ctx, from)
	}
	if err == nil {
		now, err = to.Changes(ctx)
	}
	if err == nil {
		err = remember(strconv.FormatInt(now, 10))
	}
	return rows, err
}

// Check returns fault.ErrInUse if others have changed the documents of a target.
func Check(ctx context.Context, documents index.Index) error {
	c := &copying{ctx: ctx, to: documents}
	return guard.Ended(c.begin)
}

// WithVectors returns the target with an Embed that takes the vectors which the source has stored, so that the model is
// asked only for the others.
func WithVectors(from Source, to index.Index) index.Index { return embedding{to, from} }

type embedding struct {
	index.Index
	from Source
}

// Embed implements index.Index.
func (e embedding) Embed(ctx context.Context, pass index.Embedding) error {
	pass.Vectors = pass.Vectors.Unless(func(ctx context.Context, texts []string) ([][]float32, error) {
		return e.from.Embeddings(ctx, pass.Model, texts)
	})
	return e.Index.Embed(ctx, pass)
}
