package directory

import (
	"context"
	"slices"

	"quarry/server/sqlite"
)

// maxCached bounds the cache of a directory.
const maxCached = 1_000

// versioned is the key of a value that was read at a version of the directory. A change by any process changes the version,
// so that older values are never returned again.
type versioned struct {
	at  sqlite.Version
	key any
}

// The keys of cached values.
type (
	tokenKey  struct{ digest string }
	personKey struct{ tenant, email string }
	setsKey   struct {
		tenant, user string
		admin        bool
	}
)

// cached returns the cached value of a key, or reads it. Callers share the value and must not change it.
func cached[T any](ctx context.Context, d *Directory, key any, read func() (T, error)) (T, error) {
	at, ok := d.db.Version(ctx)
	if !ok {
		return read()
	}
	if known, ok := d.recent.Get(versioned{at, key}); ok {
		return known.(T), nil
	}
	value, err := read()
	if err == nil {
		d.recent.Add(versioned{at, key}, value)
	}
	return value, err
}

// clone returns a principal whose lists are its own.
func (p Principal) clone() Principal {
	p.Permissions, p.Groups = slices.Clone(p.Permissions), slices.Clone(p.Groups)
	p.ExternalGroups = slices.Clone(p.ExternalGroups)
	return p
}
