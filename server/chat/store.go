package chat

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/postgres"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

//go:embed migrations
var migrations embed.FS

var (
	// ErrNotFound: no such session or message exists.
	ErrNotFound = errors.New("not found")
	// ErrExists: a session with that id exists.
	ErrExists = errors.New("a chat session with that id exists")
	// ErrFull: the session has reached its bounds.
	ErrFull = errors.New("the chat session is full")
)

// limits bound what one user stores. Beyond those of sessions and files the least recently used are deleted. A session,
// which is always read as a whole, takes no question beyond its own.
type limits struct {
	sessions, chatBytes    int
	messages, sessionBytes int // of one session
	files, fileBytes       int
}

func defaultLimits() limits {
	return limits{sessions: 1_000, chatBytes: 256 << 20, messages: 2_000, sessionBytes: 16 << 20, files: 200,
		fileBytes: 128 << 20}
}

// Types of messages.
const (
	TypeUser      = "user"
	TypeAssistant = "assistant"
)

// Session is a conversation of one user.
type Session struct {
	ID               string
	UserID           string
	PersonaID        int
	Name             string // empty: none
	Incognito        bool   // never listed, and only in memory
	Created, Updated time.Time
}

// NewSession returns a session with a new id. It is not stored.
func NewSession(userID string, now time.Time) Session {
	return Session{ID: uuid.NewString(), UserID: userID, Created: now, Updated: now}
}

// Message is a question or an answer.
type Message struct {
	ID        int
	Parent    int // 0: it is the first
	Type      string
	Text      string
	Documents []wire.SearchDoc  // that the answer is based on
	Citations map[string]string // number → document id
	Files     []wire.ChatFile   // attached to a question
	Error     string            // why an answer is incomplete; empty: it is complete
	Model     string            // of an answer
	Sent      time.Time
	Took      time.Duration
}

// Store has the sessions of one tenant in a database, which several processes may use. It is safe for concurrent use.
type Store struct {
	open   sqldb.Lazy
	db     sqldb.DB // what Open opened
	tenant string   // whose rows it uses; empty in a file, which has those of one tenant
	limits limits
	now    func() time.Time
	memory *Incognito // whose sessions these are; nil: they are stored
}

// Lazy returns a store that is opened when it is used: find opens it, or returns the open one. If there is none, find
// creates one with create, which is set for changes, and otherwise returns an empty one. Tenant is whose sessions they
// are in a database of several tenants; empty in a file.
func Lazy(tenant string, find func(ctx context.Context, create bool) (*Store, error), now func() time.Time) *Store {
	return &Store{tenant: tenant, now: now, limits: defaultLimits(),
		open: func(ctx context.Context, create bool) (sqldb.DB, error) {
			found, err := find(ctx, create)
			if err != nil {
				return nil, err
			}
			return found.db, nil
		}}
}

// Open opens the file at path, and creates or migrates it first. Without a path the sessions are in memory. Errors are
// those of sqlite.Open.
func Open(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path,
		Migrations: sqldb.Migrations(migrations, "migrations/sqlite")})
	if err != nil {
		return nil, fmt.Errorf("open the chat database: %w", err)
	}
	return &Store{open: sqldb.Opened(db), db: db, now: now, limits: defaultLimits()}, nil
}

// OpenServer opens the sessions of a tenant on a PostgreSQL server, where it creates or migrates its tables if
// necessary. The directory's must exist: a tenant's sessions go with the tenant. Errors are those of
// postgres.Pool.Store.
func OpenServer(ctx context.Context, pool *postgres.Pool, tenant string, now func() time.Time) (*Store, error) {
	all, err := pool.Store(ctx, "chats", sqldb.Migrations(migrations, "migrations/postgres"))
	if err != nil {
		return nil, fmt.Errorf("open the chat database: %w", err)
	}
	db := all.For(tenant)
	return &Store{open: sqldb.Opened(db), db: db, tenant: tenant, now: now, limits: defaultLimits()}, nil
}

// Close closes the file. On a server it does nothing.
func (s *Store) Close() error { return s.db.Close() }

// Add stores a new session, or returns ErrExists.
func (s *Store) Add(ctx context.Context, session Session) error {
	return cmp.Or(s.open.Update(ctx, "create a chat session", func(tx *sqldb.Tx) {
		s.insertSession(tx, session)
		s.dropSessions(tx, session)
	}), s.memory.evict(ctx))
}

// row returns the only row of a query, or ErrNotFound.
func row[T any](ctx context.Context, s *Store, doing string, columns func(*T) []any, query string,
	args ...any) (T, error) {
	found, err := sqldb.List(ctx, s.open, doing, columns, query, args...)
	return sqldb.First(found, err, fmt.Errorf("%s: %w", doing, ErrNotFound))
}

func (s *Store) insertSession(tx *sqldb.Tx, session Session) {
	tx.Change(ErrExists, `INSERT INTO sessions (id, tenant_id, user_id, persona_id, name, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, session.ID, s.tenant, session.UserID,
		session.PersonaID, session.Name, sqldb.Micros(session.Created), sqldb.Micros(session.Updated))
}

// dropSessions deletes the least recently used sessions of a user beyond the bounds, but not session.
func (s *Store) dropSessions(tx *sqldb.Tx, session Session) {
	sessions, bytes := 0, 0
	tx.Get([]any{&sessions, &bytes}, `SELECT count(*), sum(bytes) FROM sessions
		WHERE user_id = ? AND tenant_id = ?`, session.UserID, s.tenant)
	if sessions <= s.limits.sessions && bytes <= s.limits.chatBytes {
		return
	}
	tx.Exec(`DELETE FROM sessions WHERE id IN (SELECT id FROM (
		SELECT id, row_number() OVER latest AS place, sum(bytes) OVER latest AS bytes
		FROM sessions WHERE user_id = ?1 AND id <> ?2 AND tenant_id = ?5
		WINDOW latest AS (ORDER BY updated_at DESC, id)) ranked
		WHERE place >= ?3 OR bytes > ?4)`, session.UserID, session.ID, s.limits.sessions, s.limits.chatBytes, s.tenant)
}

// addTo counts a question as part of its session, or fails with ErrFull.
func (s *Store) addTo(tx *sqldb.Tx, session Session, question string, now time.Time) {
	bytes, messages := 0, 0
	tx.Row(ErrNotFound, []any{&bytes, &messages}, `SELECT bytes,
			(SELECT count(*) FROM messages WHERE session_id = sessions.id)
		FROM sessions WHERE id = ? AND tenant_id = ?`, session.ID, s.tenant)
	if messages+2 > s.limits.messages || bytes+len(question) > s.limits.sessionBytes {
		guard.Abort(ErrFull)
	}
	tx.Exec("UPDATE sessions SET updated_at = ?, name = coalesce(nullif(name, ''), ?), bytes = bytes + ? WHERE id = ?",
		now.UnixMicro(), FirstWords(question), len(question), session.ID)
	s.dropSessions(tx, session)
}

const sessionColumns = "id, user_id, persona_id, name, created_at, updated_at"

func columnsOfSession(s *Session) []any {
	return []any{&s.ID, &s.UserID, &s.PersonaID, &s.Name, (*sqldb.Micros)(&s.Created), (*sqldb.Micros)(&s.Updated)}
}

// Session returns a session of any user, or ErrNotFound.
func (s *Store) Session(ctx context.Context, id string) (session Session, err error) {
	if err = s.touch(ctx, id); err == nil {
		session, err = row(ctx, s, "read a chat session", columnsOfSession, "SELECT "+sessionColumns+
			" FROM sessions WHERE id = ? AND tenant_id = ?", id, s.tenant)
	}
	session.Incognito = s.memory != nil
	return session, err
}

// Sessions lists a user's sessions with messages, newest first, and reports whether there are more. If before is not
// zero, only sessions that changed before it are listed.
func (s *Store) Sessions(ctx context.Context, userID string, before time.Time, most int) (sessions []Session, more bool,
	err error) {
	bound := int64(1<<63 - 1)
	if !before.IsZero() {
		bound = before.UnixMicro()
	}
	sessions, err = sqldb.List(ctx, s.open, "list chat sessions", columnsOfSession, "SELECT "+sessionColumns+`
		FROM sessions
		WHERE user_id = ? AND tenant_id = ? AND updated_at < ?
			AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
		ORDER BY updated_at DESC, id LIMIT ?`, userID, s.tenant, bound, most+1)
	return sessions[:min(len(sessions), most)], len(sessions) > most, err
}

// Count returns the number of sessions of all users.
func (s *Store) Count(ctx context.Context) (int, error) {
	return row(ctx, s, "count the chat sessions", sqldb.Column[int],
		"SELECT count(*) FROM sessions WHERE tenant_id = ?", s.tenant)
}

// Rename renames a session.
func (s *Store) Rename(ctx context.Context, id, name string) error {
	return s.open.IfExists().Exec(ctx, "rename a chat session", nil,
		"UPDATE sessions SET name = ? WHERE id = ? AND tenant_id = ?", name, id, s.tenant)
}

// Remove deletes a session with its messages.
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.open.IfExists().Exec(ctx, "delete a chat session", nil,
		"DELETE FROM sessions WHERE id = ? AND tenant_id = ?", id, s.tenant)
}

// RemoveAll deletes the sessions of a user.
func (s *Store) RemoveAll(ctx context.Context, userID string) error {
	return s.open.IfExists().Exec(ctx, "delete chat sessions", nil,
		"DELETE FROM sessions WHERE user_id = ? AND tenant_id = ?", userID, s.tenant)
}

// Messages returns the messages of a session in the order in which they were sent.
func (s *Store) Messages(ctx context.Context, session string) ([]Message, error) {
	return sqldb.List(ctx, s.open, "read a chat session", func(m *Message) []any {
		return []any{&m.ID, &m.Parent, &m.Type, &m.Text, sqldb.JSON{V: &m.Documents}, sqldb.JSON{V: &m.Citations},
			sqldb.JSON{V: &m.Files}, &m.Error, &m.Model, (*sqldb.Micros)(&m.Sent), &m.Took}
	}, `SELECT id, coalesce(parent_id, 0), type, text, documents, citations, files, error, model, sent_at, took * 1000
		FROM messages WHERE session_id IN (SELECT id FROM sessions WHERE id = ? AND tenant_id = ?)
		ORDER BY id`, session,
		s.tenant) // a time.Duration counts nanoseconds
}

// Root returns the number of a session's root, which the first messages follow. Onyx stores a system message there.
func Root(messages []Message) int { return messages[0].ID - 1 }

// Thread returns the messages of a session that lead to message last, itself included. 0 and the root mean none,
// wire.LatestMessage the latest.
func Thread(messages []Message, last int) ([]Message, error) {
	if last == wire.LatestMessage {
		if last = 0; len(messages) > 0 {
			last = messages[len(messages)-1].ID
		}
	}
	if len(messages) > 0 && last == Root(messages) {
		return nil, nil
	}
	byID := map[int]Message{}
	for _, m := range messages {
		byID[m.ID] = m
	}
	var thread []Message
	for last != 0 {
		m, ok := byID[last]
		if !ok {
			return nil, fmt.Errorf("chat message: %w", ErrNotFound)
		}
		delete(byID, last)
		thread = append(thread, m)
		last = m.Parent
	}
	slices.Reverse(thread)
	return thread, nil
}

// Begin adds a question, of which Parent, Text and Files count, and an empty answer to it. A question with an ID is
// stored already and only gets another answer. A new session is added. A session without a name gets the first words of
// the question. It returns ErrFull if the session is.
func (s *Store) Begin(ctx context.Context, session Session, isNew bool, question Message) (questionID, answerID int,
	err error) {
	now := s.now()
	err = s.open.Update(ctx, "store the question", func(tx *sqldb.Tx) {
		if isNew {
			session.Name = cmp.Or(session.Name, FirstWords(question.Text))
			s.insertSession(tx, session)
		}
		added := question.Text
		if question.ID != 0 {
			added = ""
		}
		s.addTo(tx, session, added, now)
		insert := func(parent int, kind, text string, files []wire.ChatFile) (id int) {
			tx.Get([]any{&id}, `INSERT INTO messages (session_id, parent_id, type, text, files, sent_at)
				VALUES (?, nullif(?, 0), ?, ?, ?, ?) RETURNING id`, session.ID, parent, kind, text,
				sqldb.JSON{V: append([]wire.ChatFile{}, files...)}, now.UnixMicro())
			return id
		}
		if question.ID == 0 && question.Parent == 0 {
			// The number before a first question is free, and is never given to another message: see Root.
			tx.Exec("DELETE FROM messages WHERE id = ?", insert(0, TypeUser, "", nil))
		}
		if questionID = question.ID; questionID == 0 {
			questionID = insert(question.Parent, TypeUser, question.Text, question.Files)
		}
		answerID = insert(questionID, TypeAssistant, "", nil)
	})
	return questionID, answerID, cmp.Or(err, s.memory.evict(ctx))
}

// Finish stores an answer. It is no error if an incognito session was deleted: nobody can read it.
func (s *Store) Finish(ctx context.Context, session string, answer Message) error {
	documents, documentsErr := json.Marshal(append([]wire.SearchDoc{}, answer.Documents...))
	citations, citationsErr := json.Marshal(answer.Citations)
	if err := errors.Join(documentsErr, citationsErr); err != nil {
		return fmt.Errorf("store the answer: %w", err)
	}
	now := s.now().UnixMicro()
	err := cmp.Or(s.memory.evict(ctx), s.open.IfExists().Update(ctx, "store the answer", func(tx *sqldb.Tx) {
		tx.Exec(`UPDATE messages SET text = ?, documents = ?, citations = ?, error = ?, model = ?,
			sent_at = ?, took = ?
			WHERE id = ? AND session_id IN (SELECT id FROM sessions WHERE id = ? AND tenant_id = ?)`,
			answer.Text, string(documents), string(citations), answer.Error, answer.Model, now,
			answer.Took.Microseconds(), answer.ID, session, s.tenant)
		tx.Exec("UPDATE sessions SET updated_at = ?, bytes = bytes + ? WHERE id = ? AND tenant_id = ?",
			now, len(answer.Text)+len(documents)+len(citations), session, s.tenant)
	}), s.memory.evict(ctx))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Stop asks the writer of a session's answer, which may be another process, to end it.
func (s *Store) Stop(ctx context.Context, session string) error {
	return s.open.IfExists().Exec(ctx, "stop an answer", nil, `UPDATE sessions SET stopped_at =
		(SELECT coalesce(max(id), 0) FROM messages WHERE session_id = sessions.id)
		WHERE id = ? AND tenant_id = ?`, session, s.tenant)
}

// Stopped reports whether Stop was called for an answer.
func (s *Store) Stopped(ctx context.Context, session string, answer int) (stopped bool, err error) {
	return row(ctx, s, "check whether an answer was stopped", sqldb.Column[bool],
		"SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ? AND tenant_id = ? AND stopped_at >= ?)", session,
		s.tenant, answer)
}

// File is a file that a user uploaded for questions.
type File struct {
	ID            string
	UserID        string
	Name          string
	Media         string // media type
	Type          string // wire.ChatFileText or another of them
	Text          string
	Tokens        int // of the text
	Created, Used time.Time
}

// AddFile stores a file and its bytes.
func (s *Store) AddFile(ctx context.Context, file File, data []byte) error {
	return s.open.Update(ctx, "store the file", func(tx *sqldb.Tx) {
		tx.Exec(`INSERT INTO files (id, tenant_id, user_id, name, media, type, data, text, tokens, created_at, used_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, file.ID, s.tenant, file.UserID, file.Name, file.Media, file.Type,
			data, file.Text, file.Tokens, sqldb.Micros(file.Created), sqldb.Micros(file.Used))
		tx.Exec(`DELETE FROM files WHERE id IN (SELECT id FROM (
			SELECT id, row_number() OVER latest AS place, sum(length(data) + length(text)) OVER latest AS bytes
			FROM files WHERE user_id = ? AND tenant_id = ?
			WINDOW latest AS (ORDER BY used_at DESC, created_at DESC, id)) ranked
			WHERE id <> ? AND (place > ? OR bytes > ?))`, file.UserID, s.tenant, file.ID, s.limits.files,
			s.limits.fileBytes)
	})
}

// File returns a user's file and marks it as used; ErrNotFound if there is none.
func (s *Store) File(ctx context.Context, userID, id string) (File, error) {
	file := File{ID: id, UserID: userID, Used: s.now().UTC()}
	err := s.open.IfExists().Update(ctx, "read a file", func(tx *sqldb.Tx) {
		columns := []any{&file.Name, &file.Media, &file.Type, &file.Text, &file.Tokens, (*sqldb.Micros)(&file.Created)}
		tx.Row(ErrNotFound, columns, `UPDATE files SET used_at = CASE WHEN used_at < ?1 THEN ?1 ELSE used_at END
			WHERE id = ?2 AND user_id = ?3 AND tenant_id = ?4 RETURNING name, media, type, text, tokens, created_at`,
			sqldb.Micros(file.Used), id, userID, s.tenant)
	})
	return file, err
}

// FileData returns a user's file as uploaded; ErrNotFound if there is none.
func (s *Store) FileData(ctx context.Context, userID, id string) (name, media string, data []byte, err error) {
	type stored struct {
		name, media string
		data        []byte
	}
	file, err := row(ctx, s, "read a file", func(f *stored) []any { return []any{&f.name, &f.media, &f.data} },
		"SELECT name, media, data FROM files WHERE id = ? AND user_id = ? AND tenant_id = ?", id, userID, s.tenant)
	return file.name, file.media, file.data, err
}

// Copied returns all sessions and files of a tenant for a copy to a PostgreSQL server, which replaces those there.
// Messages get new numbers unless no other tenant has any.
func (s *Store) Copied() postgres.Copied {
	return postgres.Copied{Name: "conversations", DB: s.db, Tables: []string{"sessions", "messages", "files"},
		Fill: func(ctx context.Context, from, to *sql.Tx) int { return copyTenant(ctx, from, to, s.tenant) }}
}

func copyTenant(ctx context.Context, from, to *sql.Tx, tenant string) (rows int) {
	for _, table := range []string{"sessions", "files"} { // messages go with their sessions
		_, err := to.ExecContext(ctx, "DELETE FROM "+table+" WHERE tenant_id = ?", tenant)
		guard.While("empty the table "+table, err)
	}
	var last int64 // number of a message of another tenant
	guard.While("read the numbers of messages",
		to.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM messages").Scan(&last))
	renumber := func(row map[string]any, columns ...string) {
		for _, column := range columns {
			if number, ok := row[column].(int64); ok && number > 0 {
				row[column] = number + last
			}
		}
	}
	for _, table := range []struct {
		name   string
		change func(row map[string]any)
	}{
		{"sessions", func(row map[string]any) {
			row["tenant_id"] = tenant
			renumber(row, "stopped_at")
		}},
		{"messages", func(row map[string]any) { renumber(row, "id", "parent_id") }},
		{"files", func(row map[string]any) { row["tenant_id"] = tenant }},
	} {
		rows += postgres.CopyTable(ctx, from, to, table.name, table.change)
	}
	return rows
}
