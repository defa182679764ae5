package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"quarry/server/index/lexical"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqlite"

	"github.com/RoaringBitmap/roaring/v2"
)

// part is one segment of the manifest, with what was deleted from it. It does not change.
type part struct {
	id        int64
	name      string
	documents int
	bytes     int64
	deletes   int64 // the number of the newest record of deletes
	records   []deleteRecord
	deleted   *roaring.Bitmap // of all records; nil: nothing
	segment   *openFile[*segment.Reader]
	vectors   *vectorFile // nil: none
}

// deleteRecord is a row of deletes.
type deleteRecord struct {
	number, since int64
	bitmap        *roaring.Bitmap
	delta         []byte
}

func (p *part) live() int {
	if p.deleted == nil {
		return p.documents
	}
	return p.documents - int(p.deleted.GetCardinality())
}

func (p *part) isDeleted(ordinal int) bool {
	return p.deleted != nil && p.deleted.ContainsInt(ordinal)
}

// statistics sums the records' statistics; nil without records.
func (p *part) statistics() (*segment.Delta, error) {
	if len(p.records) == 0 {
		return nil, nil
	}
	total := new(segment.Delta)
	for _, record := range p.records {
		var delta segment.Delta
		if err := delta.UnmarshalBinary(record.delta); err != nil {
			return nil, (*damagedError)(nil).add(p.id, fmt.Errorf("read what was deleted from segment %s: %w", p.name,
				err))
		}
		total.Add(delta)
	}
	return total, nil
}

// state is the index as a manifest describes it: open segments, and a searcher over them when one is asked for.
type state struct {
	manifest int64
	parts    []*part
	lost     *damagedError // segments that the manifest names and that cannot be used; nil: none
	searcher func() (*lexical.Searcher, error)
	users    int // guarded by states.mutex
}

func newState(manifest int64, parts []*part) *state {
	s := &state{manifest: manifest, parts: parts, users: 1}
	s.searcher = sync.OnceValues(func() (*lexical.Searcher, error) {
		searched := make([]lexical.Part, len(parts))
		for i, p := range parts {
			delta, err := p.statistics()
			if err != nil {
				return nil, err
			}
			searched[i] = lexical.Part{Segment: p.segment.reader, Deleted: p.deleted, Delta: delta}
			if p.vectors != nil && p.vectors.file != nil {
				searched[i].Vectors, searched[i].Model = p.vectors.file.reader, p.vectors.model
			}
		}
		return lexical.NewSearcher(searched)
	})
	return s
}

// named returns the part with a segment's name.
func (s *state) named(name string) *part {
	for _, p := range s.parts {
		if p.name == name {
			return p
		}
	}
	return nil
}

// locate finds where a document is live. Recent segments are looked at first, as that is where changes are.
func (s *state) locate(id string) (p *part, ordinal int, err error) {
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		ordinal, ok, err := p.segment.reader.Find(id)
		if err != nil {
			return nil, 0, (*damagedError)(nil).add(p.id, err)
		}
		if ok && !p.isDeleted(ordinal) {
			return p, ordinal, nil
		}
	}
	return nil, 0, nil
}

// states keeps the newest state open, as most snapshots show that one.
type states struct {
	pool    *pool[*segment.Reader]
	vectors *pool[*vector.File]

	mutex    sync.Mutex
	newest   *state
	excluded map[string]error // files that are damaged and cannot be repaired now, and why
}

// acquire returns the state that a manifest describes, which is read through q, to be given back with drop. Errors:
// *damagedError.
func (s *states) acquire(ctx context.Context, q querier, manifest int64) (*state, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.newest != nil && s.newest.manifest == manifest {
		s.newest.users++
		return s.newest, nil
	}
	parts, lost, err := s.load(ctx, q)
	if err != nil {
		s.dropParts(parts)
		var damaged *damagedError
		if errors.As(err, &damaged) {
			damaged.manifest = manifest
		}
		return nil, err
	}
	loaded := newState(manifest, parts)
	loaded.lost = lost
	if s.newest == nil || s.newest.manifest < manifest {
		if s.newest != nil {
			s.release(s.newest)
		}
		loaded.users++
		s.newest = loaded
	}
	return loaded, nil
}

func (s *states) drop(dropped *state) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.release(dropped)
}

// forget closes the state that is kept open, as at the end or when it turned out to be damaged.
func (s *states) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.newest != nil {
		s.release(s.newest)
		s.newest = nil
	}
}

func (s *states) release(released *state) {
	released.users--
	if released.users == 0 {
		s.dropParts(released.parts)
	}
}

func (s *states) dropParts(parts []*part) {
	for _, p := range parts {
		if p.segment != nil {
			s.pool.drop(p.segment)
		}
		if p.vectors != nil && p.vectors.file != nil {
			s.vectors.drop(p.vectors.file)
		}
	}
}

// exclude lets searches go on without damaged segments that cannot be repaired now.
func (s *states) exclude(shown *state, damaged *damagedError) {
	s.excludeFiles(damaged.names, damaged)
	for _, p := range shown.parts {
		if slices.Contains(damaged.ids, p.id) {
			s.excludeFiles([]string{p.name}, damaged)
		}
	}
}

// excludeVectors lets searches go on without the damaged vectors of segments.
func (s *states) excludeVectors(shown *state, segments []string, cause error) {
	for _, p := range shown.parts {
		if p.vectors != nil && slices.Contains(segments, p.name) {
			s.excludeFiles([]string{p.vectors.name}, cause)
		}
	}
}

// include tries the excluded files again.
func (s *states) include() {
	s.mutex.Lock()
	s.excluded = nil
	s.mutex.Unlock()
	s.forget()
}

func (s *states) isExcluded(name string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.excluded[name] != nil
}

func (s *states) excludeFiles(names []string, cause error) {
	s.mutex.Lock()
	if s.excluded == nil {
		s.excluded = make(map[string]error)
	}
	for _, name := range names {
		s.excluded[name] = cause
	}
	s.mutex.Unlock()
	s.forget()
}

// load reads the manifest and opens its segments, but for those that are excluded, which it returns as lost. When others
// cannot be used it returns the rest with a *damagedError.
func (s *states) load(ctx context.Context, q querier) (usable []*part, lost *damagedError, err error) {
	parts, err := readManifest(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	var damaged *damagedError
	for _, p := range parts {
		if cause := s.excluded[p.name]; cause != nil {
			lost = lost.add(p.id, cause)
			lost.names = append(lost.names, p.name)
			continue
		}
		if err := s.complete(ctx, q, p); err != nil {
			if !isDamage(err) {
				s.dropParts(usable)
				return nil, nil, err
			}
			damaged = damaged.add(p.id, err)
			damaged.names = append(damaged.names, p.name)
			continue
		}
		usable = append(usable, p)
	}
	if damaged != nil {
		return usable, lost, damaged
	}
	return usable, lost, nil
}

// complete opens a part's segment and reads its records, as far as the newest state does not have them.
func (s *states) complete(ctx context.Context, q querier, p *part) error {
	var known *part
	if s.newest != nil {
		known = s.newest.named(p.name)
	}
	if known != nil && known.deletes == p.deletes {
		p.records, p.deleted = known.records, known.deleted
	} else if err := readDeletes(ctx, q, p); err != nil {
		return err
	}
	opened, err := s.pool.acquire(p.name)
	if err != nil {
		return err
	}
	if opened.reader.Documents() != p.documents {
		s.pool.drop(opened)
		return fmt.Errorf("%w: segment %s has %d documents, the manifest says %d", segment.ErrDamaged, p.name,
			opened.reader.Documents(), p.documents)
	}
	p.segment = opened
	return s.openVectors(p)
}

// isDamage tells errors that rebuilding a segment heals from others.
func isDamage(err error) bool {
	var damaged *damagedError
	return errors.Is(err, segment.ErrDamaged) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged)
}

// readManifest reads the rows of the manifest, oldest first.
func readManifest(ctx context.Context, q querier) ([]*part, error) {
	rows, err := q.QueryContext(context.WithoutCancel(ctx), `SELECT s.id, s.name, s.documents, s.bytes, s.deletes,
		coalesce(v.name, ''), coalesce(v.bytes, 0), coalesce(m.name, '') FROM segments s
		LEFT JOIN vector_files v ON v.segment = s.id LEFT JOIN embedding_models m ON m.id = v.model ORDER BY s.id`)
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read the manifest: %w", err))
	}
	defer func() { _ = rows.Close() }()
	var parts []*part
	for rows.Next() {
		p, v := new(part), new(vectorFile)
		if err := rows.Scan(&p.id, &p.name, &p.documents, &p.bytes, &p.deletes, &v.name, &v.bytes, &v.model); err != nil {
			return nil, sqlite.Explain(fmt.Errorf("read the manifest: %w", err))
		}
		if v.name != "" {
			p.vectors = v
		}
		parts = append(parts, p)
	}
	if err := rows.Err(); err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read the manifest: %w", err))
	}
	return parts, nil
}

// readDeletes fills the records of a part and their union.
func readDeletes(ctx context.Context, q querier, p *part) error {
	if p.deletes == 0 {
		return nil
	}
	rows, err := q.QueryContext(context.WithoutCancel(ctx),
		"SELECT number, since, bitmap, delta FROM deletes WHERE segment = ? ORDER BY number", p.id)
	if err != nil {
		return sqlite.Explain(fmt.Errorf("read deletes: %w", err))
	}
	defer func() { _ = rows.Close() }()
	p.deleted = roaring.New()
	for rows.Next() {
		record := deleteRecord{bitmap: roaring.New()}
		var bitmap []byte
		if err := rows.Scan(&record.number, &record.since, &bitmap, &record.delta); err != nil {
			return sqlite.Explain(fmt.Errorf("read deletes: %w", err))
		}
		if err := record.read(bitmap, p); err != nil {
			return fmt.Errorf("read what was deleted from segment %s: %w: %w", p.name, segment.ErrDamaged, err)
		}
		p.records = append(p.records, record)
		p.deleted.Or(record.bitmap)
	}
	if err := rows.Err(); err != nil {
		return sqlite.Explain(fmt.Errorf("read deletes: %w", err))
	}
	if len(p.records) == 0 || p.records[len(p.records)-1].number != p.deletes {
		return fmt.Errorf("%w: records of what was deleted from segment %s are missing", segment.ErrDamaged, p.name)
	}
	return nil
}

// read takes the bitmap and the statistics out of their seals.
func (r *deleteRecord) read(bitmap []byte, p *part) (err error) {
	if r.delta, err = unsealOld(r.delta, deletesKey(p.id, r.number, 'd')); err != nil {
		return err
	}
	if bitmap, err = unsealOld(bitmap, deletesKey(p.id, r.number, 'b')); err != nil {
		return err
	}
	if err := r.bitmap.UnmarshalBinary(bitmap); err != nil {
		return err
	}
	if err := r.bitmap.Validate(); err != nil {
		return err
	}
	if !r.bitmap.IsEmpty() && int64(r.bitmap.Maximum()) >= int64(p.documents) {
		return errors.New("a deleted document that is not there")
	}
	return nil
}
