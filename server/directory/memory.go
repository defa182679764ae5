package directory

import (
	"context"
	"slices"

	"quarry/server/sqlite"
)

// maxRemembered bounds what is kept of one directory, so that it does not grow with the people who come by.
const maxRemembered = 1_000

// versioned is the key of what was read from the directory at a version. After a change by any process the version is
// another one, and values of the old version are never returned again.
type versioned struct {
	at  sqlite.Version
	key any
}

// What can be remembered; the values of different types do not meet.
type (
	tokenKey  struct{ digest string }
	personKey struct{ tenant, email string }
	setsKey   struct {
		tenant, user string
		admin        bool
	}
)

// recall returns what is known of a key, or reads it. What it returns is shared, and must not be changed.
func recall[T any](ctx context.Context, d *Directory, key any, read func() (T, error)) (T, error) {
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

// own returns a principal whose lists nobody else has.
func (p Principal) own() Principal {
	p.Permissions, p.Groups = slices.Clone(p.Permissions), slices.Clone(p.Groups)
	p.ExternalGroups = slices.Clone(p.ExternalGroups)
	return p
}
