package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
)

const (
	// versionPassages is how many of the best passages are compared to find versions of one document.
	versionPassages = 100
	// maxVersionPairs bounds the pairs of documents whose titles are compared.
	maxVersionPairs = 64
	// versionAge is the least difference of dates: files that are copied or checked out together differ by minutes.
	versionAge = time.Hour
	// comparedChunks is how much of two documents is compared.
	comparedChunks = 32
)

// findNewer notes in r.newer which documents of a ranking are older versions. Versions have nearly the same title, most
// of their text in common, and different dates.
func (r *run) findNewer(ranked []fusedChunk) {
	r.newer = map[string]string{}
	pairs := alikePairs(ranked[:min(len(ranked), versionPassages)])
	var compared []string
	for _, pair := range pairs {
		compared = append(compared, pair[:]...)
	}
	r.look(compared) // all at once
	for _, pair := range pairs {
		older, newer := r.versions(pair)
		if older == nil {
			continue
		}
		if latest := r.described[r.newer[older.ID]]; latest == nil || latest.UpdatedAt.Before(newer.UpdatedAt) {
			r.newer[older.ID] = newer.ID
		}
	}
	for older, latest := range r.newer {
		for next, ok := r.newer[latest]; ok; next, ok = r.newer[latest] { // dates ascend, so this ends
			latest = next
		}
		r.newer[older] = latest
	}
}

// latestFirst moves the best passage of the latest version of a document before those of older versions.
func (r *run) latestFirst(ranked []fusedChunk) []fusedChunk {
	if r.findNewer(ranked); len(r.newer) == 0 {
		return ranked
	}
	ordered, placed := make([]fusedChunk, 0, len(ranked)), map[chunkID]bool{}
	place := func(c fusedChunk) {
		if !placed[c.chunkID] {
			placed[c.chunkID] = true
			ordered = append(ordered, c)
		}
	}
	for _, c := range ranked {
		if latest, ok := r.newer[c.document]; ok {
			place(ranked[slices.IndexFunc(ranked, func(of fusedChunk) bool { return of.document == latest })])
		}
		place(c)
	}
	return ordered
}

// alikePairs returns pairs of documents that have passages with much in common.
func alikePairs(ranked []fusedChunk) (pairs [][2]string) {
	for i, a := range ranked {
		for j := 0; j < i && a.print != 0; j++ {
			b := &ranked[j]
			if len(pairs) == maxVersionPairs || !a.print.Alike(b.print) || a.document == b.document {
				continue
			}
			pair := [2]string{min(a.document, b.document), max(a.document, b.document)}
			if !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// versions returns two documents that were described before, the older one first, if they are versions of one; nil
// otherwise.
func (r *run) versions(pair [2]string) (older, newer *index.Stored) {
	older, newer = r.described[pair[0]], r.described[pair[1]]
	if older == nil || newer == nil || older.UpdatedAt.IsZero() || newer.UpdatedAt.IsZero() ||
		older.UpdatedAt.Sub(newer.UpdatedAt).Abs() < versionAge ||
		versionlessTitle(older.Title) != versionlessTitle(newer.Title) {
		return nil, nil
	}
	if newer.UpdatedAt.Before(older.UpdatedAt) {
		older, newer = newer, older
	}
	texts, err := r.snapshot.Texts(r.ctx, []index.Range{{DocumentID: older.ID, To: comparedChunks - 1},
		{DocumentID: newer.ID, To: comparedChunks - 1}}, r.Access)
	guard.While("compare versions", err)
	before, now, shared := triplesOf(texts[0]), triplesOf(texts[1]), 0
	for triple := range before {
		if now[triple] {
			shared++
		}
	}
	if 2*shared < max(1, len(before), len(now)) {
		return nil, nil
	}
	return older, newer
}

// triplesOf returns the runs of three words of a text (Broder, On the Resemblance and Containment of Documents, 1997).
func triplesOf(chunks []index.Chunk) map[[3]string]bool {
	triples := map[[3]string]bool{}
	for _, chunk := range chunks {
		words := wordsOf(chunk.Text)
		for i := range max(0, len(words)-2) {
			triples[[3]string(words[i:i+3])] = true
		}
	}
	return triples
}

// versionlessTitle returns the words of a title without those that name a version: numbers, dates, "draft". A title of
// nothing else is returned whole.
func versionlessTitle(title string) string {
	words := wordsOf(title)
	rest := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return strings.ContainsFunc(word, unicode.IsDigit) ||
			text.IsAmong(word, `archive archived copy deprecated draft final
			latest new obsolete of old outdated rev revised revision superseded updated v version`)
	})
	return cmp.Or(strings.Join(rest, " "), strings.Join(words, " "))
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
