// Package segments is the search engine in the program itself: immutable segment files and their manifest, which can be
// built again from the documents at any time. On one machine these are in the same SQLite database as the manifest
// (Index). A segment is durable before the transaction that stores its documents names it, so every process sees a
// complete state, also after a crash. Segments of a store of several servers follow its log (Local).
package segments

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
	"quarry/server/sqlite"

	"golang.org/x/sync/semaphore"
)

const (
	databaseName   = "library.db"
	segmentsFolder = "segments"
	// pageSize is several times that of a group of chunks, so that little of a page stays empty.
	pageSize = 16 << 10
)

// Options are where a library is and how to open it.
type Options struct {
	// Dir contains library.db and segments/; it is created when it is missing. Empty: a library in memory, which is
	// gone when it is closed and never touches the disk.
	Dir string
	// ReadOnly opens an existing library that is not changed. A folder that cannot be written is opened like this in
	// any case, and one in memory never.
	ReadOnly bool
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: nothing is logged
	source   *follower        // has the documents; nil: they are in library.db

	files  segmentFiles // replaces where segments are kept, in tests
	policy *mergePolicy // replaces when segments are merged, in tests
}

// Index is an open library. Any number of them, in any number of processes, may be open on one folder.
type Index struct {
	documents.Tables
	db          *sqlite.DB
	builders    sync.Pool // of *segment.Builder, empty
	states      *states
	files       segmentFiles
	source      *follower
	vectorStore *documents.Tables // has the vectors: beside the documents

	worker     *worker
	staleNoted atomic.Int64        // the manifest that was last looked through for segments of an older analyser
	repairs    sync.Mutex          // held while segments or the database are repaired
	vectored   sync.Mutex          // held while vectors are; a view that this needs may have segments repaired
	embeds     *semaphore.Weighted // of 1: two passes would embed the same texts
}

var _ index.Index = (*Index)(nil)

// Open opens or creates a library. Errors: those of sqlite.Open.
func Open(ctx context.Context, options Options) (_ *Index, err error) {
	defer guard.End(&err)
	settings := databaseAt("")
	if options.Dir != "" {
		guard.Check(refuseLoss(options.Dir))
		settings.ReadOnly = options.ReadOnly
		settings.Path = filepath.Join(options.Dir, databaseName)
	}
	db := guard.Must(sqlite.Open(ctx, settings))
	x := &Index{Tables: documents.NewTables(options.Log, options.Now), db: db, source: options.source}
	x.DB, x.Engine = db, x.apply
	if x.vectorStore = &x.Tables; x.source != nil {
		x.vectorStore = &x.source.of.Tables
	}
	if !db.InMemory() {
		x.PackWithDictionaries()
	}
	if x.files, err = x.openFiles(options); err != nil {
		_ = db.Close()
		return nil, err
	}
	x.states = &states{pool: newPool(x.files, segment.Open), vectors: newPool(x.files, vector.Open)}
	policy := cmp.Or(options.policy, new(defaultMergePolicy()))
	x.worker, x.embeds = newWorker(x, *policy), semaphore.NewWeighted(1)
	x.staleNoted.Store(-1)
	return x, nil
}

func databaseAt(path string) sqlite.Options {
	return sqlite.Options{Path: path, Migrations: documents.LibraryMigrations(), PageSize: pageSize}
}

func (x *Index) openFiles(options Options) (segmentFiles, error) {
	switch {
	case options.files != nil:
		return options.files, nil
	case options.Dir == "":
		return new(memoryFiles), nil
	}
	folder := filepath.Join(filepath.Dir(x.db.Path()), segmentsFolder)
	if !x.db.ReadOnly() {
		if err := sqlite.MakeFolder(folder); err != nil {
			return nil, sqldb.Explained("create the folder of the index", err)
		}
	}
	return newDiskFiles(folder), nil
}

// Close implements index.Index. It waits for a merge that is about to end; a longer one is cancelled and leaves nothing
// behind. Open snapshots must not be used afterwards.
func (x *Index) Close() error {
	x.worker.stop()
	x.states.forget()
	return x.db.Close()
}

// Exists reports whether there is a library in a folder, also one whose database is lost. It makes nothing on disk.
func Exists(dir string) (bool, error) {
	found, err := Stat(dir)
	return found != nil || refuseLoss(dir) != nil, err
}

// Stat describes the file that identifies a library in a folder; nil if there is none. While a library is open, no
// other one has the same file by os.SameFile.
func Stat(dir string) (fs.FileInfo, error) { return sqlite.Stat(filepath.Join(dir, databaseName)) }

// HasDocuments reports whether there is a library in a folder that contains something. It makes nothing on disk, and
// reads no more than a row. A library that cannot be read counts as one that contains something, so that opening it
// reports the error.
func HasDocuments(ctx context.Context, dir string) (bool, error) {
	if found, err := Exists(dir); err != nil || !found {
		return false, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, databaseName), ReadOnly: true})
	if err != nil {
		return true, nil
	}
	has := true
	_ = guard.Ended(func() { has = documents.ReadState(sqldb.Shared(ctx, db.Reader)).Documents > 0 })
	return has, db.Close()
}
