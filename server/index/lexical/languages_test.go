package lexical

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"quarry/internal/testkit/longtest"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

// sampleTexts returns texts by the codes of their languages, the 18 with a stemmer among them.
func sampleTexts(t testing.TB) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("../../language/testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		texts[code] = append(texts[code], text)
	}
	return texts
}

func in(language string, texts ...string) (documents []index.Document) {
	for i, text := range texts {
		documents = append(documents, index.Document{ID: fmt.Sprintf("%s%03d", language, i), Language: language,
			Chunks: []index.Chunk{{Text: text}}})
	}
	return documents
}

// TestWordsAsWritten: whatever language was detected of a document, of one text or of several in other languages, too, a
// word typed as it is written finds its document, and is marked.
func TestWordsAsWritten(t *testing.T) {
	codes := []string{"ar", "en", "ta", "und", "ja"}
	for _, l := range analysis.Languages() {
		codes = append(codes, l.Code)
	}
	var all []string
	texts := sampleTexts(t)
	for _, code := range codes {
		all = append(all, texts[code][:min(longtest.Rounds(1, 3), len(texts[code]))]...)
	}
	for _, code := range codes {
		whole := index.Document{ID: "whole", Language: code}
		for _, text := range all {
			whole.Chunks = append(whole.Chunks, index.Chunk{Text: text})
		}
		s := newSearcher(t, []Part{{Segment: open(t, code, append(in(code, all...), whole))},
			{Segment: open(t, "other", in("fr", "un autre texte"))}})
		for i, text := range all {
			words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '\'' })
			for _, word := range words {
				result := search(t, s, index.Query{Text: word, Limit: 20 * len(all)})
				if !slices.ContainsFunc(result.Hits, func(h index.Hit) bool { return h.DocumentID == fmt.Sprintf("%s%03d", code, i) }) {
					t.Errorf("detected %s: %q does not find %q", code, word, text)
				}
				if !slices.ContainsFunc(result.Hits, func(h index.Hit) bool { return h.DocumentID == "whole" && h.Chunk == i }) {
					t.Errorf("in a document detected as %s: %q does not find %q", code, word, text)
				}
				if marks, _ := result.Highlighter.Highlight(text, index.InLanguage(code), [2]int{0, len(text)}); len(marks) == 0 {
					t.Errorf("detected %s: %q is not marked in %q", code, word, text)
				}
			}
		}
	}
}

// TestMarksOfVietnamese: a word without its marks finds all that are read like it, one with them first what has the same.
func TestMarksOfVietnamese(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "vi", in("vi", "Họ bán nhà.", "Họ bàn nhà.", "Họ bản nhà.", "Họ mua nhà."))}})
	for query, first := range map[string]string{"bán": "vi000", "bàn": "vi001", "BẢN": "vi002", "ban": ""} {
		hits := search(t, s, index.Query{Text: query}).Hits
		if len(hits) != 3 || first != "" && hits[0].DocumentID != first {
			t.Errorf("%q: %v, want three, %s first", query, hits, first)
		}
	}
}

// TestFormsOfWords: other forms of a word are found and marked where the language of the document is known; in phrases,
// the other way to write umlauts.
func TestFormsOfWords(t *testing.T) {
	for _, test := range []struct{ language, text, query, marked string }{
		{"de", "Die Verträge der alten Häuser liegen im Archiv.", "Vertrag", "Verträge"},
		{"de", "Die Verträge der alten Häuser liegen im Archiv.", "Haus", "Häuser"},
		{"de", "Die Verträge der alten Häuser liegen im Archiv.", "haeuser", "Häuser"},
		{"de", "Die Verträge der alten Häuser liegen im Archiv.", `"alten Haeuser"`, "alten Häuser"},
		{"de", "Die Häuser der Haeuser liegen im Archiv.", `"Häuser"`, "Häuser|Haeuser"},
		{"de", "Frau Mueller wohnt in der Straße.", "Müller", "Mueller"},
		{"de", "Frau Mueller wohnt in der Straße.", "Strassen", "Straße"},
		{"de", "Den Antrag auf Urlaub genehmigt die Leitung.", "Urlaubsantrag", "Antrag|Urlaub"},
		{"de", "Den Antrag auf Urlaub genehmigt die Leitung.", "Urlaubsanträge", "Antrag|Urlaub"},
		{"nl", "Het verzoek om verlof is goedgekeurd.", "verlofverzoek", "verzoek|verlof"},
		{"es", "Las negociaciones terminaron ayer.", "negociación", "negociaciones"},
		{"fr", "Les réunions sont annulées.", "réunion annuler", "réunions|annulées"},
		{"it", "Abbiamo approvato le richieste.", "richiesta", "richieste"},
		{"pt", "As reuniões foram canceladas.", "cancelado", "canceladas"},
		{"nl", "De vergaderingen zijn verplaatst.", "vergadering", "vergaderingen"},
		{"sv", "Avtalen gäller.", "avtal", "Avtalen"},
		{"da", "Møderne er aflyst.", "møder", "Møderne"},
		{"no", "Møtene er avlyst.", "møter", "Møtene"},
		{"fi", "Kokouksissa sovittiin asiasta.", "kokouksista", "Kokouksissa"},
		{"hu", "A szerződéseket aláírták.", "szerződések", "szerződéseket"},
		{"ro", "Contractele au fost semnate.", "contractelor", "Contractele"},
		{"tr", "İstanbul'daki bütçeler onaylandı.", "bütçe", "bütçeler"},
		{"tr", "İstanbul'daki bütçeler onaylandı.", "istanbul", "İstanbul'daki"},
		{"tr", "Işıklar kapandı.", "ışık", "Işıklar"},
		{"ga", "Tá an chathaoir sa chistin.", "cathaoir", "chathaoir"},
	} {
		s := newSearcher(t, []Part{{Segment: open(t, "forms", slices.Concat(in(test.language, test.text), in("en", "Something else.")))}})
		q := index.Query{Text: test.query}
		if phrase, ok := strings.CutPrefix(test.query, `"`); ok {
			q = index.Query{Phrases: []string{strings.TrimSuffix(phrase, `"`)}}
		}
		result := search(t, s, q)
		if len(result.Hits) != 1 || len(result.Missing)+len(result.Corrections) > 0 {
			t.Errorf("%s: %s finds %d passages of %q; missing %v, corrected %v", test.language, test.query, len(result.Hits), test.text,
				result.Missing, result.Corrections)
		}
		var marked []string
		marks, _ := result.Highlighter.Highlight(test.text, index.InLanguage(test.language), [2]int{0, len(test.text)})
		for _, m := range marks {
			marked = append(marked, test.text[m[0]:m[1]])
		}
		if got := strings.Join(marked, "|"); got != test.marked {
			t.Errorf("%s: %s marks %q in %q, want %q", test.language, test.query, got, test.text, test.marked)
		}
	}
}

// TestMarksAreOfTheDocumentsLanguage: two words that are forms of one in Swedish are not in an English document.
func TestMarksAreOfTheDocumentsLanguage(t *testing.T) {
	const text = "About zanzibar and zanzibor."
	s := newSearcher(t, []Part{{Segment: open(t, "both", slices.Concat(in("en", text), in("sv", "En text om zanzibor.")))}})
	result := search(t, s, index.Query{Text: "zanzibor"})
	for language, want := range map[string]int{"en": 1, "und": 1, "": 2, "sv": 2} {
		if marks, _ := result.Highlighter.Highlight(text, index.InLanguage(language), [2]int{0, len(text)}); len(marks) != want {
			t.Errorf("language %q: %v", language, marks)
		}
	}
}

// TestStopWordsOfLanguages: they count for nothing where the query's words, or nearly all documents, show their language.
func TestStopWordsOfLanguages(t *testing.T) {
	german := in("de", "Der Antrag auf Urlaub wird von der Leitung genehmigt.", "Die Reise nach Bern", "Der Zug nach Wien")
	english := in("en", "The travellers die of thirst.", "A train", "A journey")
	for _, test := range []struct {
		name, query string
		documents   []index.Document
		words       int
	}{
		{"a German question", "Wie wird der Antrag auf Urlaub von der Leitung genehmigt?", slices.Concat(german, english), 4},
		{"a few words in a mixed library", "die Reise", slices.Concat(german, english), 2},
		{"more stop words than in English", "Wann ging der Zug?", slices.Concat(german, english), 2},
		{"as many stop words as in English", "here der train journey", slices.Concat(german, english), 3},
		{"a few words in a German library", "die Reise", german, 1},
		{"a few words in an English library", "die Reise", english, 2},
		{"nothing else", "der die das", german, 3},
		{"no other word is known", "Wie war das mit den Zeppelinen?", german, 6},
	} {
		s := newSearcher(t, []Part{{Segment: open(t, "stops", test.documents)}})
		found := search(t, s, index.Query{Text: test.query})
		marks, _ := found.Highlighter.Highlight(test.query, index.InLanguage(""), [2]int{0, len(test.query)})
		if len(marks) != test.words {
			t.Errorf("%s: %d words count, want %d", test.name, len(marks), test.words)
		}
	}
}

// TestFrequencyInALanguage: a word that most documents of its language have weighs as little where documents in others
// surround them.
func TestFrequencyInALanguage(t *testing.T) {
	german := []string{"Der Zeppelin ist über dem See und wird dort bleiben."}
	for range 10 {
		german = append(german, "Ein Antrag wird von der Leitung genehmigt und abgelegt.")
	}
	documents := in("de", german...)
	for n := range 100 {
		documents = append(documents, in(fmt.Sprintf("en%d-", n), "A page about something else.")...)
	}
	q := index.Query{Text: "Welcher Antrag wird für den Zeppelin von der Leitung gestellt?", Limit: 3}
	for _, library := range [][]index.Document{documents[:len(german)], documents} {
		s := newSearcher(t, []Part{{Segment: open(t, "de", library)}})
		if hits := search(t, s, q).Hits; len(hits) == 0 || hits[0].DocumentID != "de000" {
			t.Errorf("of %d documents %+v is first", len(library), hits)
		}
	}
}

// TestBeginningWithAnUmlaut: an unfinished word with an umlaut finds and marks words with two vowels for it.
func TestBeginningWithAnUmlaut(t *testing.T) {
	texts := []string{"Die Gespraeche enden.", "Die Gespräche enden.", "Er hat gesprochen."}
	s := newSearcher(t, []Part{{Segment: open(t, "de", in("de", texts...))}})
	result := search(t, s, index.Query{Text: "Gespräc", Prefix: true})
	if len(result.Hits) != 2 {
		t.Errorf("%+v, want two", result.Hits)
	}
	if marks, _ := result.Highlighter.Highlight(texts[0], index.InLanguage("de"), [2]int{0, len(texts[0])}); len(marks) != 1 {
		t.Errorf("marked: %v", marks)
	}
}
