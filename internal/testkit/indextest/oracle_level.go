package indextest

import (
	"math"
	"slices"
	"strings"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

// counting says which of the words of a query count, and which documents hold them.
type counting struct {
	words   []word
	stats   []numbers
	counted []string // the words that count, by their bits
	// doubtful are corrections of words of less than six letters: in a title they count once.
	doubtful uint64
	// language is that of the query; nil: it is not known, or has no rules.
	language *analysis.Language
}

// numbers are the statistics of a word.
type numbers struct {
	idf, titleIDF float64
	bits          uint64 // of the words that count
}

// numbers returns those of a word among all documents, or among those in the query's language if they have a term of
// it.
func (o *Oracle) numbers(spoken *analysis.Language, w *word) numbers {
	var chunks, titles [3]int // by the words' own terms, by those of languages, and by those of the query's
	for _, d := range o.documents {
		if !w.seen {
			break
		}
		for _, term := range w.terms {
			from, to := 0, 0
			if l := analysis.LanguageOfTerm(term); l != nil && l == spoken {
				from, to = 1, 2
			} else if l != nil {
				from, to = 1, 1
			}
			for of := from; of <= to; of++ {
				if d.titled[term] {
					titles[of]++
				}
				for _, c := range d.chunks {
					if len(c.places[term]) > 0 {
						chunks[of]++
					}
				}
			}
		}
	}
	in := 0
	for _, d := range o.documents {
		if spoken != nil && languageOf(d) == spoken.Code {
			in++
		}
	}
	if in > 0 && chunks[2] > 0 {
		part := math.Round(float64(in) / float64(len(o.documents)) * float64(o.chunks))
		return numbers{idf: idf(int(part), chunks[2]), titleIDF: idf(in, titles[2])}
	}
	return numbers{
		idf: idf(o.chunks, max(chunks[0], chunks[1])), titleIDF: idf(len(o.documents), max(titles[0], titles[1])),
	}
}

// countWords gives each word that counts its bit.
func (o *Oracle) countWords(l *analysis.Language, words []word, corrections []index.Correction) counting {
	c := counting{words: words, stats: make([]numbers, len(words)), language: l}
	for i := range words {
		c.stats[i] = o.numbers(l, &words[i])
		if words[i].matched {
			c.stats[i].bits = 1 << len(c.counted)
			if slices.ContainsFunc(corrections, func(c index.Correction) bool {
				return len([]rune(c.From)) < 6 && slices.Contains(strings.Fields(c.To), words[i].Surface)
			}) {
				c.doubtful |= c.stats[i].bits
			}
			c.counted = append(c.counted, words[i].Surface)
		}
	}
	for i, w := range words { // another spelling counts like the words that it spells
		for j, spelt := range words {
			near := spelt.Position >= w.Position && spelt.Position < w.Position+500
			if w.Kind == analysis.Compound && spelt.Kind != analysis.Compound && near && spelt.Start >= w.Start &&
				spelt.End <= w.End {
				c.stats[i].bits |= c.stats[j].bits
			}
		}
	}
	return c
}

// held returns how many of the words that count a document holds, and how many without doubt its title, and the words
// that it lacks.
func (c counting) held(d *document) (n, titled int, missing []string) {
	holds, inTitle := c.among(d.terms), c.among(d.titled)&^c.doubtful
	for i, word := range c.counted {
		if holds>>i&1 == 1 {
			n++
		} else {
			missing = append(missing, word)
		}
		titled += int(inTitle >> i & 1)
	}
	return n, titled, missing
}

// among returns the words that count of which terms hold one.
func (c counting) among(terms map[string]bool) (holds uint64) {
	for i, w := range c.words {
		if slices.ContainsFunc(w.terms, func(term string) bool { return terms[term] }) {
			holds |= c.stats[i].bits
		}
	}
	return holds
}

// named reports whether the title of a document has all words that count, and one of its names nothing else but stop
// words.
func (c counting) named(d *document) bool {
	all := uint64(1)<<len(c.counted) - 1
	if c.among(d.titled) != all {
		return false
	}
	a := analysis.New()
	bitsOf := func(token analysis.Token) uint64 {
		terms := map[string]bool{token.Term: true}
		for _, term := range stems(analysis.Languages(), token) {
			terms[term] = true
		}
		return c.among(terms)
	}
	return slices.ContainsFunc(d.Names(), func(name string) bool {
		tokens, has := a.Tokens(name), uint64(0)
		for _, token := range tokens {
			bits := bitsOf(token)
			inKnown := slices.ContainsFunc(tokens, func(whole analysis.Token) bool {
				joins := whole.Kind == analysis.Whole || whole.Kind == analysis.Compound
				return joins && token.Start >= whole.Start && token.End <= whole.End && bitsOf(whole) > 0
			})
			lone := token.Kind == analysis.Ideograph && len([]rune(token.Surface)) == 1
			joined := token.Kind == analysis.Whole || token.Kind == analysis.Compound
			stop := text.IsStopWord(token.Surface) || c.language.IsStopWord(token.Written)
			if bits == 0 && !inKnown && !lone && !joined && !(stop && token.Kind == analysis.Word) {
				return false
			}
			if !inKnown || joined {
				has |= bits
			}
		}
		return has == all
	})
}

// least is how many words a document of a level holds, those of its title counting twice.
func (c counting) least(level index.Level) int {
	return map[index.Level]int{index.LevelAll: len(c.counted), index.LevelMost: len(c.counted)/2 + 1, index.LevelAny: 1}[level]
}

// level is the first that a document of the scope reaches; of queries of more than three words, that a share of them
// does, at most ten.
func (o *Oracle) level(c counting, scope *index.Filter, q *index.Query) index.Level {
	if len(c.counted) == 0 {
		return 0
	}
	level, enough := index.LevelAll, 1
	if len(c.counted) > 3 {
		inScope := 0
		for _, d := range o.documents {
			if passes(d, scope, noField) {
				inScope++
			}
		}
		level, enough = index.LevelMost, max(1, min(int(o.params.Enough*float64(inScope)), 10))
	}
	for level > index.LevelAny && o.reaching(c, c.least(level), scope, q) < enough {
		level--
	}
	return level
}

// reaching is how many documents of the scope hold some number of words.
func (o *Oracle) reaching(c counting, least int, scope *index.Filter, q *index.Query) (documents int) {
	for _, d := range o.documents {
		if n, _, _ := c.held(d); n >= least && passes(d, scope, noField) && o.allowed(d, q) {
			documents++
		}
	}
	return documents
}
