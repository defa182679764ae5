package segment

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	// ShortPrefix is the length in bytes up to which Frequent serves prefixes.
	ShortPrefix = 2
	// frequentSurfaces is how many of the surfaces with a prefix Frequent remembers, where there are manySurfaces.
	frequentSurfaces = 256
	manySurfaces     = 1024
)

// Frequent are the surfaces with a prefix that most documents of a segment contain, deleted ones included.
type Frequent struct {
	Documents map[string]uint32
	// Rest is the number of documents of the most frequent other surface with the prefix; 0 if there is none.
	Rest uint32
}

// Frequent returns the most frequent surfaces with a short prefix. Reading them all takes milliseconds where they are
// many, so that the answer is kept then.
func (r *Reader) Frequent(prefix string) *Frequent {
	type key struct{ prefix string }
	if known, ok := r.derived.Load(key{prefix}); ok {
		frequent, _ := known.(*Frequent)
		return frequent
	}
	type counted struct {
		surface   string
		documents uint32
	}
	var all []counted
	for e, ok := r.surfaces.seek([]byte(prefix)); ok && bytes.HasPrefix(e.key, []byte(prefix)); ok = e.next() {
		documents, _, _ := e.documents()
		all = append(all, counted{string(e.key), uint32(documents)})
	}
	frequent := &Frequent{}
	many := len(all) >= manySurfaces
	if many {
		slices.SortFunc(all, func(a, b counted) int { return cmp.Compare(b.documents, a.documents) })
		frequent.Rest = all[frequentSurfaces].documents
		all = all[:frequentSurfaces]
	}
	frequent.Documents = make(map[string]uint32, len(all))
	for _, c := range all {
		frequent.Documents[c.surface] = c.documents
	}
	if many {
		r.derived.Store(key{prefix}, frequent)
	}
	return frequent
}
