package documents

import (
	"database/sql"
	"slices"

	"quarry/server/index"
)

// examination checks that the chunks of a document are complete and unchanged, without unpacking them.
type examination struct {
	row    *Row
	packer *Packer
	groups [][2]int // the first chunk of each, and the one behind its last
	broken bool     // a group is damaged
	old    bool     // the groups have no seals: only the document's hash can be checked
}

func (e *examination) group(key int64, value []byte) {
	packed, count, err := openGroup(value, key, e.row.Hash)
	readable := false
	if err == nil {
		readable, err = e.packer.readable(packed)
	}
	switch {
	case err != nil, !readable:
		e.broken = true
	case count < 0:
		e.old = true
	default:
		first := int(key & ordinalMask)
		e.groups = append(e.groups, [2]int{first, first + count})
	}
}

// sound reports whether nothing is wrong as far as seals show.
func (e *examination) sound() (bool, error) {
	readable, err := e.packer.readable(e.row.Detail)
	next := 0
	slices.SortFunc(e.groups, func(a, b [2]int) int { return a[0] - b[0] })
	for _, group := range e.groups {
		if group[0] != next {
			return false, err
		}
		next = group[1]
	}
	return readable && !e.row.Damaged && !e.old && !e.broken && next == e.row.ChunkCount, err
}

// Examine calls yield with the damage of stored documents.
func (r *Reader) Examine(rows []*Row, yield func(index.Damage)) error {
	all, err := r.examine(rows)
	if Unreadable(err) {
		all = nil
		for i := range rows {
			some, err := r.examine(rows[i : i+1])
			if some[0].broken = Unreadable(err); err != nil && !some[0].broken {
				return err
			}
			all = append(all, some...)
		}
	} else if err != nil {
		return err
	}
	return r.finish(all, yield)
}

// examine looks at the groups of documents.
func (r *Reader) examine(rows []*Row) ([]examination, error) {
	all := make([]examination, len(rows))
	spans := make([]span, len(rows))
	for i, row := range rows {
		all[i] = examination{row: row, packer: r.Packer}
		if spans[i] = (span{row, 0, row.ChunkCount - 1}); row.Damaged || row.ChunkCount <= 0 {
			spans[i] = span{new(Row), 1, 0} // nothing
		}
	}
	return all, r.groups(spans, func(n int, key int64, body []byte) { all[n].group(key, body) })
}

// finish reads the documents of which seals do not show that they are sound, and yields their damage.
func (r *Reader) finish(all []examination, yield func(index.Damage)) error {
	for i := range all {
		e := &all[i]
		if sound, err := e.sound(); sound {
			continue
		} else if err != nil {
			return err
		}
		whole, err := r.Whole(e.row)
		if err != nil {
			return err
		}
		damage, damaged := e.row.Damage(0, whole[0].Chunks)
		if !damaged {
			hash := Hash(&whole[0])
			if e.old && !e.broken && sameHead(hash, e.row.Hash) && sameChunks(hash, e.row.Hash) {
				continue
			}
			damage.Reason = "its text differs from what was stored"
		}
		yield(damage)
	}
	return nil
}

// ExamineRows is Examine for the documents with row numbers from first to end, exclusive. It returns an error if the
// database cannot read one of its pages.
func (r *Reader) ExamineRows(first, end int64, yield func(index.Damage)) error {
	var rows []*Row
	last := first - 1
	err := r.each(func(row *Row) error {
		if row.Number <= last {
			return ErrOrder
		}
		last, rows = row.Number, append(rows, row)
		return nil
	}, "WHERE row >= ? AND row < ? ORDER BY row", first, end)
	if err != nil {
		return err
	}
	all := make([]examination, len(rows))
	byRow := make(map[int64]*examination, len(rows))
	for i, row := range rows {
		all[i] = examination{row: row, packer: r.Packer}
		byRow[row.Number] = &all[i]
	}
	var key int64
	var body sql.RawBytes
	last = -1
	err = r.Each(func(row *sql.Rows) error {
		if err := row.Scan(&key, &body); err != nil {
			return err
		}
		if key <= last {
			return ErrOrder
		}
		if last = key; byRow[key>>ordinalBits] != nil {
			byRow[key>>ordinalBits].group(key, body)
		}
		return nil
	}, "SELECT key, body FROM chunks WHERE key >= ? AND key < ? ORDER BY key", chunkKey(first, 0), chunkKey(end, 0))
	if err != nil {
		return err
	}
	return r.finish(all, yield)
}
