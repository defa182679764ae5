package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/server"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/ingest/web"
	"quarry/server/weaviate"
)

// Host has the user's folders, environment and configuration. Its methods open servers and libraries.
type Host struct {
	Env     config.Env
	Paths   config.Paths
	Config  *config.Config
	Version string           // of this program
	Keyring config.Keyring   // nil: none
	Log     *slog.Logger     // nil: nothing is logged
	Dir     string           // working folder; empty: that of the process
	Now     func() time.Time // nil: time.Now
	// Executable is the path of this program, which runs itself to read documents; empty: it does not.
	Executable string
	Readers    *Readers // of the whole process
	Model      string   // the packed sentence encoder of this program; empty: none

	background bool // see MakeVectors
}

// NewHost finds the folders and reads the configuration.
func NewHost(env config.Env, version string) (*Host, error) {
	paths, err := config.Locate(env)
	if err != nil {
		return nil, err
	}
	read, err := config.Load(paths, env)
	if err != nil {
		return nil, err
	}
	h := &Host{Env: env, Paths: paths, Config: read, Version: version, Readers: &Readers{}}
	if !read.Sandbox() {
		h.Keyring = config.SystemKeyring(env)
	}
	return h, nil
}

// MakeVectors lets the libraries that are opened from now on make vectors in the background, as long as they are open.
func (h *Host) MakeVectors() { h.background = true }

// Private reports whether the configuration forbids copies of results and stored conversations.
func (h *Host) Private() bool { return h.Config.Private }

// Warnings returns the warnings about the configuration.
func (h *Host) Warnings() []config.Warning { return h.Config.Warnings }

// Decide returns the target of a run. It opens nothing.
func (h *Host) Decide(request Request) (Choice, error) {
	return Decide(request, Sources{
		Config: h.Config, Environment: config.ReadEnvironment(h.Env), Paths: h.Paths, Keyring: h.Keyring,
		HasDocuments: func(dir string) (bool, error) {
			if h.onDatabaseServer() {
				return true, nil
			}
			return server.HasDocuments(context.Background(), dir)
		},
		OnyxCLI: config.ReadOnyxCLI,
		Dir:     h.Dir,
	})
}

// Trial returns the choice of an unsaved profile with a typed token, to test the connection.
func (h *Host) Trial(profile config.Profile, typed config.Secret) (Choice, error) {
	d := decision{Sources: Sources{Config: h.Config, Paths: h.Paths}}
	profile.Token, profile.TokenCommand = typed, ""
	if profile.ServerURL != "" {
		address, err := wire.ServerURL(profile.ServerURL)
		if err != nil {
			return Choice{}, fail(config.ExitUsage, "server address: "+err.Error(),
				"use an address such as https://onyx.example.com")
		}
		profile.ServerURL = address
	}
	c, err := d.ofProfile(RuleFlag, "the typed values", profile)
	if err != nil {
		return Choice{}, err
	}
	c.File = ""
	return *c, nil
}

// SaveProfile stores a profile as config.SaveProfile does.
func (h *Host) SaveProfile(ctx context.Context, profile config.NewProfile) (config.Saved, error) {
	return h.Config.SaveProfile(ctx, profile, h.Keyring)
}

// OpenWithModel opens the library of this machine with a model that is not saved, to test it. Without the name of a
// model, the provider's can be listed.
func (h *Host) OpenWithModel(ctx context.Context, m config.NewModel) (*client.Session, error) {
	with, configured := *h, *h.Config
	address, err := wire.ServerURL(m.BaseURL)
	if err != nil {
		return nil, fail(config.ExitUsage, "the address: "+err.Error(),
			"use an address such as http://localhost:11434/v1")
	}
	provider := config.Provider{BaseURL: address, Key: m.Key}
	configured.LLM.Default, configured.Embeddings = "", config.Embeddings{}
	if m.Model != "" {
		provider.Models, configured.LLM.Default = []string{m.Model}, m.Provider
	}
	configured.LLM.Providers = map[string]config.Provider{m.Provider: provider}
	with.Config = &configured
	return with.OpenLibrary(ctx, "", true)
}

// LibraryFolder returns dir as an absolute path, or the folder of this machine's library if dir is empty.
func (h *Host) LibraryFolder(dir string) string {
	if dir == "" {
		return h.Paths.Data
	}
	if absolute, err := filepath.Abs(config.PathIn(h.Dir, dir)); err == nil {
		return absolute
	}
	return dir
}

// refuseChange returns an error if QUARRY_READONLY is set, even if callers checked before.
func (h *Host) refuseChange(what string) error {
	if !config.ReadOnly(h.Env) {
		return nil
	}
	return fail(config.ExitNotAvailable, "changing "+what+" is disabled by QUARRY_READONLY",
		"unset QUARRY_READONLY to allow changes on this machine")
}

// ErrNoLibrary is in the chain of the error about a library that does not exist yet.
var ErrNoLibrary = errors.New("no library")

// Open returns a client for a choice. Its first call reads the token or opens the library's files. A read-only library
// is searched too.
func (h *Host) Open(ctx context.Context, choice Choice) (*client.Session, error) {
	if choice.isTogether() {
		return h.openTogether(ctx, choice)
	}
	switch choice.Kind {
	case KindRemote:
		return h.openRemote(choice)
	case KindSample:
		return h.openServer(ctx, choice, server.Options{Sample: true}, directory.DefaultTenant)
	case KindLibrary:
		if err := h.needLibrary(choice.LibraryDir); err != nil {
			return nil, err
		}
		return h.openServer(ctx, choice, server.Options{Home: choice.LibraryDir}, directory.DefaultTenant)
	}
	return nil, fail(config.ExitGeneral, fmt.Sprintf("cannot open a target of kind %q", choice.Kind),
		"decide on a target first")
}

// OpenLibrary opens the library in dir, or that of this machine, whatever the active target is. With create it need not
// exist; adding something creates its folder.
func (h *Host) OpenLibrary(ctx context.Context, dir string, create bool) (*client.Session, error) {
	return h.Administer(ctx, h.LibraryFolder(dir), directory.DefaultTenant, create)
}

// Administer opens the library in dir, or that of this machine, for the owner of a tenant; "" is the default tenant. A
// library in dir must exist unless change is set: then adding something creates it.
func (h *Host) Administer(ctx context.Context, dir, tenant string, change bool) (*client.Session, error) {
	tenant = cmp.Or(tenant, directory.DefaultTenant)
	folder := h.LibraryFolder(dir)
	var err error
	switch {
	case change:
		if err = h.refuseChange("the library in " + folder); err == nil {
			err = h.MayWrite(folder)
		}
	case dir != "":
		err = h.needLibrary(folder)
	default:
		_, err = libraryExists(folder)
	}
	if err != nil {
		return nil, err
	}
	choice := localChoice(RuleFlag, "the library in "+folder, config.LocalProfile, folder, "the command")
	return h.openServer(ctx, *choice, server.Options{Home: folder}, tenant)
}

// LibraryChoice returns the choice of the library of this machine.
func (h *Host) LibraryChoice() Choice {
	return *localChoice(RuleLibrary, "the library in "+h.Paths.Data, config.LocalProfile, h.Paths.Data,
		h.Paths.DataFrom)
}

// onDatabaseServer reports whether people and conversations are on a database server: then there is a library, also
// without files on this machine.
func (h *Host) onDatabaseServer() bool { return !h.Config.Directory.URL.IsZero() }

// needLibrary returns an error if a folder has no library or cannot be read.
func (h *Host) needLibrary(dir string) error {
	exists, err := libraryExists(dir)
	if err != nil || exists || h.onDatabaseServer() {
		return err
	}
	fix := "add files with quarry add PATH"
	if filepath.Clean(dir) != filepath.Clean(h.Paths.Data) {
		fix += " --library " + config.ShellQuote(dir)
	}
	return failBy(ErrNoLibrary, config.ExitNotAvailable, "no library in "+dir, fix)
}

const bundleFix = "set QUARRY_CA_BUNDLE to a PEM file with certificates, or unset it"

func (h *Host) openRemote(choice Choice) (*client.Session, error) {
	c, err := client.New(client.Options{
		BaseURL: choice.ServerURL, APIPrefix: choice.APIPrefix, Token: choice.token, Profile: choice.Profile,
		UserAgent: h.userAgent(),
	})
	if err != nil {
		fix := "correct the address or the prefix; quarry status shows where they come from"
		if _, unusable := client.Roots(); unusable != nil {
			fix = bundleFix
		}
		return nil, failBy(err, config.ExitNotConfigured, "cannot search "+choice.ServerURL, fix)
	}
	return &client.Session{Client: c, Close: func() error { return nil }}, nil
}

func (h *Host) userAgent() string {
	if h.Version == "" {
		return "quarry"
	}
	return "quarry/" + h.Version
}

// openServer opens a server in this process, for the owner of a tenant.
func (h *Host) openServer(ctx context.Context, choice Choice, options server.Options,
	tenant string) (*client.Session, error) {
	s, err := h.server(ctx, options, choice.Profile)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{
		BaseURL: client.InProcessURL, Transport: client.InProcess(s.InProcess(directory.Owner(tenant))),
		Profile: choice.Profile, UserAgent: h.userAgent(), Local: true,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", choice.LibraryDir, err), s.Close())
	}
	return &client.Session{Client: c, Close: s.Close}, nil
}

// server returns a server for a library; it opens no files yet.
func (h *Host) server(ctx context.Context, options server.Options, label string) (*server.Server, error) {
	if !options.Sample && !options.Empty {
		var err error
		if options.Weaviate, err = h.cluster(); err != nil {
			return nil, err
		}
		if options.DocumentsInDatabase = h.Config.Index.Engine == config.EnginePostgres; options.DocumentsInDatabase &&
			!h.onDatabaseServer() {
			return nil, fail(config.ExitNotConfigured, "index.engine is postgres, but directory.url is not set",
				"set directory.url to the database with the documents, such as postgres://user@db.example.com/quarry")
		}
	}
	models, err := h.models()
	if err != nil {
		return nil, err
	}
	options.Readers = h.Readers.of(h)
	options.Web = web.Options{Version: h.Version,
		Transport: func() (http.RoundTripper, error) { return client.NewTransport() }}
	options.Models, options.ReadOnly = models, config.ReadOnly(h.Env)
	options.Background = h.background && !options.Sample && !options.Empty && !options.ReadOnly
	options.Meaning = api.Meaning{Unbounded: h.Config.Embeddings.Mode == config.MeaningOn,
		OnBattery: h.Config.Embeddings.OnBattery}
	options.Version, options.Profile, options.Log = h.Version, label, h.Log
	options.OmitQueries, options.Now, options.SecretKey = h.Config.Private, h.Now, h.Env.Get("QUARRY_SECRET_KEY")
	if !options.Sample && !options.Empty {
		options.Database = h.Config.Directory.URL.Reveal()
	}
	opened, err := server.Open(ctx, options)
	if err != nil && options.Database != "" {
		return nil, failBy(err, config.ExitNotConfigured, "cannot open the library",
			"correct directory.url, such as postgres://user@db.example.com/quarry, or remove it")
	}
	return opened, err
}

// cluster returns the Weaviate cluster that indexes the library; nil if there is none.
func (h *Host) cluster() (*weaviate.Cluster, error) {
	if engine := h.Config.Index.Engine; engine == config.EngineEmbedded || engine == config.EnginePostgres {
		return nil, nil
	}
	c, err := weaviate.ParseURL(h.Config.Index.Engine)
	if err != nil {
		return nil, fail(config.ExitNotConfigured, fmt.Sprintf("%s: index.engine %v", h.Config.File, err),
			"correct or remove index.engine")
	}
	c.Key, c.CA = h.Config.Index.Weaviate.Key.Reveal(), h.Config.Index.Weaviate.CA
	return &c, nil
}

// libraryExists reports whether a folder has a library: with documents or tokens. A library without read permission is
// an error.
func libraryExists(dir string) (bool, error) {
	found := false
	for _, part := range [...]string{"tenants", "directory.db"} {
		_, err := os.Stat(filepath.Join(dir, part))
		if errors.Is(err, fs.ErrPermission) {
			return false, unreadable(dir, err)
		}
		found = found || err == nil
	}
	if !found {
		return false, nil
	}
	return true, mayRead(dir)
}

// mayRead checks the permissions of a library's files, because the database's own errors are less clear.
func mayRead(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return unreadable(dir, err)
		case err != nil:
			return nil // removed meanwhile: opening it fails
		case strings.Count(strings.TrimPrefix(path, dir), string(filepath.Separator)) > 2 && entry.IsDir():
			return fs.SkipDir
		case filepath.Ext(path) != ".db":
			return nil
		}
		if err := mayReadFile(path); errors.Is(err, fs.ErrPermission) {
			return unreadable(dir, err)
		}
		return nil
	})
}

func unreadable(dir string, err error) error {
	return failBy(config.UnwrapPath(err), config.ExitGeneral, "cannot read the library in "+dir,
		"get read permission, or use another library: QUARRY_HOME or --library DIR")
}

// MayWrite checks that a library's folder, or the folder that it would be created in, is writable.
func (h *Host) MayWrite(dir string) error {
	dir = h.LibraryFolder(dir)
	folders := []string{existing(dir)}
	if tenant := filepath.Join(dir, "tenants", "default"); existing(tenant) == tenant {
		folders = append(folders, tenant)
	}
	for _, folder := range folders {
		if err := mayWriteFolder(folder); err != nil {
			return failBy(config.UnwrapPath(err), config.ExitGeneral, "cannot write to "+folder,
				"use a writable folder: QUARRY_HOME or --library DIR")
		}
	}
	return nil
}

// existing returns the nearest existing folder, from a path upwards.
func existing(path string) string {
	for {
		_, err := os.Stat(path)
		parent := filepath.Dir(path)
		if err == nil || parent == path {
			return path
		}
		path = parent
	}
}
