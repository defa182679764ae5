package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"

	"quarry/client/wire"

	_ "modernc.org/sqlite"
)

// ftsEngine is SQLite's FTS5 with its Porter tokenizer, titles weighing three times the text.
type ftsEngine struct{ db *sql.DB }

func (e *ftsEngine) name() string { return "SQLite FTS5" }

func (e *ftsEngine) build(ctx context.Context, dir string, documents []wire.IngestionDocument) error {
	db, err := sql.Open("sqlite", filepath.Join(dir, "fts.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		return err
	}
	e.db = db
	if _, err := db.ExecContext(ctx,
		`CREATE VIRTUAL TABLE passages USING fts5(id UNINDEXED, title, body, tokenize = 'porter unicode61')`); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, `INSERT INTO passages (id, title, body) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, d := range documents {
		if _, err := insert.ExecContext(ctx, d.ID, d.SemanticIdentifier, d.Sections[0].Text); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO passages (passages) VALUES ('optimize')`)
	return err
}

func (e *ftsEngine) search(ctx context.Context, query string, limit int) (ids []string, err error) {
	var quoted []string
	for _, w := range words(query) {
		quoted = append(quoted, `"`+w+`"`)
	}
	rows, err := e.db.QueryContext(ctx, `SELECT id, title, body FROM passages WHERE passages MATCH ?
		ORDER BY bm25(passages, 0, 3.0, 1.0) LIMIT ?`, strings.Join(quoted, " OR "), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, title, body string
		if err := rows.Scan(&id, &title, &body); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (e *ftsEngine) close() error { return e.db.Close() }
