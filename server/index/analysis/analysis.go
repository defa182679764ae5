// Package analysis turns text into the terms that the index contains, and queries into the terms that are looked up.
// Both sides use the same rules, so a change to any of them needs a new Version, after which segments are rebuilt.
package analysis

import (
	"hash/maphash"
	"strings"
)

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
	// Compound is what a hyphenated pair or a Japanese word is in another spelling, without the hyphen or without the
	// kana between two characters, behind the sign hyphenated. It is at the position of its first part.
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
	seed maphash.Seed
	// stems has the terms of words, each at the place of its hash until a word with the same one comes: most words of a
	// text are among the few that most texts have. Most analysers see a query alone, and make few of the parts.
	stems [1 << 9]*[1 << 4]stem
}

// stem is the term of a word: by its script if there is no language, else its second one in it.
type stem struct {
	language   *Language
	word, term string
}

// New returns an Analyser with an empty cache.
func New() *Analyser { return &Analyser{seed: maphash.MakeSeed()} }

// at returns the place of a hash.
func (a *Analyser) at(hash uint64) *stem {
	part := &a.stems[hash>>4%uint64(len(a.stems))]
	if *part == nil {
		*part = new([1 << 4]stem)
	}
	return &(*part)[hash%uint64(len(*part))]
}

// Tokens returns the tokens of text in order.
func (a *Analyser) Tokens(text string) []Token {
	var tokens []Token
	a.Scan(text, func(raw Raw) {
		known := a.term(raw.Surface)
		tokens = append(tokens, Token{
			Term: known.term, Surface: known.word, Written: text[raw.Start:raw.End], Start: raw.Start, End: raw.End,
			Position: raw.Position, Kind: raw.Kind,
		})
	})
	return tokens
}

// TermOf is the term of a surface.
func (a *Analyser) TermOf(surface []byte) string { return a.term(surface).term }

func (a *Analyser) term(surface []byte) *stem {
	known := a.at(maphash.Bytes(a.seed, surface))
	if known.language != nil || known.word != string(surface) {
		word := string(surface)
		*known = stem{word: word, term: Stem(word)}
	}
	return known
}

// TermIn is the second term of a word as it is written, in documents of a language; see Language.Term.
func (a *Analyser) TermIn(l *Language, word string) string {
	if l == nil {
		return ""
	}
	// Languages have places of their own, as texts in several have the same words, and their surfaces.
	known := a.at(maphash.String(a.seed, word) + uint64(l.Code[0])*31 + uint64(l.Code[1]))
	if known.language != l || known.word != word {
		*known = stem{language: l, word: strings.Clone(word), term: l.Term(word)}
	}
	return known.term
}
