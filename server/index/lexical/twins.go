package lexical

import (
	"cmp"
	"context"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// Twins implements index.Matched.
func (m *matched) Twins(ctx context.Context) ([][]string, error) {
	return answer(ctx, m.s, "compare what matched", func(r *run) (groups [][]string) {
		byPrint := map[uint64][]string{}
		for part, twins := range r.twins() {
			reader, pass := r.reader(part), m.parts[part].pass
			for d := range twins.Each {
				if pass != nil && pass.Has(d) {
					print := printOf(reader, d)
					byPrint[print] = append(byPrint[print], reader.ID(d))
				}
			}
		}
		for _, ids := range byPrint {
			if len(ids) > 1 {
				slices.Sort(ids)
				groups = append(groups, ids)
			}
		}
		slices.SortFunc(groups, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
		return groups
	})
}

// twins returns, by part, the documents with whose fingerprints there is another one. They are found once: searches
// match many documents, and few of them have a twin.
func (r *run) twins() []segment.Bits {
	if known := r.s.twins.Load(); known != nil {
		return *known
	}
	var all, twice []uint64
	for part := range r.s.parts {
		reader := r.reader(part)
		for d := range reader.Documents() {
			if print := printOf(reader, d); print != 0 && r.s.parts[part].live(d) {
				all = append(all, print)
			}
		}
	}
	slices.Sort(all)
	for i, print := range all {
		if i > 0 && print == all[i-1] && (len(twice) == 0 || twice[len(twice)-1] != print) {
			twice = append(twice, print)
		}
	}
	found := make([]segment.Bits, len(r.s.parts))
	for part := range found {
		reader := r.reader(part)
		found[part] = segment.NewBits(reader.Documents())
		for d := 0; d < reader.Documents() && len(twice) > 0; d++ {
			if _, isTwin := slices.BinarySearch(twice, printOf(reader, d)); isTwin && r.s.parts[part].live(d) {
				found[part].Add(d)
			}
		}
	}
	r.s.twins.Store(&found)
	return found
}

// printOf combines the fingerprints of a document's passages by FNV-1a (Fowler, Noll and Vo), passage by passage; 0 if
// all are too short to have one.
func printOf(reader *segment.Reader, document int) uint64 {
	const basis, prime = 14695981039346656037, 1099511628211
	print, any := uint64(basis), index.Fingerprint(0)
	from, to := reader.DocumentChunks(document)
	for chunk := from; chunk < to; chunk++ {
		one := reader.Fingerprint(chunk)
		print, any = (print^uint64(one))*prime, any|one
	}
	if any == 0 {
		return 0
	}
	return print
}
