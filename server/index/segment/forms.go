package segment

import (
	"cmp"
	"math"
	"slices"
)

// Where several surfaces have one term, each of its positions has a form: the number of the surface among them, of
// which most documents contain the first one. A surface has one more than the number, and 0 where its term has no
// other.

// analyserOfForms is the first whose segments have forms.
const analyserOfForms = 12

// form is that of the surface with an ordinal, before formatWords.
func (r *Reader) form(ordinal int) int {
	if r.version < analyserOfForms {
		return 0
	}
	type key struct{}
	return int(Derived(r, key{}, func() Column { return r.column(sectionForms, r.surfaces.count) }).At(ordinal))
}

// loadForms finds the forms of a block, which are behind all of its positions.
func (t *Term) loadForms(b *Block) {
	if b.forms != nil {
		return
	}
	all := 0
	for i := range b.N {
		all += t.frequency(b, i)
	}
	t.r.require(all <= math.MaxInt32, "a term occurs too often")
	in := t.gaps(b)
	in.skip(b.N, all)
	data := in.data[packedSize(in.at, 1):]
	b.formWidth, b.forms = int(data[0]), data[1:]
	t.r.require(b.formWidth <= 32, "the forms of a term have a wrong width")
}

// hasForm reports whether the surface with a form stands in posting i of b.
func (t *Term) hasForm(b *Block, i, form int) bool {
	t.loadForms(b)
	if b.formWidth == 0 {
		return form == 1
	}
	b.seek(i)
	for j := range b.frequency(i) {
		if int(unpackOne(b.forms, b.skipped+j, b.formWidth)) == form-1 {
			return true
		}
	}
	return false
}

// PositionsOf appends the positions of posting i of b at which the surface with a form stands; 0: any.
func (t *Term) PositionsOf(b *Block, i, form int, dst []uint32) []uint32 {
	from := len(dst)
	dst = t.Positions(b, i, dst)
	if form == 0 {
		return dst
	}
	t.loadForms(b)
	kept := dst[:from]
	for j, position := range dst[from:] {
		if int(unpackOne(b.forms, b.skipped+j, b.formWidth)) == form-1 {
			kept = append(kept, position)
		}
	}
	return kept
}

// numberForms numbers the surfaces of the terms that have several in the segment.
func (b *Builder) numberForms() {
	var ids []uint32
	present := make([]uint32, len(b.terms))
	for i := range b.surfaces {
		if s := &b.surfaces[i]; s.documents > 0 {
			present[s.term]++
		}
	}
	for i := range b.surfaces {
		s := &b.surfaces[i]
		if s.number = 0; s.documents > 0 && present[s.term] > 1 {
			ids = append(ids, uint32(i))
		}
	}
	slices.SortFunc(ids, func(x, y uint32) int {
		s, t := &b.surfaces[x], &b.surfaces[y]
		return cmp.Or(cmp.Compare(s.term, t.term), cmp.Compare(t.documents, s.documents),
			cmp.Compare(b.surfaceNames.list[x], b.surfaceNames.list[y]))
	})
	for i, id := range ids {
		s := &b.surfaces[id]
		if s.number = 1; i > 0 && b.surfaces[ids[i-1]].term == s.term {
			s.number = b.surfaces[ids[i-1]].number + 1
		}
		entry := &b.terms[s.term]
		if entry.forms == nil {
			entry.forms = make([]uint32, entry.surfaces)
		}
		entry.forms[s.form] = s.number - 1
	}
}

// mergedForm is a surface of a term in a segment that is made of others.
type mergedForm struct {
	surface   string
	documents int
	were      []int // Form in each input, one more; 0: it does not have the surface
}

// countForms finds the terms that will have several surfaces, and numbers these.
func (m *merger) countForms() {
	m.forms = make(map[string][]*mergedForm)
	m.union(func(r *Reader) *dictionary { return &r.surfaces }, func(_ []byte, at []*Cursor) {
		s := at[0].Surface()
		formed := slices.ContainsFunc(at, func(c *Cursor) bool {
			m.at(c.Input)
			return c.Surface().Form > 0
		})
		if s.Term != s.Surface || formed { // if another one is not alone, a surface of its term finds it
			m.addForm(s.Surface, s.Term)
		}
	})
	for term, forms := range m.forms {
		if numberOf(forms, term) == 0 {
			m.addForm(term, term)
		}
		if forms = m.forms[term]; len(forms) == 1 {
			delete(m.forms, term)
		}
		slices.SortFunc(forms, func(a, b *mergedForm) int {
			return cmp.Or(cmp.Compare(b.documents, a.documents), cmp.Compare(a.surface, b.surface))
		})
	}
}

// addForm adds a surface of a term, if a document that stays contains it.
func (m *merger) addForm(surface, term string) {
	form := &mergedForm{surface: surface, were: make([]int, len(m.inputs))}
	for i, input := range m.inputs {
		s, ok := m.at(i).Surface(surface)
		if !ok || s.Term != term {
			continue
		}
		form.were[i] = s.Form + 1
		form.documents += input.live(s)
	}
	if form.documents > 0 {
		m.forms[term] = append(m.forms[term], form)
	}
}

// numberOf is the form of a surface; forms are those of its term.
func numberOf(forms []*mergedForm, surface string) uint32 {
	return uint32(1 + slices.IndexFunc(forms, func(f *mergedForm) bool { return f.surface == surface }))
}

// renumbering has the numbers that forms of a term in an input have in what it is merged into, by Form: the first one
// is that of the only surface of the term.
type renumbering []uint32

// renumbered returns the renumbering of a term's forms in an input; nil: it will have one surface.
func renumbered(forms []*mergedForm, input int) (r renumbering) {
	for number, form := range forms {
		if was := form.were[input]; was > 0 {
			r = append(r, make([]uint32, max(0, was-len(r)))...)
			r[was-1] = uint32(number)
		}
	}
	return r
}

// appendTo appends the new numbers of the forms of n positions of a block from at on.
func (r renumbering) appendTo(dst []uint32, t *Term, b *Block, at, n int) []uint32 {
	if len(r) == 1 {
		for range n {
			dst = append(dst, r[0])
		}
		return dst
	}
	t.loadForms(b)
	for i := range n {
		old := int(unpackOne(b.forms, at+i, b.formWidth)) + 1
		if old >= len(r) {
			panic(t.r.damaged("a term has an unknown form"))
		}
		dst = append(dst, r[old])
	}
	return dst
}
