package lexical

import (
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// maxTerms bounds the terms that are remembered of a part, most of which it lacks in a library of several languages.
// Sixteen times as many do not make searches faster.
const maxTerms = 512

// knownTerms are what was looked up in a part; nil: it lacks the term.
type knownTerms map[string]*segment.Term

// term looks a term up in a part.
func (r *run) term(part int, term string) (segment.Term, bool) {
	reader := r.reader(part)
	found, known := r.terms[part][term]
	if !known {
		if has, ok := reader.Term(term); ok {
			found = &has
		}
		if r.terms[part] == nil || len(r.terms[part]) == maxTerms {
			r.terms[part] = make(knownTerms)
		}
		r.terms[part][term] = found
	}
	if found == nil {
		return segment.Term{}, false
	}
	return *found, true
}

// termCounts adds up the statistics of a term over all parts.
func (r *run) termCounts(term string) (n segment.TermCounts) {
	if r.far != nil {
		return r.far.Counts(term)[0]
	}
	for i := range r.s.parts {
		if t, ok := r.term(i, term); ok {
			n.Add(segment.TermCounts{Chunks: int64(t.Chunks), Documents: int64(t.Documents), Titles: int64(t.Titles)},
				1)
		}
		if delta := r.s.parts[i].Delta; delta != nil {
			n.Add(delta.Terms[term], -1)
		}
	}
	return n
}

// countsIn adds up the statistics of those terms that are second ones in a language. They weigh the words of a query in
// it, as in a library of that language alone: what is frequent there looks rare among documents in others.
func (r *run) countsIn(code string, terms []string) (n segment.TermCounts) {
	for _, term := range terms {
		if l := analysis.LanguageOfTerm(term); l != nil && l.Code == code {
			n.Add(r.termCounts(term), 1)
		}
	}
	return n
}

// sharedLookups is how many terms are worth the help of another processor.
const sharedLookups = 128

// lookUp looks terms up in all parts, in several at a time where they are many. What cannot be read is an error when it
// is needed.
func (r *run) lookUp(terms []string) {
	if r.far != nil {
		r.far.Counts(terms...) // which are read together, and kept
	}
	if len(terms)*len(r.s.parts) < sharedLookups {
		return
	}
	r.eachPart(sharedPostings, func(r *run, part int) {
		for _, term := range terms {
			_, _ = r.term(part, term)
		}
	})
}
