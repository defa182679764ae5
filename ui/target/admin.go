package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"quarry/client/wire"
	"quarry/config"
	"quarry/server"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/sqlite"
)

// TokenRequest asks for a new token of a served library.
type TokenRequest struct {
	Name   string   // what it is for, 1 to 100 characters
	User   string   // email; "" is the owner
	Scopes []string // nil: all that the user may
	Days   *int     // until it expires; nil: never
}

// ListedToken is a token and whose it is.
type ListedToken struct {
	wire.AccessToken
	User string `json:"user,omitempty"` // email
}

// Tokens administers the tokens of a library on its files: who can write them is its administrator.
type Tokens struct {
	host   *Host
	dir    string
	named  bool // the folder was named, so that it has to be there
	tenant string
	server *server.Server
}

// Tokens opens the tokens of a tenant of the library in dir, or of that of this machine; "" is the default tenant. Nothing
// is made on disk before a token is.
func (h *Host) Tokens(ctx context.Context, dir, tenant string) (*Tokens, error) {
	named := dir != ""
	if tenant == "" {
		tenant = directory.DefaultTenant
	}
	dir = h.LibraryFolder(dir)
	s, err := h.server(ctx, server.Options{Home: dir}, config.LocalProfile)
	if err != nil {
		return nil, err
	}
	return &Tokens{host: h, dir: dir, named: named, tenant: tenant, server: s}, nil
}

// Add makes a token. What it returns is the only place where the token itself is shown. newUser tells that its user was
// not known before.
func (t *Tokens) Add(ctx context.Context, request TokenRequest) (made *wire.NewAccessToken, newUser bool, err error) {
	people, err := t.writable(ctx)
	if err != nil {
		return nil, false, err
	}
	known := request.User == ""
	if !known && people != nil {
		if known, err = people.HasUser(ctx, t.tenant, request.User); err != nil {
			return nil, false, libraryError(err)
		}
	}
	token, err := t.server.AddToken(ctx, directory.TokenRequest{
		Tenant: t.tenant, Name: request.Name, Email: request.User, Scopes: request.Scopes, Days: request.Days,
	})
	if err != nil {
		return nil, false, libraryError(err)
	}
	return &token, !known, nil
}

// writable opens the directory to change it; nil if there is none yet.
func (t *Tokens) writable(ctx context.Context) (*directory.Directory, error) {
	if err := t.host.refuseChange("the list of tokens"); err != nil {
		return nil, err
	}
	if err := t.host.MayWrite(t.dir); err != nil {
		return nil, err
	}
	return t.people(ctx)
}

// List lists the tokens of everybody that still hold.
func (t *Tokens) List(ctx context.Context) ([]ListedToken, error) {
	listed := []ListedToken{}
	if t.named {
		if err := t.host.needLibrary(t.dir); err != nil {
			return nil, err
		}
	}
	people, err := t.people(ctx)
	if people == nil || err != nil {
		return listed, err
	}
	tokens, err := people.ListTokens(ctx, t.tenant, "")
	if err != nil {
		return nil, libraryError(err)
	}
	for _, token := range tokens {
		listed = append(listed, ListedToken{token.Wire(), token.Email})
	}
	return listed, nil
}

// Remove ends a token at once.
func (t *Tokens) Remove(ctx context.Context, id int) error {
	people, err := t.writable(ctx)
	if err != nil {
		return err
	}
	if people != nil {
		err = people.RevokeToken(ctx, t.tenant, "", id)
	}
	if people == nil || errors.Is(err, directory.ErrNotFound) {
		return &Error{Kind: ErrNotAvailable, Problem: fmt.Sprintf("there is no token %d", id),
			Fix: "see quarry admin token list for those that there are"}
	}
	if err != nil {
		return libraryError(err)
	}
	return nil
}

// Close releases the files.
func (t *Tokens) Close() error { return t.server.Close() }

// people opens the directory; nil if there is none, because looking must not make one.
func (t *Tokens) people(ctx context.Context) (*directory.Directory, error) {
	exists, err := libraryExists(t.dir)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, t.knowTenant(ctx, nil)
	}
	people, err := t.server.Directory(ctx)
	if err != nil {
		return nil, libraryError(err)
	}
	return people, t.knowTenant(ctx, people)
}

// knowTenant refuses a tenant that there is not; where there is no directory, there is the default one alone.
func (t *Tokens) knowTenant(ctx context.Context, people *directory.Directory) error {
	if t.tenant == directory.DefaultTenant {
		return nil
	}
	var known []string
	if people != nil {
		var err error
		if known, err = people.Tenants(ctx); err != nil {
			return libraryError(err)
		}
	}
	if slices.Contains(known, t.tenant) {
		return nil
	}
	return arrangeError(directory.MissingError{Kind: directory.KindTenant, Named: strconv.Quote(t.tenant)})
}

// libraryError adds the remedy to what can be wrong with a library's files.
func libraryError(err error) error {
	var input directory.InputError
	var known *Error
	e := &Error{Kind: ErrGeneral, Problem: "the library cannot be used", Err: err}
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &input):
		return &Error{Kind: ErrUsage, Problem: input.Reason, Fix: "correct what was given"}
	case errors.Is(err, index.ErrNewer):
		e.Fix = "use the newer quarry that wrote it"
	case errors.Is(err, index.ErrBusy):
		e.Fix = "wait for the other quarry to finish, then try again"
	case errors.Is(err, index.ErrNetworkFileSystem):
		e.Fix = "set QUARRY_HOME to a folder on a disk of this machine"
	case errors.Is(err, index.ErrOlder):
		e.Fix = "run quarry sync and quarry admin token list once where it may be written, without QUARRY_READONLY, or use " +
			"the quarry that wrote it"
	case errors.Is(err, index.ErrReadOnly) || errors.Is(err, fs.ErrPermission):
		e.Fix = "check who may write the library's folder, or set QUARRY_HOME to one that you can write"
	case errors.Is(err, sqlite.ErrDiskFull):
		e.Fix = "free some space, then try again"
	case errors.Is(err, sqlite.ErrDamaged):
		e.Fix = "move the folder away and add the files again"
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		e.Fix = "quarry status shows the library's folder"
	}
	return e
}
