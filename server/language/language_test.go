package language

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// stemmed are the languages of blevesearch/snowballstem.
var stemmed = []string{"ar", "da", "de", "en", "es", "fi", "fr", "ga", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv",
	"ta", "tr"}

// sentence is a line of testdata/sentences.txt, none of which the data was fitted to.
type sentence struct{ code, text string }

func readSentences(t testing.TB) []sentence {
	t.Helper()
	content, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	var sentences []sentence
	for line := range strings.Lines(string(content)) {
		code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		sentences = append(sentences, sentence{code, text})
	}
	return sentences
}

// TestSentences: of the sentences in the languages of the stemmers nine of ten are detected, and no other is taken for one
// of them.
func TestSentences(t *testing.T) {
	right, all := 0, 0
	perLanguage := map[string]int{}
	for _, s := range readSentences(t) {
		got := Detect(s.text)
		switch {
		case slices.Contains(stemmed, s.code):
			if n := utf8.RuneCountInString(s.text); n < 60 {
				t.Errorf("only %d characters: %s", n, s.text)
			}
			perLanguage[s.code]++
			all++
			if got == s.code {
				right++
			} else {
				t.Logf("%s instead of %s: %s", got, s.code, s.text)
			}
		case got != s.code && slices.Contains(stemmed, got):
			t.Errorf("%s is taken for %s: %s", s.code, got, s.text)
		case got != s.code:
			t.Logf("%s instead of %s: %s", got, s.code, s.text)
		}
	}
	t.Logf("%d of %d sentences in the languages of the stemmers", right, all)
	if right*10 < all*9 {
		t.Error("fewer than 90 %")
	}
	for _, code := range stemmed {
		if perLanguage[code] != 5 {
			t.Errorf("%d sentences in %s, want 5", perLanguage[code], code)
		}
	}
}

func TestOfChunk(t *testing.T) {
	const english = "The time has not come yet, but we will make use of it when it does."
	const german = "Die Zeit ist noch nicht gekommen, aber wir werden sie nutzen."
	for _, c := range []struct {
		name, text, document string
		chunks               int
		want                 string
	}{
		{"the same", english, "en", 2, "en"},
		{"another", german, "en", 2, "de"},
		{"of a document without a language", german, Undetermined, 2, "de"},
		{"of one whose language is unknown", german, "", 2, ""},
		{"the only one", german, "en", 1, "en"},
		{"short", "Die Zeit", "en", 2, "en"},
		{"code", "func main() { fmt.Println(os.Args[1]) }", "de", 2, "de"},
		{"a quotation", strings.Repeat(english+" ", 4) + german, "en", 2, "en"},
		{"another script", "请运行命令，然后检查所有容器的状态", "en", 2, "zh"},
		{"the same of a script", "请运行命令，然后检查所有容器的状态", "zh", 2, "zh"},
		{"another within a script", english, "zh", 2, "en"},
		{"nothing", "", "en", 2, "en"},
	} {
		if got := OfChunk(c.text, c.document, c.chunks); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for _, s := range readSentences(t) { // what is frequent in a neighbour is not taken for it
		for _, document := range stemmed {
			got, alone := OfChunk(s.text, document, 2), Detect(s.text)
			if got != alone && got != document || alone == s.code && got != alone && !slices.Contains([]string{"da", "no"}, document) {
				t.Errorf("in a document in %s: %s instead of %s: %s", document, got, alone, s.text)
			}
		}
	}
}

func TestDetect(t *testing.T) {
	const german = "Die Zeit ist noch nicht gekommen, aber wir werden sie nutzen."
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", Undetermined},
		{"no letters", "2026-11-27 18:51 → 42 %", Undetermined},
		{"a title", "Quarterly Figures", Undetermined},
		{"names", "Anna Schmidt, Jean Dupont, Maria Garcia, Lars Hansen, Paolo Rossi", Undetermined},
		{"code", "func main() { fmt.Println(os.Args[1]) }\nvar maxSize = 4096", Undetermined},
		{"paths", "/usr/local/bin /etc/hosts https://example.com/de/das-ist-nicht-der-weg user@example.com", Undetermined},
		{"German", german, "de"},
		{"capitals", strings.ToUpper(german), "de"},
		{"Markdown", "# **Die Zeit**\n\n> *ist noch* nicht gekommen, (aber) wir [werden](https://example.com) sie \"nutzen\".", "de"},
		{"decomposed accents", "Ho\u0308ren wir, wie scho\u0308n das fu\u0308r uns alle wa\u0308re.", "de"},
		{"apostrophes", "C’est l’été qu’il n’a pas oublié d’aimer aujourd’hui", "fr"},
		{"between code", german + "\n```\nif err := openFile(path_to, os.O_RDWR); err != nil { return err }\n```\n" + german, "de"},
		{"a foreign word", "The Japanese word 東京 is the name of the city that we know as Tokyo.", "en"},
		{"Chinese with code", "请运行 `kubectl get pods --namespace default` 命令，然后检查所有容器的状态", "zh"},
		{"Japanese with few kana", "東京都千代田区霞が関一丁目の会議室", "ja"},
		{"Hindi", "यह किताब मेरे भाई की है और वह इसे हर दिन पढ़ता है", "hi"},
		{"only the beginning", strings.Repeat(german+" ", 80) + strings.Repeat("And this is all that the rest says. ", 1000), "de"},
		{"cut within a character", strings.Repeat("я", maxSample), Undetermined},
		{"no UTF-8", "\xff\xfe das ist \xe4 nicht", Undetermined},
	} {
		if got := Detect(c.text); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestData: a word, letter or sequence that stands twice in a language would count twice, and one in capitals never.
func TestData(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(languages, "\n"), "\n")
	if len(lines)%3 != 0 || len(lines)/3 > 255 {
		t.Fatalf("%d lines are no languages", len(lines))
	}
	seen := map[string]bool{}
	for i := 0; i < len(lines); i += 3 {
		code, letters, _ := strings.Cut(lines[i], " ")
		if seen[code] {
			t.Errorf("%s stands twice", code)
		}
		seen[code] = true
		words, sequences := strings.Fields(lines[i+1]), strings.Fields(lines[i+2])
		for kind, values := range map[string][]string{"letter": strings.Split(letters, ""), "word": words, "sequence": sequences} {
			slices.Sort(values)
			if len(slices.Compact(slices.Clone(values))) != len(values) {
				t.Errorf("%s: a %s stands twice in %v", code, kind, values)
			}
			for _, value := range values {
				if value != strings.ToLower(value) || kind == "letter" && value != "" && value[0] < utf8.RuneSelf {
					t.Errorf("%s: the %s %q never matches", code, kind, value)
				}
			}
		}
		for _, word := range words {
			if got := prose(word); got != word || strings.ContainsFunc(word, joins) {
				t.Errorf("%s: the word %q is read as %q", code, word, got)
			}
		}
		for _, sequence := range sequences {
			if n := utf8.RuneCountInString(sequence); n < 2 || n > 4 {
				t.Errorf("%s: the sequence %q is not looked up", code, sequence)
			}
		}
	}
	for _, code := range stemmed {
		if !seen[code] && code != "ta" { // which has a script of its own
			t.Errorf("%s is missing", code)
		}
	}
	for i := 1; i < len(scripts); i++ {
		if scripts[i].end <= scripts[i-1].end {
			t.Errorf("the script after %x is out of order", scripts[i-1].end)
		}
	}
}

// TestCollections measures on real texts: paragraphs of an encyclopedia in four languages, and English pages of which
// many are full of code, names or formulas.
func TestCollections(t *testing.T) {
	folder := os.Getenv("QUARRY_DATA")
	if folder == "" {
		t.Skip("QUARRY_DATA is not set: no collections to measure on")
	}
	for _, c := range []struct {
		name    string
		allowed []string
		percent float64
	}{
		{"xquad-de", []string{"de"}, 98},
		{"xquad-es", []string{"es"}, 98},
		{"xquad-ru", []string{"ru"}, 98},
		{"xquad-tr", []string{"tr"}, 98},
		{"scifact", []string{"en", Undetermined}, 99},
		{"cacm", []string{"en", Undetermined}, 99},
		{"handbook-sourcegraph", []string{"en", Undetermined}, 99},
	} {
		counts, all := map[string]int{}, 0
		for _, text := range readCollection(t, filepath.Join(folder, "qrels", c.name, "corpus.jsonl")) {
			counts[Detect(text)]++
			all++
		}
		right := 0
		for _, code := range c.allowed {
			right += counts[code]
		}
		share := 100 * float64(right) / float64(all)
		t.Logf("%-20s %6.2f %% of %d texts: %v", c.name, share, all, counts)
		if !(share >= c.percent) {
			t.Errorf("%s: below %v %%", c.name, c.percent)
		}
	}
}

func readCollection(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var texts []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var document struct {
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, document.Title+"\n"+document.Text)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

func FuzzDetect(f *testing.F) {
	for _, s := range readSentences(f) {
		f.Add(s.text)
	}
	f.Add("a\xffb _c\u0308_ \u200c'-’ İI ß\U0010ffff")
	known := map[string]bool{Undetermined: true}
	for _, script := range scripts {
		known[script.name] = len(script.name) == 2
	}
	for _, language := range load().languages {
		known[language.code] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		code := Detect(text)
		if !known[code] {
			t.Errorf("%q is no code", code)
		}
		if again := Detect(text); again != code {
			t.Errorf("%s, then %s", code, again)
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	var english strings.Builder
	for _, s := range readSentences(b) {
		if s.code == "en" || s.code == "de" {
			english.WriteString(s.text + "\n")
		}
	}
	text := strings.Repeat(english.String(), 1+maxSample/english.Len())[:maxSample]
	b.SetBytes(maxSample)
	b.ReportAllocs()
	for b.Loop() {
		Detect(text)
	}
}

// BenchmarkLoad is what the first document of a process costs.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parse()
	}
}
