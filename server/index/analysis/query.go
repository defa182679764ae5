package analysis

import (
	"strings"

	"quarry/internal/text"
)

// QueryWord is one word of a query as the searcher looks it up. Its position is its place in the query, for phrases and
// for the nearness of neighbours.
type QueryWord struct {
	Token
	// Prefix: every word that begins with Surface matches.
	Prefix bool
	// Parts are the words that a Whole was made of, the letters and the number of a word like ISO27001, or what Split
	// found; nil for others.
	Parts []QueryWord
	// Stems are the second terms that it has in the languages that were given to In.
	Stems []string
	// Exact are the ways to write it that are marked, if it stands in a phrase; nil: in all forms.
	Exact []string
	// Acronym: it spells words of the query as their acronym.
	Acronym bool
	// Overlaps: it shares a character with another pair of the query.
	Overlaps bool
}

// Identifier reports whether w is an identifier that no plain word can equal: it contains digits or signs.
func (w QueryWord) Identifier() bool {
	if w.Kind != Whole {
		return false
	}
	for i := range len(w.Surface) {
		if c := w.Surface[i]; c < 'a' || c > 'z' {
			return true
		}
	}
	return false
}

// Words returns the words of a query in order. With prefix, the last one stands for all that begin with it.
func (a *Analyser) Words(text string, prefix bool) []QueryWord {
	words := group(a.Tokens(text))
	if n := len(words); prefix && n > 0 {
		words[n-1].Prefix = true
	}
	return words
}

// In sets the second terms that words and their parts have in some languages.
func (a *Analyser) In(languages []*Language, words []QueryWord) {
	for i := range words {
		w := &words[i]
		a.In(languages, w.Parts)
		if w.Kind == Word {
			for _, l := range languages {
				if term := a.TermIn(l, w.Written); term != "" {
					w.Stems = append(w.Stems, term)
				}
			}
		}
	}
}

// Content leaves stop words out, in English and in the language of the query, as long as a content word remains.
func Content(words []QueryWord, l *Language) []QueryWord {
	content := make([]QueryWord, 0, len(words))
	found := false
	for _, w := range words {
		if w.Prefix || w.Kind != Word || !text.IsStopWord(w.Surface) && !l.IsStopWord(w.Written) {
			content = append(content, w)
			found = found || w.Kind != Compound
		}
	}
	if !found {
		return words
	}
	return content
}

// group makes query words of tokens: parts go below their whole; a character that the pair before it contains
// is dropped, and a lone one means every pair that begins with it.
func group(tokens []Token) []QueryWord {
	var words []QueryWord
	var before *Token // the last pair, and its place among words
	pair := 0
	for i := 0; i < len(tokens); {
		token := tokens[i]
		w := QueryWord{Token: token}
		i++
		switch token.Kind {
		case Word:
			w.Parts = lettersAndNumber(token)
		case Whole:
			for ; i < len(tokens) && tokens[i].Kind <= Whole && tokens[i].End <= token.End; i++ {
				if tokens[i].Kind == Word {
					w.Parts = append(w.Parts, QueryWord{Token: tokens[i]})
				}
			}
		case Ideograph:
			if after := pairFrom(tokens, i); after < 0 || tokens[after].Start >= token.End {
				if before != nil && before.End == token.End {
					continue
				}
				w.Prefix = true
			}
			w.Overlaps = before != nil && before.End > token.Start
			if w.Overlaps {
				words[pair].Overlaps = true
			}
			before, pair = &tokens[i-1], len(words)
		}
		words = append(words, w)
	}
	return words
}

// pairFrom returns the place of the pair behind i, past a Compound; -1 if there is none.
func pairFrom(tokens []Token, i int) int {
	for ; i < len(tokens) && tokens[i].Kind == Compound; i++ {
	}
	if i == len(tokens) || tokens[i].Kind != Ideograph {
		return -1
	}
	return i
}

// lettersAndNumber returns the parts of a word of at least two letters before at least two digits, which others write
// as two words.
func lettersAndNumber(token Token) []QueryWord {
	surface := token.Surface
	letters := strings.TrimRight(surface, "0123456789")
	if len(letters) < 2 || len(surface)-len(letters) < 2 || strings.ContainsAny(letters, "0123456789'") {
		return nil
	}
	var parts []QueryWord
	for _, part := range []string{letters, surface[len(letters):]} {
		t := token
		t.Surface, t.Written, t.Term = part, part, Stem(part)
		parts = append(parts, QueryWord{Token: t})
	}
	return parts
}

// hyphenated is what surfaces and terms of compounds begin with, and no others: so a word that is written without its
// hyphen is found too, and one whose parts are found anyway does not count twice.
const hyphenated = "-"

// Hyphenated returns w as a compound, written with a hyphen or with kana between its characters.
func (w QueryWord) Hyphenated() QueryWord {
	w.Surface, w.Term, w.Kind = hyphenated+w.Surface, hyphenated+w.Term, Compound
	return w
}

// Spelling reports whether w is another spelling of words that the query has.
func (w QueryWord) Spelling() bool { return w.Kind == Compound }

// Solid returns a compound of a query as it is written without the hyphen.
func (w QueryWord) Solid() QueryWord {
	w.Surface, w.Term = w.Surface[len(hyphenated):], w.Term[len(hyphenated):]
	return w
}

// Joined returns what two neighbouring words of a query are as a compound, and whether they can be one.
func Joined(text string, a, b QueryWord) (QueryWord, bool) {
	if a.Kind != Word || b.Kind != Word || a.Position+1 != b.Position || a.End > b.Start ||
		b.End > len(text) || text[a.End:b.Start] != " " || len(a.Surface)+len(b.Surface) > maxWordBytes {
		return QueryWord{}, false
	}
	w := SpeltAs(a.Surface+b.Surface, a, b)
	w.Prefix = b.Prefix
	return w, true
}

// SpeltAs returns what the words from a to b of a query are in another spelling.
func SpeltAs(surface string, a, b QueryWord) QueryWord {
	t := Token{Surface: hyphenated + surface, Start: a.Start, End: b.End, Position: a.Position, Kind: Compound}
	t.Term = Stem(t.Surface)
	return QueryWord{Token: t}
}

// Phrase returns the words of a phrase, which must occur at the distances of their positions; that of the first is 0.
// Identifiers count by their parts, however they are joined. Only a lone character of an unspaced script has Prefix:
// every pair that begins with it matches. A phrase without words is empty.
func (a *Analyser) Phrase(text string) []QueryWord {
	var phrase []QueryWord
	for _, w := range group(a.Tokens(text)) {
		switch w.Kind {
		case Whole:
			phrase = append(phrase, w.Parts...)
		case Compound:
		default:
			w.Parts = nil
			phrase = append(phrase, w)
		}
	}
	for i := len(phrase) - 1; i >= 0; i-- {
		phrase[i].Position -= phrase[0].Position
	}
	return phrase
}
