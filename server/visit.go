package server

import (
	"context"
	"errors"
	"net/http"

	"quarry/server/api"
	"quarry/server/directory"
)

// Prepare brings what is stored into the state that visitors need, as ListenAndServe does by itself.
func (a *Admission) Prepare(ctx context.Context) error { return a.server.settleAll(ctx) }

// Token answers for the visitor who shows a token, in this process. It is looked up for every request. Remote is the
// address that they come from, "host:port".
func (a *Admission) Token(secret, remote string) http.Handler {
	return a.visitor(remote, func(ctx context.Context, people *directory.Directory) (directory.Principal, error) {
		return people.Authenticate(ctx, secret)
	})
}

// Person answers for a visitor whom another listener has recognised: the user of the default tenant with this address.
func (a *Admission) Person(email, remote string) http.Handler {
	return a.visitor(remote, func(ctx context.Context, people *directory.Directory) (directory.Principal, error) {
		return people.Person(ctx, directory.DefaultTenant, email)
	})
}

// Anybody answers for a visitor of whom nothing is known: they see the public documents of the default tenant.
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

// Knows tells whether a visitor with a token, or without one a person, would still be let in. Where that cannot be found
// out, they would.
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
