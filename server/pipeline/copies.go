package pipeline

import (
	"crypto/sha256"
	"io"
	"slices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// maxCopies bounds the documents that a result lists as copies.
const maxCopies = 50

// What is compared for one answer depends on the result set alone, so that what folds is the same in every order and on
// every page.
const (
	maxCompared         = 500 // documents
	maxComparedPassages = 20_000
)

// findCopies groups the matching documents with the same text.
func (r *run) findCopies() {
	r.copies, r.same = map[string][]string{}, map[string][]string{}
	if r.answer().Matched == nil {
		return
	}
	groups, err := r.answer().Matched.Twins(r.ctx)
	guard.While("find copies", err)
	compared, left := 0, maxComparedPassages
	for _, ids := range groups {
		if compared+len(ids) > maxCompared {
			continue
		}
		compared += len(ids)
		same := map[digest][]string{}
		for _, id := range ids {
			text := r.digest(id, left)
			if left -= text.passages; left < 0 {
				return
			}
			same[text] = append(same[text], id)
		}
		delete(same, digest{})
		for _, copies := range same {
			if len(copies) > 1 {
				for _, id := range copies {
					r.same[id] = copies
				}
			}
		}
	}
}

// digest is that of a document's text; zero for one that cannot be read.
type digest struct {
	sum      [sha256.Size]byte
	passages int
}

// digest returns that of a document, of whose passages it reads until there are more than most.
func (r *run) digest(id string, most int) digest {
	key := digestKey{r.Caller, r.snapshot.Version(), id}
	if known, ok := r.Cache.digests.Get(key); ok {
		return known
	}
	found := r.digestText(id, most)
	if found != (digest{}) && found.passages <= most { // what is damaged may be repaired
		r.Cache.digests.Add(key, found)
	}
	return found
}

func (r *run) digestText(id string, most int) (found digest) {
	hash := sha256.New()
	for more := true; more && found.passages <= most; {
		from := found.passages
		texts, err := r.snapshot.Texts(r.ctx,
			[]index.Range{{DocumentID: id, From: from, To: from + wire.MaxChunksPerRequest - 1}}, r.Access)
		guard.While("compare copies", err)
		for _, c := range texts[0] {
			if c.Damaged {
				return digest{}
			}
			_, _ = io.WriteString(hash, c.Text+"\x00")
		}
		found.passages += len(texts[0])
		more = len(texts[0]) == wire.MaxChunksPerRequest
	}
	if found.passages > 0 {
		hash.Sum(found.sum[:0])
	}
	return found
}

// folds reports whether a document has the text of one that came before, which then is its copy; the first one gets
// all others as copies. All of them passed the caller's rights and filters, so what the filters rule out is neither
// shown nor named.
func (r *run) folds(id string) bool {
	same := r.same[id]
	if len(same) == 0 {
		return false
	}
	if slices.ContainsFunc(same, func(other string) bool { return other != id && r.copies[other] != nil }) {
		return true
	}
	if r.copies[id] == nil {
		r.copies[id] = slices.DeleteFunc(slices.Clone(same), func(other string) bool { return other == id })
	}
	return false
}

// copiesOf returns the ids of documents with the text of a section's document, as many as a result lists.
func (r *run) copiesOf(s section) []string {
	copies := r.copies[s.document]
	return copies[:min(len(copies), maxCopies)]
}

// relate adds to a result the documents with copies of it, and the newer version of its own. Those that the caller may
// not see were never found; those removed meanwhile are left out.
func (r *run) relate(result *wire.SearchResult, s section) {
	for _, id := range r.copiesOf(s) {
		if d := r.described[id]; d != nil {
			result.AlsoIn = append(result.AlsoIn, wire.DocumentCopy{DocumentID: id, Title: d.Title,
				Link: Link(r.FileLinks, d.Link), SourceType: d.Source})
		}
	}
	result.AlsoInCount = len(r.copies[s.document])
	if d := r.described[r.newer[s.document]]; d != nil {
		result.Newer = &wire.NewerDocument{DocumentID: d.ID, Title: d.Title, UpdatedAt: Timestamp(d.UpdatedAt)}
	}
}
