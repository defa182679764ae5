package chat

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quarry/client/wire"
	"quarry/server/sqlite"
)

// The bounds of what is kept of one person's files. Beyond them those go that were used longest ago.
const (
	MostFiles     = 200
	MostFileBytes = 128 << 20
)

// File is a file that somebody uploaded to ask about it.
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

// AddFile keeps a file and its bytes.
func (s *Store) AddFile(ctx context.Context, file File, data []byte) error {
	err := s.db.Update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO files (id, user_id, name, media, type, data, text, tokens, created_at,
			used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, file.ID, file.UserID, file.Name, file.Media, file.Type, data, file.Text,
			file.Tokens, file.Created.UnixMicro(), file.Used.UnixMicro()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM files WHERE id IN (SELECT id FROM (
			SELECT id, row_number() OVER latest AS place, sum(length(data) + length(text)) OVER latest AS bytes
			FROM files WHERE user_id = ? WINDOW latest AS (ORDER BY used_at DESC, rowid DESC))
			WHERE id <> ? AND (place > ? OR bytes > ?))`, file.UserID, file.ID, MostFiles, MostFileBytes)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	return nil
}

// File reads a file of somebody, and notes that it was used; ErrNotFound where they have none of this id.
func (s *Store) File(ctx context.Context, userID, id string) (File, error) {
	file := File{ID: id, UserID: userID}
	var created int64
	now := s.now()
	err := s.db.Update(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `UPDATE files SET used_at = max(used_at, ?) WHERE id = ? AND user_id = ?
			RETURNING name, media, type, text, tokens, created_at`, now.UnixMicro(), id, userID).
			Scan(&file.Name, &file.Media, &file.Type, &file.Text, &file.Tokens, &created)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return File{}, fmt.Errorf("file: %w", ErrNotFound)
	}
	if err != nil {
		return File{}, fmt.Errorf("read a file: %w", err)
	}
	file.Created, file.Used = time.UnixMicro(created).UTC(), now.UTC()
	return file, nil
}

// FileData reads a file of somebody as it was uploaded; ErrNotFound where they have none of this id.
func (s *Store) FileData(ctx context.Context, userID, id string) (name, media string, data []byte, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT name, media, data FROM files WHERE id = ? AND user_id = ?", id, userID).
		Scan(&name, &media, &data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = fmt.Errorf("file: %w", ErrNotFound)
	case err != nil:
		err = fmt.Errorf("read a file: %w", sqlite.Explain(err))
	}
	return name, media, data, err
}

// Attach implements Keeper.
func (s *Store) Attach(ctx context.Context, session string, message int, files []wire.ChatFile) error {
	text, err := json.Marshal(files)
	if err != nil {
		return fmt.Errorf("attach files: %w", err)
	}
	err = s.db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE messages SET files = ? WHERE id = ? AND session_id = ?", string(text), message, session)
		return err
	})
	if err != nil {
		return fmt.Errorf("attach files: %w", err)
	}
	return nil
}
