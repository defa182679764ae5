package analysis

import (
	"fmt"
	"testing"
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
