package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"quarry/server/index"
	"quarry/server/index/segment"
)

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
	name, _ := segment.NameOf(err)
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

// damages collects the damage found by the calls of a snapshot. It is safe for concurrent use.
type damages struct {
	mutex sync.Mutex
	all   []index.Damage
}

func (d *damages) add(found index.Damage) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for i := range d.all {
		known := &d.all[i]
		if known.Kind == found.Kind && known.ID == found.ID {
			known.Chunks = append(known.Chunks, found.Chunks...)
			slices.Sort(known.Chunks)
			known.Chunks = slices.Compact(known.Chunks)
			return
		}
	}
	d.all = append(d.all, found)
}

func (d *damages) list() []index.Damage {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return slices.Clone(d.all)
}

// Damage implements index.Snapshot.
func (s *snapshot) Damage() []index.Damage {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return nil
	}
	for _, damage := range s.current().damage() {
		s.damaged.add(damage)
	}
	return s.damaged.list()
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
			all = append(all, index.Damage{Kind: index.DamagedVectors, ID: p.vectors.name, Reason: p.vectors.failed.Error()})
		}
	}
	if v.state.lost == nil && live != v.meta.documents {
		all = append(all, index.Damage{Kind: index.DamagedSegment,
			Reason: fmt.Sprintf("the index has %d of %d documents", live, v.meta.documents)})
	}
	return all
}

// describe describes a stored document that cannot be read, all of it or some chunks; ok is false when it can.
func describe(s *stored, from int, chunks []index.Chunk) (damage index.Damage, ok bool) {
	if s.damaged != nil {
		return index.Damage{Kind: index.DamagedDocument, ID: s.document.ID, Reason: s.damaged.Error()}, true
	}
	damage = index.Damage{Kind: index.DamagedText, ID: s.document.ID, Origin: s.document.Origin, Reason: errPacked.Error()}
	for i := range chunks {
		if chunks[i].Damaged {
			damage.Chunks = append(damage.Chunks, from+i)
		}
	}
	return damage, len(damage.Chunks) > 0
}

// indexed returns a document that is indexed but cannot be read, if access allows it by the rights in the index; nil
// otherwise.
func (v *view) indexed(id string, access index.Access) *stored {
	searcher, err := v.state.searcher()
	if err != nil {
		return nil // searches report the damage of a segment
	}
	if _, admitted, err := searcher.Admits(id, access); err != nil || !admitted {
		return nil
	}
	return &stored{document: index.Document{ID: id}, damaged: fmt.Errorf("%w: it is indexed but not stored", errPacked)}
}

// admitted reads a document if access allows it; nil otherwise. A damaged one has only its id.
func (s *snapshot) admitted(ctx context.Context, shown *view, id string, access index.Access) (*stored, error) {
	found, err := shown.library.recall(ctx, id)
	if err != nil {
		return nil, err
	}
	if found != nil && found.damaged == nil {
		if !admits(access, &found.document) {
			return nil, nil
		}
		return found, nil
	}
	if found = shown.indexed(id, access); found == nil {
		return nil, nil
	}
	damage, _ := describe(found, 0, nil)
	s.damaged.add(damage)
	return found, nil
}
