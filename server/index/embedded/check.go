package embedded

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"golang.org/x/sync/errgroup"
)

const (
	// checkedRows of documents are checked when not everything is: about half a second's work.
	checkedRows = 100_000
	// checkSlice rows are read in one transaction, so that a check delays no checkpoint.
	checkSlice   = 4096
	checkWorkers = 2
)

// examination checks that the chunks of a document are complete and unchanged, without unpacking them.
type examination struct {
	document *documents.Row
	packer   *codec.Packer
	next     int  // the chunk that the next group has to begin with
	broken   bool // a group is damaged
	old      bool // the groups have no seals: only the document's hash can be checked
}

func (e *examination) group(key int64, value []byte) {
	packed, count, err := openGroup(value, key, e.document.Hash)
	readable := false
	if err == nil {
		readable, err = e.packer.Readable(packed)
	}
	switch {
	case err != nil, !readable:
		e.broken = true
	case count < 0:
		e.old = true
	case int(key&ordinalMask) != e.next:
		e.broken = true
	default:
		e.next += count
	}
}

// finish returns the damage of the document; ok is false when there is none.
func (e *examination) finish(ctx context.Context, library *library) (damage index.Damage, ok bool, err error) {
	readable, err := e.packer.Readable(e.document.Detail)
	if err != nil || readable && !e.document.Damaged && !e.old && !e.broken && e.next == e.document.ChunkCount {
		return damage, false, err
	}
	whole, _, err := library.whole(ctx, e.document)
	if err != nil {
		return damage, false, err
	}
	if damage, ok = e.document.Damage(0, whole.Chunks); ok {
		return damage, true, nil
	}
	if e.old && !e.broken && slices.Equal(codec.Hash(&whole), e.document.Hash) {
		return damage, false, nil
	}
	damage.Reason = "its text differs from what was stored"
	return damage, true, nil
}

// examine returns the damage of a stored document; damaged is false if there is none.
func (l *library) examine(ctx context.Context, s *documents.Row) (damage index.Damage, damaged bool, err error) {
	e := examination{document: s, packer: l.packer}
	if !s.Damaged && s.ChunkCount > 0 {
		if err := l.eachGroup(ctx, s, 0, s.ChunkCount-1, e.group); err != nil {
			if !unreadable(err) {
				return damage, false, err
			}
			e.broken = true
		}
	}
	return e.finish(ctx, l)
}

// checkRun is one run of Check.
type checkRun struct {
	x       *Index
	options index.CheckOptions
	report  func(done, total int)

	mutex    sync.Mutex
	found    []index.Damage
	done     int
	total    int
	pageLost error // the database cannot read one of its pages
}

// Check implements index.Index.
func (x *Index) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) ([]index.Damage,
	error) {
	if report == nil {
		report = func(int, int) {}
	}
	options.Repair = options.Repair && !x.ReadOnly()
	c := &checkRun{x: x, options: options, report: report}
	x.states.exclude(nil)
	var err error
	if options.Documents != nil {
		err = c.checkNamed(ctx)
	} else {
		err = c.checkAll(ctx)
	}
	if err != nil {
		return c.found, fmt.Errorf("check the library: %w", err)
	}
	return c.found, nil
}

// checkNamed checks some documents.
func (c *checkRun) checkNamed(ctx context.Context) error {
	return c.x.reading(ctx, func(tx sqldb.Querier) error {
		library := newLibrary(tx, c.x.packer)
		for _, id := range c.options.Documents {
			found, err := library.look(ctx, id)
			if err != nil {
				return err
			}
			if found == nil {
				continue
			}
			damage, damaged, err := library.examine(ctx, found)
			if err != nil {
				return err
			}
			if damaged {
				c.found = append(c.found, damage)
			}
		}
		return nil
	})
}

// checkAll checks all parts, and again after the database was repaired, as all that was found may have changed.
func (c *checkRun) checkAll(ctx context.Context) error {
	for tries := 0; ; tries++ {
		err := c.pass(ctx)
		if err != nil && !c.unreadable(err) {
			return err
		}
		if c.pageLost == nil {
			return nil
		}
		damage := index.Damage{Kind: index.DamagedDatabase, Reason: c.pageLost.Error(), Repaired: c.options.Repair}
		switch {
		case !c.options.Repair:
			c.note(damage)
			return nil
		case tries == 0 && c.x.reindexed(ctx):
		case tries <= 1:
			if err := c.x.salvage(ctx); err != nil {
				return err
			}
			damage.Reason += "; the damaged file is kept as " + c.x.db.Path() + damagedSuffix
		default:
			return c.pageLost
		}
		c.found, c.pageLost, c.done, c.options.Full = []index.Damage{damage}, nil, 0, true
	}
}

// pass checks the database, then the files that are derived from it, then that both hold the same documents.
func (c *checkRun) pass(ctx context.Context) error {
	if err := c.database(ctx); err != nil || c.pageLost != nil {
		return err
	}
	if err := c.files(ctx); err != nil {
		return err
	}
	return c.agreement(ctx)
}

// database checks the rows of all documents, or of a part of them.
func (c *checkRun) database(ctx context.Context) error {
	if c.options.Full {
		if err := c.structure(ctx); err != nil {
			return err
		}
	}
	if err := c.dictionaries(ctx); err != nil {
		if c.unreadable(err) {
			return nil
		}
		return err
	}
	var first, last, from int64
	err := c.x.reading(ctx, func(tx sqldb.Querier) error {
		err := sqldb.GetWhole(ctx, tx, []any{&first, &last},
			"SELECT coalesce(min(row), 0), coalesce(max(row), -1) FROM documents")
		if err == nil {
			err = sqldb.GetWhole(ctx, tx, []any{&from},
				"SELECT coalesce(max(next), 0) FROM checks WHERE part = 'documents'")
		}
		return err
	})
	if c.unreadable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	end := last + 1
	if !c.options.Full && end-first > checkedRows {
		if from < first || from >= end {
			from = first
		}
		first, end = from, min(end, from+checkedRows)
		defer func() { c.noteProgress(ctx, end) }()
	}
	c.total = int(end - first)
	return c.rows(ctx, first, end)
}

// noteProgress stores where the next check continues. Without it the same part is checked again.
func (c *checkRun) noteProgress(ctx context.Context, next int64) {
	if c.x.ReadOnly() || ctx.Err() != nil {
		return
	}
	_, err := c.x.update(ctx, "INSERT OR REPLACE INTO checks (part, next) VALUES ('documents', ?)", next)
	if err != nil {
		c.x.log.Warn("cannot store the progress of the check", "error", err)
	}
}

// unreadable notes that a page of the database is damaged.
func (c *checkRun) unreadable(err error) bool {
	if !unreadable(err) {
		return false
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.pageLost == nil {
		c.pageLost = err
	}
	return true
}

// reindexed makes the indexes of the database again, and reports whether that was enough.
func (x *Index) reindexed(ctx context.Context) bool {
	again := checkRun{x: x}
	return x.reindex(ctx) == nil && again.structure(ctx) == nil && again.pageLost == nil
}

// structure has the database check itself: its pages, and that its indexes agree with its tables.
func (c *checkRun) structure(ctx context.Context) error {
	// Unlike other statements this one runs long on a connection of its own, so it may be interrupted.
	err := sqldb.Each(ctx, c.x.db.Reader, func(row *sql.Rows) error {
		problem := ""
		if err := row.Scan(&problem); err != nil || problem == "ok" {
			return err
		}
		return fmt.Errorf("%w: %s", fault.ErrDamaged, problem)
	}, "PRAGMA integrity_check(1)")
	if err != nil && !c.unreadable(err) {
		return fmt.Errorf("check the database: %w", err)
	}
	return nil
}

// rows checks the documents with row numbers from first to end, exclusive.
func (c *checkRun) rows(ctx context.Context, first, end int64) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(checkWorkers)
	for from := first; from < end && running.Err() == nil; from += checkSlice {
		group.Go(guard.Err(func() error {
			to := min(from+checkSlice, end)
			err := c.x.reading(running, func(tx sqldb.Querier) error { return c.slice(running, tx, from, to) })
			if err != nil && !c.unreadable(err) {
				return err
			}
			c.mutex.Lock()
			defer c.mutex.Unlock()
			c.done += int(to - from)
			c.report(c.done, c.total)
			return nil
		}))
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// slice checks the documents of some rows: each with the groups of its chunks.
func (c *checkRun) slice(ctx context.Context, tx sqldb.Querier, from, to int64) error {
	library := newLibrary(tx, c.x.packer)
	var e *examination
	finish := func() error {
		if e == nil {
			return nil
		}
		damage, damaged, err := e.finish(ctx, library)
		if damaged {
			c.note(damage)
		}
		return err
	}
	last := int64(-1)
	var key sql.NullInt64
	var body sql.RawBytes
	err := sqldb.EachWhole(ctx, tx, func(row *sql.Rows) error {
		found, err := library.scan(row, &key, &body)
		if err != nil {
			return err
		}
		if e == nil || found.Number > e.document.Number {
			if err := finish(); err != nil {
				return err
			}
			e = &examination{document: found, packer: c.x.packer}
		} else if found.Number < e.document.Number {
			return documents.ErrOrder
		}
		if !key.Valid {
			return nil
		}
		if key.Int64 <= last {
			return documents.ErrOrder
		}
		last = key.Int64
		e.group(last, body)
		return nil
	}, "SELECT "+documents.Columns+`, key, body FROM documents LEFT JOIN chunks
		ON key BETWEEN row << 20 AND row << 20 | 0xfffff WHERE row >= ? AND row < ? ORDER BY row, key`, from, to)
	if err != nil {
		return err
	}
	return finish()
}

func (c *checkRun) note(damage index.Damage) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.found = append(c.found, damage)
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
	_, err := x.update(ctx, "REINDEX")
	return err
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
		d.counters, err = miscounted(ctx, seen.library, seen.meta)
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

// damagedFiles lists the files that cannot be read: all segments together, then each file of vectors. A merge may
// remove some while they are checked.
func (c *checkRun) damagedFiles(ctx context.Context) (found []*damagedError, err error) {
	for range openAttempts {
		var before, after meta
		err = c.x.reading(ctx, func(tx sqldb.Querier) error {
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

func (c *checkRun) inspectFiles(ctx context.Context, tx sqldb.Querier) (found []*damagedError, err error) {
	var segments *damagedError
	err = c.x.inspect(ctx, tx, func(p *part, damage error) error {
		c.x.pool.drop(p.segment)
		if damage != nil {
			segments = segments.add(p.name, damage)
		}
		if p.vectors == nil {
			return ctx.Err()
		}
		err := c.x.states.vectors.verify(p.vectors.name)
		if !isDamage(err) {
			return err
		}
		unread := damaged(p.vectors.name, err)
		unread.vectors = true
		found = append(found, unread)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	if segments != nil {
		found = slices.Insert(found, 0, segments)
	}
	return found, nil
}
