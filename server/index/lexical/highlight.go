package lexical

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"quarry/server/index/analysis"
)

// passageBytes is about how long the best passage may be.
const passageBytes = 300

// highlighter implements index.Highlighter for the words of a plan.
type highlighter struct {
	terms     map[string]matchedWord
	prefixes  map[string]float64
	initials  [256]bool            // first bytes of words that can match: others need no stemming
	languages []*analysis.Language // in which the words have second terms
	analysers *analysers
}

// matchedWord is what a term in a text stands for: a word of the query with its idf.
type matchedWord struct {
	word string
	idf  float64
}

func newHighlighter(p *plan, pool *analysers) *highlighter {
	h := &highlighter{terms: make(map[string]matchedWord), prefixes: make(map[string]float64), analysers: pool}
	for _, w := range p.words {
		for _, term := range w.terms {
			if l := analysis.LanguageOfTerm(term); l == nil {
				h.terms[term] = matchedWord{term, w.idf}
				h.begin(term)
			} else {
				h.terms[term] = matchedWord{w.Term, w.idf}
				h.inLanguage(l, term)
			}
		}
		if w.Prefix {
			h.prefixes[w.Surface] = w.idf
			h.initials[w.Surface[0]] = true
		}
	}
	return h
}

// begin notes how words with a term begin. Arabic stems may lack the article, which words begin with.
func (h *highlighter) begin(term string) {
	h.initials[term[0]] = true
	if first, _ := utf8.DecodeRuneInString(term); unicode.Is(unicode.Arabic, first) {
		for lead := 0xd8; lead <= 0xdb; lead++ { // of U+0600 to U+06FF
			h.initials[lead] = true
		}
	}
}

// inLanguage adds the language and the initial of a second term.
func (h *highlighter) inLanguage(l *analysis.Language, term string) {
	if !slices.Contains(h.languages, l) {
		h.languages = append(h.languages, l)
	}
	initial, fixed := l.Initial(term)
	for c := range h.initials {
		h.initials[c] = h.initials[c] || !fixed || byte(c) == initial
	}
}

// mark is a matched word in a text.
type mark struct {
	start, end int
	word       string // which word of the query
	weight     float64
}

// Highlight implements index.Highlighter.
func (h *highlighter) Highlight(text string) (marks [][2]int, best [2]int) {
	found := h.find(text)
	for _, m := range found {
		if n := len(marks); n > 0 && m.start < marks[n-1][1] {
			marks[n-1][1] = max(marks[n-1][1], m.end)
			continue
		}
		marks = append(marks, [2]int{m.start, m.end})
	}
	return marks, passage(text, found)
}

// find returns the matched words of a text in order.
func (h *highlighter) find(text string) []mark {
	analyser := h.analysers.get()
	defer h.analysers.put(analyser)
	var found []mark
	analyser.Scan(text, func(raw analysis.Raw) {
		if !h.initials[raw.Surface[0]] {
			return
		}
		matched, ok := h.terms[analyser.TermOf(raw.Surface)]
		for i := 0; i < len(h.languages) && !ok && raw.Kind == analysis.Word; i++ {
			matched, ok = h.terms[analyser.TermIn(h.languages[i], text[raw.Start:raw.End])]
		}
		if ok {
			found = append(found, mark{raw.Start, raw.End, matched.word, matched.idf})
			return
		}
		for prefix, weight := range h.prefixes {
			if strings.HasPrefix(string(raw.Surface), prefix) {
				found = append(found, mark{raw.Start, raw.End, prefix, weight})
				return
			}
		}
	})
	return found
}

// passage returns the range of whole sentences that contains the most of the query.
func passage(text string, marks []mark) [2]int {
	all := pieces(text)
	var best [2]int
	bestWeight := -1.0
	for i := range all {
		end := i + 1
		for end < len(all) && all[end][1]-all[i][0] <= passageBytes {
			end++
		}
		candidate := trim(text, all[i][0], all[end-1][1])
		if candidate[0] == candidate[1] {
			continue
		}
		if weight := weigh(marks, candidate); weight > bestWeight+1e-9 {
			best, bestWeight = candidate, weight
		}
		if len(marks) == 0 {
			break
		}
	}
	return best
}

// weigh sums up the words inside of a range, each once, and prefers many occurrences a little.
func weigh(marks []mark, within [2]int) (weight float64) {
	seen := make(map[string]bool)
	first, _ := slices.BinarySearchFunc(marks, within[0], func(m mark, at int) int { return cmp.Compare(m.start, at) })
	for _, m := range marks[first:] {
		if m.start >= within[1] {
			break
		}
		if m.end > within[1] {
			continue
		}
		if !seen[m.word] {
			seen[m.word] = true
			weight += m.weight
		}
		weight += m.weight / 100
	}
	return weight
}

// pieces are the sentences of a text by UAX #29; those that are too long are cut between words.
func pieces(text string) [][2]int {
	var out [][2]int
	for it := sentences.FromString(text); it.Next(); {
		from, to := it.Start(), it.End()
		for to-from > passageBytes {
			end := from + passageBytes
			if space := strings.LastIndexFunc(text[from:end], unicode.IsSpace); space > 0 {
				_, size := utf8.DecodeRuneInString(text[from+space:])
				end = from + space + size
			} else {
				for !utf8.RuneStart(text[end]) && end > from+1 {
					end--
				}
			}
			out = append(out, [2]int{from, end})
			from = end
		}
		if from < to {
			out = append(out, [2]int{from, to})
		}
	}
	return out
}

// trim leaves white space at both ends out.
func trim(text string, from, to int) [2]int {
	part := text[from:to]
	start := len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
	if start == len(part) {
		return [2]int{from, from}
	}
	return [2]int{from + start, from + len(strings.TrimRightFunc(part, unicode.IsSpace))}
}

// analysers lends analysers that remember the stems of earlier texts, which is most of their work.
type analysers struct{ idle sync.Pool }

func (a *analysers) get() *analysis.Analyser {
	if analyser, ok := a.idle.Get().(*analysis.Analyser); ok {
		return analyser
	}
	return analysis.New()
}

func (a *analysers) put(analyser *analysis.Analyser) { a.idle.Put(analyser) }
