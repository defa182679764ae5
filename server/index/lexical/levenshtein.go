package lexical

import (
	"slices"
	"unicode/utf8"
)

// levenshtein accepts the words of letters that are at most limit edits away from a word, and those with another first
// letter that are one edit away: people rarely err in the first letter, and most of a vocabulary is ruled out by it. An
// edit adds, leaves out or replaces a letter, or exchanges two neighbours. It implements segment.Automaton by the rows
// of the usual table of distances, one for each character that it was given (Schulz and Mihov, Fast string correction
// with Levenshtein automata, 2002).
type levenshtein struct {
	word  []rune
	limit int
	given []rune
	rows  []int // of len(word)+1 distances each: of what was given so far to the beginnings of word, if within limit
	far   []int // a row without any
}

func newLevenshtein(word string, limit int) *levenshtein {
	l := &levenshtein{word: []rune(word), limit: limit}
	for i := range len(l.word) + 1 {
		l.rows = append(l.rows, i)
		l.far = append(l.far, limit+1)
	}
	return l
}

// row returns the distances of the first n given characters.
func (l *levenshtein) row(n int) []int {
	width := len(l.word) + 1
	return l.rows[n*width : (n+1)*width]
}

// typos is the distance of what was given.
func (l *levenshtein) typos() int { return l.row(len(l.given))[len(l.word)] }

// allowed is the limit for words that begin with what was given.
func (l *levenshtein) allowed() int {
	if len(l.given) > 0 && l.given[0] != l.word[0] {
		return 1
	}
	return l.limit
}

// IsMatch implements segment.Automaton.
func (l *levenshtein) IsMatch() bool { return l.typos() <= l.allowed() }

// Truncate implements segment.Automaton.
func (l *levenshtein) Truncate(n int) {
	l.given = l.given[:n]
	l.rows = l.rows[:(n+1)*(len(l.word)+1)]
}

// Push implements segment.Automaton.
func (l *levenshtein) Push(c rune) bool {
	if c < 'a' || c > 'z' && c < utf8.RuneSelf {
		return false
	}
	n := len(l.given)
	l.rows = append(l.rows, l.far...)
	above, row, least := l.row(n), l.row(n+1), n+1
	row[0] = least
	for i := max(0, n-l.limit); i < min(len(l.word), n+l.limit+1); i++ {
		wanted, d := l.word[i], above[i]
		if wanted != c {
			d = min(d, row[i], above[i+1]) + 1
		}
		if i > 0 && n > 0 && l.word[i-1] == c && wanted == l.given[n-1] {
			d = min(d, l.row(n - 1)[i-1]+1)
		}
		row[i+1] = d
		least = min(least, d)
	}
	l.given = append(l.given, c)
	if least > l.allowed() {
		l.Truncate(n)
		return false
	}
	return true
}

// Least implements segment.Automaton.
func (l *levenshtein) Least(from rune) (least rune, ok bool) {
	if from = max(from, 'a'); from > 'z' && from < utf8.RuneSelf {
		from = utf8.RuneSelf
	}
	n := len(l.given)
	row, limit := l.row(n), l.allowed()
	if slices.Min(row) < limit { // one more edit is possible
		return from, true
	}
	for i, c := range l.word {
		fits := row[i] <= limit || i+1 < len(l.word) && n > 0 && l.word[i+1] == l.given[n-1] && l.row(n - 1)[i] < limit
		if fits && c >= from && (c < least || !ok) {
			least, ok = c, true
		}
	}
	return least, ok
}
