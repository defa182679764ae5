package server

import (
	"context"
	"errors"
	"net/http"

	"quarry/server/api"
	"quarry/server/directory"
)

// Prepare finishes interrupted work of earlier processes, as ListenAndServe does.
func (a *Admission) Prepare(ctx context.Context) error { return a.server.syncConnectors(ctx) }

// Token returns the handler of a visitor with a token, which is checked for every request. Remote is the visitor's address,
// "host:port".
func (a *Admission) Token(secret, remote string) http.Handler {
	return a.visitor(remote, func(ctx context.Context, people *directory.Directory) (directory.Principal, error) {
		return people.Authenticate(ctx, secret)
	})
}

// Person returns the handler of a visitor whom another listener has authenticated: a user of the default tenant.
func (a *Admission) Person(email, remote string) http.Handler {
	return a.visitor(remote, func(ctx context.Context, people *directory.Directory) (directory.Principal, error) {
		return people.Person(ctx, directory.DefaultTenant, email)
	})
}

// Anybody returns the handler of an anonymous visitor, who sees the public documents of the default tenant.
func (a *Admission) Anybody(remote string) http.Handler {
	return a.visitor(remote, func(context.Context, *directory.Directory) (directory.Principal, error) {
		return directory.Anonymous(directory.DefaultTenant), nil
	})
}

func (a *Admission) visitor(remote string,
	identify func(context.Context, *directory.Directory) (directory.Principal, error)) http.Handler {
	return a.gate.Visitor(api.Visitor{Remote: remote, Identify: func(ctx context.Context) (directory.Principal, error) {
		people, err := a.server.directory(ctx, false)
		if err != nil {
			return directory.Principal{}, err
		}
		return identify(ctx, people)
	}})
}

// Knows reports whether a token, or without one a user, is still valid. It is true if that cannot be determined.
func (a *Admission) Knows(ctx context.Context, secret, email string) bool {
	people, err := a.server.directory(ctx, false)
	if err != nil {
		return true
	}
	if secret != "" {
		_, err = people.Authenticate(ctx, secret)
	} else {
		_, err = people.Person(ctx, directory.DefaultTenant, email)
	}
	return !errors.Is(err, directory.ErrUnauthenticated)
}
