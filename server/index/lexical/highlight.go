package lexical

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"quarry/server/index"
	"quarry/server/index/analysis"
)

// passageBytes is about how long the best passage may be.
const passageBytes = 300

// sentenceBytes is how long a sentence may be that is not cut.
const sentenceBytes = 2 * passageBytes

// highlighter implements index.Highlighter for the words of a plan.
type highlighter struct {
	terms     map[string]matchedWord
	prefixes  map[string]float64
	initials  [256]bool            // first bytes of words that can match: others need no stemming
	languages []*analysis.Language // in which the words have second terms
	forms     []longForm
	analysers idle[analysis.Analyser]
}

// matchedWord is what a term in a text stands for: a word of the query with its idf.
type matchedWord struct {
	word     string
	idf      float64
	surfaces []string // only as it is written so; nil: in all forms
}

func newHighlighter(p *plan, pool idle[analysis.Analyser]) *highlighter {
	h := &highlighter{terms: make(map[string]matchedWord), prefixes: make(map[string]float64), analysers: pool}
	for _, w := range p.words {
		h.add(w)
		for _, form := range w.forms {
			h.forms = append(h.forms, longForm{phrase: form, matched: matchedWord{word: w.Term, idf: w.idf}})
			for _, word := range form {
				for _, term := range word.Terms {
					h.begin(term)
				}
			}
		}
		if w.Prefix {
			h.prefixes[w.Surface] = w.idf
			h.initials[w.Surface[0]] = true
		}
	}
	for i, phrase := range p.phrases {
		if len(phrase) > 1 { // where all of it stands is the best passage
			whole := matchedWord{word: strconv.Itoa(i), idf: p.idf}
			h.forms = append(h.forms, longForm{phrase: phrase, matched: whole})
		}
	}
	return h
}

// add adds the terms of a word, or its ways to be written.
func (h *highlighter) add(w word) {
	for _, surface := range w.Exact {
		term := analysis.Stem(surface)
		matched, known := h.terms[term]
		if known && matched.surfaces == nil {
			continue // it stands beside the phrase, too
		}
		h.begin(term)
		h.terms[term] = matchedWord{term, w.idf, append(matched.surfaces, surface)}
	}
	if w.Exact != nil {
		return
	}
	for _, term := range w.terms {
		h.begin(term)
		if h.terms[term] = (matchedWord{word: w.Term, idf: w.idf}); analysis.LanguageOfTerm(term) == nil {
			h.terms[term] = matchedWord{word: term, idf: w.idf}
		}
	}
}

// begin notes how words with a term begin. Arabic stems may lack the article, which words begin with.
func (h *highlighter) begin(term string) {
	if l := analysis.LanguageOfTerm(term); l != nil {
		h.inLanguage(l, term)
		return
	}
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
	h.initials[initial] = true
	for c := 0; c < len(h.initials) && !fixed; c++ {
		h.initials[c] = true
	}
}

// mark is a matched word in a text.
type mark struct {
	start, end int
	word       string // which word of the query
	weight     float64
}

// Highlight implements index.Highlighter.
func (h *highlighter) Highlight(text string, spoken index.LanguageAt, within [2]int) (marks [][2]int, best [2]int) {
	found := h.find(text, spoken)
	for _, m := range found {
		if n := len(marks); n > 0 && m.start < marks[n-1][1] {
			marks[n-1][1] = max(marks[n-1][1], m.end)
			continue
		}
		marks = append(marks, [2]int{m.start, m.end})
	}
	best = passage(text[within[0]:within[1]], between(found, within))
	return marks, withAnnounced(text, [2]int{best[0] + within[0], best[1] + within[0]})
}

// between returns the marks within a part of their text, as they are in that.
func between(marks []mark, part [2]int) []mark {
	inside := make([]mark, 0, len(marks))
	for _, m := range marks {
		if m.start >= part[0] && m.end <= part[1] {
			m.start, m.end = m.start-part[0], m.end-part[0]
			inside = append(inside, m)
		}
	}
	return inside
}

// find returns the matched words of a text in order.
func (h *highlighter) find(text string, spoken index.LanguageAt) []mark {
	analyser := h.analysers.get(analysis.New)
	defer h.analysers.put(analyser)
	var found []mark
	forms := slices.Clone(h.forms)
	analyser.Scan(text, func(raw analysis.Raw) {
		if !h.initials[raw.Surface[0]] {
			return
		}
		own := analyser.TermOf(raw.Surface)
		for i := range forms {
			if f := &forms[i]; raw.Kind == analysis.Word && f.ends(analyser, raw, own, text[raw.Start:raw.End]) {
				found = append(found, mark{f.start, raw.End, f.matched.word, f.matched.idf})
			}
		}
		matched, ok := h.terms[own]
		ok = ok && (matched.surfaces == nil || slices.Contains(matched.surfaces, string(raw.Surface)))
		for i := 0; i < len(h.languages) && !ok && raw.Kind == analysis.Word; i++ {
			l := h.languages[i]
			if code := spoken(raw.Start); code == "" || code == l.Code {
				matched, ok = h.terms[analyser.TermIn(l, text[raw.Start:raw.End])]
			}
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
	if len(forms) > 0 { // a long form begins before words in it
		slices.SortStableFunc(found, func(a, b mark) int { return cmp.Compare(a.start, b.start) })
	}
	return found
}

// passage returns the range of whole sentences that contains the most of the query.
func passage(text string, marks []mark) [2]int {
	all := pieces(text)
	var best [2]int
	bestWeight, some := -1.0, len(marks) > 0
	for i := range all {
		for len(marks) > 0 && marks[0].start < all[i][0] {
			marks = marks[1:]
		}
		if some && (len(marks) == 0 || marks[0].start >= all[i][1]) {
			continue // it begins with one of the words
		}
		end := i + 1
		for end < len(all) && all[end][1]-all[i][0] <= passageBytes {
			end++
		}
		candidate := trim(text, all[i][0], all[end-1][1])
		if candidate[0] == candidate[1] || outdone(marks, all[i:end]) {
			continue
		}
		if weight := weigh(marks, candidate[1]); weight > bestWeight+1e-9 {
			best, bestWeight = candidate, weight
		}
	}
	return best
}

// outdone reports whether a later piece has all words of the first and more: a passage does better to begin there.
func outdone(marks []mark, all [][2]int) bool {
	var first, words []string
	for i, piece := range all {
		for words = words[:0]; len(marks) > 0 && marks[0].start < piece[1]; marks = marks[1:] {
			if !slices.Contains(words, marks[0].word) {
				words = append(words, marks[0].word)
			}
		}
		lacks := func(word string) bool { return !slices.Contains(words, word) }
		if i == 0 {
			first = slices.Clone(words)
		} else if len(words) > len(first) && !slices.ContainsFunc(first, lacks) {
			return true
		}
	}
	return false
}

// withAnnounced returns a passage with the list, rows or code that its last line announces, as far as passageBytes of
// that.
func withAnnounced(text string, best [2]int) [2]int {
	line := lastLine(text[:best[1]])
	if !announces(line) {
		return best
	}
	rest := text[best[1]:min(len(text), best[1]+passageBytes+sentenceBytes)]
	code, begun, end := fence(line), false, 0
	for _, piece := range pieces(rest) {
		blank := strings.TrimSpace(rest[piece[0]:piece[1]]) == ""
		if blank && begun && !code || piece[1] > passageBytes && (begun || piece[0] >= passageBytes) {
			break
		}
		line = lastLine(rest[:piece[1]])
		if blank || begun && !code && announces(line) {
			continue
		}
		if end = piece[1]; begun && fence(line) {
			break
		}
		code = code || fence(line)
		begun = begun || !announces(line)
	}
	return trim(text, best[0], best[1]+end)
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// announces reports whether a line is incomplete without what stands below it: it ends in a colon, or is a heading, the
// beginning of code or the head of a table.
func announces(line string) bool {
	return strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：") ||
		strings.HasPrefix(line, "#") || fence(line) ||
		strings.HasPrefix(line, "|") && strings.Contains(line, "--") && strings.Trim(line, "|-: ") == ""
}

// fence reports whether a line begins or ends code in Markdown.
func fence(line string) bool { return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") }

// weigh sums up the words before an offset, each once, and prefers many occurrences a little.
func weigh(marks []mark, end int) (weight float64) {
	seen := make([]string, 0, 8)
	for _, m := range marks {
		if m.start >= end {
			break
		}
		if m.end > end {
			continue
		}
		if !slices.Contains(seen, m.word) {
			seen = append(seen, m.word)
			weight += m.weight
		}
		weight += m.weight / 100
	}
	return weight
}

// pieces are the sentences of a text by UAX #29, which ends them with their line and at dots in addresses, too: those
// that go on are joined. Those that are too long are cut between words.
func pieces(text string) [][2]int {
	var out [][2]int
	for it := sentences.FromString(text); it.Next(); {
		from, to := it.Start(), it.End()
		if n := len(out); n > 0 && to-out[n-1][0] <= sentenceBytes && goesOn(text[:from], text[from:to]) {
			out[n-1][1] = to
			continue
		}
		for to-from > sentenceBytes {
			end := from + sentenceBytes
			if space := strings.LastIndexAny(text[from:end], " \t\n"); space > 0 {
				end = from + space + 1
			}
			for !utf8.RuneStart(text[end]) && end > from+1 {
				end--
			}
			out = append(out, [2]int{from, end})
			from = end
		}
		out = append(out, [2]int{from, to})
	}
	return out
}

// goesOn reports whether a sentence goes on behind a dot within a word or a row or behind the number of an item, or
// from one line to the next in small letters.
func goesOn(before, next string) bool {
	first, _ := utf8.DecodeRuneInString(next)
	if strings.HasSuffix(before, ".") {
		return !unicode.IsSpace(first)
	}
	line := strings.Trim(before[strings.LastIndexByte(before, '\n')+1:], "#>-* \t0123456789")
	if line == "." || len(line) == 2 && line[1] == '.' || strings.HasPrefix(line, "|") { // 1. or Q. or a row
		return true
	}
	before, atLineEnd := strings.CutSuffix(before, "\n")
	last, _ := utf8.DecodeLastRuneInString(before)
	return atLineEnd && unicode.IsLower(first) && (last == ',' || unicode.IsLetter(last) || unicode.IsDigit(last))
}

// trim leaves white space at both ends out.
func trim(text string, from, to int) [2]int {
	part := strings.TrimSpace(text[from:to])
	start := from + strings.Index(text[from:to], part)
	return [2]int{start, start + len(part)}
}
