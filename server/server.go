// Package server combines the directory, the documents of each tenant and the API into a search server, in process or
// for a listener. Files are opened on first use, and created only when there is something to store.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"quarry/internal/guard"
	"quarry/server/api"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/ingest/web"
	"quarry/server/llm"
	"quarry/server/metrics"
	"quarry/server/postgres"
	"quarry/server/sample"
	"quarry/server/segments"
	"quarry/server/sqlite"
	"quarry/server/weaviate"
)

const (
	directoryFile = "directory.db"
	tenantsFolder = "tenants"
	hostKeyFile   = "ssh_host_ed25519_key" // of the SSH listener
)

// ErrClosed: the server was closed.
var ErrClosed = errors.New("the server is closed")

// Options configure a Server.
type Options struct {
	// Home is the folder of the library. It need not exist: reading does not create it.
	Home string
	// Database is the address of a PostgreSQL database, which several servers may share, for everything but documents;
	// empty: files in Home. The sample library ignores it.
	Database string
	// DocumentsInDatabase keeps documents in Database, too; with Weaviate they are there in any case. Each server
	// indexes them.
	DocumentsInDatabase bool
	// Sample serves the sample library, in memory. Home is ignored.
	Sample bool
	// Settings are those of its API. Home is ignored where Empty is set.
	api.Settings
	// ReadOnly rejects every change.
	ReadOnly bool
	// Weaviate is the cluster that indexes the documents; nil: the embedded engine does.
	Weaviate *weaviate.Cluster
	// Background makes vectors of the default tenant as long as the server is open, from backgroundAfter on.
	Background bool
	// Readers read documents in other processes; nil: in this one, without PDF files.
	Readers *ingest.Readers
	// Web is how added pages are fetched.
	Web web.Options
}

// Server is an open server. Close it when it is no longer needed.
type Server struct {
	options  Options
	api      *api.Server
	people   *directory.Directory
	pool     *postgres.Pool // of Options.Database; nil: files
	budget   *llm.Budget    // nil: no limit
	grace    time.Duration  // for open requests when the server stops
	vectors  *embedding
	sweeping guard.Loop

	open func(context.Context, segments.Options) (index.Index, error) // openEmbedded; replaced in tests

	mutex    sync.Mutex // not held during I/O
	closed   bool
	shared   sharedState
	serving  bool // for others than the owner: vectors of documents that other servers have stored are made, too
	tenants  map[string]*tenantState
	replaced []io.Closer // files of removed tenants, which may still be read
}

// Open returns a server. It does not access the disk or the network.
func Open(_ context.Context, options Options) (*Server, error) {
	options.ReadOnly = options.ReadOnly || options.Empty
	if options.Home == "" && !options.Sample && !options.Empty {
		return nil, errors.New("open the library: no folder is given")
	}
	if options.DocumentsInDatabase && options.Database == "" {
		return nil, errors.New("open the library: no database is given")
	}
	options.Settings = options.WithDefaults()
	s := &Server{options: options, grace: shutdownGrace, open: openEmbedded, tenants: map[string]*tenantState{},
		shared: sharedState{lock: semaphore.NewWeighted(1), emptyLock: semaphore.NewWeighted(1)}}
	s.people = directory.Lazy(s.directory, options.Now)
	served := api.Options{
		Directory: s.people, Index: s.library, Chats: s.chats, RemoveTenant: s.removeTenant, Removed: s.removed,
		Settings: options.Settings, Local: ingest.Local{Readers: options.Readers, Web: options.Web},
	}
	if !options.Sample && !options.Empty {
		home, err := filepath.Abs(options.Home)
		if err != nil {
			return nil, fmt.Errorf("open the library %s: %w", options.Home, err)
		}
		s.options.Home = home
		served.Local.Own, served.Meaning.Folder = ownFiles(home), s.folder
		if options.Database != "" {
			if s.pool, err = postgres.Open(options.Database, options.ReadOnly); err != nil {
				return nil, err
			}
			served.Database, served.Coordinator = "PostgreSQL, "+s.pool.String(), s.pool
		}
	}
	if s.pool != nil || options.Weaviate != nil {
		served.Migrate = s.migrate
	}
	s.budget, s.vectors = s.newBudget(), s.newEmbedding()
	served.Budget, served.Changed = s.budget, s.vectors.changed
	s.api = api.New(served)
	if options.Background {
		s.vectors.begin(directory.DefaultTenant)
	}
	return s, nil
}

// InProcess returns the in-process handler for one identity. The owner's handler also changes the library.
func (s *Server) InProcess(who directory.Principal) http.Handler { return s.api.Handler(who) }

// Metrics returns the registry of the server's metrics.
func (s *Server) Metrics() *metrics.Registry { return s.api.Metrics() }

// Close stops background work and closes all files. Open requests fail.
func (s *Server) Close() error {
	s.vectors.stop()
	s.budget.Close(context.Background())
	s.mutex.Lock()
	closed := s.closed
	s.closed = true
	s.mutex.Unlock()
	if closed {
		return nil
	}
	s.api.Close()
	s.sweeping.Wait()
	err := s.closeAll()
	if s.pool != nil {
		err = errors.Join(err, s.pool.Close())
	}
	return err
}

// directory opens the directory once.
func (s *Server) directory(ctx context.Context, create bool) (*directory.Directory, error) {
	return openOrEmpty(ctx, s, s.shared.lock,
		&s.shared.people, func(ctx context.Context) (*directory.Directory, error) {
			switch {
			case s.options.Empty:
				return nil, errAbsent
			case s.options.Sample:
				return s.openSamplePeople(ctx)
			case s.pool != nil:
				return directory.OpenServer(ctx, s.pool, s.options.Now)
			}
			path := filepath.Join(s.options.Home, directoryFile)
			found, err := sqlite.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("open the directory: %w", err)
			}
			if found == nil && (!create || s.options.ReadOnly) {
				return nil, errAbsent
			}
			return directory.Open(ctx, path, s.options.ReadOnly, s.options.Now)
		}, &s.shared.emptyDirectory, func(ctx context.Context) (*directory.Directory, error) {
			return directory.Open(ctx, "", true, s.options.Now)
		})
}

func (s *Server) openSamplePeople(ctx context.Context) (*directory.Directory, error) {
	people, err := directory.Open(ctx, "", false, s.options.Now)
	if err != nil {
		return nil, err
	}
	if err := sample.LoadDirectory(ctx, people); err != nil {
		return nil, errors.Join(err, people.Close())
	}
	return people, nil
}

// index opens a tenant's documents once.
func (s *Server) index(ctx context.Context, tenant string, create bool) (index.Index, error) {
	if create && s.options.ReadOnly {
		return nil, fault.ErrReadOnly
	}
	state, err := s.current(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("open the library: %w", err)
	}
	return openOrEmpty(ctx, s, state.lock, &state.documents, func(ctx context.Context) (_ index.Index, err error) {
		defer guard.EndWhile("open the library", &err)
		return s.openIndex(ctx, tenant, create)
	}, &s.shared.emptyIndex, func(ctx context.Context) (index.Index, error) {
		return openEmbedded(ctx, segments.Options{Now: s.options.Now})
	})
}

// openIndex opens a tenant's documents; errAbsent if there are none.
func (s *Server) openIndex(ctx context.Context, tenant string, create bool) (index.Index, error) {
	options := segments.Options{ReadOnly: s.options.ReadOnly, Log: s.options.Log, Now: s.options.Now}
	switch {
	case s.options.Sample:
		return openSample(ctx, options, tenant)
	case s.options.Empty:
		return nil, errAbsent
	}
	options.Dir = s.folder(tenant)
	if s.isDistributed() {
		return s.openDistributed(ctx, tenant, create)
	}
	found, err := segments.Exists(options.Dir)
	switch {
	case err != nil:
		return nil, err
	case !found && !create:
		return nil, errAbsent
	}
	return s.open(ctx, options)
}

// openEmbedded converts a nil *segments.Index to a nil index.Index.
func openEmbedded(ctx context.Context, options segments.Options) (index.Index, error) {
	documents, err := segments.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	return documents, nil
}

// openSample indexes the sample library in memory, for the default tenant only.
func openSample(ctx context.Context, options segments.Options, tenant string) (index.Index, error) {
	options.ReadOnly = false
	documents, err := openEmbedded(ctx, options)
	if err != nil || tenant != directory.DefaultTenant {
		return documents, err
	}
	if err := sample.LoadIndex(ctx, documents); err != nil {
		return nil, errors.Join(err, documents.Close())
	}
	return documents, nil
}

// ownFiles returns the paths that a server writes in its home, which may contain other files too.
func ownFiles(home string) []string {
	people := filepath.Join(home, directoryFile)
	return []string{filepath.Join(home, tenantsFolder), filepath.Join(home, hostKeyFile), people, people + "-wal",
		people + "-shm", people + ".lock"}
}

func tenantFolder(home, tenant string) string { return filepath.Join(home, tenantsFolder, tenant) }

func (s *Server) folder(tenant string) string { return tenantFolder(s.options.Home, tenant) }

// HasDocuments reports whether the default tenant of a home has documents. It creates nothing. It is true for a library
// that cannot be read, so that opening it reports the error.
func HasDocuments(ctx context.Context, home string) (bool, error) {
	folder := tenantFolder(home, directory.DefaultTenant)
	if found, err := documents.Stat(folder); err != nil || found != nil {
		return true, nil
	}
	return segments.HasDocuments(ctx, folder)
}

// chatsFile is in the folder of a tenant's library.
const chatsFile = "chats.db"

// chats returns a tenant's chat sessions.
func (s *Server) chats(tenant string) *chat.Store {
	rows := ""
	if s.chatsOnServer() {
		rows = tenant
	}
	return chat.Lazy(rows, func(ctx context.Context, create bool) (*chat.Store, error) {
		return s.openChats(ctx, tenant, create)
	}, s.options.Now)
}

// openChats opens a tenant's chat sessions once. In a sample or read-only library they are kept in memory.
func (s *Server) openChats(ctx context.Context, tenant string, create bool) (*chat.Store, error) {
	state, err := s.current(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("open the chats: %w", err)
	}
	return openOrEmpty(ctx, s, state.lock, &state.chats, func(ctx context.Context) (*chat.Store, error) {
		path := ""
		if s.chatsOnServer() {
			if _, err := s.directory(ctx, true); err != nil { // which has the tenant
				return nil, err
			}
			return chat.OpenServer(ctx, s.pool, tenant, s.options.Now)
		}
		if !s.options.Sample && !s.options.ReadOnly {
			path = filepath.Join(s.folder(tenant), chatsFile)
			found, err := sqlite.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("open the chats: %w", err)
			}
			if found == nil && !create {
				return nil, errAbsent
			}
		}
		return chat.Open(ctx, path, s.options.Now)
	}, &s.shared.emptyChats, func(ctx context.Context) (*chat.Store, error) {
		return chat.Open(ctx, "", s.options.Now)
	})
}

// chatsOnServer reports whether the chat sessions are on the database server. In a read-only library they are in
// memory.
func (s *Server) chatsOnServer() bool { return s.pool != nil && !s.options.ReadOnly }
