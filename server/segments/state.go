package segments

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/lexical"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
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

func (p *part) live() int {
	if p.deleted == nil {
		return p.documents
	}
	return p.documents - int(p.deleted.GetCardinality())
}

// liveOrdinals returns those of the documents that are not deleted.
func (p *part) liveOrdinals() []int {
	list := make([]int, 0, p.live())
	for ordinal := range p.documents {
		if !p.isDeleted(ordinal) {
			list = append(list, ordinal)
		}
	}
	return list
}

func (p *part) isDeleted(ordinal int) bool {
	return p.deleted != nil && p.deleted.ContainsInt(ordinal)
}

// insert names a new segment and its vectors in the manifest.
func (p *part) insert(tx *sqldb.Tx) {
	tx.Row(sql.ErrNoRows, []any{&p.id}, `INSERT INTO segments (name, documents, bytes, deletes) VALUES (?, ?, ?, 0)
		RETURNING id`, p.name, p.documents, p.bytes)
	if p.vectors != nil {
		p.vectors.insert(tx, p.id)
	}
}

// stillNamed returns the number of the segment's newest record of deletes. It aborts with documents.ErrOvertaken unless
// the manifest names the segment and the same vectors.
func (p *part) stillNamed(tx sqldb.Source) (deletes int64) {
	vectors := ""
	if !tx.Get([]any{&deletes, &vectors}, `SELECT deletes, coalesce(v.name, '') FROM segments s
		LEFT JOIN vector_files v ON v.segment = s.id WHERE s.id = ? AND s.name = ?`, p.id, p.name) ||
		vectors != p.vectors.fileName() {
		guard.Abort(documents.ErrOvertaken)
	}
	return deletes
}

// replaceParts names segments in the manifest in the place of others.
func replaceParts(tx *sqldb.Tx, old, made []*part) {
	for _, p := range old {
		tx.Exec("DELETE FROM segments WHERE id = ?", p.id)
	}
	for _, p := range made {
		p.insert(tx)
	}
	bumpManifest(tx)
}

func bumpManifest(tx *sqldb.Tx) { tx.Exec("UPDATE meta SET manifest = manifest + 1") }

// state is the index as a manifest describes it: open segments, and a searcher over them when one is asked for.
type state struct {
	manifest int64
	parts    []*part
	lost     *damagedError // segments that the manifest names and that cannot be used; nil: none
	searcher func() (*lexical.Searcher, error)
	frozen   *sqlite.DB // in memory: the copy that snapshots read; nil: not made yet
	users    int        // guarded by states.mutex
}

func newState(manifest int64) *state {
	s := &state{manifest: manifest, users: 1}
	s.searcher = sync.OnceValues(func() (_ *lexical.Searcher, err error) {
		defer guard.End(&err)
		searched := make([]lexical.Part, len(s.parts))
		for i, p := range s.parts {
			searched[i] = lexical.Part{Segment: p.segment.reader, Deleted: p.deleted, Delta: p.statistics()}
			if p.vectors != nil && p.vectors.file != nil {
				searched[i].Vectors, searched[i].Model = p.vectors.file.reader, p.vectors.model
			}
		}
		return lexical.NewSearcher(searched, lexical.DefaultParams()), nil
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
func (s *state) locate(id string) (p *part, ordinal int) {
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		ordinal, ok, err := p.segment.reader.Find(id)
		if err != nil {
			guard.Abort(damaged(p.name, err))
		}
		if ok && !p.isDeleted(ordinal) {
			return p, ordinal
		}
	}
	return nil, 0
}

// sees reports whether access admits a document by its rights in the index.
func (s *state) sees(id string, access index.Access) bool {
	searcher, err := s.searcher()
	if err != nil {
		return false // searches report the damage of a segment
	}
	_, admitted, err := searcher.Admits(id, access)
	return err == nil && admitted
}

// states keeps the newest state open, as most snapshots show that one.
type states struct {
	pool    *pool[*segment.Reader]
	vectors *pool[*vector.File]

	mutex    sync.Mutex
	newest   *state
	excluded map[string]error // files that are damaged and cannot be repaired now, and why
}

// acquire returns the state that a manifest describes, which is read through db, to be released with drop. It aborts
// with a *damagedError if files cannot be used.
func (s *states) acquire(db sqldb.Source, manifest int64) *state {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.newest != nil && s.newest.manifest == manifest {
		s.newest.users++
		return s.newest
	}
	loaded := newState(manifest)
	if err := guard.Ended(func() { s.load(db, loaded) }); err != nil {
		s.dropParts(loaded.parts)
		if suspects := damageOf(err); suspects != nil {
			suspects.manifest = manifest
		}
		guard.Abort(err)
	}
	if s.newest == nil || s.newest.manifest < manifest {
		if s.newest != nil {
			s.release(s.newest)
		}
		loaded.users++
		s.newest = loaded
	}
	return loaded
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
	if released.users > 0 {
		return
	}
	s.dropParts(released.parts)
	if released.frozen != nil {
		_ = released.frozen.Close()
	}
}

func (s *states) dropParts(parts []*part) {
	for _, p := range parts {
		s.pool.drop(p.segment)
		if p.vectors != nil {
			s.vectors.drop(p.vectors.file)
		}
	}
}

// exclude lets searches continue without damaged files that cannot be repaired now; nil lets all be opened again.
func (s *states) exclude(cause *damagedError) {
	s.mutex.Lock()
	if s.excluded == nil || cause == nil {
		s.excluded = make(map[string]error)
	}
	if cause != nil {
		for _, name := range cause.files {
			s.excluded[name] = cause
		}
	}
	s.mutex.Unlock()
	s.forget()
}

// unreadVectors returns the unreadable files of vectors that are not excluded; nil if there are none.
func (s *states) unreadVectors(shown *state) (unread *damagedError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, p := range shown.parts {
		if p.vectors != nil && p.vectors.file == nil && s.excluded[p.vectors.name] == nil {
			unread = unread.add(p.vectors.name, p.vectors.failed)
			unread.vectors, unread.manifest = true, shown.manifest
		}
	}
	return unread
}

// load reads the manifest and opens its segments, but for those that are excluded, which are lost. It aborts with a
// *damagedError if others cannot be used.
func (s *states) load(db sqldb.Source, into *state) {
	var unusable *damagedError
	for _, p := range readManifest(db) {
		if cause := s.excluded[p.name]; cause != nil {
			into.lost = into.lost.add(p.name, cause)
		} else if err := damageIn(func() { s.complete(db, p) }); err != nil {
			unusable = unusable.add(p.name, err)
		} else {
			into.parts = append(into.parts, p)
		}
	}
	if unusable != nil {
		guard.Abort(unusable)
	}
}

// complete opens a part's segment and reads its records, as far as the newest state does not have them.
func (s *states) complete(db sqldb.Source, p *part) {
	var known *part
	if s.newest != nil {
		known = s.newest.named(p.name)
	}
	if known != nil && known.deletes == p.deletes {
		p.records, p.deleted = known.records, known.deleted
	} else {
		readDeletes(db, p)
	}
	s.openSegment(p)
	s.openVectors(p)
}

func (s *states) openSegment(p *part) {
	opened := guard.Must(s.pool.acquire(p.name))
	if found := opened.reader.Documents(); found != p.documents {
		s.pool.drop(opened)
		guard.Abort(fmt.Errorf("%w: segment %s has %d documents, the manifest says %d", segment.ErrDamaged, p.name,
			found, p.documents))
	}
	p.segment = opened
}

// readManifest reads the rows of the manifest, oldest first.
func readManifest(db sqldb.Source) (parts []*part) {
	p, v := part{}, vectorFile{}
	for range db.Each([]any{&p.id, &p.name, &p.documents, &p.bytes, &p.deletes, &v.name, &v.bytes, &v.model},
		`SELECT s.id, s.name, s.documents, s.bytes, s.deletes,
		coalesce(v.name, ''), coalesce(v.bytes, 0), coalesce(m.name, '') FROM segments s
		LEFT JOIN vector_files v ON v.segment = s.id LEFT JOIN embedding_models m ON m.id = v.model ORDER BY s.id`) {
		read := p
		if v.name != "" {
			read.vectors = new(v)
		}
		parts = append(parts, &read)
	}
	return parts
}

// foldDeletes is the number of records of deletes of one segment above which they become one.
const foldDeletes = 16

// deleteRecord is a row of the table deletes.
type deleteRecord struct {
	number, since int64
	bitmap        *roaring.Bitmap
	delta         []byte
}

// statistics sums the records' statistics; nil without records.
func (p *part) statistics() *segment.Delta {
	if len(p.records) == 0 {
		return nil
	}
	total := new(segment.Delta)
	for _, record := range p.records {
		var delta segment.Delta
		if err := delta.UnmarshalBinary(record.delta); err != nil {
			guard.Abort(damaged(p.name, fmt.Errorf("read the deletes of segment %s: %w", p.name, err)))
		}
		total.Add(delta, 1)
	}
	return total
}

// readDeletes fills the records of a part and their union.
func readDeletes(db sqldb.Source, p *part) {
	if p.deletes == 0 {
		return
	}
	p.deleted = roaring.New()
	var bitmap []byte
	record := deleteRecord{}
	for range db.Each([]any{&record.number, &record.since, &bitmap, &record.delta},
		"SELECT number, since, bitmap, delta FROM deletes WHERE segment = ? ORDER BY number", p.id) {
		record.bitmap = roaring.New()
		if err := record.unseal(bitmap, p); err != nil {
			guard.Abort(fmt.Errorf("read the library: read the deletes of segment %s: %w: %w", p.name,
				segment.ErrDamaged, err))
		}
		p.records = append(p.records, record)
		p.deleted.Or(record.bitmap)
	}
	if len(p.records) == 0 || p.records[len(p.records)-1].number != p.deletes {
		guard.Abort(fmt.Errorf("%w: deletes of segment %s are missing", segment.ErrDamaged, p.name))
	}
}

// unseal reads the bitmap, and takes the statistics out of their seal.
func (r *deleteRecord) unseal(bitmap []byte, p *part) (err error) {
	defer guard.End(&err)
	r.delta = guard.Must(documents.UnsealOld(r.delta, deletesKey(p.id, r.number, 'd')))
	bitmap = guard.Must(documents.UnsealOld(bitmap, deletesKey(p.id, r.number, 'b')))
	guard.Check(r.bitmap.UnmarshalBinary(bitmap))
	guard.Check(r.bitmap.Validate())
	if !r.bitmap.IsEmpty() && int64(r.bitmap.Maximum()) >= int64(p.documents) {
		return errors.New("a deleted document does not exist")
	}
	return nil
}

// addDeletes appends a record of deletes to a segment, and folds its records when there are many.
func addDeletes(tx *sqldb.Tx, id int64, bitmap *roaring.Bitmap, delta segment.Delta) {
	p, count := &part{id: id, documents: int(^uint32(0))}, 0
	tx.Row(sql.ErrNoRows, []any{&p.deletes, &p.name},
		"UPDATE segments SET deletes = deletes + 1 WHERE id = ? RETURNING deletes, name", id)
	insertDeletes(tx, id, deleteRecord{number: p.deletes, since: p.deletes - 1, bitmap: bitmap}, &delta)
	if tx.Get([]any{&count}, "SELECT COUNT(*) FROM deletes WHERE segment = ?", id); count > foldDeletes {
		fold(tx, p)
	}
}

// fold makes one record of all records of a segment.
func fold(tx *sqldb.Tx, p *part) {
	readDeletes(tx.Source, p)
	total := p.statistics()
	tx.Exec("DELETE FROM deletes WHERE segment = ?", p.id)
	insertDeletes(tx, p.id, deleteRecord{number: p.deletes, bitmap: p.deleted}, total)
}

func insertDeletes(tx *sqldb.Tx, id int64, record deleteRecord, delta *segment.Delta) {
	bitmap, bitmapErr := record.bitmap.MarshalBinary()
	statistics, err := delta.MarshalBinary()
	guard.While("write deletes", cmp.Or(bitmapErr, err))
	bitmap = documents.Seal(bitmap, deletesKey(id, record.number, 'b'))
	statistics = documents.Seal(statistics, deletesKey(id, record.number, 'd'))
	tx.Exec("INSERT INTO deletes (segment, number, since, bitmap, delta) VALUES (?, ?, ?, ?, ?)", id, record.number,
		record.since, bitmap, statistics)
}

// deletesKey is the key of the seals of a record of deletes.
func deletesKey(segment, number int64, column byte) []byte {
	return append(binary.AppendVarint(binary.AppendVarint(nil, segment), number), column)
}
