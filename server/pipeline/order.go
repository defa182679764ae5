package pipeline

import (
	"slices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// inOrder returns the one order of passages that all pages of a question by relevance show: the documents that match,
// each one that meaning or a model found before the first match that it outscores, and behind the last match the
// further ones. The matches that are no candidates of a ranking follow the others as the index lists them, as far as
// the page needs them.
func (r *run) inOrder(lists []rankedList) []fusedChunk {
	ranked := r.latestFirst(fuse(lists))
	r.judge()
	r.findCopies()
	ranked = slices.DeleteFunc(ranked, func(c fusedChunk) bool { return r.folds(c.document) })
	last := len(ranked) // behind it nothing matches
	for last > 0 && !r.standings[ranked[last-1].document].matches {
		last--
	}
	first, further := ranked[:0], make([]fusedChunk, 0, len(ranked)-last)
	for i, c := range ranked {
		if standing := r.standings[c.document]; standing.matches || i < last && standing.foundBy != "" {
			first = append(first, c)
		} else {
			further = append(further, c)
		}
	}
	return append(append(first, r.behind(first)...), further...)
}

// standing is how a document stands to the question.
type standing struct {
	asked   bool     // the question's own words found it
	matches bool     // it has what the level of the question asks for
	missing []string // the words of the question that it lacks
	foundBy string   // what found it, if it does not match
}

// judge notes how the ranked documents stand to the question.
func (r *run) judge() {
	hits := r.answer().Hits
	r.standings = make(map[string]standing, len(hits))
	for _, hit := range hits {
		r.standings[hit.DocumentID] = standing{asked: true, matches: !hit.Below, missing: hit.Missing}
	}
	var others []string
	note := func(id, by string) {
		s, known := r.standings[id]
		if s.matches || s.foundBy != "" {
			return
		}
		if s.foundBy = by; !known {
			others = append(others, id)
		}
		r.standings[id] = s
	}
	foundBy := map[string]string{kindSemantic: wire.FoundByModel, kindKeyword: wire.FoundByModel} // "": see lacking
	for i, q := range r.queries {
		for _, hit := range r.found[i].Hits {
			if i != r.question && (!r.standings[hit.DocumentID].asked || !hit.Below) {
				note(hit.DocumentID, foundBy[q.Kind])
			}
		}
		for _, hit := range r.nearTo(i) {
			if !r.standings[hit.DocumentID].asked {
				note(hit.DocumentID, wire.FoundByMeaning)
			}
		}
	}
	for id, e := range r.mixedOf(r.question).documents {
		if r.standings[id].asked && e.byMeaning() {
			note(id, wire.FoundByMeaning)
		}
	}
	if len(others) == 0 || r.answer().Matched == nil {
		return
	}
	match, err := r.answer().Matched.Has(r.ctx, others)
	guard.While("look up what matched", err)
	for id := range match {
		r.standings[id] = standing{matches: true}
	}
}

// lacking notes what the documents that the question before its rephrasing alone found lack of the rephrasing.
func (r *run) lacking(sections []section) {
	var ids []string
	for _, s := range sections {
		if at, judged := r.standings[s.document]; judged && !at.asked && !at.matches && at.foundBy == "" {
			r.standings[s.document] = standing{asked: true,
				missing: slices.Compact(slices.Clone(r.answer().Words))}
			ids = append(ids, s.document)
		}
	}
	if len(ids) == 0 {
		return
	}
	query := r.indexQuery(r.queries[r.question])
	query.Count, query.Limit, query.Filter = false, len(ids)*hitsPerQuery, index.Filter{Access: r.Access, Among: ids}
	found, err := r.snapshot.Search(r.ctx, query)
	guard.While("look up what lacks words", err)
	for _, hit := range found.Hits {
		r.standings[hit.DocumentID] = standing{asked: true, missing: hit.Missing}
	}
}

// behind lists the matching documents behind the ranked ones, if the page reaches them.
func (r *run) behind(ranked []fusedChunk) (rest []fusedChunk) {
	passed, rows, seen := 0, 0, map[string]bool{}
	for _, c := range ranked {
		if !seen[c.document] && r.standings[c.document].matches {
			if passed >= r.offset() {
				rows++
			}
			passed += 1 + len(r.copies[c.document])
		}
		if seen[c.document] = true; rows >= r.wanted() {
			break
		}
	}
	if rows >= r.wanted() || passed >= r.answer().Documents {
		return nil
	}
	list := index.List{Offset: max(0, r.offset()-passed), Order: index.ByScore}
	listed, before := r.listed(list, seen)
	for _, hit := range listed {
		id := chunkID{hit.DocumentID, hit.Chunk}
		rest = append(rest, fusedChunk{chunkID: id, score: hit.Score, print: hit.Fingerprint, passed: before})
		before = 0
	}
	return rest
}

// listed returns a page of a list of the documents that match, without some and their copies, and how many come before
// it.
func (r *run) listed(list index.List, except map[string]bool) (hits []index.Hit, before int) {
	query := r.indexQuery(r.queries[r.question])
	list.Documents, list.Folds = r.wanted(), make(map[string]string)
	for id, same := range r.same {
		list.Folds[id] = same[0]
	}
	for id := range except {
		list.Folds[id] = ""
		for _, copied := range r.same[id] {
			list.Folds[copied] = ""
		}
	}
	query.Count, query.List = false, &list
	found, err := r.snapshot.Search(r.ctx, query)
	guard.While("list what matched", err)
	for _, hit := range found.Hits {
		r.folds(hit.DocumentID)
		r.standings[hit.DocumentID] = standing{matches: true, missing: hit.Missing}
	}
	return found.Hits, found.Before
}

// foldedList returns the page of a list in an order of time, or of all documents, on which copies stand with the first
// document of their text.
func (r *run) foldedList() []index.Hit {
	r.findCopies()
	page, passed := r.answer().Hits, r.answer().Before
	if len(r.same) > 0 {
		list := index.List{Offset: r.offset(), Order: listOrder(r.Search), Browse: r.Search.Browse}
		page, passed = r.listed(list, nil)
	}
	r.numbers = make(map[string]int)
	for _, hit := range page {
		r.numbers[hit.DocumentID] = passed + 1
		passed += 1 + len(r.copies[hit.DocumentID])
	}
	return page
}

// page returns the sections of a page that begins behind offset matching documents, one of each document. What a page
// shows before a match leaves room for the match.
func (r *run) page(ordered []fusedChunk) []section {
	var hits, before []index.Hit
	passed, others := 0, 0 // documents that match, and that do not
	r.numbers = make(map[string]int)
	for _, c := range ordered {
		if len(hits) == r.wanted() {
			break
		}
		if c.passed > 0 { // an earlier page ended with a match that stands behind those
			before, passed = nil, passed+c.passed
		}
		if r.numbers[c.document] > 0 {
			continue
		}
		r.numbers[c.document] = passed + others + 1
		hit := index.Hit{DocumentID: c.document, Chunk: c.chunk, Score: c.score}
		if !r.standings[c.document].matches {
			before, others = append(before, hit), others+1
			continue
		}
		if passed >= r.offset() {
			hits = append(append(hits, before[:min(len(before), r.wanted()-len(hits)-1)]...), hit)
		}
		before, passed = nil, passed+1+len(r.copies[c.document])
	}
	if len(hits) > 0 || passed == 0 && r.offset() == 0 { // the last page
		hits = append(hits, before[:min(len(before), r.wanted()-len(hits))]...)
	}
	return listedSections(hits)
}

// untilMatch ends a page that is not the last one with a match: what stands behind that is listed before the next
// match, on its page. If the sections of a document leave no room for a match, every document has one.
func (r *run) untilMatch(rows []section) []section {
	next, end, seen := r.offset(), 0, map[string]bool{}
	for i, s := range rows {
		isMatch := s.center.remote == nil && r.standings[s.document].matches
		if isMatch || s.center.remote != nil {
			end = i + 1
		}
		if isMatch && !seen[s.document] {
			seen[s.document] = true
			next += 1 + len(r.copies[s.document])
		}
	}
	switch {
	case next >= r.answer().Documents:
		return rows
	case next == r.offset():
		return r.paged
	}
	return rows[:end]
}
