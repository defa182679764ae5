// Package server is a whole search server: a directory of people, the documents of each tenant, and the API over
// both, for this process or for a listener. Everything is opened when it is first needed, and made on disk only when
// there is something to store.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/index/embedded"
	"quarry/server/llm"
	"quarry/server/metrics"
	"quarry/server/pipeline"
	"quarry/server/sample"
)

const (
	directoryFile = "directory.db"
	tenantsFolder = "tenants"
	hostKeyFile   = "ssh_host_ed25519_key" // which who serves visitors over SSH keeps here
)

// ErrClosed: the server was closed.
var ErrClosed = errors.New("the server is closed")

// Options say which library a server answers from, and how.
type Options struct {
	// Home is the folder of the library. It need not exist: reading finds nothing then, and makes nothing.
	Home string
	// Sample answers from the sample library, in memory; Home is not looked at.
	Sample bool
	// Empty answers from no documents at all, only from Federated; Home is not looked at.
	Empty bool
	// Federated are asked beside the documents by the owner's searches in this process, never for who is served.
	Federated []pipeline.Federated
	// ReadOnly refuses every change.
	ReadOnly bool
	// Models are what searches may ask, in process and served; nil: none.
	Models *llm.Providers
	// Version is the program's version.
	Version string
	// Profile is the name that results carry as their origin in this process; "local" if empty.
	Profile string
	// OmitQueries keeps the text of queries out of the log.
	OmitQueries bool
	Log         *slog.Logger     // nil: discarded
	Now         func() time.Time // nil: time.Now
}

// Server is an open server. Close it when it is no longer needed.
type Server struct {
	options Options
	api     *api.Server
	budget  *llm.Budget   // nil: no limit
	grace   time.Duration // for requests to end when the server does
	vectors *embedding

	// How files are looked at and opened; tests make it wait.
	stat func(tenant string) (tenantFiles, error)
	open func(context.Context, embedded.Options) (index.Index, error)

	mutex   sync.Mutex // never held over input and output
	closed  bool
	shared  sharedState
	tenants map[string]*tenantState
	left    []io.Closer // of tenants that were removed
}

// Open prepares a server. It touches nothing on disk.
func Open(_ context.Context, options Options) (*Server, error) {
	options.ReadOnly = options.ReadOnly || options.Empty
	if options.Home == "" && !options.Sample && !options.Empty {
		return nil, errors.New("open the library: no folder is given")
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Server{options: options, grace: shutdownGrace, open: openEmbedded, tenants: map[string]*tenantState{},
		shared: sharedState{lane: semaphore.NewWeighted(1), standIns: semaphore.NewWeighted(1)}}
	s.stat = s.filesOf
	libraryPath, libraryFiles := "", []string(nil)
	if !options.Sample && !options.Empty {
		home, err := filepath.Abs(options.Home)
		if err != nil {
			return nil, fmt.Errorf("open the library %s: %w", options.Home, err)
		}
		s.options.Home = home
		libraryPath, libraryFiles = tenantFolder(home, directory.DefaultTenant), ownFiles(home)
	}
	s.budget, s.vectors = s.newBudget(), s.newEmbedding()
	s.api = api.New(api.Options{
		Directory: s.directory, Index: s.index, Chats: s.openChats, RemoveTenant: s.removeTenant, Models: options.Models, Budget: s.budget,
		Federated: options.Federated, Empty: options.Empty,
		Changed: s.vectors.changed,
		Version: options.Version, Profile: options.Profile,
		LibraryPath: libraryPath, LibraryFiles: libraryFiles,
		Log: options.Log, OmitQueries: options.OmitQueries, Now: options.Now,
	})
	return s, nil
}

// InProcess answers for one identity, without tokens. The owner's handler also changes the library.
func (s *Server) InProcess(who directory.Principal) http.Handler { return s.api.Handler(who) }

// Metrics are where the server counts what it does; see api.Server.Metrics.
func (s *Server) Metrics() *metrics.Registry { return s.api.Metrics() }

// Close ends work in the background and closes all files. Requests that are still being served fail.
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
	return s.closeAll()
}

// directory opens the directory once.
func (s *Server) directory(ctx context.Context, create bool) (*directory.Directory, error) {
	if s.options.Empty {
		return s.openNobody(ctx)
	}
	people, err := obtain(ctx, s, s.shared.lane, &s.shared.people, func(ctx context.Context) (*directory.Directory, error) {
		if s.options.Sample {
			return s.openSamplePeople(ctx)
		}
		path := filepath.Join(s.options.Home, directoryFile)
		found, err := exists(path)
		if err != nil {
			return nil, fmt.Errorf("open the directory: %w", err)
		}
		if !found && (!create || s.options.ReadOnly) {
			return nil, errAbsent
		}
		return directory.Open(ctx, path, s.options.ReadOnly, directory.WithClock(s.options.Now))
	})
	if errors.Is(err, errAbsent) {
		return s.openNobody(ctx)
	}
	return people, err
}

// openNobody stands in for a directory that does not exist. It cannot be changed, and gives way as soon as another
// process makes the real one.
func (s *Server) openNobody(ctx context.Context) (*directory.Directory, error) {
	return obtain(ctx, s, s.shared.standIns, &s.shared.nobody, func(ctx context.Context) (*directory.Directory, error) {
		return directory.Open(ctx, "", true, directory.WithClock(s.options.Now))
	})
}

func (s *Server) openSamplePeople(ctx context.Context) (*directory.Directory, error) {
	people, err := directory.Open(ctx, "", false, directory.WithClock(s.options.Now))
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
		return nil, index.ErrReadOnly
	}
	state, err := s.current(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("open the library: %w", err)
	}
	documents, err := obtain(ctx, s, state.lane, &state.documents, func(ctx context.Context) (index.Index, error) {
		documents, err := s.openIndex(ctx, tenant, create)
		if err != nil {
			return nil, fmt.Errorf("open the library: %w", err)
		}
		if err := s.noteFiles(tenant, func(now tenantFiles) { state.files.documents = now.documents }); err != nil {
			return nil, errors.Join(fmt.Errorf("open the library: %w", err), documents.Close())
		}
		return documents, nil
	})
	if errors.Is(err, errAbsent) {
		return s.openNothing(ctx)
	}
	return documents, err
}

// openIndex opens a tenant's documents; errAbsent if there are none.
func (s *Server) openIndex(ctx context.Context, tenant string, create bool) (index.Index, error) {
	options := embedded.Options{ReadOnly: s.options.ReadOnly, Log: s.options.Log, Now: s.options.Now}
	switch {
	case s.options.Sample:
		return openSample(ctx, options, tenant)
	case s.options.Empty:
		return nil, errAbsent
	}
	options.Dir = tenantFolder(s.options.Home, tenant)
	found, err := embedded.Exists(options.Dir)
	switch {
	case err != nil:
		return nil, err
	case !found && !create:
		return nil, errAbsent
	}
	return s.open(ctx, options)
}

// openEmbedded keeps a nil *embedded.Index from becoming an index that is not nil.
func openEmbedded(ctx context.Context, options embedded.Options) (index.Index, error) {
	documents, err := embedded.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	return documents, nil
}

// openNothing stands in for a library that does not exist, and gives way as soon as somebody makes the real one.
func (s *Server) openNothing(ctx context.Context) (index.Index, error) {
	return obtain(ctx, s, s.shared.standIns, &s.shared.nothing, func(ctx context.Context) (index.Index, error) {
		return openEmbedded(ctx, embedded.Options{Now: s.options.Now})
	})
}

// openSample indexes the sample library in memory. Only the default tenant has it.
func openSample(ctx context.Context, options embedded.Options, tenant string) (index.Index, error) {
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

// ownFiles are what a server writes into its home, which may be a folder that holds other things too.
func ownFiles(home string) []string {
	people := filepath.Join(home, directoryFile)
	return []string{filepath.Join(home, tenantsFolder), filepath.Join(home, hostKeyFile), people, people + "-wal", people + "-shm", people + ".lock"}
}

func tenantFolder(home, tenant string) string { return filepath.Join(home, tenantsFolder, tenant) }

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// HasDocuments reports whether anything is stored in the default tenant of a home. It makes nothing on disk. A library
// that cannot be read counts as one that holds something, so that opening it tells what is wrong.
func HasDocuments(ctx context.Context, home string) (bool, error) {
	return embedded.HasDocuments(ctx, tenantFolder(home, directory.DefaultTenant))
}
