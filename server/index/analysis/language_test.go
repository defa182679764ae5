package analysis

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestStopWordLists: each list is short, of words in lower case that stand once, and no word of it has a second term.
func TestStopWordLists(t *testing.T) {
	const most = 150
	for _, l := range Languages() {
		if n := len(l.stops); n == 0 || n > most {
			t.Errorf("%s: %d stop words", l.Code, n)
		}
		for word := range l.stops {
			if l.lower(word) != word || l.Term(word) != "" || !l.IsStopWord(strings.ToUpper(word)) && l.Code != "tr" {
				t.Errorf("%s: %q", l.Code, word)
			}
		}
	}
}

func TestTermsOfALanguage(t *testing.T) {
	for _, test := range []struct{ code, a, b string }{
		{"de", "Häuser", "Haeusern"}, {"de", "neue", "neuen"}, {"de", "Quellen", "Quelle"}, {"de", "Straße", "STRASSE"},
		{"vi", "Bàn", "ba\u0300n"}, {"tr", "İSTANBUL’DAN", "istanbul"}, {"tr", "ISI", "ısı"}, {"fr", "réunions", "re\u0301union"}, {"ga", "bhean", "bean"},
	} {
		l := LanguageOf(test.code)
		if a, b := l.Term(test.a), l.Term(test.b); a != b || LanguageOfTerm(a) != l {
			t.Errorf("%s: %q is %q, %q is %q", test.code, test.a, a, test.b, b)
		}
	}
	for code, word := range map[string]string{"de": "дом", "ru": "дома", "en": "houses", "fr": "les", "tr": "'"} {
		if term := LanguageOf(code).Term(word); term != "" {
			t.Errorf("%s: %q has a second term %q", code, word, term)
		}
	}
	for _, test := range []struct{ code, a, b string }{{"de", "Quellen", "Qualen"}, {"vi", "bán", "bản"}, {"vi", "đo", "dò"}} {
		if a, b := LanguageOf(test.code).Term(test.a), LanguageOf(test.code).Term(test.b); a == b {
			t.Errorf("both are %q", a)
		}
	}
}

func TestSplit(t *testing.T) {
	known := []string{"Urlaub", "Antrag", "Staat", "Vertrag", "Verkehr", "verlof", "verzoek", "loma"}
	for _, test := range []struct{ code, word, want string }{
		{"de", "Urlaubsantrag", "urlaubs antrag"}, {"de", "Staatsverträge", "staats verträge"}, {"de", "Urlaub", ""},
		{"de", "Staatsbesuch", ""}, {"de", "Verkehrsstaat", "verkehrs staat"}, {"nl", "verlofverzoek", "verlof verzoek"},
		{"fr", "Urlaubsantrag", ""},
	} {
		l := LanguageOf(test.code)
		w := QueryWord{Token: Token{Written: test.word}}
		l.Split(&w, func(term string) bool {
			return slices.ContainsFunc(known, func(word string) bool { return l.Term(word) == term })
		})
		var parts []string
		for _, part := range w.Parts {
			parts = append(parts, part.Written)
		}
		if got := strings.Join(parts, " "); got != test.want {
			t.Errorf("%s: %s is split into %q, want %q", test.code, test.word, got, test.want)
		}
	}
}

func FuzzTerm(f *testing.F) {
	for _, seed := range []string{"", "’s", "ue", "Äe\u0301", "İI", strings.Repeat("ŏe", 200), "\xffü", "qu'e", "Urlaubsantrag", strings.Repeat("antrags", 9)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, l := range Languages() {
			w := QueryWord{Token: Token{Surface: word, Written: word, Term: Stem(word)}}
			l.Split(&w, func(term string) bool { return LanguageOfTerm(term) == l })
			for _, part := range w.Parts {
				if utf8.RuneCountInString(part.Written) < 4 || part.Term != l.Term(part.Written) || part.Surface == "" {
					t.Errorf("%s: %q has a part %+v", l.Code, word, part)
				}
			}
			term := l.Term(word)
			if term == "" {
				continue
			}
			if len(term) > maxWordBytes+len("~de:") || !utf8.ValidString(term) || LanguageOfTerm(term) != l || term != l.Term(word) {
				t.Errorf("%s: %q is %q", l.Code, word, term)
			}
			l.Initial(term)
		}
	})
}
