package chat

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"quarry/internal/guard"
)

// Bounds of incognito sessions. Sessions are deleted after IncognitoIdle without use. Beyond MostIncognito sessions of
// one user, and beyond the bounds of number and size, the least recently used are deleted. A user's sessions may take
// an eighth of the memory, so that they do not displace those of others.
const (
	MostIncognito    = 20
	IncognitoIdle    = time.Hour
	incognitoInAll   = 2000
	incognitoMemory  = 64 << 20 // bytes, roughly
	incognitoPerson  = incognitoMemory / 8
	incognitoSession = incognitoPerson / 2
	memoryOfDocument = 1 << 10
)

// Incognito stores the incognito sessions of all tenants in memory. They are never written to a file and end with the
// process.
type Incognito struct {
	now   func() time.Time
	most  int         // messages of a session
	broke func(error) // called with a panic of the sweep of idle sessions

	mutex    sync.Mutex
	sessions map[hiddenKey]*hidden
	messages int // id of the last message
	size     int // bytes, roughly
	sweep    *time.Timer
}

type hiddenKey struct{ tenant, id string }

// hidden is one incognito session.
type hidden struct {
	session  Session
	messages []Message
	stopped  int // last message that is not written any further
	size     int
	used     time.Time
}

// NewIncognito returns an empty store. It calls broke with a panic in the background.
func NewIncognito(now func() time.Time, broke func(error)) *Incognito {
	return &Incognito{now: now, most: defaultLimits().messages, broke: broke, sessions: map[hiddenKey]*hidden{}}
}

// Of returns the incognito sessions of one tenant.
func (i *Incognito) Of(tenant string) Keeper { return incognitoOf{i, tenant} }

// Close deletes all sessions.
func (i *Incognito) Close() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	clear(i.sessions)
	i.size = 0
	i.scheduleSweep()
}

// evict deletes idle sessions and, beyond the bounds, the least recently used ones, but not except.
func (i *Incognito) evict(except hiddenKey) {
	type share struct{ sessions, size int }
	ofUser := map[[2]string]share{}
	latest := slices.SortedFunc(maps.Keys(i.sessions), func(a, b hiddenKey) int {
		return cmp.Or(i.sessions[b].used.Compare(i.sessions[a].used), cmp.Compare(a.id, b.id))
	})
	size := 0
	for at, key := range latest {
		h := i.sessions[key]
		user := [2]string{key.tenant, h.session.UserID}
		own := ofUser[user]
		own.sessions, own.size = own.sessions+1, own.size+h.size
		size += h.size
		idle := i.now().Sub(h.used) >= IncognitoIdle
		if key != except && (idle || at >= incognitoInAll || own.sessions > MostIncognito || own.size > incognitoPerson ||
			size > incognitoMemory) {
			size -= h.size
			own.size -= h.size
			delete(i.sessions, key)
		}
		ofUser[user] = own
	}
	i.size = size
	i.scheduleSweep()
}

// scheduleSweep makes sure that idle sessions are deleted while nobody uses any.
func (i *Incognito) scheduleSweep() {
	switch {
	case len(i.sessions) == 0 && i.sweep != nil:
		i.sweep.Stop()
		i.sweep = nil
	case len(i.sessions) > 0 && i.sweep == nil:
		i.sweep = time.AfterFunc(IncognitoIdle/4, guard.Func(func() {
			i.mutex.Lock()
			defer i.mutex.Unlock()
			i.sweep = nil
			i.evict(hiddenKey{})
		}, i.broke))
	}
}

// incognitoOf implements Keeper for one tenant.
type incognitoOf struct {
	*Incognito
	tenant string
}

// use calls do with a session.
func (i incognitoOf) use(id string, do func(*hidden)) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	key := hiddenKey{i.tenant, id}
	h := i.sessions[key]
	if h == nil || i.now().Sub(h.used) >= IncognitoIdle {
		return fmt.Errorf("chat session: %w", ErrNotFound)
	}
	h.used = i.now()
	do(h)
	h.measure()
	i.evict(key)
	return nil
}

func (h *hidden) measure() {
	h.size = memoryOfDocument
	for _, m := range h.messages {
		h.size += len(m.Text) + len(m.Error) + (len(m.Documents)+len(m.Files)+1)*memoryOfDocument
		for _, d := range m.Documents {
			h.size += len(d.Blurb) + len(d.Title)
		}
	}
}

// Add implements Keeper.
func (i incognitoOf) Add(_ context.Context, session Session) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	key := hiddenKey{i.tenant, session.ID}
	if i.sessions[key] != nil {
		return ErrExists
	}
	session.Incognito = true
	i.sessions[key] = &hidden{session: session, size: memoryOfDocument, used: i.now()}
	i.evict(key)
	return nil
}

// Session implements Keeper.
func (i incognitoOf) Session(_ context.Context, id string) (session Session, err error) {
	err = i.use(id, func(h *hidden) { session = h.session })
	return session, err
}

// Rename implements Keeper.
func (i incognitoOf) Rename(_ context.Context, id, name string) error {
	return i.use(id, func(h *hidden) { h.session.Name = name })
}

// Remove implements Keeper.
func (i incognitoOf) Remove(_ context.Context, id string) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	key := hiddenKey{i.tenant, id}
	if h := i.sessions[key]; h != nil {
		i.size -= h.size
		delete(i.sessions, key)
	}
	return nil
}

// RemoveAll deletes the incognito sessions of a user.
func (i *Incognito) RemoveAll(tenant, userID string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for key, h := range i.sessions {
		if key.tenant == tenant && h.session.UserID == userID {
			i.size -= h.size
			delete(i.sessions, key)
		}
	}
}

// Messages implements Keeper.
func (i incognitoOf) Messages(_ context.Context, session string) (messages []Message, err error) {
	err = i.use(session, func(h *hidden) { messages = slices.Clone(h.messages) })
	return messages, err
}

// Begin implements Keeper.
func (i incognitoOf) Begin(ctx context.Context, session Session, isNew bool, question Message) (questionID, answerID int,
	err error) {
	if isNew {
		if err := i.Add(ctx, session); err != nil {
			return 0, 0, err
		}
	}
	full := false
	err = i.use(session.ID, func(h *hidden) {
		if full = len(h.messages)+2 > i.most || h.size+len(question.Text) > incognitoSession; full {
			return
		}
		now := i.now()
		if questionID = question.ID; questionID == 0 {
			i.messages += 2 // one is free for the root
			questionID = i.messages
			h.session.Name = cmp.Or(h.session.Name, FirstWords(question.Text))
			h.messages = append(h.messages, Message{ID: questionID, Parent: question.Parent, Type: TypeUser, Text: question.Text,
				Files: slices.Clone(question.Files), Sent: now})
		}
		i.messages++
		answerID, h.session.Updated = i.messages, now
		h.messages = append(h.messages, Message{ID: answerID, Parent: questionID, Type: TypeAssistant, Sent: now})
	})
	if full {
		err = ErrFull
	}
	return questionID, answerID, err
}

// Finish implements Keeper. It is no error if the session was deleted: nobody can read it.
func (i incognitoOf) Finish(_ context.Context, session string, answer Message) error {
	_ = i.use(session, func(h *hidden) {
		now := i.now()
		for at := range h.messages {
			if m := &h.messages[at]; m.ID == answer.ID {
				answer.Parent, answer.Type, answer.Sent = m.Parent, m.Type, now
				*m = answer
				h.session.Updated = now
			}
		}
	})
	return nil
}

// Stop implements Keeper.
func (i incognitoOf) Stop(_ context.Context, session string) error {
	return i.use(session, func(h *hidden) {
		if n := len(h.messages); n > 0 {
			h.stopped = h.messages[n-1].ID
		}
	})
}

// Stopped implements Keeper.
func (i incognitoOf) Stopped(_ context.Context, session string, answer int) (stopped bool, err error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	h := i.sessions[hiddenKey{i.tenant, session}]
	return h != nil && h.stopped >= answer, nil
}
