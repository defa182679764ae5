package embedded

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"

	"github.com/RoaringBitmap/roaring/v2"
)

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
func compareIDs(ctx context.Context, library *library, parts []*part) (d disagreement, err error) {
	heads := make([]head, len(parts))
	for i, p := range parts {
		heads[i] = head{part: p, ordinal: -1}
		if err := heads[i].advance(); err != nil {
			return d, err
		}
	}
	// advance passes over the live documents with an id, and those below it.
	advance := func(id string, last bool) (live bool, err error) {
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
				if err := h.advance(); err != nil {
					return false, err
				}
			}
		}
		return before != nil, nil
	}
	err = library.ids(ctx, func(id string) error {
		live, err := advance(id, false)
		if err == nil && !live {
			d.missing = append(d.missing, id)
		}
		return err
	})
	if err == nil {
		_, err = advance("", true)
	}
	slices.Sort(d.orphans)
	d.orphans = slices.Compact(d.orphans)
	return d, err
}

// head walks over the live documents of a part.
type head struct {
	part    *part
	ordinal int
	id      string
}

func (h *head) advance() (err error) {
	for h.ordinal++; h.ordinal < h.part.documents && h.part.isDeleted(h.ordinal); h.ordinal++ {
	}
	if h.ordinal < h.part.documents {
		h.id, err = h.part.segment.reader.DocumentID(h.ordinal)
	}
	return err
}

// miscounted reports whether the counters differ from what is stored.
func miscounted(ctx context.Context, tx *sql.Tx, m meta) (bool, error) {
	documents, chunks := 0, 0
	err := get(ctx, tx, []any{&documents, &chunks}, "SELECT count(*), coalesce(sum(chunks), 0) FROM documents")
	return documents != m.documents || chunks != m.chunks, err
}

// insertDamaged inserts a row that cannot be read for a document that is not stored: so it stays known, can be removed,
// and is stored again like other damaged ones.
func insertDamaged(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := execute(ctx, tx, `INSERT OR IGNORE INTO documents (hash, id, source, origin, title,
		link, type, hidden, chunks, detail) VALUES (zeroblob(32), ?, '', '', '', '', '', 0, 0, zeroblob(1))`, id)
	return err
}

// reconcile makes the database agree with the index.
func (d *disagreement) reconcile(ctx context.Context, tx *sql.Tx) error {
	for _, id := range d.orphans {
		if err := insertDamaged(ctx, tx, id); err != nil {
			return err
		}
	}
	for _, duplicate := range d.duplicates {
		if err := addDeletes(ctx, tx, duplicate.part.id, roaring.BitmapOf(uint32(duplicate.ordinal)), duplicate.delta); err != nil {
			return err
		}
	}
	if d.none() {
		return nil
	}
	_, err := execute(ctx, tx, `UPDATE meta SET generation = generation + 1, (documents, chunks) =
		(SELECT count(*), coalesce(sum(chunks), 0) FROM documents)`)
	return err
}

// agreement checks that the index and the database hold the same documents.
func (c *checkRun) agreement(ctx context.Context) error {
	found, err := c.disagreement(ctx)
	if err != nil || found.none() {
		return err
	}
	if c.options.Repair && len(found.orphans)+len(found.missing) > 0 {
		// The ids are read from an index of the database, which is most easily made again.
		if err := c.x.reindex(ctx); err != nil {
			return err
		}
		if found, err = c.disagreement(ctx); err != nil || found.none() {
			c.note(index.Damage{Kind: index.DamagedDatabase, Reason: "an index of the database was wrong", Repaired: true})
			return err
		}
	}
	if c.options.Repair {
		if err := c.x.rebuildIndex(ctx, nil); err != nil {
			return err
		}
	}
	for _, id := range found.orphans {
		c.note(index.Damage{Kind: index.DamagedDocument, ID: id, Reason: "it is indexed but not stored"})
	}
	if found.counters && len(found.orphans) == 0 {
		c.note(index.Damage{Kind: index.DamagedDatabase, Repaired: c.options.Repair, Reason: "its count of documents was wrong"})
	}
	if len(found.missing)+len(found.duplicates) > 0 {
		c.note(index.Damage{Kind: index.DamagedSegment, Repaired: c.options.Repair, Reason: fmt.Sprintf(
			"the index lacked %d documents and had %d twice", len(found.missing), len(found.duplicates))})
	}
	return nil
}

// reindex makes the indexes of the database again.
func (x *Index) reindex(ctx context.Context) error {
	return x.db.Update(ctx, func(tx *sql.Tx) error {
		_, err := execute(ctx, tx, "REINDEX")
		return err
	})
}

func (c *checkRun) disagreement(ctx context.Context) (d disagreement, err error) {
	seen, err := c.x.openView(ctx)
	if err != nil {
		return d, err
	}
	defer seen.close()
	if seen.state.lost != nil {
		return d, nil // reported with the files
	}
	err = segment.Protect(func() string { return "" }, func() error {
		if d, err = compareIDs(ctx, seen.library, seen.state.parts); err != nil {
			return err
		}
		d.counters, err = miscounted(ctx, seen.tx, seen.meta)
		return err
	})
	return d, err
}

// files checks the files of the index and of vectors from beginning to end.
func (c *checkRun) files(ctx context.Context) error {
	found, err := c.damagedFiles(ctx)
	if err != nil {
		return err
	}
	for _, suspects := range found {
		kind := index.DamagedSegment
		if suspects.vectors {
			kind = index.DamagedVectors
		}
		repaired := c.options.Repair && c.x.repair(ctx, suspects) == nil
		for _, name := range suspects.files {
			c.note(index.Damage{Kind: kind, ID: name, Reason: suspects.Error(), Repaired: repaired})
		}
	}
	return nil
}

// damagedFiles lists the files that cannot be read: all segments together, then each file of vectors. A merge may remove
// some while they are checked.
func (c *checkRun) damagedFiles(ctx context.Context) (found []*damagedError, err error) {
	for range openAttempts {
		var before, after meta
		err = c.x.reading(ctx, func(tx *sql.Tx) error {
			if before, err = readMeta(ctx, tx); err == nil {
				found, err = c.inspectFiles(ctx, tx)
			}
			return err
		})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		if after, err = readMeta(ctx, c.x.db.Reader); err != nil || after.manifest == before.manifest {
			break
		}
	}
	return found, err
}

func (c *checkRun) inspectFiles(ctx context.Context, tx *sql.Tx) (found []*damagedError, err error) {
	parts, err := readManifest(ctx, tx)
	if err != nil {
		return nil, err
	}
	var segments *damagedError
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.x.inspectPart(ctx, tx, p); isDamage(err) {
			segments = segments.add(p.name, err)
		} else if err != nil {
			return nil, err
		}
		c.x.pool.drop(p.segment)
		if p.vectors == nil {
			continue
		}
		if err := c.x.states.vectors.verify(p.vectors.name); isDamage(err) {
			unread := damaged(p.vectors.name, err)
			unread.vectors = true
			found = append(found, unread)
		} else if err != nil {
			return nil, err
		}
	}
	if segments != nil {
		found = slices.Insert(found, 0, segments)
	}
	return found, nil
}
