package documents

import (
	"cmp"
	"context"
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
func (s *Tables) dictionaryIn(from sqldb.Source, table string, id uint32) (body []byte, err error) {
	defer guard.End(&err)
	if !from.Get([]any{&body}, "SELECT body FROM "+table+" WHERE id = ?", id) {
		return nil, fmt.Errorf("%w: a dictionary is missing", ErrPacked)
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
func (s *Tables) prepareDictionary(ctx context.Context, changes []Change) {
	if !s.Packer.Undecided() || s.useDictionary(ctx) {
		return
	}
	samples, least := s.samples(ctx, changes), cmp.Or(s.Sample, sampleBytes)
	if samples.bytes < least {
		return
	}
	id := newDictionaryID()
	var made []byte
	if err := guard.Call(func() (err error) {
		made, err = samples.dictionary(id, 2*least)
		return err
	}); err != nil {
		s.Log.Debug("packing texts without a dictionary", "error", err)
		s.Packer.useNone()
		return
	}
	s.storeDictionary(ctx, id, made)
	s.useDictionary(ctx)
}

// useDictionary has texts packed with the newest dictionary that is stored; used is false if there is none.
func (s *Tables) useDictionary(ctx context.Context) (used bool) {
	_ = Damage(func() { // checks report it
		for _, id := range s.dictionaryIDs(ctx) {
			if id < firstName {
				guard.Check(s.Packer.use(id))
				used = true
			}
		}
	})
	return used
}

func (s *Tables) dictionaryIDs(ctx context.Context) []uint32 {
	return sqldb.ColumnOf[uint32](s.Newest(ctx),
		"SELECT id FROM dictionaries UNION SELECT id FROM dictionary_copies ORDER BY id")
}

// storeDictionary stores a dictionary unless another process was faster.
func (s *Tables) storeDictionary(ctx context.Context, id uint32, dictionary []byte) {
	body, err := s.Packer.packWith(s.Packer.plain, dictionary)
	guard.Check(err)
	row := [][]any{{id, Seal(body, dictionaryKey(id))}}
	guard.Check(s.Change(ctx, func(tx *sqldb.Tx) {
		for _, table := range DictionaryTables() {
			there := 0
			if tx.Get([]any{&there}, "SELECT count(*) FROM "+table+" WHERE id < ?", firstName); there == 0 {
				tx.Insert(table+" (id, body)", row, "")
			}
		}
	}))
}

// samples returns what a dictionary can be made of: the documents of changes, and those that were stored last if these
// are few and there are many.
func (s *Tables) samples(ctx context.Context, changes []Change) (taken samples) {
	for i := range changes {
		if put := changes[i].Put; put != nil {
			taken.add(ctx, put)
		}
	}
	if taken.bytes >= cmp.Or(s.Sample, sampleBytes) {
		return taken
	}
	guard.Check(s.Read(ctx, func(tx sqldb.Source) {
		from := s.Reader(tx)
		if first, end := from.RowNumbers(); end-first < SampleDocuments {
			return
		}
		for _, row := range from.Rows("ORDER BY row DESC LIMIT ?", SampleDocuments) {
			taken.add(ctx, &from.Whole(row)[0])
		}
	}))
	return taken
}

// ExamineDictionaries examines both copies of the dictionaries, and restores one from the other.
func (s *Tables) ExamineDictionaries(ctx context.Context, repair bool, note func(index.Damage)) {
	isSound := func(table string, id uint32) bool {
		return Damage(func() {
			_, err := s.dictionaryIn(s.Newest(ctx), table, id)
			guard.Check(err)
		}) == nil
	}
	for _, id := range s.dictionaryIDs(ctx) {
		for i, table := range DictionaryTables() {
			if isSound(table, id) {
				continue
			}
			damage := index.Damage{Kind: index.DamagedDatabase, Reason: "a dictionary of its texts was damaged"}
			if other := DictionaryTables()[1-i]; repair && isSound(other, id) {
				guard.Check(s.Change(ctx, func(tx *sqldb.Tx) {
					tx.Exec("DELETE FROM "+table+" WHERE id = ?", id)
					tx.Exec("INSERT INTO "+table+" (id, body) SELECT id, body FROM "+other+" WHERE id = ?", id)
				}))
				damage.Repaired = true
			}
			note(damage)
		}
	}
}
