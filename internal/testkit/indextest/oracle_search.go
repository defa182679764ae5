package indextest

import (
	"cmp"
	"slices"
	"strings"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

// word is a word of a query: any of terms.
type word struct {
	analysis.QueryWord
	terms   []string
	weight  float64
	matched bool
	seen    bool // in a document that the caller may see; otherwise it counts like one that no document holds
}

// Answer is what the oracle says to a query.
type Answer struct {
	// Hits are all passages, not only the first.
	Hits        []index.Hit
	Corrections []index.Correction
	Missing     []string
	Kept        string
	// Listed are the ids of all documents that match and pass the filter, ascending.
	Listed []string
	Level  index.Level
	// reached: a document of the scope holds one of the words.
	reached bool
	All     int
	Counts  index.Counts
}

// Search answers a query with all of its hits: without the stop words of its language, unless the others find nothing.
func (o *Oracle) Search(q index.Query) *Answer {
	l := o.languageOf(q.Text)
	answer := o.searchIn(l, q)
	if l != nil && answer.nothing(&q) {
		answer = o.searchIn(nil, q)
	}
	return answer
}

// nothing reports whether no document of the scope holds a word.
func (a *Answer) nothing(q *index.Query) bool {
	return !a.reached && len(a.Listed) == 0 && (len(a.Hits) == 0 || q.List != nil)
}

func (o *Oracle) searchIn(l *analysis.Language, q index.Query) *Answer {
	a := analysis.New()
	typed := a.Words(q.Text, q.Prefix)
	kept := ""
	if n := len(typed); q.PrefixIfUnknown && n > 0 {
		if kept = o.unfinished(typed[n-1], q.Filter.Access); kept != "" {
			typed[n-1].Prefix = true
		}
	}
	for i, n := 1, len(typed); i < n; i++ {
		if w, ok := analysis.Joined(q.Text, typed[i-1], typed[i]); ok {
			typed = append(typed, w)
		}
	}
	const apart = 1000
	for i, phrase := range q.Phrases {
		for _, w := range a.Words(phrase, false) {
			w.Position += apart * (i + 1)
			parts := slices.Clone(w.Parts)
			for j := range parts {
				parts[j].Position += apart * (i + 1)
			}
			w.Parts = parts
			typed = append(typed, w)
		}
	}
	typed = analysis.Content(typed, l)
	o.compounds(l, typed, q.Filter.Access)
	corrected, corrections := o.correct(typed, &q)
	answer := o.answer(l, o.words(corrected, q.Filter.Access), corrections, &q)
	if answer.nothing(&q) {
		corrected, corrections = typed, nil
		answer = o.answer(l, o.words(typed, q.Filter.Access), nil, &q)
	}
	for i := range answer.Hits {
		answer.Hits[i].Missing = asTyped(answer.Hits[i].Missing, corrections)
	}
	answer.Corrections, answer.Kept, answer.Missing = corrections, kept, o.missing(corrected, q.Filter.Access)
	return answer
}

// asTyped are words as they were before corrections, each once.
func asTyped(words []string, corrections []index.Correction) (typed []string) {
	for _, word := range words {
		for _, c := range corrections {
			if slices.Contains(strings.Fields(c.To), word) {
				word = c.From
			}
		}
		if !slices.Contains(typed, word) {
			typed = append(typed, word)
		}
	}
	return typed
}

// unfinished is the last word, or the last part of it, that no visible document holds, if words begin with it that add a
// term.
func (o *Oracle) unfinished(w analysis.QueryWord, access index.Access) string {
	seen := func(d *document) bool { return admitted(d, access) }
	for _, d := range o.documents {
		if _, holds := d.surfaces[w.Surface]; holds && seen(d) {
			return ""
		}
	}
	if len(o.terms(analysis.QueryWord{Token: w.Token, Prefix: true}, seen)) > 1 {
		return w.Surface
	}
	if n := len(w.Parts); n > 0 {
		return o.unfinished(w.Parts[n-1], access)
	}
	return ""
}

// words looks up what the words of a query stand for. An identifier is known if the caller may see where it stands.
func (o *Oracle) words(typed []analysis.QueryWord, access index.Access) (words []word) {
	seen := func(d *document) bool { return admitted(d, access) }
	add := func(w analysis.QueryWord, weight float64, matched bool) {
		for i := range words {
			if have := &words[i]; have.Term == w.Term && have.Prefix == w.Prefix {
				have.weight, have.matched = have.weight+weight, have.matched || matched
				return
			}
		}
		terms := o.inLanguages(o.terms(w, seen), w.Token)
		words = append(words, word{w, terms, weight, matched, o.visible(analysis.QueryWord{
			Token: w.Token, Prefix: w.Prefix}, seen)})
	}
	for _, w := range typed {
		if w.Kind == analysis.Compound {
			continue
		}
		known := o.visible(analysis.QueryWord{Token: w.Token, Prefix: w.Prefix}, seen)
		if len(w.Parts) == 0 || known {
			weight := 1.0
			if w.Overlaps {
				weight = o.params.Pair
			}
			add(w, weight, true)
		}
		for i, part := range w.Parts {
			if known {
				if !text.IsStopWord(part.Surface) {
					add(part, o.params.Part, false)
				}
				continue
			}
			part.Prefix = w.Prefix && i == len(w.Parts)-1
			add(part, 1, true)
		}
	}
	for _, w := range typed {
		if w.Kind != analysis.Compound {
			continue
		}
		w = w.Solid()
		has := slices.ContainsFunc(words, func(had word) bool { return had.Term == w.Term && had.Prefix == w.Prefix })
		if !has && o.visible(w, seen) {
			add(w, o.params.Spelling, false)
		}
	}
	return words
}

// terms are what a word stands for: its own, and with prefix those of the 64 surfaces that most documents hold, and one
// at least that may be seen.
func (o *Oracle) terms(w analysis.QueryWord, seen func(*document) bool) []string {
	terms := map[string]bool{w.Term: true}
	if w.Kind == analysis.Word || w.Kind == analysis.Ideograph {
		compound := w.Hyphenated()
		for _, term := range o.terms(compound, seen) {
			if slices.ContainsFunc(o.documents, func(d *document) bool { return d.terms[term] && seen(d) }) {
				terms[term] = true
			}
		}
	}
	surfaces := []string{w.Surface}
	german := slices.Contains(o.languages, analysis.LanguageOf("de"))
	if other := analysis.OtherUmlauts(w.Written); german && len(other) >= len(w.Surface) {
		surfaces = append(surfaces, other)
	}
	for i := 0; i < len(surfaces) && w.Prefix; i++ {
		shown := map[string]bool{}
		for _, c := range o.surfacesWith(surfaces[i], seen, 1<<30) {
			shown[c.surface] = true
		}
		all := slices.DeleteFunc(o.surfacesWith(surfaces[i], func(*document) bool { return true }, 1<<30),
			func(c counted) bool { return !shown[c.surface] })
		for _, c := range all[:min(len(all), 64)] {
			terms[c.term] = true
		}
	}
	var list []string
	for term := range terms {
		list = append(list, term)
	}
	return list
}

type counted struct {
	surface, term string
	documents     int
}

// surfacesWith are the surfaces that begin with prefix in documents that may be seen, those of most documents first.
func (o *Oracle) surfacesWith(prefix string, seen func(*document) bool, limit int) []counted {
	found := make(map[string]*counted)
	for _, d := range o.documents {
		if !seen(d) {
			continue
		}
		for surface, term := range d.surfaces {
			if strings.HasPrefix(surface, prefix) {
				if found[surface] == nil {
					found[surface] = &counted{surface: surface, term: term}
				}
				found[surface].documents++
			}
		}
	}
	var list []counted
	for _, c := range found {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b counted) int {
		return cmp.Or(b.documents-a.documents, strings.Compare(a.surface, b.surface))
	})
	return list[:min(len(list), limit)]
}

// answer ranks and counts.
func (o *Oracle) answer(l *analysis.Language, words []word, corrections []index.Correction, q *index.Query) *Answer {
	c := o.countWords(l, words, corrections)
	scope := index.Filter{Access: q.Filter.Access}
	if q.Scope != nil {
		scope = *q.Scope
	}
	answer := &Answer{Level: o.level(c, &scope, q)}
	answer.reached = answer.Level > 0 && o.reaching(c, 1, &scope, q) > 0
	everything := q.List != nil && q.List.Browse && len(words) == 0
	holdsEnough := func(d *document) bool {
		if !inTime(d, &scope) || !o.allowed(d, q) {
			return false
		}
		n, titled, _ := c.held(d)
		return everything && len(d.chunks) > 0 || answer.Level > 0 && n+titled >= c.least(answer.Level)
	}
	answer.Counts = o.count(&q.Filter, holdsEnough)
	for _, d := range o.documents {
		n, _, missing := c.held(d)
		matches := passes(d, &q.Filter, noField) && holdsEnough(d)
		if matches {
			answer.Listed = append(answer.Listed, d.ID)
		}
		if matches && n == len(c.counted) {
			answer.All++
		}
		if passes(d, &q.Filter, noField) && o.allowed(d, q) {
			answer.Hits = append(answer.Hits, o.hits(d, c, q, index.Hit{DocumentID: d.ID, Below: !matches, Missing: missing})...)
		}
	}
	slices.SortStableFunc(answer.Hits, func(a, b index.Hit) int { return cmp.Compare(b.Score, a.Score) })
	if q.PerDocument > 0 {
		given := make(map[string]int)
		answer.Hits = slices.DeleteFunc(answer.Hits, func(h index.Hit) bool {
			given[h.DocumentID]++
			return given[h.DocumentID] > q.PerDocument
		})
	}
	return answer
}

// hits are the passages of a document that score, each as of says.
func (o *Oracle) hits(d *document, c counting, q *index.Query, of index.Hit) (hits []index.Hit) {
	longest := 0
	for _, w := range c.words {
		if w.matched {
			longest = max(longest, w.Position%1000+1)
		}
	}
	for i := range d.chunks {
		if len(phrasesOf(q.Phrases)) > 0 && !o.anyPhrase(&d.chunks[i], q) {
			continue
		}
		hit := of
		hit.Chunk, hit.Score = i, o.score(d, &d.chunks[i], c)
		if !of.Below {
			hit.Score *= 1 + o.params.LookupMatch*max(0, 1-float64(longest)/o.params.LookupWords)
		}
		if c.language != nil && languageOf(d) == c.language.Code {
			hit.Score *= 1 + o.params.Language
		}
		if hit.Score > 0 {
			hits = append(hits, hit)
		}
	}
	return hits
}

// phrasesOf leaves out phrases without words.
func phrasesOf(phrases []string) (out [][]analysis.QueryWord) {
	for _, phrase := range phrases {
		if words := analysis.New().Phrase(phrase); len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// allowed reports whether d holds all phrases and nothing that is excluded.
func (o *Oracle) allowed(d *document, q *index.Query) bool {
	for _, phrase := range phrasesOf(q.Phrases) {
		if !slices.ContainsFunc(d.chunks, func(c chunk) bool { return o.holds(&c, phrase, q.Filter.Access) }) {
			return false
		}
	}
	for _, phrase := range phrasesOf(q.Exclude) {
		if slices.ContainsFunc(d.chunks, func(c chunk) bool { return o.holds(&c, phrase, q.Filter.Access) }) {
			return false
		}
	}
	return true
}

func (o *Oracle) anyPhrase(c *chunk, q *index.Query) bool {
	return slices.ContainsFunc(phrasesOf(q.Phrases), func(p []analysis.QueryWord) bool { return o.holds(c, p, q.Filter.Access) })
}

// standing are the places of a word of a phrase in a chunk: where it is as it is written, or any that it begins.
func (o *Oracle) standing(c *chunk, w analysis.QueryWord, seen func(*document) bool) (found []place) {
	if !w.Prefix {
		surfaces := []string{w.Surface}
		if slices.Contains(o.languages, analysis.LanguageOf("de")) {
			surfaces = append(surfaces, analysis.OtherUmlauts(w.Written))
		}
		for _, surface := range surfaces {
			for _, p := range c.places[analysis.Stem(surface)] {
				if p.surface == surface {
					found = append(found, p)
				}
			}
		}
		return found
	}
	for _, term := range o.terms(w, seen) {
		found = append(found, c.places[term]...)
	}
	return found
}

// holds reports whether the phrase stands in the chunk, its title or its headings.
func (o *Oracle) holds(c *chunk, phrase []analysis.QueryWord, access index.Access) bool {
	seen := func(d *document) bool { return admitted(d, access) }
	at := func(i, position int) bool {
		return slices.ContainsFunc(o.standing(c, phrase[i], seen), func(p place) bool { return p.position == position })
	}
	return slices.ContainsFunc(o.standing(c, phrase[0], seen), func(p place) bool {
		all := true
		for i := range phrase {
			all = all && at(i, p.position+phrase[i].Position)
		}
		return all
	})
}

// score is the formula of package lexical.
func (o *Oracle) score(d *document, c *chunk, counts counting) float64 {
	p, words, stats := &o.params, counts.words, counts.stats
	length := float64(c.lengthBody) + p.HeadingWeight*float64(c.lengthTop) + p.TitleWeight*float64(d.size)
	average := (o.bodies + p.HeadingWeight*o.headings + p.TitleWeight*o.chunkTitles) / float64(o.chunks)
	norm := p.K1 * (1 - p.B)
	titleNorm := norm
	if average > 0 {
		norm += p.K1 * p.B * length / average
	}
	if o.titles > 0 {
		titleNorm += p.K1 * p.B * float64(d.size) / (o.titles / float64(len(o.documents)))
	}
	sum, title, found, all, covered, longest := 0.0, 0.0, 0.0, 0.0, 0.0, 0
	places := make([][]int, len(words))
	for i, w := range words {
		frequency, titleFrequency, held := 0.0, 0.0, false
		for _, term := range w.terms {
			for _, at := range c.places[term] {
				held = true
				frequency += []float64{p.TitleWeight, p.HeadingWeight, 1}[at.field]
				if at.field == inTitle {
					titleFrequency++
				}
				places[i] = append(places[i], at.position)
			}
		}
		slices.Sort(places[i])
		places[i] = slices.Compact(places[i])
		if w.matched {
			all += stats[i].idf
			longest = max(longest, w.Position%1000+1)
		}
		if !held {
			continue
		}
		if frequency > 0 {
			sum += w.weight * stats[i].idf * frequency * (p.K1 + 1) / (frequency + norm)
		}
		if w.Identifier() {
			sum += p.Identifier * stats[i].idf
		}
		if titleFrequency > 0 {
			title += w.weight * stats[i].titleIDF * titleFrequency * (p.K1 + 1) / (titleFrequency + titleNorm)
			if stats[i].bits > 0 {
				found += stats[i].idf
				covered++
			}
		}
	}
	lookup := max(0, 1-float64(longest)/p.LookupWords)
	sum += (p.Title+p.LookupTitle*lookup)*title + p.Near*proximity(words, stats, places, p.NearUnordered)
	if all > 0 && d.size > 0 {
		exact := min(1, covered/float64(d.size))
		if counts.named(d) {
			exact = 1
		}
		sum *= 1 + (p.Coverage+p.LookupExact*lookup*exact)*min(1, found/all)
	}
	return sum
}

// proximity rewards neighbours of the query that stand near each other.
func proximity(words []word, stats []numbers, places [][]int, unordered float64) (sum float64) {
	last := -1
	for i, w := range words {
		if !w.matched {
			continue
		}
		if last >= 0 && w.Position-words[last].Position < 500 {
			n := 0.0
			for _, a := range places[last] {
				best := 0.0
				for _, b := range places[i] {
					switch distance := b - a; {
					case distance >= 1 && distance <= 2:
						best = max(best, 1)
					case distance >= -8 && distance <= 8:
						best = max(best, unordered)
					}
				}
				n += best
			}
			sum += min(stats[last].idf, stats[i].idf) * n / (n + 1)
		}
		last = i
	}
	return sum
}
