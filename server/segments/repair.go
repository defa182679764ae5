package segments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"github.com/RoaringBitmap/roaring/v2"
)

// rebuildBytes is the memory of a builder above which a rebuilt segment is closed and another one begun.
const rebuildBytes = 64 << 20

// repair replaces damaged files by new ones, made from the stored documents and vectors. It returns the cause when none
// of the suspects turns out to be damaged, and nil when another process has replaced them.
func (x *Index) repair(ctx context.Context, suspects *damagedError) error {
	if x.ReadOnly() {
		return fmt.Errorf("%w; open the library with write access to rebuild it: %w",
			suspects, fault.ErrReadOnly)
	}
	x.Log.Warn("the index is damaged and will be rebuilt from the stored documents", "cause", suspects)
	if suspects.vectors {
		return x.repairVectors(ctx, suspects)
	}
	return x.rebuildIndex(ctx, suspects)
}

// rebuildIndex replaces damaged segments. Without suspects it also makes index and documents agree.
func (x *Index) rebuildIndex(ctx context.Context, suspects *damagedError) (err error) {
	defer guard.EndWhile("rebuild the index", &err)
	x.repairs.Lock()
	defer x.repairs.Unlock()
	made := new(rebuilt)
	if err := x.Commit(ctx, func(tx sqldb.Source) {
		x.discard(made.segments...)
		*made = rebuilt{}
		made.rebuild(x, tx, suspects)
	}, func(tx sqldb.Source) {
		if documents.ReadState(tx) != made.state {
			guard.Abort(documents.ErrOvertaken)
		}
	}, func(tx *sqldb.Tx) {
		replaceParts(tx, made.damaged, made.segments)
		if x.source == nil {
			made.reconcile(tx)
		} else { // the new segments may be ahead of the position
			documents.PutCursors(tx, map[string]string{wholeKey: ""})
		}
	}); err != nil {
		x.discard(made.segments...)
		return err
	}
	x.states.forget()
	x.discard(made.damaged...)
	return nil
}

// rebuilt are segments that contain the documents of damaged ones.
type rebuilt struct {
	state    documents.State
	damaged  []*part
	segments []*part
	disagreement
}

// rebuild makes new segments of all documents that are not live in a sound one. It aborts with documents.ErrUnchanged
// if no suspect is in use any more, or there are none and nothing is damaged.
func (r *rebuilt) rebuild(x *Index, tx sqldb.Source, suspects *damagedError) {
	r.state = documents.ReadState(tx)
	var sound []*part
	defer func() { x.states.dropParts(sound) }()
	present := false
	// All are read: damage rarely comes alone, and the search that found it is repeated only once.
	for p, damage := range x.inspect(tx) {
		present = present || suspects != nil && slices.Contains(suspects.files, p.name)
		if damage == nil {
			sound = append(sound, p)
			continue
		}
		x.Log.Warn("a segment is damaged", "segment", p.name, "documents", p.documents, "error", damage)
		r.damaged = append(r.damaged, p)
	}
	switch {
	case suspects != nil && !present:
		*r = rebuilt{}
		guard.Abort(documents.ErrUnchanged)
	case suspects != nil && len(r.damaged) == 0:
		guard.Abort(suspects.cause) // the file is sound: making it again would change nothing
	}
	from, done := x.stored(tx)
	defer done()
	blaming(sound, func() { r.disagreement = compareIDs(from, sound) })
	if suspects != nil {
		r.disagreement = disagreement{missing: r.missing}
	} else if r.counters = miscounted(from, r.state.Documents, r.state.Chunks); len(r.damaged) == 0 && r.none() {
		guard.Abort(documents.ErrUnchanged)
	}
	blaming(sound, func() {
		for i := range r.duplicates {
			t := &r.duplicates[i]
			t.delta = guard.Must(t.part.segment.reader.DeltaOf(t.ordinal))
		}
	})
	x.rebuildMissing(tx, from, r)
}

// inspect reads the parts of the manifest from beginning to end, and yields each and its damage, if any.
func (x *Index) inspect(tx sqldb.Source) iter.Seq2[*part, error] {
	return func(yield func(*part, error) bool) {
		for _, p := range readManifest(tx) {
			if !yield(p, damageIn(func() { x.inspectPart(tx, p) })) {
				return
			}
		}
	}
}

func (x *Index) inspectPart(tx sqldb.Source, p *part) {
	readDeletes(tx, p)
	p.statistics()
	guard.Check(x.states.pool.verify(p.name))
	x.states.openSegment(p)
}

// rebuildMissing indexes the stored documents that are live in none of the sound parts.
func (x *Index) rebuildMissing(tx sqldb.Source, from *documents.Reader, made *rebuilt) {
	builder, list := segment.NewBuilder(), []*index.Document(nil)
	for n, d := range indexed(from, made.missing) {
		guard.Check(builder.Add(*d))
		if list = append(list, d); n < len(made.missing)-1 && builder.Bytes() <= rebuildBytes {
			continue
		}
		made.segments = append(made.segments, x.buildSegment(tx, builder, list))
		builder, list = segment.NewBuilder(), nil
	}
}

// damagedError names files of the index that cannot be used: segments, or files of vectors.
type damagedError struct {
	files   []string
	vectors bool
	missing bool // all of them are missing, as when another process has just merged them
	cause   error
	// manifest is the number of the manifest that names them; -1 when they were found by searching.
	manifest int64
}

func (d *damagedError) Error() string { return d.cause.Error() }
func (d *damagedError) Unwrap() error { return d.cause }

func damaged(file string, cause error) *damagedError { return (*damagedError)(nil).add(file, cause) }

// add adds a file; a nil receiver begins.
func (d *damagedError) add(file string, cause error) *damagedError {
	missing := errors.Is(cause, fs.ErrNotExist)
	if d == nil {
		return &damagedError{files: []string{file}, missing: missing, cause: cause, manifest: -1}
	}
	d.files, d.missing = append(d.files, file), d.missing && missing
	return d
}

// damageOf returns the files that an error says are damaged; nil for other errors.
func damageOf(err error) (found *damagedError) {
	_ = errors.As(err, &found)
	return found
}

// isDamage reports whether rebuilding a file of the index repairs the cause of an error.
func isDamage(err error) bool {
	return errors.Is(err, segment.ErrDamaged) || errors.Is(err, fs.ErrNotExist) || damageOf(err) != nil
}

// blame adds to the error of a damaged file which one of parts it belongs to; all of them when it does not say.
func blame(parts []*part, err error) error {
	if !errors.Is(err, segment.ErrDamaged) || damageOf(err) != nil || len(parts) == 0 {
		return err
	}
	name := segment.NameOf(err)
	var all *damagedError
	for _, p := range parts {
		if name != "" && (name == p.name || name == p.vectors.fileName()) {
			found := damaged(name, err)
			found.vectors = name != p.name
			return found
		}
		all = all.add(p.name, err)
	}
	return all
}

// damageIn calls f, and returns the error that it is aborted with if that isDamage. Others abort the caller.
func damageIn(f func()) error {
	err := guard.Ended(f)
	if !isDamage(err) {
		guard.Check(err)
	}
	return err
}

// blaming calls f, and aborts with its error as blame returns it.
func blaming(parts []*part, f func()) {
	guard.Check(blame(parts, guard.Ended(f)))
}

// protect calls f, which reads the segment.
func (p *part) protect(f func()) {
	guard.Check(blame([]*part{p}, segment.Protect(p.segment.reader.Name, f)))
}

// Damage implements index.Snapshot.
func (s *snapshot) Damage() []index.Damage {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return nil
	}
	for _, damage := range s.current().damage() {
		s.Note(damage)
	}
	return s.Reads.Damage()
}

// damage lists the parts of the index that a view lacks because they are damaged.
func (v *view) damage() (all []index.Damage) {
	live := 0
	if lost := v.state.lost; lost != nil {
		for _, name := range lost.files {
			all = append(all, index.Damage{Kind: index.DamagedSegment, ID: name, Reason: lost.Error()})
		}
	}
	for _, p := range v.state.parts {
		live += p.live()
		if p.vectors != nil && p.vectors.file == nil {
			all = append(all,
				index.Damage{Kind: index.DamagedVectors, ID: p.vectors.name, Reason: p.vectors.failed.Error()})
		}
	}
	if v.state.lost == nil && live != v.Documents {
		all = append(all, index.Damage{Kind: index.DamagedSegment,
			Reason: fmt.Sprintf("the index has %d of %d documents", live, v.Documents)})
	}
	return all
}

// disagreement is how the documents in the index differ from those that are stored.
type disagreement struct {
	missing    []string    // stored, but live in no segment
	orphans    []string    // live in a segment, but not stored
	duplicates []duplicate // live in a newer segment too
	counters   bool        // the numbers of documents and chunks are wrong
}

// duplicate is a document of a segment.
type duplicate struct {
	part    *part
	ordinal int
	delta   segment.Delta
}

func (d *disagreement) none() bool {
	return len(d.missing) == 0 && len(d.orphans) == 0 && len(d.duplicates) == 0 && !d.counters
}

// compareIDs compares the stored documents with those that are live in parts. Both sides ascend by id, so each is read
// once.
func compareIDs(from *documents.Reader, parts []*part) (d disagreement) {
	heads := make([]head, len(parts))
	for i, p := range parts {
		heads[i] = head{part: p, ordinal: -1}
		heads[i].advance()
	}
	// advance passes over the live documents with an id, and those below it.
	advance := func(id string, last bool) (live bool) {
		var before *duplicate
		for i := range heads {
			h := &heads[i]
			for h.ordinal < h.part.documents && (last || h.id <= id) {
				switch {
				case last || h.id < id:
					d.orphans = append(d.orphans, h.id)
				default:
					if before != nil {
						d.duplicates = append(d.duplicates, *before)
					}
					before = &duplicate{part: h.part, ordinal: h.ordinal}
				}
				h.advance()
			}
		}
		return before != nil
	}
	for id := range from.EachID() {
		if !advance(id, false) {
			d.missing = append(d.missing, id)
		}
	}
	advance("", true)
	slices.Sort(d.orphans)
	d.orphans = slices.Compact(d.orphans)
	return d
}

// head walks over the live documents of a part.
type head struct {
	part    *part
	ordinal int
	id      string
}

func (h *head) advance() {
	for h.ordinal++; h.ordinal < h.part.documents && h.part.isDeleted(h.ordinal); h.ordinal++ {
	}
	if h.ordinal < h.part.documents {
		h.id = guard.Must(h.part.segment.reader.DocumentID(h.ordinal))
	}
}

// miscounted reports whether the counters differ from what is stored.
func miscounted(from *documents.Reader, documents, chunks int) bool {
	count, counted := from.Counts()
	return count != documents || counted != chunks
}

// reconcile makes the database agree with the index.
func (d *disagreement) reconcile(tx *sqldb.Tx) {
	documents.InsertLost(tx, d.orphans...)
	for _, duplicate := range d.duplicates {
		addDeletes(tx, duplicate.part.id, roaring.BitmapOf(uint32(duplicate.ordinal)), duplicate.delta)
	}
	if !d.none() {
		tx.Exec("UPDATE meta SET generation = generation + 1, " + counted)
	}
}

// counted sets the counters of the table meta to what is stored.
const counted = "(documents, chunks) = (SELECT count(*), coalesce(sum(chunks), 0) FROM documents)"
