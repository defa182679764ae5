package target

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"quarry/client"
	"quarry/config"
	"quarry/server"
	"quarry/server/directory"
)

// ErrNoLibrary is in the chain of the error about a library that does not exist yet.
var ErrNoLibrary = errors.New("no library")

// Open returns a client for a choice. Its first call reads the token or opens the library's files. A read-only library is
// searched too.
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
	return nil, &Error{Kind: ErrGeneral, Problem: fmt.Sprintf("cannot open a target of kind %q", choice.Kind),
		Fix: "decide on a target first"}
}

// OpenLibrary opens the library in dir, or that of this machine, whatever the active target is. With create it need not
// exist; adding something creates its folder.
func (h *Host) OpenLibrary(ctx context.Context, dir string, create bool) (*client.Session, error) {
	dir = h.LibraryFolder(dir)
	if create {
		if err := h.refuseChange("the library in " + dir); err != nil {
			return nil, err
		}
		if err := h.MayWrite(dir); err != nil {
			return nil, err
		}
	} else if err := h.needLibrary(dir); err != nil {
		return nil, err
	}
	return h.openOwned(ctx, dir, directory.DefaultTenant)
}

// Administer opens the library in dir, or that of this machine, for the owner of a tenant; "" is the default tenant. A
// library in dir must exist unless change is set: then adding something creates it.
func (h *Host) Administer(ctx context.Context, dir, tenant string, change bool) (*client.Session, error) {
	if tenant == "" {
		tenant = directory.DefaultTenant
	}
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
	return h.openOwned(ctx, folder, tenant)
}

// openOwned opens the library in a folder for the owner of a tenant.
func (h *Host) openOwned(ctx context.Context, dir, tenant string) (*client.Session, error) {
	choice := localChoice(RuleFlag, "the library in "+dir, config.LocalProfile, dir, "the command")
	return h.openServer(ctx, *choice, server.Options{Home: dir}, tenant)
}

// LibraryChoice returns the choice of the library of this machine.
func (h *Host) LibraryChoice() Choice {
	return *localChoice(RuleLibrary, "the library in "+h.Paths.Data, config.LocalProfile, h.Paths.Data, "the data folder")
}

// needLibrary returns an error if a folder has no library or cannot be read.
func (h *Host) needLibrary(dir string) error {
	exists, err := libraryExists(dir)
	if err != nil || exists {
		return err
	}
	fix := "add files with quarry add PATH"
	if filepath.Clean(dir) != filepath.Clean(h.Paths.Data) {
		fix += " --library " + config.ShellQuote(dir)
	}
	return &Error{Kind: ErrNotAvailable, Problem: "no library in " + dir, Err: ErrNoLibrary, Fix: fix}
}

func (h *Host) openRemote(choice Choice) (*client.Session, error) {
	c, err := client.New(client.Options{
		BaseURL: choice.ServerURL, APIPrefix: choice.APIPrefix, Token: choice.token, Profile: choice.Profile,
		UserAgent: h.userAgent(),
	})
	if err != nil {
		return nil, &Error{Kind: ErrNotConfigured, Problem: "cannot search " + choice.ServerURL, Err: err,
			Fix: "correct the address or the prefix; quarry status shows where they come from"}
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
func (h *Host) openServer(ctx context.Context, choice Choice, options server.Options, tenant string) (*client.Session, error) {
	s, err := h.server(ctx, options, choice.Profile)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{
		BaseURL: client.InProcessURL, Transport: client.InProcess(s.InProcess(directory.Owner(tenant))), Profile: choice.Profile,
		UserAgent: h.userAgent(), Local: true,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", choice.LibraryDir, err), s.Close())
	}
	return &client.Session{Client: c, Close: s.Close}, nil
}

// server returns a server for a library; it opens no files yet.
func (h *Host) server(ctx context.Context, options server.Options, label string) (*server.Server, error) {
	if !options.Sample {
		if err := h.checkEngine(); err != nil {
			return nil, err
		}
	}
	models, err := h.models()
	if err != nil {
		return nil, err
	}
	options.Models, options.ReadOnly = models, ReadOnly(h.Env)
	options.Version, options.Profile, options.Log = h.Version, label, h.Log
	options.OmitQueries = h.Config.Private
	return server.Open(ctx, options)
}

// checkEngine rejects engines that this version does not have, instead of searching other files.
func (h *Host) checkEngine() error {
	key := ""
	switch {
	case h.Config.Index.Engine != config.EngineEmbedded:
		key = "index.engine"
	case !h.Config.Directory.URL.IsZero():
		key = "directory.url"
	default:
		return nil
	}
	return &Error{Kind: ErrNotAvailable, Problem: fmt.Sprintf("%s: %s: this version supports only the embedded engine",
		h.Config.File, key), Fix: "remove " + key + ", or use a version that supports it"}
}
