// Package analysis turns text into the terms that the index contains, and queries into the terms that are looked up. Both
// sides use the same rules, so a change to any of them needs a new Version, after which segments are rebuilt.
package analysis

// Version names the rules of this analyser.
const Version = 13

// Kind says how a token came about.
type Kind uint8

// The kinds of token.
const (
	// Word is a word, a number, or a part of an identifier.
	Word Kind = iota
	// Whole is an identifier as it was written, at the position of its first part.
	Whole
	// Ideograph is two neighbouring characters of a script without spaces, or the last character of a run alone, so
	// that every character begins exactly one token.
	Ideograph
	// Compound is what a hyphenated pair or a Japanese word is in another spelling, without the hyphen or without the kana
	// between two characters, behind the sign hyphenated. It is at the position of its first part.
	Compound
)

// Limits on what one token can be; longer ones are cut, the same way when indexing and when searching.
const (
	maxWordBytes  = 64
	maxWholeBytes = 128
)

// Raw is a token as the scanner finds it.
type Raw struct {
	// Surface is the folded, lower-cased, unstemmed form. It is valid only until the next token.
	Surface []byte
	// Start and End are its byte range in the text. Starts never descend.
	Start, End int
	// Position counts words; the parts of an identifier have one each, a Whole has that of its first part.
	Position int
	Kind     Kind
}

// Token is a Raw with its term, independent of the scanner.
type Token struct {
	// Term is what the index contains: the stem of a word, otherwise the surface.
	Term    string
	Surface string
	// Written is the text from Start to End.
	Written string
	Start   int
	End     int
	// Position counts words.
	Position int
	Kind     Kind
}

// Analyser scans and stems with buffers and a bounded cache of its own. It is not safe for concurrent use.
type Analyser struct {
	Scanner
	stems map[string]string
	// inLanguage remembers second terms by language and the word as it is written.
	inLanguage map[*Language]map[string]string
	// stemsOf remembers those in all languages.
	languages []*Language
	stemsOf   map[string][]string
}

// maxStems bounds the cache of stems; it is emptied when it is full.
const maxStems = 1 << 15

// New returns an Analyser with an empty cache.
func New() *Analyser {
	return &Analyser{stems: make(map[string]string), inLanguage: make(map[*Language]map[string]string)}
}

// Tokens returns the tokens of text in order.
func (a *Analyser) Tokens(text string) []Token {
	var tokens []Token
	a.Scan(text, func(raw Raw) {
		surface, term := a.term(raw.Surface)
		tokens = append(tokens, Token{
			Term: term, Surface: surface, Written: text[raw.Start:raw.End], Start: raw.Start, End: raw.End,
			Position: raw.Position, Kind: raw.Kind,
		})
	})
	return tokens
}

// TermOf is the term of a surface.
func (a *Analyser) TermOf(surface []byte) string {
	term, known := a.stems[string(surface)]
	if !known {
		_, term = a.term(surface)
	}
	return term
}

func (a *Analyser) term(surface []byte) (string, string) {
	if term, ok := a.stems[string(surface)]; ok {
		return string(surface), term
	}
	if len(a.stems) >= maxStems {
		clear(a.stems)
	}
	text := string(surface)
	term := Stem(text)
	a.stems[text] = term
	return text, term
}

// TermIn is the second term of a word as it is written, in documents of a language; see Language.Term.
func (a *Analyser) TermIn(l *Language, word string) string {
	known := a.inLanguage[l]
	term, ok := known[word]
	if ok {
		return term
	}
	if known == nil || len(known) >= maxStems {
		known = make(map[string]string)
		a.inLanguage[l] = known
	}
	term = l.Term(word)
	known[word] = term
	return term
}
