package segment

import "encoding/binary"

// writeTerms turns the forward form into postings, term after term.
func (b *Builder) writeTerms(w *writer) {
	sorted := b.termNames.sorted(func(id int) bool { return b.terms[id].chunks > 0 })
	cursors := make([]uint64, len(b.terms)) // where the next posting of a term goes
	total := uint64(0)
	for _, id := range sorted {
		cursors[id] = total
		total += b.terms[id].bytes
	}
	inverted := make([]byte, total)
	b.invert(inverted, cursors)
	b.forward = nil
	var l list
	from := uint64(0)
	for _, id := range sorted {
		to := from + b.terms[id].bytes
		parse(&l, inverted[from:to], b.terms[id].forms)
		w.term(b.termNames.list[id], &l)
		from = to
	}
}

// invert copies every record of the forward form, with its chunk in front, to the place of its term.
func (b *Builder) invert(inverted []byte, cursors []uint64) {
	chunk := uint32(0)
	for i := range b.documents {
		data := b.forward[b.documents[i].forward:]
		for range b.documents[i].chunks {
			terms := binary.LittleEndian.Uint32(data)
			data = data[4:]
			for range terms {
				term, length := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
				at := cursors[term]
				binary.LittleEndian.PutUint32(inverted[at:], chunk)
				copy(inverted[at+4:], data[8:8+length])
				cursors[term] = at + 4 + uint64(length)
				data = data[8+length:]
			}
			chunk++
		}
	}
}

// parse reads the inverted records of one term, whose surfaces have numbers in the segment.
func parse(l *list, data []byte, numbers []uint32) {
	l.reset()
	number := func() uint32 {
		if data[0] < 0x80 {
			v := data[0]
			data = data[1:]
			return uint32(v)
		}
		v, n := binary.Uvarint(data)
		data = data[n:]
		return uint32(v)
	}
	for len(data) > 0 {
		chunk := binary.LittleEndian.Uint32(data)
		data = data[4:]
		body, headings, titles := number(), number(), number()
		formed := body&1 != 0
		body >>= 1
		l.add(chunk, body, headings, titles)
		position := uint32(0)
		for range body + headings + titles {
			position += number()
			l.positions = append(l.positions, position)
		}
		for i := uint32(0); i < body+headings+titles && (formed || numbers != nil); i++ {
			form := uint32(0)
			if formed {
				form = number()
			}
			if numbers != nil {
				l.forms = append(l.forms, numbers[form])
			}
		}
	}
}

// writeSurfaces writes what documents contain in the order of words.
func (b *Builder) writeSurfaces(w *writer) {
	for _, id := range b.surfaceNames.sorted(func(id int) bool { return b.surfaces[id].documents > 0 }) {
		s := &b.surfaces[id]
		w.surface(b.surfaceNames.list[id], b.termNames.list[s.term], s.documents, s.number)
	}
}
