package segments

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/sqldb"
)

const (
	sampleBytes = documents.SampleBytes
	// sampleDocuments of those that are stored already are read to make a dictionary.
	sampleDocuments = 500
)

// dictionaryTables contain the same rows, on different pages.
func dictionaryTables() [2]string { return [2]string{"dictionaries", "dictionary_copies"} }

// readDictionary reads a dictionary, or its copy. Errors: documents.ErrPacked if both are damaged or missing.
func (x *Index) readDictionary(ctx context.Context, id uint32) ([]byte, error) {
	for _, table := range dictionaryTables() {
		if found, err := x.dictionaryIn(ctx, x.db.Reader, table, id); err == nil || !documents.Unreadable(err) {
			return found, err
		}
	}
	return nil, fmt.Errorf("%w: its dictionary is lost", documents.ErrPacked)
}

// dictionaryIn reads a dictionary from one of the tables.
func (x *Index) dictionaryIn(ctx context.Context, db sqldb.Querier, table string, id uint32) ([]byte, error) {
	var body []byte
	err := sqldb.GetWhole(ctx, db, []any{&body}, "SELECT body FROM "+table+" WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: a dictionary is missing", documents.ErrPacked)
	}
	if err != nil {
		return nil, err
	}
	if body, err = documents.Unseal(body, dictionaryKey(id)); err != nil {
		return nil, err
	}
	return x.Packer.UnpackDictionary(body)
}

// dictionaryKey is the key of the seal of a dictionary.
func dictionaryKey(id uint32) []byte { return fmt.Append(nil, "dictionary ", id) }

// prepareDictionary has texts packed with the library's dictionary, and makes it when the library has none and there is
// enough text: that of changes and that of stored documents. Without one, texts are packed as they are.
func (x *Index) prepareDictionary(ctx context.Context, changes []documents.Change) error {
	if x.db.InMemory() || !x.Packer.Undecided() {
		return nil
	}
	if used, err := x.useDictionary(ctx); used || err != nil {
		return err
	}
	samples, err := x.samples(ctx, changes)
	if err != nil || samples.Bytes < x.sample {
		return err
	}
	id := documents.NewDictionaryID()
	var made []byte
	err = guard.Call(func() (err error) {
		made, err = samples.Dictionary(id, 2*x.sample)
		return err
	})
	if err != nil {
		x.log.Debug("packing texts without a dictionary", "error", err)
		x.Packer.UseNone()
		return nil
	}
	if err := x.storeDictionary(ctx, id, made); err != nil {
		return err
	}
	_, err = x.useDictionary(ctx)
	return err
}

// useDictionary has texts packed with the newest dictionary that is stored; used is false if there is none.
func (x *Index) useDictionary(ctx context.Context) (used bool, err error) {
	ids, err := x.dictionaryIDs(ctx)
	for i := 0; i < len(ids) && err == nil; i++ {
		err = x.Packer.Use(ids[i])
		used = used || err == nil
	}
	if documents.Unreadable(err) {
		return used, nil // checks report it
	}
	return used, err
}

func (x *Index) dictionaryIDs(ctx context.Context) ([]uint32, error) {
	return sqldb.ColumnWhole[uint32](ctx, x.db.Reader,
		"SELECT id FROM dictionaries UNION SELECT id FROM dictionary_copies")
}

// storeDictionary stores a dictionary unless another process was faster.
func (x *Index) storeDictionary(ctx context.Context, id uint32, dictionary []byte) error {
	body, err := x.Packer.PackDictionary(dictionary)
	if err != nil {
		return err
	}
	body = documents.Seal(body, dictionaryKey(id))
	return x.Change(ctx, func(tx *sqldb.Tx) {
		for _, table := range dictionaryTables() {
			tx.Exec("INSERT INTO "+table+" (id, body) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM "+table+")", id, body)
		}
	})
}

// samples returns what a dictionary can be made of: the documents of changes, and stored ones if these are few.
func (x *Index) samples(ctx context.Context, changes []documents.Change) (samples documents.Samples, err error) {
	for i := range changes {
		if put := changes[i].Put; put != nil {
			if err := samples.Add(ctx, put); err != nil {
				return samples, err
			}
		}
	}
	if samples.Bytes < x.sample {
		err = x.Read(ctx, func(tx sqldb.Querier) error { return x.storedSamples(ctx, tx, &samples) })
	}
	return samples, err
}

// storedSamples adds the documents that were stored last, if there are many.
func (x *Index) storedSamples(ctx context.Context, tx sqldb.Querier, samples *documents.Samples) error {
	m, err := readMeta(ctx, tx)
	if err != nil || m.documents < sampleDocuments {
		return err
	}
	from := x.Reader(tx)
	rows, err := from.Rows(ctx, "ORDER BY row DESC LIMIT ?", sampleDocuments)
	for i := 0; i < len(rows) && err == nil; i++ {
		whole, readErr := from.Whole(ctx, rows[i])
		if err = readErr; err == nil {
			err = samples.Add(ctx, &whole[0])
		}
	}
	return err
}

// dictionaries checks both copies of the dictionaries, and restores one from the other.
func (c *checkRun) dictionaries(ctx context.Context) error {
	ids, err := c.x.dictionaryIDs(ctx)
	for i := 0; i < len(ids) && err == nil; i++ {
		err = c.dictionary(ctx, ids[i])
	}
	return err
}

func (c *checkRun) dictionary(ctx context.Context, id uint32) error {
	tables := dictionaryTables()
	for i, table := range tables {
		_, err := c.x.dictionaryIn(ctx, c.x.db.Reader, table, id)
		if !documents.Unreadable(err) {
			if err != nil {
				return err
			}
			continue
		}
		damage := index.Damage{Kind: index.DamagedDatabase, Reason: "a dictionary of its texts was damaged"}
		other := tables[1-i]
		if _, err := c.x.dictionaryIn(ctx, c.x.db.Reader, other, id); err == nil && c.options.Repair {
			if _, err := c.x.update(ctx, "INSERT OR REPLACE INTO "+table+" (id, body) SELECT id, body FROM "+other+" WHERE id = ?",
				id); err != nil {
				return err
			}
			damage.Repaired = true
		}
		c.note(damage)
	}
	return nil
}
