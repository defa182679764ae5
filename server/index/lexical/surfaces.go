package lexical

import (
	"strings"

	"quarry/server/index/segment"
)

// surfaces returns the surfaces of all parts that begin with prefix and that a live document holds, with the number of
// those documents, in order.
func (r *run) surfaces(prefix string) []counted {
	var merged []counted
	for i := range r.s.parts {
		var found []counted
		delta := r.s.parts[i].Delta
		r.reader(i).WithPrefix(prefix, func(s segment.Surface) bool {
			n := int64(s.Documents)
			if delta != nil {
				n -= delta.Surfaces[s.Surface]
			}
			if n > 0 {
				found = append(found, counted{s.Surface, s.Term, n})
			}
			return true
		})
		merged = mergeCounted(merged, found)
	}
	return merged
}

// mergeCounted merges two ordered lists, adding up what is in both.
func mergeCounted(a, b []counted) []counted {
	if len(a) == 0 {
		return b
	}
	out := make([]counted, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0].surface, b[0].surface); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			a[0].documents += b[0].documents
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
