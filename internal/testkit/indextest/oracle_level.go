package indextest

import (
	"slices"

	"quarry/server/index"
	"quarry/server/index/analysis"
)

// counting says which of the words of a query count, and which documents hold them.
type counting struct {
	words   []word
	stats   []numbers
	counted []string // the words that count, by their bits
	// language is that of the query; nil: it is not known, or has no rules.
	language *analysis.Language
}

// countWords gives each word that counts its bit.
func (o *Oracle) countWords(words []word) counting {
	c := counting{words: words, stats: make([]numbers, len(words))}
	for i := range words {
		c.stats[i] = o.numbers(&words[i])
		if words[i].matched {
			c.stats[i].bits = 1 << len(c.counted)
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

// held returns how many of the words that count a document holds, and the others.
func (c counting) held(d *document) (n int, missing []string) {
	holds := uint64(0)
	for i, w := range c.words {
		if slices.ContainsFunc(w.terms, func(term string) bool { return d.terms[term] }) {
			holds |= c.stats[i].bits
		}
	}
	for i, word := range c.counted {
		if holds>>i&1 == 1 {
			n++
		} else {
			missing = append(missing, word)
		}
	}
	return n, missing
}

// least is how many words a document of a level holds.
func (c counting) least(level index.Level) int {
	return map[index.Level]int{index.LevelAll: len(c.counted), index.LevelMost: len(c.counted)/2 + 1, index.LevelAny: 1}[level]
}

// level is the first that a document of the scope reaches.
func (o *Oracle) level(c counting, scope *index.Filter, q *index.Query) index.Level {
	if len(c.counted) == 0 {
		return 0
	}
	level := index.LevelAll
	if len(c.counted) > 3 {
		level = index.LevelMost
	}
	for level > index.LevelAny && !o.reaches(c, c.least(level), scope, q) {
		level--
	}
	return level
}

// reaches reports whether a document of the scope holds some number of words.
func (o *Oracle) reaches(c counting, least int, scope *index.Filter, q *index.Query) bool {
	return slices.ContainsFunc(o.documents, func(d *document) bool {
		n, _ := c.held(d)
		return n >= least && passes(d, scope, noField) && o.allowed(d, q)
	})
}
