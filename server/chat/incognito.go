package chat

import (
	"context"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/sqldb"
)

// Bounds of incognito sessions. Sessions are deleted after IncognitoIdle without use. Beyond MostIncognito sessions of
// one user, and beyond the bounds of number and size, the least recently used are deleted. A user's sessions may take
// an eighth of the memory, so that they do not displace those of others.
const (
	MostIncognito    = 20
	IncognitoIdle    = time.Hour
	incognitoInAll   = 2000
	incognitoMemory  = 64 << 20 // bytes of what is said, with the documents of answers
	incognitoPerson  = incognitoMemory / 8
	incognitoSession = incognitoPerson / 2
)

// Incognito stores the incognito sessions of all tenants in a database in memory, which the first one opens. They are
// never written to a file and end with the process.
type Incognito struct {
	now   func() time.Time
	broke func(error) // called with a panic of the sweep of idle sessions

	mutex sync.Mutex
	store *Store // nil: there was no session yet
	sweep *time.Timer
}

// NewIncognito returns an empty store. It calls broke with a panic in the background.
func NewIncognito(now func() time.Time, broke func(error)) *Incognito {
	return &Incognito{now: now, broke: broke}
}

// Of returns the incognito sessions of one tenant.
func (i *Incognito) Of(tenant string) *Store {
	bounds := limits{sessions: MostIncognito, chatBytes: incognitoPerson - incognitoSession, // of all but the latest
		messages: defaultLimits().messages, sessionBytes: incognitoSession}
	return &Store{open: i.open, tenant: tenant, now: i.now, limits: bounds, memory: i}
}

// open returns the database. If there was no session yet, it returns ErrNotFound without create.
func (i *Incognito) open(ctx context.Context, create bool) (sqldb.DB, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.store == nil && !create {
		return nil, ErrNotFound
	}
	if i.store == nil {
		store, err := Open(context.WithoutCancel(ctx), "", i.now)
		if err != nil {
			return nil, err
		}
		i.store = store
	}
	return i.store.db, nil
}

// Close deletes all sessions.
func (i *Incognito) Close() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.sweep != nil {
		i.sweep.Stop()
	}
	if i.store != nil {
		_ = i.store.Close() // of memory
		i.store = nil
	}
}

// RemoveAll deletes the incognito sessions of a user.
func (i *Incognito) RemoveAll(ctx context.Context, tenant, userID string) {
	_ = i.Of(tenant).RemoveAll(ctx, userID) // there are none if it fails
}

// evict deletes idle sessions and, beyond the bounds, the least recently used ones. It runs again while nobody uses
// any. For stored sessions, which are no Incognito's, it does nothing.
func (i *Incognito) evict(ctx context.Context) error {
	if i == nil {
		return nil
	}
	err := sqldb.Lazy(i.open).IfExists().Exec(ctx, "forget incognito sessions", nil, `DELETE FROM sessions
		WHERE updated_at <= ? OR id IN (SELECT id FROM (
			SELECT id, row_number() OVER latest AS place, sum(bytes) OVER latest AS bytes
			FROM sessions WINDOW latest AS (ORDER BY updated_at DESC, id)) ranked WHERE place > ? OR bytes > ?)`,
		i.now().Add(-IncognitoIdle).UnixMicro(), incognitoInAll, incognitoMemory)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.store != nil && i.sweep == nil {
		i.sweep = time.AfterFunc(IncognitoIdle/4, guard.Func(func() {
			i.mutex.Lock()
			i.sweep = nil
			i.mutex.Unlock()
			_ = i.evict(context.Background()) // the next one tries again
		}, i.broke))
	}
	return err
}

// touch notes that a session in memory is used now, or returns ErrNotFound if it was idle for too long. It comes first.
func (s *Store) touch(ctx context.Context, id string) error {
	if s.memory == nil {
		return nil
	}
	now := s.now()
	return s.open.IfExists().Exec(ctx, "read a chat session", ErrNotFound, `UPDATE sessions SET updated_at = ?
		WHERE id = ? AND tenant_id = ? AND updated_at > ?`,
		now.UnixMicro(), id, s.tenant, now.Add(-IncognitoIdle).UnixMicro())
}
