package analysis

import (
	"fmt"
	"testing"
	"unsafe"
)

// An analyser gives the same second terms as a new one, whatever languages it was asked for before, or none.
func TestStemsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	german, spanish := LanguageOf("de"), LanguageOf("es")
	stems := func(a *Analyser, languages []*Language) string {
		words := a.Words("Verträge contratos", false)
		a.In(languages, words)
		return fmt.Sprint(words[0].Stems, words[1].Stems)
	}
	used := New()
	for _, languages := range [][]*Language{nil, {german}, {german, spanish}, {german}, {spanish}, nil, {spanish, german}} {
		if got, want := stems(used, languages), stems(New(), languages); got != want {
			t.Errorf("%d languages: %s, a new analyser has %s", len(languages), got, want)
		}
	}
	if none, both := stems(New(), nil), stems(New(), []*Language{german, spanish}); none == both {
		t.Errorf("no language gives %s, like two", none)
	}
}

// Words share places in the cache: what another one left there is not taken for theirs.
func TestStemsOfManyWords(t *testing.T) {
	t.Parallel()
	a := New()
	for round := range 2 {
		for n := range 3 * len(a.stems) * len(a.stems[0]) {
			word := fmt.Sprintf("%cWörtern%d", 'a'+rune(n%26), n/26)
			surface := []byte(word)
			if got, want := a.TermOf(surface), Stem(word); got != want {
				t.Fatalf("round %d: %s has the term %q, want %q", round, word, got, want)
			}
			for _, l := range []*Language{LanguageOf("de"), LanguageOf("sv"), nil} {
				if got, want := a.TermIn(l, word), l.Term(word); got != want {
					t.Fatalf("round %d: %s has the term %q in %v, want %q", round, word, got, l, want)
				}
			}
		}
	}
}

// A new analyser, as each search of documents elsewhere has, takes memory for the words that it sees.
func TestMemoryOfAFewWords(t *testing.T) {
	t.Parallel()
	a := New()
	words, made := len(a.Words("how do we roll back a deployment", false)), 0
	for _, part := range a.stems {
		if part != nil {
			made++
		}
	}
	if size := unsafe.Sizeof(*a); made > words || size > 8<<10 {
		t.Errorf("%d parts for %d words, beside %d bytes", made, words, size)
	}
}
