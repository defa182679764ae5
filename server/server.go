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

	"quarry/client/wire"
	"quarry/server/api"
	"quarry/server/chat"
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

	mutex   sync.Mutex
	closed  bool
	people  *directory.Directory // nil: not opened yet
	nobody  *directory.Directory // stands for a directory that does not exist
	indexes map[string]index.Index
	chats   map[string]*chat.Store
	files   map[string]tenantFiles // by tenant, but for the default one, which is not removed
	left    []io.Closer            // of tenants that were removed
	noChats *chat.Store            // stands for sessions that do not exist
	nothing index.Index            // stands for every library that does not exist
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
	s := &Server{options: options, grace: shutdownGrace, indexes: map[string]index.Index{}, chats: map[string]*chat.Store{},
		files: map[string]tenantFiles{}}
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
		Directory: s.directory, Index: s.index, Chats: s.openChats, Models: options.Models, Budget: s.budget,
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

// Owner is the local user of the default tenant.
func (s *Server) Owner() directory.Principal { return directory.Owner(directory.DefaultTenant) }

// Metrics are where the server counts what it does; see api.Server.Metrics.
func (s *Server) Metrics() *metrics.Registry { return s.api.Metrics() }

// Directory opens the directory, which is made where it does not exist, for administration.
func (s *Server) Directory(ctx context.Context) (*directory.Directory, error) {
	return s.directory(ctx, true)
}

// AddToken makes a token, and returns it as POST /user/pats does: the only time that it is shown.
func (s *Server) AddToken(ctx context.Context, request directory.TokenRequest) (wire.NewAccessToken, error) {
	people, err := s.directory(ctx, true)
	if err != nil {
		return wire.NewAccessToken{}, err
	}
	token, secret, err := people.AddToken(ctx, request)
	if err != nil {
		return wire.NewAccessToken{}, err
	}
	return wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}, nil
}

// Close ends work in the background and closes all files. Requests that are still being served fail.
func (s *Server) Close() error {
	s.vectors.stop()
	s.budget.Flush(context.Background())
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.api.Close()
	var failed []error
	for _, documents := range s.indexes {
		failed = append(failed, documents.Close())
	}
	for _, sessions := range s.chats {
		failed = append(failed, sessions.Close())
	}
	for _, file := range s.left {
		failed = append(failed, file.Close())
	}
	if s.noChats != nil {
		failed = append(failed, s.noChats.Close())
	}
	if s.nothing != nil {
		failed = append(failed, s.nothing.Close())
	}
	for _, d := range []*directory.Directory{s.people, s.nobody} {
		if d != nil {
			failed = append(failed, d.Close())
		}
	}
	return errors.Join(failed...)
}

// directory opens the directory once. What is opened outlives the request that needed it first, so that it must not
// end with that request.
func (s *Server) directory(ctx context.Context, create bool) (*directory.Directory, error) {
	ctx = context.WithoutCancel(ctx)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.people != nil:
		return s.people, nil
	case s.options.Sample:
		return s.openSamplePeople(ctx)
	case s.options.Empty:
		return s.openNobody(ctx)
	}
	path := filepath.Join(s.options.Home, directoryFile)
	found, err := exists(path)
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	if !found && (!create || s.options.ReadOnly) {
		return s.openNobody(ctx)
	}
	s.people, err = directory.Open(ctx, path, s.options.ReadOnly, directory.WithClock(s.options.Now))
	return s.people, err
}

// openNobody stands in for a directory that does not exist. It cannot be changed, and gives way as soon as another
// process makes the real one.
func (s *Server) openNobody(ctx context.Context) (people *directory.Directory, err error) {
	if s.nobody == nil {
		s.nobody, err = directory.Open(ctx, "", true, directory.WithClock(s.options.Now))
	}
	return s.nobody, err
}

func (s *Server) openSamplePeople(ctx context.Context) (*directory.Directory, error) {
	people, err := directory.Open(ctx, "", false, directory.WithClock(s.options.Now))
	if err != nil {
		return nil, err
	}
	if err := sample.LoadDirectory(ctx, people); err != nil {
		return nil, errors.Join(err, people.Close())
	}
	s.people = people
	return people, nil
}

// index opens a tenant's documents once, like directory.
func (s *Server) index(ctx context.Context, tenant string, create bool) (index.Index, error) {
	ctx = context.WithoutCancel(ctx)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case create && s.options.ReadOnly:
		return nil, index.ErrReadOnly
	}
	if err := s.leaveRemoved(tenant); err != nil {
		return nil, fmt.Errorf("open the library: %w", err)
	}
	if documents := s.indexes[tenant]; documents != nil {
		return documents, nil
	}
	documents, err := s.openIndex(ctx, tenant, create)
	if err != nil {
		return nil, fmt.Errorf("open the library: %w", err)
	}
	if documents == s.nothing {
		return documents, nil
	}
	s.indexes[tenant] = documents
	return documents, s.noteFiles(tenant)
}

func (s *Server) openIndex(ctx context.Context, tenant string, create bool) (index.Index, error) {
	options := embedded.Options{ReadOnly: s.options.ReadOnly, Log: s.options.Log, Now: s.options.Now}
	switch {
	case s.options.Sample:
		return openSample(ctx, options, tenant)
	case s.options.Empty:
		return s.openNothing(ctx)
	}
	options.Dir = tenantFolder(s.options.Home, tenant)
	found, err := embedded.Exists(options.Dir)
	switch {
	case err != nil:
		return nil, err
	case !found && !create:
		return s.openNothing(ctx)
	}
	return openEmbedded(ctx, options)
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
func (s *Server) openNothing(ctx context.Context) (documents index.Index, err error) {
	if s.nothing == nil {
		s.nothing, err = openEmbedded(ctx, embedded.Options{Now: s.options.Now})
	}
	return s.nothing, err
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
