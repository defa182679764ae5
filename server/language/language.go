// Package language detects the language of a text.
//
//  1. Only the beginning of a text is looked at.
//  2. The script of most of its letters decides alone where one language is written in it, as Greek or Thai.
//  3. Otherwise each language of the script scores by its frequent words, by letters that it has beyond the script's
//     common ones, and by sequences of letters typical of it (languages.txt). Only words made of letters count: names
//     of functions, paths, numbers and addresses say nothing about the language of a page.
//  4. The best language wins if its words carry enough evidence, and enough more than those of the second.
//
// The languages of stemmers are recognised only because their neighbours are in languages.txt too: without
// Catalan, Catalan text would be Spanish.
package language

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Undetermined is the code of a text whose language is not clear.
const Undetermined = "und"

// The bounds were found with texts in 66 languages that are in no test. They trade errors for silence: with less
// evidence, English titles and lists of names become Italian; with more, a tenth of sentences of 60 letters is
// undetermined.
const (
	maxSample      = 4 << 10 // bytes
	maxWords       = 150     // that score; more detect no collection better
	minWords       = 5
	maxChunkSample = 1 << 10 // bytes
	// So many more of the first words of a chunk are frequent in its language than in any other. That shows 9 of 10
	// English chunks, nearly all German ones, and took none for another language.
	maxChunkWords = 30
	chunkLead     = 3
	// With such a lead after so many words, more of them took no language back in 10,000 texts.
	clearWords     = 60
	clearLeadShare = 0.25

	wordPoints     = 6 // a frequent word
	shortPoints    = 2 // one of a single letter, which may be a variable or an initial
	letterPoints   = 2
	sequencePoints = 1

	minPointsPerWord = 1.2
	minLead          = 4
	minLeadShare     = 0.03 // of the points of the best
)

// Detect returns the BCP 47 code of the language of a text, or Undetermined. Several languages that are seldom searched
// for have one code: no is both written forms of Norwegian, hr also Serbian and Bosnian in Latin letters.
func Detect(text string) string {
	sample := text[:min(len(text), maxSample)]
	script := mainScript(sample)
	if len(script) != len("Latn") {
		return script
	}
	return load().detect(sample, script)
}

// OfChunk returns the language of one of a document's chunks: the document's, unless the beginning of the text is
// clearly in another one. A single chunk has that of its document, and an empty one, which is unknown, is kept. Whoever
// analyses or marks a chunk asks here, so that all find the same terms in it.
func OfChunk(text, document string, chunks int) string {
	text = text[:min(len(text), maxChunkSample)]
	if chunks < 2 || document == "" || load().speaks(text, document) {
		return document
	}
	if own := Detect(text); own != Undetermined {
		return own
	}
	return document
}

// speaks reports whether the first words of a text are clearly in a language. Most chunks are in that of their
// document, and Detect takes about five times as long.
func (m *model) speaks(text, code string) bool {
	own := slices.IndexFunc(m.languages, func(l language) bool { return l.code == code })
	if own < 0 {
		return false
	}
	frequent, words := make([]int, len(m.languages)), 0
	for field := range strings.FieldsSeq(text) {
		if words++; words > maxChunkWords {
			break
		}
		for _, at := range m.words[prose(field)] {
			frequent[at]++
		}
	}
	found := frequent[own] - chunkLead
	frequent[own] = 0
	return found >= slices.Max(frequent)
}

type script struct {
	end  rune
	name string
}

// scripts lists ranges of characters by their ends. A name of four letters is a script (ISO 15924) that several
// languages share; otherwise it is the code of the language, or empty for characters of no script.
var scripts = [...]script{
	{0x250, "Latn"}, {0x370, ""}, {0x400, "el"}, {0x530, "Cyrl"}, {0x590, "hy"}, {0x600, "Hebr"}, {0x780, "Arab"},
	{0x7c0, "dv"}, {0x900, ""}, {0x980, "Deva"}, {0xa00, "bn"}, {0xa80, "pa"}, {0xb00, "gu"}, {0xb80, "or"},
	{0xc00, "ta"},
	{0xc80, "te"}, {0xd00, "kn"}, {0xd80, "ml"}, {0xe00, "si"}, {0xe80, "th"}, {0xf00, "lo"}, {0x1000, "bo"},
	{0x10a0, "my"},
	{0x1100, "ka"}, {0x1200, "ko"}, {0x13a0, "am"}, {0x1780, ""}, {0x1800, "km"}, {0x1e00, ""}, {0x1f00, "Latn"},
	{0x2000, "el"}, {0x3040, ""}, {0x3100, "ja"}, {0x3130, ""}, {0x3190, "ko"}, {0x3400, ""}, {0xa000, "zh"},
	{0xac00, ""},
	{0xd7b0, "ko"}, {0xf900, ""}, {0xfb00, "zh"}, {0xfb50, ""}, {0xfe00, "Arab"}, {0xfe70, ""}, {0xff00, "Arab"},
	{0xff66, ""}, {0xffa0, "ja"}, {utf8.MaxRune + 1, ""},
}

// rangeOf returns the place of a character in scripts.
func rangeOf(r rune) int {
	if r < scripts[0].end {
		return 0
	}
	at, _ := slices.BinarySearchFunc(scripts[:], r+1, func(s script, end rune) int { return int(s.end - end) })
	return at
}

// mainScript returns the name in scripts of most letters. Latin ones count a quarter of others, because code, names and
// addresses are Latin in pages of every script.
func mainScript(text string) string {
	var letters [len(scripts)]int
	count := func(r rune, n int) {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			letters[rangeOf(r)] += n
		}
	}
	const frequent = 0x800 // alphabets, whose few characters are looked up once
	var times [frequent]uint16
	last := rune(0)
	for _, r := range text {
		if r < frequent {
			times[r]++
			last = max(last, r)
		} else {
			count(r, 1)
		}
	}
	for r, n := range times[:last+1] {
		if n > 0 {
			count(rune(r), int(n))
		}
	}
	points := map[string]int{}
	for at, n := range letters {
		if name := scripts[at].name; n > 0 && name == "Latn" {
			points[name] += n
		} else if n > 0 && name != "" {
			points[name] += 4 * n
		}
	}
	if points["ja"]*10 > points["zh"] { // Japanese has Chinese characters; a Chinese text hardly a kana
		points["ja"] += points["zh"]
	}
	best := Undetermined
	for name, n := range points {
		if n > points[best] || n == points[best] && n > 0 && name < best {
			best = name
		}
	}
	return best
}

// model is languages.txt by what is looked up; the values are places in languages.
type model struct {
	languages []language
	words     map[string][]uint8
	// sequences are sorted by their slots; those of slot s begin at slots[s] and end where the next slot begins.
	// Several sequences end at each letter of a text; most are unknown, and 98 % of those have an empty slot. filled
	// has a bit for each slot that is not, so that a search in between leaves them in the processor's cache.
	sequences []sequence
	slots     [1<<16 + 1]uint16
	filled    [1 << 16 / 64]uint64
}

// sequence has up to four characters of 16 bits, as beyond are neither alphabets nor syllables. A single one is a
// letter.
type sequence struct {
	key       uint64
	languages []uint8
	points    int
}

// slot returns the slot of a sequence. The factor, 2^64 by the golden ratio, spreads neighbours.
func slot(sequence uint64) uint16 { return uint16(sequence * 0x9e3779b97f4a7c15 >> 48) }

type language struct{ code, script string }

// languages.txt has three lines per language: its code and letters; frequent words; sequences of 2 to 4 letters, where
// _ is the edge of a word.
//
//go:embed languages.txt
var languages string

var load = sync.OnceValue(parse)

func parse() *model {
	m := &model{words: map[string][]uint8{}}
	sequences := map[uint64][]uint8{}
	lines := strings.Split(languages, "\n")
	for i := 0; i+2 < len(lines); i += 3 {
		at := uint8(len(m.languages))
		code, letters, _ := strings.Cut(lines[i], " ")
		for _, letter := range letters {
			sequences[uint64(letter)] = append(sequences[uint64(letter)], at)
		}
		for word := range strings.FieldsSeq(lines[i+1]) {
			m.words[word] = append(m.words[word], at)
		}
		for sequence := range strings.FieldsSeq(lines[i+2]) {
			key := uint64(0)
			for _, r := range sequence {
				key = key<<16 | uint64(r)
			}
			sequences[key] = append(sequences[key], at)
		}
		m.languages = append(m.languages, language{code, mainScript(lines[i+1])})
	}
	m.sequences = make([]sequence, len(sequences))
	for key := range sequences {
		s := slot(key)
		m.slots[s]++
		m.filled[s/64] |= 1 << (s % 64)
	}
	end := uint16(0)
	for at := range m.slots {
		end += m.slots[at]
		m.slots[at] = end
	}
	for key, languages := range sequences {
		at := &m.slots[slot(key)]
		*at--
		points := sequencePoints
		if key < 1<<16 {
			points = letterPoints
		}
		m.sequences[*at] = sequence{key, languages, points}
	}
	return m
}

// detect returns the code of the best language that is written in a script.
func (m *model) detect(text, script string) string {
	points := make([]int, len(m.languages))
	words := 0
	for field := range strings.FieldsSeq(text) {
		if words >= maxWords {
			break
		}
		for word := range strings.FieldsFuncSeq(prose(field), joins) {
			if first, _ := utf8.DecodeRuneInString(word); scripts[rangeOf(first)].name != script {
				continue
			}
			m.score(word, points)
			if words++; words == clearWords {
				if code := m.best(script, points, words, clearLeadShare); code != Undetermined {
					return code
				}
			}
		}
	}
	return m.best(script, points, words, minLeadShare)
}

// best returns the language of a script with the most points, if its lead is at least a share of them.
func (m *model) best(script string, points []int, words int, leadShare float64) string {
	best, second, code := 0, 0, Undetermined
	for at, n := range points {
		if m.languages[at].script == script && n > best {
			best, second, code = n, best, m.languages[at].code
		} else if m.languages[at].script == script {
			second = max(second, n)
		}
	}
	if lead := best - second; words < minWords || float64(best) < minPointsPerWord*float64(words) || lead < minLead ||
		float64(lead) < leadShare*float64(best) {
		return Undetermined
	}
	return code
}

// score adds the points of a word to those of each language.
func (m *model) score(word string, points []int) {
	add := func(languages []uint8, n int) {
		for _, at := range languages {
			points[at] += n
		}
	}
	if _, size := utf8.DecodeRuneInString(word); size < len(word) {
		add(m.words[word], wordPoints)
	} else {
		add(m.words[word], shortPoints)
	}
	const edge = '_'
	latest := ^uint64(0xffff) | edge // no sequence reaches beyond the word
	for _, r := range word + string(edge) {
		latest = latest<<16 | uint64(uint16(r))
		ending := [...]uint64{latest & (1<<16 - 1), latest & (1<<32 - 1), latest & (1<<48 - 1), latest}
		keys := ending[:]
		if r < utf8.RuneSelf { // a letter of all languages
			keys = keys[1:]
		}
		for _, key := range keys {
			s := int(slot(key))
			if m.filled[s/64]>>(s%64)&1 == 0 {
				continue
			}
			for _, known := range m.sequences[m.slots[s]:m.slots[s+1]] {
				if known.key == key {
					add(known.languages, known.points)
				}
			}
		}
	}
}

// prose returns what stands between spaces in lower case and without punctuation around it, or "" if it is no prose.
func prose(field string) string {
	if !strings.ContainsFunc(field, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return field // as most words are
	}
	const punctuation = ".,;:!?¿¡\"'()[]{}«»„“”‘’–—…*_،؛؟।"
	field = strings.TrimFunc(field, func(r rune) bool {
		return !unicode.IsLetter(r) && strings.ContainsRune(punctuation, r)
	})
	field = norm.NFC.String(field)
	isLower := false
	for _, r := range field {
		isUpper := unicode.IsUpper(r)
		if isLower && isUpper {
			return ""
		}
		isLower = !isUpper && unicode.IsLower(r)
		if !isLower && !isUpper && !unicode.IsLetter(r) && !unicode.IsMark(r) && !joins(r) {
			return ""
		}
	}
	return strings.ToLower(field)
}

// joins reports whether a character stands between the words of l’homme, vis-à-vis and می‌شود.
func joins(r rune) bool {
	return r == '\'' || r == '’' || r == '-' || r == '‐' || r == '\u200c'
}
