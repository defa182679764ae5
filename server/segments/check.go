package segments

import (
	"context"
	"fmt"
	"slices"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

const (
	// checkedRows of documents are checked when not everything is: about half a second's work.
	checkedRows = 100_000
)

// checkRun is one run of Check. Its methods abort it with their error, see guard.Abort.
type checkRun struct {
	x       *Index
	options index.CheckOptions
	report  func(done, total int)

	found    []index.Damage
	pageLost error // the database cannot read one of its pages
}

// Check implements index.Index.
func (x *Index) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) (
	found []index.Damage, err error) {
	options.Repair = options.Repair && !x.ReadOnly()
	c := &checkRun{x: x, options: options, report: report}
	defer func() { found = c.found }()
	defer guard.EndWhile("check the library", &err)
	if x.states.exclude(nil); options.Documents != nil {
		x.ExamineNamed(ctx, options.Documents, c.note)
	} else {
		c.checkAll(ctx)
	}
	return nil, nil
}

// checkAll checks all parts, and again after the database was repaired, as all that was found may have changed.
func (c *checkRun) checkAll(ctx context.Context) {
	for tries := 0; ; tries++ {
		c.unreadable(documents.Damage(func() { c.pass(ctx) }))
		if c.pageLost == nil {
			return
		}
		damage := index.Damage{Kind: index.DamagedDatabase, Reason: c.pageLost.Error(), Repaired: c.options.Repair}
		switch {
		case !c.options.Repair:
			c.note(damage)
			return
		case tries == 0 && c.x.reindexed(ctx):
		case c.x.source == nil && tries <= 1: // with a source, it is made again from that
			c.x.salvage(ctx)
			damage.Reason += "; the damaged file is kept as " + c.x.db.Path() + damagedSuffix
		default:
			guard.Abort(c.pageLost)
		}
		c.found, c.pageLost, c.options.Full = []index.Damage{damage}, nil, true
	}
}

// pass checks the database, then the files that are derived from it, then that both hold the same documents.
func (c *checkRun) pass(ctx context.Context) {
	if c.database(ctx); c.pageLost == nil {
		c.files(ctx)
		c.agreement(ctx)
	}
}

// database checks the rows of all documents, or of a part of them.
func (c *checkRun) database(ctx context.Context) {
	if c.options.Full {
		c.structure(ctx)
	}
	c.x.ExamineDictionaries(ctx, c.options.Repair, c.note)
	first, end := c.x.Reader(c.x.Newest(ctx)).RowNumbers()
	from := int64(0)
	c.x.Newest(ctx).Get([]any{&from}, "SELECT coalesce(max(next), 0) FROM checks WHERE part = 'documents'")
	if !c.options.Full && end-first > checkedRows {
		if from < first || from >= end {
			from = first
		}
		first, end = from, min(end, from+checkedRows)
		defer func() { c.noteProgress(ctx, end) }()
	}
	c.x.ExamineRows(ctx, first, end, c.note, c.unreadable, c.report)
}

// noteProgress stores where the next check continues. Without it the same part is checked again.
func (c *checkRun) noteProgress(ctx context.Context, next int64) {
	if c.x.ReadOnly() || ctx.Err() != nil {
		return
	}
	if err := c.x.Change(ctx, func(tx *sqldb.Tx) {
		tx.Exec("INSERT OR REPLACE INTO checks (part, next) VALUES ('documents', ?)", next)
	}); err != nil {
		c.x.Log.Warn("cannot store the progress of the check", "error", err)
	}
}

// unreadable notes that a page of the database is damaged.
func (c *checkRun) unreadable(err error) bool {
	if !documents.Unreadable(err) {
		return false
	}
	if c.pageLost == nil {
		c.pageLost = err
	}
	return true
}

// reindexed makes the indexes of the database again, and reports whether that was enough.
func (x *Index) reindexed(ctx context.Context) bool {
	again := checkRun{x: x}
	return guard.Ended(func() {
		x.reindex(ctx)
		again.structure(ctx)
	}) == nil && again.pageLost == nil
}

// structure has the database check itself: its pages, and that its indexes agree with its tables.
func (c *checkRun) structure(ctx context.Context) {
	err := guard.Ended(func() {
		// Unlike other statements this one runs long on a connection of its own, so it may be interrupted.
		from := sqldb.Source{Context: ctx, Querier: c.x.db.Reader}
		for _, problem := range sqldb.ColumnOf[string](from, "PRAGMA integrity_check(1)") {
			if problem != "ok" {
				guard.Abort(fmt.Errorf("%w: %s", fault.ErrDamaged, problem))
			}
		}
	})
	if !c.unreadable(err) {
		guard.While("check the database", err)
	}
}

func (c *checkRun) note(damage index.Damage) { c.found = append(c.found, damage) }

// agreement checks that the index and the database hold the same documents.
func (c *checkRun) agreement(ctx context.Context) {
	found := c.disagreement(ctx)
	if found.none() {
		return
	}
	repair := c.options.Repair && c.x.source == nil // else it is made again from the source
	if repair && len(found.orphans)+len(found.missing) > 0 {
		// The ids are read from an index of the database, which is most easily made again.
		c.x.reindex(ctx)
		if found = c.disagreement(ctx); found.none() {
			c.note(index.Damage{Kind: index.DamagedDatabase, Reason: "an index of the database was wrong",
				Repaired: true})
			return
		}
	}
	if repair {
		guard.Check(c.x.rebuildIndex(ctx, nil))
	}
	for _, id := range found.orphans {
		c.note(index.Damage{Kind: index.DamagedDocument, ID: id, Reason: "it is indexed but not stored"})
	}
	if found.counters && len(found.orphans) == 0 {
		c.note(index.Damage{Kind: index.DamagedDatabase, Repaired: repair, Reason: "its count of documents was wrong"})
	}
	if len(found.missing)+len(found.duplicates) > 0 {
		c.note(index.Damage{Kind: index.DamagedSegment, Repaired: repair, Reason: fmt.Sprintf(
			"the index lacked %d documents and had %d twice", len(found.missing), len(found.duplicates))})
	}
}

// reindex makes the indexes of the database again.
func (x *Index) reindex(ctx context.Context) {
	guard.Check(x.Change(ctx, func(tx *sqldb.Tx) { tx.Exec("REINDEX") }))
}

func (c *checkRun) disagreement(ctx context.Context) (d disagreement) {
	seen := c.x.openView(ctx)
	defer seen.close()
	if seen.state.lost != nil {
		return d // reported with the files
	}
	guard.Check(segment.Protect(func() string { return "" }, func() {
		d = compareIDs(seen.Reader, seen.state.parts)
		d.counters = c.x.source == nil && miscounted(seen.Reader, seen.Documents, seen.Chunks)
	}))
	return d
}

// files checks the files of the index and of vectors from beginning to end.
func (c *checkRun) files(ctx context.Context) {
	for _, suspects := range c.damagedFiles(ctx) {
		kind := index.DamagedSegment
		if suspects.vectors {
			kind = index.DamagedVectors
		}
		repaired := c.options.Repair && c.x.repair(ctx, suspects) == nil
		for _, name := range suspects.files {
			c.note(index.Damage{Kind: kind, ID: name, Reason: suspects.Error(), Repaired: repaired})
		}
	}
}

// damagedFiles lists the files that cannot be read: all segments together, then each file of vectors. A merge may
// remove some while they are checked.
func (c *checkRun) damagedFiles(ctx context.Context) (found []*damagedError) {
	for range openAttempts {
		var before documents.State
		guard.Check(c.x.Read(ctx, func(tx sqldb.Source) {
			before = documents.ReadState(tx)
			found = c.inspectFiles(tx)
		}))
		if len(found) == 0 || documents.ReadState(c.x.Newest(ctx)).Manifest == before.Manifest {
			break
		}
	}
	return found
}

func (c *checkRun) inspectFiles(tx sqldb.Source) (found []*damagedError) {
	var segments *damagedError
	for p, damage := range c.x.inspect(tx) {
		c.x.states.pool.drop(p.segment)
		if damage != nil {
			segments = segments.add(p.name, damage)
		}
		guard.Check(tx.Err())
		if p.vectors == nil {
			continue
		}
		if err := damageIn(func() { guard.Check(c.x.states.vectors.verify(p.vectors.name)) }); err != nil {
			unread := damaged(p.vectors.name, err)
			unread.vectors = true
			found = append(found, unread)
		}
	}
	if segments != nil {
		found = slices.Insert(found, 0, segments)
	}
	return found
}
