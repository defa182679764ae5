package documents

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// Tables are the documents of a database, whatever finds them. A write has these steps:
//
//  1. A transaction that only reads finds out what the changes do to what is stored: the plan.
//  2. Texts are packed, and the engine makes what it stores beside them. Both take long, so nothing is locked.
//  3. A transaction that excludes other writers makes sure that what was planned is still true, and stores it all.
//
// If another writer was faster, it begins again, the last time with the lock.
type Tables struct {
	DB        sqldb.DB
	Packer    *Packer
	Log       *slog.Logger
	Now       func() time.Time
	Sample    int            // bytes of text that a dictionary is made of at least; 0: sampleBytes
	Isolation *sql.TxOptions // of transactions that only read; nil: as the database has it
	// Engine calls Apply with what the engine adds to a write.
	Engine func(ctx context.Context, changes []Change, cursors map[string]string) (index.Written, error)
	// Stored is called after documents have changed, to wait for what follows them.
	Stored func(ctx context.Context)

	opened string // which store; empty: another one may take its place
}

// NewTables returns tables without a database and an engine. A nil log gets nothing, and a nil clock is time.Now.
func NewTables(log *slog.Logger, now func() time.Time) Tables {
	if now == nil {
		now = time.Now
	}
	return Tables{Packer: NewPacker(nil), Log: cmp.Or(log, slog.New(slog.DiscardHandler)), Now: now,
		Stored: func(context.Context) {}}
}

// State is the row of the table meta, and the current model. When documents change, it does.
type State struct {
	Store             string // random; two stores never share a version
	Generation        int64  // the number of the last change of a document
	Manifest          int64  // counts changes of segments in the same database
	Documents, Chunks int
	Model             string // empty: none
}

// Version is that of index.Index.
func (s State) Version() string { return fmt.Sprintf("%s.%d", s.Store, s.Generation) }

// ReadState reads the state that a transaction shows.
func ReadState(db sqldb.Source) (m State) {
	db.Row(fmt.Errorf("read the state of the library: %w", fault.ErrDamaged),
		[]any{&m.Store, &m.Generation, &m.Manifest, &m.Documents, &m.Chunks, &m.Model},
		`SELECT store, generation, manifest, documents, chunks,
		coalesce((SELECT name FROM embedding_models WHERE current = 1), '') FROM meta WHERE id = 1`)
	return m
}

// state is ReadState of what was opened; fault.ErrReplaced if it was removed, or another one took its place.
func (s *Tables) state(db sqldb.Source) (m State) {
	err := guard.Ended(func() { m = ReadState(db) })
	var answer interface{ SQLState() string }
	if errors.As(err, &answer) && answer.SQLState() == "42P01" || // no such table
		err == nil && s.opened != "" && m.Store != s.opened {
		err = fmt.Errorf("read the state of the library: %w", fault.ErrReplaced)
	}
	guard.Check(err)
	return m
}

// Written is what an engine stores with documents. Its methods are called in order, and again from the first one when
// another writer was faster; Store may be called twice. They abort with their errors.
type Written interface {
	// Begin discards what was prepared before. It returns what is called with each document that is replaced or
	// removed, as far as it can be read, by its number among the changes; nil: their texts need not be read.
	Begin(tx sqldb.Source) (replaced func(n int, old index.Document))
	Prepare(tx sqldb.Source, plan *Plan)
	// Store is called with the state before the write, if documents change.
	Store(tx *sqldb.Tx, plan *Plan, before State)
}

var (
	// ErrOvertaken: another writer changed the same documents between the preparation of a change and its transaction.
	ErrOvertaken = errors.New("another writer changed the same documents")
	// ErrUnchanged ends the preparation of a change that has nothing to store.
	ErrUnchanged = errors.New("nothing changes")
)

// optimisticTries are made to prepare a change without the write lock; after that it is prepared under it.
const optimisticTries = 2

// State returns the newest state.
func (s *Tables) State(ctx context.Context) (now State, err error) {
	defer guard.End(&err)
	return s.state(s.Newest(ctx)), nil
}

// Version implements index.Index.
func (s *Tables) Version(ctx context.Context) (version string, err error) {
	defer guard.End(&err)
	return s.state(s.Newest(ctx)).Version(), nil
}

// Cursors implements index.Index.
func (s *Tables) Cursors(ctx context.Context, prefix string) (found map[string]string, err error) {
	defer guard.End(&err)
	return Cursors(s.Newest(ctx), prefix), nil
}

// Export implements index.Exporter.
func (s *Tables) Export(ctx context.Context, after string, limit int) (list []index.Document, err error) {
	err = s.Read(ctx, func(tx sqldb.Source) {
		s.state(tx) // fails when other documents took their place
		list = s.Reader(tx).Export(after, limit)
	})
	return list, err
}

// Newest returns what reads the newest state, each statement by itself.
func (s *Tables) Newest(ctx context.Context) sqldb.Source {
	return sqldb.Shared(ctx, s.DB.Pool())
}

// ReadOnly reports whether the database was opened without the right to change it.
func (s *Tables) ReadOnly() bool { return s.DB.ReadOnly() }

// Reader returns what reads documents of a database or transaction.
func (s *Tables) Reader(db sqldb.Source) *Reader {
	return &Reader{Source: db, Packer: s.Packer}
}

// Shown returns what reads the documents of a state that a transaction shows, and keeps them.
func (s *Tables) Shown(tx sqldb.Source, state State) *Reader {
	read := s.Reader(tx)
	read.version = state.Version()
	return read
}

// Change runs do in a transaction, which stores all of what do does or nothing.
func (s *Tables) Change(ctx context.Context, do func(*sqldb.Tx)) error {
	return sqldb.UpdateWhole(ctx, s.DB, do)
}

// Begin opens a transaction that only reads. It outlives the call, and so does not end with its context.
func (s *Tables) Begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.DB.Pool().BeginTx(context.WithoutCancel(ctx), s.Isolation)
	return tx, sqldb.Explained("read the library", err)
}

// Read calls f with a transaction that only reads.
func (s *Tables) Read(ctx context.Context, f func(sqldb.Source)) error {
	tx, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return guard.Ended(func() { f(sqldb.Shared(ctx, tx)) })
}

// Commit prepares a change and stores it. verify is called with the write lock, and aborts with ErrOvertaken if what
// was prepared without it does not fit any more.
func (s *Tables) Commit(ctx context.Context, prepare, verify func(sqldb.Source), store func(*sqldb.Tx)) error {
	storeAfter := func(first func(sqldb.Source)) error {
		return s.Change(ctx, func(tx *sqldb.Tx) {
			first(tx.Source)
			store(tx)
		})
	}
	err := ErrOvertaken
	for try := 0; try < optimisticTries && errors.Is(err, ErrOvertaken); try++ {
		if err = s.Read(ctx, prepare); err == nil {
			err = storeAfter(verify)
		}
	}
	if errors.Is(err, ErrOvertaken) {
		err = storeAfter(prepare)
	}
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return err
}

// Write implements index.Index: it returns when the batch is in the database. A document that the batch both stores and
// deletes is stored; of two with one id the last counts. Besides the errors of package index: ErrTooLarge, ErrNoID,
// fault.ErrDiskFull.
func (s *Tables) Write(ctx context.Context, batch index.Batch) (written index.Written, err error) {
	changes, err := changesOf(batch)
	if err != nil {
		return written, fmt.Errorf("write to the library: %w", err)
	}
	if !batch.DryRun {
		written, err = s.Engine(ctx, changes, batch.Cursors)
		if written.Added+written.Updated+written.Removed > 0 {
			s.Stored(ctx)
		}
		return written, err
	}
	err = s.Read(ctx, func(tx sqldb.Source) { written = s.Reader(tx).Plan(changes, nil).Written })
	return written, err
}

// patchesAtOnce bounds the documents that are in memory while their rights change.
const patchesAtOnce = 256

// UpdateAccess implements index.Index. Each document changes at once; of a long list, some may be seen changed before
// others.
func (s *Tables) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (total int, err error) {
	for some := range slices.Chunk(patches, patchesAtOnce) {
		written, failure := s.Engine(ctx, accessChanges(some), nil)
		if total, err = total+written.Updated, failure; err != nil {
			break
		}
	}
	if total > 0 {
		s.Stored(ctx)
	}
	return total, err
}

// Apply stores changes, bookkeeping entries and what an engine has beside them in one transaction.
func (s *Tables) Apply(ctx context.Context, changes []Change, cursors map[string]string, with Written) (
	written index.Written, err error) {
	defer guard.End(&err)
	if s.ReadOnly() {
		guard.While("write to the library", fault.ErrReadOnly)
	}
	s.prepareDictionary(ctx, changes)
	s.prepareNames(ctx, changes)
	var plan *Plan
	var planned State
	guard.Check(s.Commit(ctx, func(tx sqldb.Source) {
		planned = s.state(tx)
		plan = s.Reader(tx).Plan(changes, with.Begin(tx))
		if plan.Nothing() && !cursorsChange(tx, cursors) {
			guard.Abort(ErrUnchanged)
		}
		group, _ := guard.NewGroup(ctx)
		group.Run(func() { plan.Pack(ctx, s.Packer) })
		group.Run(func() { with.Prepare(tx, plan) })
		guard.Check(group.Wait())
	}, func(tx sqldb.Source) {
		before := planned
		if planned = s.state(tx); planned != before {
			plan.verify(s.Reader(tx))
		}
	}, func(tx *sqldb.Tx) {
		if PutCursors(tx, cursors); plan.Nothing() { // cursors alone change nothing that can be seen
			return
		}
		s.put(tx, plan, planned)
		with.Store(tx, plan, planned)
	}))
	return plan.Written, nil
}

// cursorsChange reports whether one of cursors is not stored like this.
func cursorsChange(tx sqldb.Source, cursors map[string]string) bool {
	for key, value := range cursors {
		current := ""
		tx.Get([]any{&current}, "SELECT coalesce(max(value), '') FROM cursors WHERE key = ?", key)
		if current != value {
			return true
		}
	}
	return false
}

// stored returns the rows of documents that were stored before.
func (p *Plan) stored() (rows []*Row) {
	for _, i := range p.Items {
		if i.Old != nil {
			rows = append(rows, i.Old)
		}
	}
	return rows
}

// verify aborts with ErrOvertaken unless all documents are as they were when the plan was made.
func (p *Plan) verify(from *Reader) {
	ids := make([]string, len(p.Items))
	for n, i := range p.Items {
		ids[n] = i.ID
	}
	found := from.Find(ids)
	for _, i := range p.Items {
		now := found[i.ID]
		if (now == nil) != (i.Old == nil) || now != nil &&
			(now.Number != i.Old.Number || !slices.Equal(now.Hash, i.Old.Hash)) {
			guard.Abort(ErrOvertaken)
		}
	}
}

const (
	// checkSlice rows are read in one transaction, so that a check delays no checkpoint.
	checkSlice   = 4096
	checkWorkers = 2
)

// ExamineRows examines the documents with row numbers from first to end, exclusive, and calls note with their damage,
// one call at a time. lost reports whether to go on after an error; it and report, which may be nil, are called
// likewise.
func (s *Tables) ExamineRows(ctx context.Context, first, end int64, note func(index.Damage), lost func(error) bool,
	report func(done, total int)) {
	var mutex sync.Mutex
	done := int64(0)
	group, running := guard.NewGroup(ctx)
	group.SetLimit(checkWorkers)
	for from := first; from < end && running.Err() == nil; from += checkSlice {
		group.Run(func() {
			to := min(from+checkSlice, end)
			var found []index.Damage
			yield := func(damage index.Damage) { found = append(found, damage) }
			err := s.Read(running, func(tx sqldb.Source) { s.Reader(tx).ExamineRows(from, to, yield) })
			mutex.Lock()
			defer mutex.Unlock()
			for _, damage := range found {
				note(damage)
			}
			if err != nil && !lost(err) {
				guard.Abort(err)
			}
			if done += to - from; report != nil {
				report(int(done), int(end-first))
			}
		})
	}
	guard.Check(group.Wait())
	guard.Check(ctx.Err())
}

// ExamineNamed examines documents by id.
func (s *Tables) ExamineNamed(ctx context.Context, ids []string, note func(index.Damage)) {
	guard.Check(s.Read(ctx, func(tx sqldb.Source) {
		from := s.Reader(tx)
		from.Examine(slices.DeleteFunc(from.Recall(ids...), func(row *Row) bool { return row == nil }), note)
	}))
}
