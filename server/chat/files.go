package chat

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"quarry/server/sqlite"
)

// Bounds of one user's files. Beyond them the least recently used are deleted.
const (
	MostFiles     = 200
	MostFileBytes = 128 << 20
)

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
	return s.update(ctx, "store the file", func(tx *sql.Tx) error {
		if err := sqlite.Exec(ctx, tx, nil, `INSERT INTO files (id, user_id, name, media, type, data, text, tokens, created_at,
			used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, file.ID, file.UserID, file.Name, file.Media, file.Type, data, file.Text,
			file.Tokens, sqlite.Micros(file.Created), sqlite.Micros(file.Used)); err != nil {
			return err
		}
		return sqlite.Exec(ctx, tx, nil, `DELETE FROM files WHERE id IN (SELECT id FROM (
			SELECT id, row_number() OVER latest AS place, sum(length(data) + length(text)) OVER latest AS bytes
			FROM files WHERE user_id = ? WINDOW latest AS (ORDER BY used_at DESC, rowid DESC))
			WHERE id <> ? AND (place > ? OR bytes > ?))`, file.UserID, file.ID, MostFiles, MostFileBytes)
	})
}

// File returns a user's file and marks it as used; ErrNotFound if there is none.
func (s *Store) File(ctx context.Context, userID, id string) (File, error) {
	file := File{ID: id, UserID: userID, Used: s.now().UTC()}
	err := s.db.Update(ctx, func(tx *sql.Tx) error {
		return sqlite.Scan(tx.QueryRowContext(ctx, `UPDATE files SET used_at = max(used_at, ?) WHERE id = ? AND user_id = ?
			RETURNING name, media, type, text, tokens, created_at`, sqlite.Micros(file.Used), id, userID), ErrNotFound,
			&file.Name, &file.Media, &file.Type, &file.Text, &file.Tokens, (*sqlite.Micros)(&file.Created))
	})
	if err != nil {
		return File{}, fmt.Errorf("read a file: %w", err)
	}
	return file, nil
}

// FileData returns a user's file as uploaded; ErrNotFound if there is none.
func (s *Store) FileData(ctx context.Context, userID, id string) (name, media string, data []byte, err error) {
	err = sqlite.Scan(s.db.Reader.QueryRowContext(ctx, "SELECT name, media, data FROM files WHERE id = ? AND user_id = ?",
		id, userID), ErrNotFound, &name, &media, &data)
	if err != nil {
		err = fmt.Errorf("read a file: %w", err)
	}
	return name, media, data, err
}
