package analysis

import (
	"embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// Language has the rules that hold in documents of one language alone. There most words have a second term, their stem
// in that language, beside the one that they have in documents of any language (see Stem): in Vietnamese the word with
// its marks, which tell words apart, so that what is written like the query comes first. So a word finds what is
// written like it whatever language was detected, and its other forms where that is known. A nil Language has no rules.
type Language struct {
	// Code is that of index.Document.Language.
	Code  string
	stem  func(*snowballstem.Env) bool // nil: Stem knows the language by its script
	stops map[string]bool              // as written, in lower case
	// compounds: it writes words that are made of two as one.
	compounds bool
}

//go:embed stopwords
var stopWords embed.FS

// Languages returns the languages that have rules. English has none: its own are those of documents of any language.
var Languages = sync.OnceValue(func() []*Language {
	languages := []*Language{
		{Code: "da", stem: danish.Stem, compounds: true}, {Code: "de", stem: german.Stem, compounds: true},
		{Code: "es", stem: spanish.Stem}, {Code: "fi", stem: finnish.Stem, compounds: true},
		{Code: "fr", stem: french.Stem}, {Code: "ga", stem: irish.Stem}, {Code: "hu", stem: hungarian.Stem},
		{Code: "it", stem: italian.Stem}, {Code: "nl", stem: dutch.Stem, compounds: true},
		{Code: "no", stem: norwegian.Stem, compounds: true}, {Code: "pt", stem: portuguese.Stem},
		{Code: "ro", stem: romanian.Stem}, {Code: "ru"}, {Code: "sv", stem: swedish.Stem, compounds: true},
		{Code: "tr", stem: turkish.Stem}, {Code: "vi", stem: func(*snowballstem.Env) bool { return true }},
	}
	for _, l := range languages {
		list, err := stopWords.ReadFile("stopwords/" + l.Code + ".txt")
		if err != nil { // the file is missing in the source
			panic(err)
		}
		l.stops = make(map[string]bool)
		for word := range strings.FieldsSeq(string(list)) {
			l.stops[word] = true
		}
	}
	return languages
})

// LanguageOf returns the language with a code; nil: it has no rules.
func LanguageOf(code string) *Language {
	for _, l := range Languages() {
		if l.Code == code {
			return l
		}
	}
	return nil
}

// lower returns a word in lower case, composed, with straight apostrophes.
func (l *Language) lower(word string) string {
	word = norm.NFC.String(word[:min(len(word), 4*maxWordBytes)])
	if l.Code == "tr" {
		word = strings.ToLowerSpecial(unicode.TurkishCase, word)
	} else {
		word = strings.ToLower(word)
	}
	return strings.ReplaceAll(word, "’", "'")
}

// IsStopWord reports whether a word as it is written says too little to search for when there are others.
func (l *Language) IsStopWord(word string) bool { return l != nil && l.stops[l.lower(word)] }

// inLanguage is what second terms begin with, and no others.
const inLanguage = "~"

// LanguageOfTerm returns the language in which a term is the second one of words; nil: it is in none.
func LanguageOfTerm(term string) *Language {
	code, inOne := strings.CutPrefix(term, inLanguage)
	if !inOne {
		return nil
	}
	code, _, _ = strings.Cut(code, ":")
	return LanguageOf(code)
}

// Initial returns the first byte of the surfaces of all words with a second term; false: they begin differently, as in
// Irish.
func (l *Language) Initial(term string) (byte, bool) {
	return fold(nil, term[len(inLanguage)+len(l.Code)+len(":"):])[0], l.Code != "ga"
}

// Term returns the second term of a word as it is written; empty: it has none, as stop words and words in another
// script.
func (l *Language) Term(word string) string {
	if l == nil || l.stem == nil {
		return ""
	}
	word = l.lower(word)
	foreign := func(r rune) bool { return r != '\'' && (r < 'a' || r > 'z') && !unicode.Is(unicode.Latin, r) }
	if l.stops[word] || strings.ContainsFunc(word, foreign) {
		return ""
	}
	word = strings.TrimSuffix(word, "'s")
	switch l.Code {
	case "tr": // suffixes of a name are behind an apostrophe
		word, _, _ = strings.Cut(word, "'")
	case "de":
		word = plainUmlauts(word)
	}
	env := snowballstem.NewEnv(word)
	l.stem(env)
	start := len(inLanguage) + len(l.Code) + len(":")
	out := append(append(append(make([]byte, 0, 2*maxWordBytes), inLanguage...), l.Code...), ':')
	if l.Code == "vi" {
		out = append(out, word...)
	} else {
		out = fold(out, env.Current())
	}
	if len(out) == start {
		return ""
	}
	return string(out[:start+len(cut(out[start:], maxWordBytes))])
}

// plainUmlauts writes ae, oe and ue as the vowel alone, which the stemmer makes of ä, ö and ü, but not where they are
// two sounds: ue behind a, e or q (neue, Quelle).
func plainUmlauts(word string) string {
	if !strings.Contains(word, "ae") && !strings.Contains(word, "oe") && !strings.Contains(word, "ue") {
		return word
	}
	var out strings.Builder
	before := ' '
	for i, r := range word {
		if r == 'e' && i > 0 && strings.ContainsRune("aou", before) {
			earlier, _ := utf8.DecodeLastRuneInString(word[:i-1])
			if before != 'u' || !strings.ContainsRune("aeq", earlier) {
				before = ' '
				continue
			}
		}
		out.WriteRune(r)
		before = r
	}
	return out.String()
}

// OtherUmlauts returns the surface of a word in the other way of writing German umlauts: mueller of Müller, muller of
// Mueller; empty: it has none.
func OtherUmlauts(word string) string {
	lower := strings.ToLower(norm.NFC.String(word[:min(len(word), 4*maxWordBytes)]))
	other := strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue").Replace(lower)
	if other == lower {
		other = plainUmlauts(lower)
	}
	if other == lower {
		return ""
	}
	return string(cut(fold(nil, other), maxWordBytes))
}

// Split gives a word of a query the parts that it is a compound of, as in Urlaub-s-antrag: two words of which proven
// accepts the second terms. The first is as long as possible. A word stays as it is if there are none, or if the
// language writes such words apart.
func (l *Language) Split(w *QueryWord, proven func(term string) bool) {
	const shortest = 4 // letters of a part: shorter ones are endings more often than words
	letters := []rune(l.lower(w.Written))
	if !l.compounds || w.Kind != Word || w.Prefix || len(w.Parts) > 0 || len(letters) > maxWordBytes {
		return
	}
	part := func(word string) QueryWord {
		t := w.Token
		t.Written, t.Surface, t.Term = word, string(fold(nil, word)), l.Term(word)
		return QueryWord{Token: t}
	}
	for at := len(letters) - shortest; at >= shortest; at-- {
		last := part(string(letters[at:]))
		if last.Term == "" || !proven(last.Term) {
			continue
		}
		for _, link := range [...]string{"", "s", "es", "n", "en", "er", "e"} {
			word, linked := strings.CutSuffix(string(letters[:at]), link)
			if !linked || utf8.RuneCountInString(word) < shortest {
				continue
			}
			if first := part(word); first.Term != "" && proven(first.Term) {
				w.Parts = []QueryWord{first, last}
				return
			}
		}
	}
}
