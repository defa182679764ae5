package analysis

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// show writes tokens as term@position, with * for wholes and ~ for ideographs.
func show(tokens []Token) string {
	var out []string
	for _, token := range tokens {
		mark := map[Kind]string{Word: "", Whole: "*", Ideograph: "~", Compound: ""}[token.Kind]
		out = append(out, fmt.Sprintf("%s%s@%d", mark, token.Surface, token.Position))
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"The quick, brown fox.":      "the@0 quick@1 brown@2 fox@3",
		"don't company's O’Brien":    "don't@0 company@1 o'brien@2",
		"see PROJ-123 now":           "see@0 *proj-123@1 proj@1 123@2 now@3",
		"ERR_TEMP_042":               "*err_temp_042@0 err@0 temp@1 042@2",
		"v4.12.0.":                   "*v4.12.0@0 v4@0 12@1 0@2",
		"getUserName HTTPServer IDs": "*getusername@0 get@0 user@1 name@2 *httpserver@3 http@3 server@4 ids@5",
		"Internet/WiFi":              "*internet/wifi@0 internet@0 *wifi@1 wi@1 fi@2",
		"GitHub/GitLab MacBook-Pro":  "*github/gitlab@0 *github@0 git@0 hub@1 *gitlab@2 git@2 lab@3 *macbook@4 mac@4 book@5 pro@6",
		"state-of-the-art":           "state@0 of@1 the@2 art@3",
		"/usr/local/bin":             "*usr/local/bin@0 usr@0 local@1 bin@2",
		"_emphasis_ __init__":        "emphasis@0 init@1",
		"1,000 and 12:30":            "*1,000@0 1@0 000@1 and@2 *12:30@3 12@3 30@4",
		"naïve Straße ΣΟΦΟΣ":         "naive@0 strasse@1 σοφοσ@2",
		"日本語 x":                      "~日本@0 ~本語@1 ~語@2 x@3",
		"猫":                          "~猫@0",
		"ｶﾅ ＡＢＣ":                     "~カナ@0 ~ナ@1 abc@2",
		"“quoted” — dash":            "quoted@0 dash@1",
		"C++ or C#":                  "*c++@0 c@0 or@1 *c#@2 c@2",
		"jo@acme.example":            "*jo@acme.example@0 jo@0 acme@1 example@2",
		"on-call, E-Mail":            "-oncall@0 on@0 call@1 -email@2 e@2 mail@3",
		"US and IT rules, ask WHO":   "*US@0 us@0 and@1 *IT@2 it@2 rules@3 ask@4 *WHO@5 who@5",
		"it and us; CONTACT US":      "it@0 and@1 us@2 contact@3 us@4",
		"in May, may 12; we may":     "in@0 *May@1 may@1 *May@2 may@2 12@3 we@4 may@5",
		"May I? May holidays":        "may@0 i@1 *May@2 may@2 holidays@3",
		"サーバー":                       "~サー@0 ~ーバ@1 ~バ@2",
		"ｻｰﾊﾞ":                       "~サー@0 ~ーバ@1 ~バ@2",
		"キー":                         "~キー@0 ~ー@1",
		"打ち合わせ":                      "~打ち@0 -打合@0 ~ち合@1 ~合わ@2 ~わせ@3 ~せ@4",
		"国の法":                        "~国の@0 ~の法@1 ~法@2",
		"ไทย":                        "~ไท@0 ~ทย@1 ~ย@2",
		"l'avion L’Avion, qu’il":     "avion@0 avion@1 il@2",
		"dell'arte e l'Étoile":       "arte@0 e@1 etoile@2",
		"L'ÉCOLE d'œuvre n'ha":       "ecole@0 oeuvre@1 ha@2",
		"Côte-d'Or l'avion-école":    "-coteor@0 cote@0 or@1 -avionecole@2 avion@2 ecole@3",
		"aujourd'hui rock'n'roll":    "aujourd'hui@0 rock'n'roll@1",
		"c'mon I'd he's l's d'":      "c'mon@0 i'd@1 he@2 l@3 d@4",
		"п'ять l'avion's":            "п'ять@0 avion@1",
		"كِتَاب كـــتاب كتاب ـ":      "كتاب@0 كتاب@1 كتاب@2",
		"שָׁלוֹם שלום שׁלום":         "שלום@0 שלום@1 שלום@2",
		"أحمد إسلام قرآن":            "احمد@0 اسلام@1 قران@2",
		"हिन्दी":                     "हिन्दी@0",
		"ـ-ـ a":                      "a@0",
	} {
		if got := show(New().Tokens(text)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestTermsMeet(t *testing.T) {
	for _, pair := range [][2]string{
		{"running", "runs"}, {"GitHub", "github"}, {"café", "CAFE"}, {"“PROJ-123”", "proj-123"}, {"APIs", "apis"},
		{"getUserName", "getusername"}, {"’tis", "tis"},
		{"миграции", "МИГРАЦИЯМИ"}, {"серверу", "серверов"}, {"كتاب", "الكتاب"}, {"المهندسون", "مهندس"}, {"மரங்களை", "மரங்கள்"},
	} {
		a, b := New().Tokens(pair[0])[0].Term, New().Tokens(pair[1])[0].Term
		if a != b {
			t.Errorf("%q is %q, %q is %q", pair[0], a, pair[1], b)
		}
	}
}

func TestQuery(t *testing.T) {
	describe := func(words []QueryWord) string {
		var out []string
		for _, w := range words {
			text := w.Term
			if w.Prefix {
				text += "*"
			}
			for _, part := range w.Parts {
				text += "/" + part.Term
			}
			out = append(out, text)
		}
		return strings.Join(out, " ")
	}
	for _, test := range []struct {
		text   string
		prefix bool
		want   string
	}{
		{"how to deploy the service", false, "deploy servic"},
		{"to be or not", false, "to be or not"},
		{"the the", true, "the*"},
		{"fix PROJ-123", false, "fix proj-123/proj/123"},
		{"fix PROJ-12", true, "fix proj-12*/proj/12"},
		{"our Internet/WiFi", false, "internet/wifi/internet/wi/fi"},
		{"MacBook-Pro", false, "macbook/mac/book pro"},
		{"日本語", false, "日本 本語"},
		{"語", false, "語*"},
		{"打ち合", false, "打ち -打合 ち合"},
		{"ISO27001", false, "iso27001/iso/27001"},
		{"holidays in the US", false, "holiday US/us"},
		{"to e-mail", false, "-email e mail"},
		{"日本 語", false, "日本 語*"},
		{"日本語", true, "日本 本語*"},
	} {
		if got := describe(Content(New().Words(test.text, test.prefix), nil)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestPhrase(t *testing.T) {
	type place struct {
		term     string
		position int
	}
	want := []place{{"see", 0}, {"proj", 1}, {"123", 2}, {"now", 3}}
	for _, text := range []string{"see PROJ-123 now", "See proj 123, now!"} {
		var got []place
		for _, w := range New().Phrase(text) {
			got = append(got, place{w.Term, w.Position})
			if w.Prefix || w.Surface != w.Term {
				t.Errorf("%q: %+v", text, w)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := New().Phrase("—!"); got != nil {
		t.Errorf("no words: %+v", got)
	}
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"", "a", "PROJ-123 don’t", "日本語ー", "é\u0301\u200d", "\xff\xfea", "ไทย ﷺ ½", "a_b__c/d\\e:f,1,2", "C++#",
		strings.Repeat("aB", 200), strings.Repeat("é", 300), "İıς\u00adx", "l'a", "L’É’x", "dell'-l'h", "миграциями-бы ё", "وبالمهندسين ءآ", "மரங்கள் கள்", "ـ-ـ", "كِ\u200d", "ـ_1", "a’", "’a’b’",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := New().Tokens(text)
		start, position := 0, 0
		for _, token := range tokens {
			if token.Start < start || token.End <= token.Start || token.End > len(text) {
				t.Fatalf("%q: range [%d,%d) after %d", text, token.Start, token.End, start)
			}
			if token.Position < position || token.Position > position+1 {
				t.Fatalf("%q: position %d after %d", text, token.Position, position)
			}
			if token.Term == "" || len(token.Surface) > maxWholeBytes || !utf8.ValidString(token.Term) {
				t.Fatalf("%q: term %q of %q", text, token.Term, token.Surface)
			}
			start, position = token.Start, token.Position
		}
		Content(New().Words(text, true), nil)
		New().Phrase(text)
	})
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over PROJ-123 and configures the deployment pipeline. ", 100)
	a := New()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n := 0
		a.Scan(text, func(raw Raw) { n += len(raw.Surface) })
	}
}
