package documents

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// SampleDocuments of those that are stored already are read to make a dictionary.
const SampleDocuments = 500

// DictionaryTables contain the same rows, on different pages.
func DictionaryTables() [2]string { return [2]string{"dictionaries", "dictionary_copies"} }

// PackWithDictionaries has texts packed with a dictionary that is stored with them.
func (s *Tables) PackWithDictionaries() {
	s.Packer = NewPacker(func(id uint32) ([]byte, error) {
		return s.readDictionary(s.Newest(context.Background()), id)
	})
	s.Packer.names.load = func() error { return s.loadNames(s.Newest(context.Background())) }
}

// readDictionary reads a dictionary, or its copy. Errors: ErrPacked if both are damaged or missing.
func (s *Tables) readDictionary(from sqldb.Source, id uint32) ([]byte, error) {
	for _, table := range DictionaryTables() {
		if found, err := s.dictionaryIn(from, table, id); err == nil || !Unreadable(err) {
			return found, err
		}
	}
	return nil, fmt.Errorf("%w: its dictionary is lost", ErrPacked)
}

// dictionaryIn reads a dictionary from one of the tables.
func (s *Tables) dictionaryIn(from sqldb.Source, table string, id uint32) ([]byte, error) {
	var body []byte
	err := from.Get([]any{&body}, "SELECT body FROM "+table+" WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: a dictionary is missing", ErrPacked)
	}
	if err != nil {
		return nil, err
	}
	if body, err = Unseal(body, dictionaryKey(id)); err != nil {
		return nil, err
	}
	return s.Packer.Unpack(body)
}

// dictionaryKey is the key of the seal of a dictionary.
func dictionaryKey(id uint32) []byte { return fmt.Append(nil, "dictionary ", id) }

// prepareDictionary has texts packed with the newest dictionary, and makes it when there is none and enough text: that
// of changes and that of stored documents. Without one, texts are packed as they are.
func (s *Tables) prepareDictionary(ctx context.Context, changes []Change) error {
	if !s.Packer.Undecided() {
		return nil
	}
	if used, err := s.useDictionary(ctx); used || err != nil {
		return err
	}
	samples, err := s.samples(ctx, changes)
	least := cmp.Or(s.Sample, sampleBytes)
	if err != nil || samples.bytes < least {
		return err
	}
	id := newDictionaryID()
	var made []byte
	err = guard.Call(func() (err error) {
		made, err = samples.dictionary(id, 2*least)
		return err
	})
	if err != nil {
		s.Log.Debug("packing texts without a dictionary", "error", err)
		s.Packer.useNone()
		return nil
	}
	if err := s.storeDictionary(ctx, id, made); err != nil {
		return err
	}
	_, err = s.useDictionary(ctx)
	return err
}

// useDictionary has texts packed with the newest dictionary that is stored; used is false if there is none.
func (s *Tables) useDictionary(ctx context.Context) (used bool, err error) {
	ids, err := s.dictionaryIDs(ctx)
	for i := 0; i < len(ids) && ids[i] < firstName && err == nil; i++ {
		err = s.Packer.use(ids[i])
		used = used || err == nil
	}
	if Unreadable(err) {
		return used, nil // checks report it
	}
	return used, err
}

func (s *Tables) dictionaryIDs(ctx context.Context) ([]uint32, error) {
	return sqldb.ColumnOf[uint32](s.Newest(ctx),
		"SELECT id FROM dictionaries UNION SELECT id FROM dictionary_copies ORDER BY id")
}

// storeDictionary stores a dictionary unless another process was faster.
func (s *Tables) storeDictionary(ctx context.Context, id uint32, dictionary []byte) error {
	body, err := s.Packer.packWith(s.Packer.plain, dictionary)
	if err != nil {
		return err
	}
	row := [][]any{{id, Seal(body, dictionaryKey(id))}}
	return s.Change(ctx, func(tx *sqldb.Tx) {
		for _, table := range DictionaryTables() {
			there := 0
			if tx.Row(nil, []any{&there}, "SELECT count(*) FROM "+table+" WHERE id < ?", firstName); there == 0 {
				tx.Insert(table+" (id, body)", row, "")
			}
		}
	})
}

// samples returns what a dictionary can be made of: the documents of changes, and those that were stored last if these
// are few and there are many.
func (s *Tables) samples(ctx context.Context, changes []Change) (taken samples, err error) {
	for i := 0; i < len(changes) && err == nil; i++ {
		if put := changes[i].Put; put != nil {
			err = taken.add(ctx, put)
		}
	}
	if err != nil || taken.bytes >= cmp.Or(s.Sample, sampleBytes) {
		return taken, err
	}
	return taken, s.Read(ctx, func(tx sqldb.Source) error {
		from := s.Reader(tx)
		if first, end, err := from.RowNumbers(); err != nil || end-first < SampleDocuments {
			return err
		}
		rows, err := from.Rows("ORDER BY row DESC LIMIT ?", SampleDocuments)
		for i := 0; i < len(rows) && err == nil; i++ {
			whole, readErr := from.Whole(rows[i])
			if err = readErr; err == nil {
				err = taken.add(ctx, &whole[0])
			}
		}
		return err
	})
}

// ExamineDictionaries examines both copies of the dictionaries, and restores one from the other.
func (s *Tables) ExamineDictionaries(ctx context.Context, repair bool, note func(index.Damage)) error {
	ids, err := s.dictionaryIDs(ctx)
	for _, id := range ids {
		for i, table := range DictionaryTables() {
			if _, err := s.dictionaryIn(s.Newest(ctx), table, id); err == nil {
				continue
			} else if !Unreadable(err) {
				return err
			}
			damage := index.Damage{Kind: index.DamagedDatabase, Reason: "a dictionary of its texts was damaged"}
			other := DictionaryTables()[1-i]
			if _, err := s.dictionaryIn(s.Newest(ctx), other, id); err == nil && repair {
				if err := s.Change(ctx, func(tx *sqldb.Tx) {
					tx.Exec("DELETE FROM "+table+" WHERE id = ?", id)
					tx.Exec("INSERT INTO "+table+" (id, body) SELECT id, body FROM "+other+" WHERE id = ?", id)
				}); err != nil {
					return err
				}
				damage.Repaired = true
			}
			note(damage)
		}
	}
	return err
}
