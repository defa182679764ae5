package documents

import (
	"database/sql"
	"slices"

	"quarry/internal/guard"
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
func (e *examination) sound() bool {
	readable, err := e.packer.readable(e.row.Detail)
	guard.Check(err)
	next := 0
	slices.SortFunc(e.groups, func(a, b [2]int) int { return a[0] - b[0] })
	for _, group := range e.groups {
		if group[0] != next {
			return false
		}
		next = group[1]
	}
	return readable && !e.row.Damaged && !e.old && !e.broken && next == e.row.ChunkCount
}

// examinations returns those of documents, which begin.
func (r *Reader) examinations(rows []*Row) []examination {
	all := make([]examination, len(rows))
	for i, row := range rows {
		all[i] = examination{row: row, packer: r.Packer}
	}
	return all
}

// Examine calls yield with the damage of stored documents.
func (r *Reader) Examine(rows []*Row, yield func(index.Damage)) {
	all := r.examinations(rows)
	if Damage(func() { r.examine(all) }) != nil {
		all = r.examinations(rows)
		for i := range all {
			all[i].broken = Damage(func() { r.examine(all[i : i+1]) }) != nil || all[i].broken
		}
	}
	r.finish(all, yield)
}

// examine looks at the groups of documents.
func (r *Reader) examine(all []examination) {
	spans := make([]span, len(all))
	for i := range all {
		row := all[i].row
		if spans[i] = (span{row, 0, row.ChunkCount - 1}); row.Damaged || row.ChunkCount <= 0 {
			spans[i] = span{new(Row), 1, 0} // nothing
		}
	}
	r.groups(spans, func(n int, key int64, body []byte) { all[n].group(key, body) })
}

// finish reads the documents of which seals do not show that they are sound, and yields their damage.
func (r *Reader) finish(all []examination, yield func(index.Damage)) {
	for i := range all {
		e := &all[i]
		if e.sound() {
			continue
		}
		whole := r.Whole(e.row)
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
}

// ExamineRows is Examine for the documents with row numbers from first to end, exclusive. It aborts if the database
// cannot read one of its pages.
func (r *Reader) ExamineRows(first, end int64, yield func(index.Damage)) {
	var rows []*Row
	last := first - 1
	for row := range r.each("WHERE row >= ? AND row < ? ORDER BY row", first, end) {
		if row.Number <= last {
			guard.Abort(ErrOrder)
		}
		last, rows = row.Number, append(rows, row)
	}
	all := r.examinations(rows)
	byRow := make(map[int64]*examination, len(rows))
	for i, row := range rows {
		byRow[row.Number] = &all[i]
	}
	var key int64
	var body sql.RawBytes
	last = -1
	for range r.Each([]any{&key, &body}, "SELECT key, body FROM chunks WHERE key >= ? AND key < ? ORDER BY key",
		chunkKey(first, 0), chunkKey(end, 0)) {
		if key <= last {
			guard.Abort(ErrOrder)
		}
		if last = key; byRow[key>>ordinalBits] != nil {
			byRow[key>>ordinalBits].group(key, body)
		}
	}
	r.finish(all, yield)
}
