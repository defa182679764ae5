package lexical

import (
	"bytes"
	"cmp"
	"slices"

	"quarry/server/index/segment"
)

// counted is a surface with a number of documents that hold it.
type counted struct {
	surface, term string
	documents     int64
}

// surfaces calls yield with every surface that begins with prefix and that a live document holds, in order, with the
// number of those documents. The key is valid during the call.
func (r *run) surfaces(prefix string, yield func(key []byte, documents int64, surface func() segment.Surface)) {
	var open []*surfaceCursor
	for part := range r.s.parts {
		c := &surfaceCursor{part: part, SurfaceCursor: r.reader(part).WithPrefix(prefix)}
		if c.Next() {
			open = append(open, c)
		}
	}
	var at []*surfaceCursor
	for len(open) > 0 {
		at = smallest(open, at[:0])
		documents := int64(0)
		for _, c := range at {
			r.reader(c.part)
			documents += int64(c.Documents())
			if delta := r.s.parts[c.part].Delta; delta != nil {
				documents -= delta.Surfaces[string(c.Key())]
			}
		}
		if documents > 0 {
			yield(at[0].Key(), documents, at[0].Surface)
		}
		ended := false
		for _, c := range at {
			r.reader(c.part)
			c.ended = !c.Next()
			ended = ended || c.ended
		}
		if ended {
			open = slices.DeleteFunc(open, func(c *surfaceCursor) bool { return c.ended })
		}
	}
}

type surfaceCursor struct {
	part  int
	ended bool
	*segment.SurfaceCursor
}

// smallest appends the cursors that stand at the smallest key.
func smallest(open, at []*surfaceCursor) []*surfaceCursor {
	if len(open) == 1 {
		return append(at, open[0])
	}
	for _, c := range open {
		order := -1
		if len(at) > 0 {
			order = bytes.Compare(c.Key(), at[0].Key())
		}
		if order < 0 {
			at = at[:0]
		}
		if order <= 0 {
			at = append(at, c)
		}
	}
	return at
}

// bestSurfaces keeps the surfaces of most documents, equal ones in the order of the alphabet.
type bestSurfaces struct {
	limit int
	items []counted // best first
}

// takes reports whether a surface would be among the best; surfaces must come in the order of the alphabet.
func (b *bestSurfaces) takes(documents int64) bool {
	return len(b.items) < b.limit || b.limit > 0 && documents > b.items[len(b.items)-1].documents
}

func (b *bestSurfaces) add(c counted) {
	at, _ := slices.BinarySearchFunc(b.items, c, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.documents, a.documents), cmp.Compare(a.surface, b.surface))
	})
	b.items = slices.Insert(b.items, at, c)
	b.items = b.items[:min(len(b.items), b.limit)]
}
