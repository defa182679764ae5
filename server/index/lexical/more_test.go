package lexical

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"

	"quarry/client/field"
	"quarry/internal/testkit/indextest"
	"quarry/server/index"
	"quarry/server/index/segment"
)

var all = index.Filter{Access: index.Access{All: true}}

func search(t testing.TB, s *Searcher, q index.Query) index.Result {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	q.Filter = all
	result, err := s.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestExactIdentifierComesFirst(t *testing.T) {
	var documents []index.Document
	for i := range 50 {
		documents = append(documents, index.Document{
			ID: fmt.Sprint("other", i), Title: "PROJ 123 project",
			Chunks: []index.Chunk{{Text: fmt.Sprintf("proj %d proj 123, project PROJ-%d and 123 123 123 proj proj", i, 1000+i)}},
		})
	}
	documents = append(documents, index.Document{ID: "it", Title: "Notes", Chunks: []index.Chunk{
		{Text: strings.Repeat("some words that have nothing to do with it ", 30) + "see PROJ-123."},
	}})
	s := newSearcher(t, []Part{{Segment: open(t, "ids", documents)}})
	for _, text := range []string{"PROJ-123", "proj-123", "what about PROJ-123?"} {
		result := search(t, s, index.Query{Text: text, Count: true})
		if len(result.Hits) == 0 || result.Hits[0].DocumentID != "it" {
			t.Errorf("%q: %v", text, result.Hits[:min(3, len(result.Hits))])
		}
		counts, err := result.Matched.Count(context.Background())
		if err != nil || counts.Documents != 1 {
			t.Errorf("%q: %d documents match (%v), want 1", text, counts.Documents, err)
		}
	}
	if result := search(t, s, index.Query{Text: "PROJ-777"}); len(result.Hits) == 0 {
		t.Error("an identifier that occurs nowhere is not looked for by its parts")
	}
}

// TestPageOfTheNameComesFirst: a query that is what a page is called, by its title, its file or its folder, finds it
// before pages that have its words more often.
func TestPageOfTheNameComesFirst(t *testing.T) {
	page := func(id, title string, words string) index.Document {
		path := strings.Split(id, "/")[1:3]
		return index.Document{ID: id, Title: title, Path: path, Chunks: []index.Chunk{{Text: words}}}
	}
	s := newSearcher(t, []Part{{Segment: open(t, "names", []index.Document{
		page("file:/people/time-off/index.md", "How we take vacation", "Vacation is unlimited, and so is time."),
		page("file:/people/time-off/requests.md", "Time off requests", strings.Repeat("Time off is requested. ", 5)),
		page("file:/people/time-off/time-off-in-2025.md", "Time off in 2025", strings.Repeat("Time off in 2025. ", 20)),
		page("file:/talent/process/interviews.md", "Interview process of engineers",
			strings.Repeat("The interview process. ", 20)),
		page("file:/talent/process/all.md", "The interview process", "What we do in interviews."),
		page("file:/talent/process/shifts.md", "On-call", "Being oncall means to be on call."),
		page("file:/talent/process/on-call-pay.md", "On-call pay", strings.Repeat("On call is paid. ", 20)),
		page("file:/東京/a/b.md", "東京都", "東京都"),
		page("file:/東京/a/c.md", "東京都庁", "東京都 東京都 東京都 東京都"),
		page("file:/tickets/new/c.md", "PROJ-12", "This."),
		page("file:/tickets/new/d.md", "PROJ-12 again", "PROJ-12 and PROJ-12"),
	})}})
	for query, want := range map[string]string{
		"time off": "file:/people/time-off/index.md", "our interview processes": "file:/talent/process/all.md",
		"time off in 2025": "file:/people/time-off/time-off-in-2025.md", "oncall": "file:/talent/process/shifts.md",
		"東京都": "file:/東京/a/b.md", "proj-12": "file:/tickets/new/c.md",
	} {
		if hits := search(t, s, index.Query{Text: query}).Hits; len(hits) == 0 || hits[0].DocumentID != want {
			t.Errorf("%q: %v, want %s first", query, hits, want)
		}
	}
}

func TestHighlights(t *testing.T) {
	text := "First of all, nothing. Then the deployment of PROJ-123 failed! 東京都に住む。 " +
		strings.Repeat("Something else happened there. ", 20) + "Deploying again."
	documents := []index.Document{{ID: "a", Title: "t", Chunks: []index.Chunk{{Text: text}}}}
	s := newSearcher(t, []Part{{Segment: open(t, "hl", documents)}})
	for _, test := range []struct {
		query  index.Query
		marked string
		best   string
	}{
		{index.Query{Text: "the deployment"}, "deployment|Deploying", "deployment"},
		{index.Query{Text: "PROJ-123"}, "PROJ-123", "PROJ-123 failed"},
		{index.Query{Text: "東京都"}, "東京都", "東京都"},
		{index.Query{Text: "some", Prefix: true}, strings.TrimSuffix(strings.Repeat("Something|", 20), "|"), "Something"},
		{index.Query{Text: "deploying again"}, "deployment|Deploying|again", "Deploying again."},
		{index.Query{Phrases: []string{"nothing then"}}, "nothing", "First of all, nothing."},
	} {
		h := search(t, s, test.query).Highlighter
		marks, best := h.Highlight(text, index.InLanguage(""), [2]int{0, len(text)})
		var words []string
		for _, m := range marks {
			words = append(words, text[m[0]:m[1]])
		}
		if got := strings.Join(words, "|"); got != test.marked {
			t.Errorf("%+v marks %q, want %q", test.query.Text, got, test.marked)
		}
		if got := text[best[0]:best[1]]; !strings.Contains(got, test.best) || len(got) > passageBytes ||
			got != strings.TrimSpace(got) {
			t.Errorf("%+v: best passage %q, want %q in it", test.query.Text, got, test.best)
		}
	}
	if marks, best := search(t, s, index.Query{Text: "x"}).Highlighter.Highlight("", index.InLanguage(""), [2]int{0, len("")}); marks != nil || best != [2]int{} {
		t.Errorf("an empty text has %v, %v", marks, best)
	}
}

// TestPhrasesAreWritten: a phrase, and a word that is excluded, is found as it is written, in no other form.
func TestPhrasesAreWritten(t *testing.T) {
	texts := []string{"A custom loaf.", "The customer's loaves.", "Customers and the customer.", "Custom customers, customized.",
		strings.Repeat("custom ", 150) + "end", "word " + strings.Repeat("again ", 150) + "word"}
	var documents []index.Document
	for i, text := range texts {
		documents = append(documents, index.Document{ID: strconv.Itoa(i), Chunks: []index.Chunk{{Text: text}}})
	}
	s := newSearcher(t, []Part{{Segment: open(t, "phrases", documents)}})
	for _, test := range []struct {
		query  index.Query
		want   string
		marked string // in the last text that is found
	}{
		{index.Query{Phrases: []string{"custom"}}, "0 3 4", ""},
		{index.Query{Phrases: []string{"customer"}}, "1 2", "customer"},
		{index.Query{Phrases: []string{"custom customers"}}, "3", "Custom customers"},
		{index.Query{Phrases: []string{"customer loaves"}}, "1", "customer's loaves"},
		{index.Query{Phrases: []string{"customer loaf"}}, "", ""},
		{index.Query{Phrases: []string{"customized"}}, "3", "customized"},
		{index.Query{Phrases: []string{"custom", "customers"}}, "3", "Custom|customers"},
		{index.Query{Text: "customs", Phrases: []string{"customers"}}, "2 3", "Custom|customers|customized"},
		{index.Query{Text: "loaves", Exclude: []string{"custom"}}, "1", "loaves"},
		{index.Query{Text: "loaf", Exclude: []string{"customer"}}, "0", "loaf"},
		{index.Query{Phrases: []string{strings.Repeat("custom ", 149) + "custom end"}}, "4", ""},
		{index.Query{Phrases: []string{strings.Repeat("custom ", 149) + "custom word"}}, "", ""},
	} {
		test.query.List = &index.List{Documents: 10}
		result := search(t, s, test.query)
		var found []string
		for _, hit := range result.Hits {
			found = append(found, hit.DocumentID)
		}
		slices.Sort(found)
		if got := strings.Join(slices.Compact(found), " "); got != test.want {
			t.Errorf("%.60v: found %q, want %q", test.query, got, test.want)
			continue
		}
		if test.marked == "" {
			continue
		}
		last, _ := strconv.Atoi(found[len(found)-1])
		marks, _ := result.Highlighter.Highlight(texts[last], index.InLanguage(""), [2]int{0, len(texts[last])})
		var words []string
		for _, m := range marks {
			words = append(words, texts[last][m[0]:m[1]])
		}
		if got := strings.Join(words, "|"); got != test.marked {
			t.Errorf("%v marks %q, want %q", test.query.Phrases, got, test.marked)
		}
	}
}

// TestBestPassages holds that a passage begins with a beginning, and does not end before what its end announces.
func TestBestPassages(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "best", []index.Document{{ID: "a", Chunks: []index.Chunk{{Text: "canary budget"}}}})}})
	h := search(t, s, index.Query{Text: "canary budget"}).Highlighter
	long, clauses := strings.Repeat("Nothing else. ", 30), strings.Repeat("and ", 99)
	for name, test := range map[string]struct{ text, want string }{
		"a list":        {long + "\nThe canary budget:\n\n- one\n- two\n\nMore.", "The canary budget:\n\n- one\n- two"},
		"code":          {"The canary budget:\n\n```sh\nset 1\n\nset 2\n```\nMore.\n" + long, "The canary budget:\n\n```sh\nset 1\n\nset 2\n```"},
		"rows":          {long + "\n| canary | budget |\n|---|---|\n| a | b |\n\n" + long, "| canary | budget |\n|---|---|\n| a | b |"},
		"a row":         {"| Canary. Budget... | " + clauses + " |\n\n" + long, "| Canary. Budget... | " + clauses + " |"},
		"a heading":     {long + "\n## Canary budget\n\nIt is small.\n\n" + long, "## Canary budget\n\nIt is small."},
		"a question":    {"### Q. Canary budget?\n\nIt is small.\n\n" + long, "### Q. Canary budget?\n\nIt is small."},
		"two of them":   {"## Canary budget\n\nSmall. For these:\n- " + clauses, "## Canary budget\n\nSmall."},
		"a long list":   {"Canary budget:\n" + strings.Repeat("- "+strings.Repeat("x", 98)+"\n", 9), "Canary budget:" + strings.Repeat("\n- "+strings.Repeat("x", 98), 2)},
		"nothing below": {"Nothing.\n" + long + "\nThe canary budget:", "The canary budget:"},
		"wrapped lines": {long + "\nWe spend some of the\ncanary budget, and\nthen stop. " + long, "We spend some of the\ncanary budget, and\nthen stop."},
		"more words":    {"A budget is a plan. The canary has a budget. " + long, "The canary has a budget."},
		"as many words": {"The canary budget is small. Spend the canary budget. " + long, "The canary budget is small. Spend"},
		"an item":       {long + "\n1. Ask.\n2.  The canary has a budget.\n3. " + long, "2.  The canary has a budget."},
		"a sentence":    {"The canary " + clauses + "has a budget. " + long, "The canary " + clauses + "has a budget."},
		"an address":    {long + "\n- See [Money](../../canary/budget.md), our budget.", "- See [Money](../../canary/budget.md), our budget."},
	} {
		_, best := h.Highlight(test.text, index.InLanguage(""), [2]int{0, len(test.text)})
		got := test.text[best[0]:best[1]]
		if !strings.HasPrefix(got, test.want) || strings.HasSuffix(got, "\n3.") || strings.HasSuffix(got, "these:") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	const text, list = "The canary budget:", "\n\n- one\n- two"
	_, best := h.Highlight(text+list, index.InLanguage(""), [2]int{0, len(text)})
	if best != [2]int{0, len(text + list)} {
		t.Errorf("a list in the next chunk: %q", (text + list)[best[0]:best[1]])
	}
}

// TestBestPassageOfAPhrase: it is where all of the phrase stands, not where its words do.
func TestBestPassageOfAPhrase(t *testing.T) {
	const text = "A customer, a customer and success: success for the customer. Meet the customer success team."
	s := newSearcher(t, []Part{{Segment: open(t, "best", []index.Document{{ID: "a", Chunks: []index.Chunk{{Text: text}}}})}})
	h := search(t, s, index.Query{Phrases: []string{"customer success"}}).Highlighter
	long := strings.Repeat("Nothing else. ", 30)
	for _, between := range []string{"", long} {
		text := strings.Replace(text, " Meet", " "+between+"Meet", 1)
		if _, best := h.Highlight(text, index.InLanguage(""), [2]int{0, len(text)}); !strings.Contains(text[best[0]:best[1]], "customer success team") {
			t.Errorf("%q", text[best[0]:best[1]])
		}
	}
}

func FuzzHighlight(f *testing.F) {
	documents := []index.Document{{ID: "a", Chunks: []index.Chunk{{Text: "deploy the PROJ-123 日本語 service"}}}}
	s := newSearcher(f, []Part{{Segment: open(f, "fuzz", documents)}})
	f.Add("deploy", "deploy the service")
	f.Add("日本 PROJ-1", "日本語 PROJ-123 "+strings.Repeat("é", 700))
	f.Add("\xff", "\xff\xfe a\u2028b")
	f.Fuzz(func(t *testing.T, query, text string) {
		h := search(t, s, index.Query{Text: query, Phrases: []string{query}, Exclude: []string{text}, Prefix: true}).Highlighter
		marks, best := h.Highlight(text, index.InLanguage(""), [2]int{0, len(text)})
		end := 0
		for _, m := range append(marks, [2]int{len(text), len(text)}) {
			if m[0] < end || m[1] < m[0] || m[1] > len(text) {
				t.Fatalf("marks %v of %d bytes", marks, len(text))
			}
			end = m[1]
		}
		if best[0] > best[1] || best[1] > len(text) || best[1]-best[0] > 3*passageBytes+utf8.UTFMax {
			t.Fatalf("best passage %v of %d bytes", best, len(text))
		}
		end = 0
		for _, piece := range pieces(text) {
			if piece[0] != end {
				t.Fatalf("%q: the pieces leave a gap at %d", text, end)
			}
			end = piece[1]
		}
		if end != len(text) {
			t.Fatalf("%q: the pieces end at %d", text, end)
		}
		if _, err := s.Suggest(context.Background(), query, all.Access, 5); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCorrectionsKeepSecrets holds that a word which only others may see is neither offered nor taken for known.
func TestCorrectionsKeepSecrets(t *testing.T) {
	documents := []index.Document{
		{ID: "secret", Access: []string{"group:board"}, Chunks: []index.Chunk{{Text: "acquisition merger"}}},
		{ID: "open", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: "merges"}}},
	}
	s := newSearcher(t, []Part{{Segment: open(t, "secrets", documents)}})
	ask := func(text string, terms ...string) index.Result {
		q := index.Query{Text: text, Limit: 5, Filter: index.Filter{Access: index.Access{Terms: terms}}}
		result, err := s.Search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if r := ask("aquisition", "PUBLIC"); len(r.Corrections)+len(r.Hits) != 0 {
		t.Errorf("a secret word is offered: %+v", r)
	}
	if r := ask("aquisition", "group:board"); len(r.Corrections) != 1 || len(r.Hits) != 1 {
		t.Errorf("its readers are not corrected: %+v", r)
	}
	if r := ask("merger", "PUBLIC"); len(r.Corrections) != 1 || r.Corrections[0].To != "merges" {
		t.Errorf("a word that only others see counts as known: %+v", r)
	}
}

// TestIdentifiersKeepSecrets holds that an identifier in documents that only others may see changes nothing of what is
// found and counted.
func TestIdentifiersKeepSecrets(t *testing.T) {
	ask := func(secret, terms string) (string, int) {
		s := newSearcher(t, []Part{{Segment: open(t, "secrets", []index.Document{
			{ID: "secret", Access: []string{"group:board"}, Chunks: []index.Chunk{{Text: secret}}},
			{ID: "open", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: "the project had 777 guests"}}},
		})}})
		q := index.Query{Text: "PROJECT-777", Limit: 5, Count: true, Filter: index.Filter{Access: index.Access{Terms: []string{terms}}}}
		result, err := s.Search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := result.Matched.Count(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(result.Highlighter.Highlight("PROJECT-777 had 777 guests", index.InLanguage(""), [2]int{0, len("PROJECT-777 had 777 guests")})), counts.Documents
	}
	marks, matches := ask("nothing", "PUBLIC")
	secretMarks, secretMatches := ask("PROJECT-777 is ours", "PUBLIC")
	if marks != secretMarks || matches != secretMatches || matches != 1 {
		t.Errorf("without the secret %d match, %s; with it %d, %s", matches, marks, secretMatches, secretMarks)
	}
	if _, matches := ask("PROJECT-777 is ours", "group:board"); matches != 1 {
		t.Errorf("%d match for who may see it", matches)
	}
}

// TestCorrections corrects unknown words wherever the rest of the query matches, and never to a stop word.
func TestCorrections(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "words", []index.Document{
		{ID: "a", Chunks: []index.Chunk{{Text: "Expenses for a laptop are paid from the budget. Action and leave: thirty days."}}},
		{ID: "b", Chunks: []index.Chunk{{Text: "The laptops come from the office; the broker is offline."}}},
		{ID: "c", Chunks: []index.Chunk{{Text: "One brokers meeting, one broken gateway."}}},
	})}})
	for text, want := range map[string]string{
		"expnse laptpo":          "[{expnse expenses} {laptpo laptop}]",
		"frob the budget":        "[]",
		"how many vacation days": "[]", // action is two typos away, and begins with another letter
		"laptop buget":           "[{buget budget}]",
		"brokem":                 "[{brokem broken}]", // first by the alphabet
		"offlien braker":         "[{offlien offline} {braker broker}]",
		"xffice":                 "[{xffice office}]",
	} {
		if got := fmt.Sprint(search(t, s, index.Query{Text: text}).Corrections); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"buget zebra meeting": "[buget zebra]", "buget theoffice meeting": "[buget theoffice]",
		"meeting budget": "[budget]"} {
		lacks := []string{}
		for _, hit := range search(t, s, index.Query{Text: text}).Hits {
			if hit.DocumentID == "c" {
				lacks = hit.Missing
			}
		}
		if fmt.Sprint(lacks) != want {
			t.Errorf("%q: c lacks %v, want %s", text, lacks, want)
		}
	}
	phrase := search(t, s, index.Query{Text: "laptop", Phrases: []string{"buget"}})
	if len(phrase.Corrections)+len(phrase.Hits) > 0 {
		t.Errorf("a phrase is corrected: %+v", phrase)
	}
}

// TestCorrectionsDependOnNoFilter: a word is corrected also where the filter leaves none of the documents with the
// other word, so that the facets promise what choosing another value gives; but not by a document outside the scope.
func TestCorrectionsDependOnNoFilter(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "words", []index.Document{
		{ID: "a", Source: "slack", Access: []string{"PUBLIC"}, Sets: []string{"Fleet"}, Chunks: []index.Chunk{{Text: "a zeppelin"}}},
		{ID: "b", Source: "web", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: "a walrus"}}},
	})}})
	everyone := index.Access{Terms: []string{"PUBLIC"}}
	q := index.Query{Text: "zepelin", Limit: 5, Count: true, Filter: index.Filter{Access: everyone}}
	q.Filter.Any[field.Source] = []string{"web"}
	for name, want := range map[string]string{"whole": "[{zepelin zeppelin}] 0 [{slack 1}]", "another set": "[] 0 []"} {
		if q.Scope = nil; name != "whole" {
			q.Scope = &index.Filter{Access: everyone}
			q.Scope.Any[field.Set] = []string{"Animals"}
		}
		found, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := found.Matched.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(found.Corrections, counts.Documents, counts.Values[field.Source]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestMissingWords names the words that no document contains which the caller may see, unless they are corrected, part of a
// phrase that is spelt otherwise, or stop words.
func TestMissingWords(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "words", []index.Document{
		{ID: "open", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: "How many days of leave? ISO 27001 asks for wifi, PROJ-25."}}},
		{ID: "secret", Access: []string{"group:board"}, Chunks: []index.Chunk{{Text: "a vacation in the zebrazquagga25"}}},
	})}})
	for text, want := range map[string]string{
		"how many vacation days": "[vacation]", "Vacation, vacations vacation": "[vacation vacations]", "many days": "[]", "leavee": "[]",
		"zebrazquagga25": "[zebrazquagga25]", "iso27001": "[]", "wi fi": "[]", "wi-fi": "[]", "PROJ-25": "[]", "PROJ-26": "[proj-26]",
		"休暇": "[]", "whose days is it": "[]", "": "[]",
	} {
		for terms, want := range map[string]string{"PUBLIC": want, "group:board": ""} {
			q := index.Query{Text: text, Limit: 5, Filter: index.Filter{Access: index.Access{Terms: []string{"PUBLIC", terms}}}}
			found, err := s.Search(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(found.Missing); want != "" && got != want ||
				terms == "group:board" && (slices.Contains(found.Missing, "vacation") || slices.Contains(found.Missing, "zebrazquagga25")) {
				t.Errorf("%q with %s: %s, want %s", text, terms, got, want)
			}
		}
	}
	parts := search(t, s, index.Query{Text: "yakzquagga25 PROJ-26 iso27001"})
	if got := fmt.Sprint(parts.Instead); got != "[{yakzquagga25 25} {proj-26 proj}]" {
		t.Errorf("instead of the missing words: %s", got)
	}
	phrase := search(t, s, index.Query{Text: "days", Phrases: []string{"vacashun days"}, Filter: index.Filter{Access: index.Access{All: true}}})
	if fmt.Sprint(phrase.Missing) != "[vacashun]" {
		t.Errorf("of a phrase: %v", phrase.Missing)
	}
}

// TestSpellings finds words however they are joined, split, voiced or prolonged, and marks them.
func TestSpellings(t *testing.T) {
	for text, queries := range map[string][]string{
		"the on-call rota":     {"oncall", "on call", "on-call", "OnCall"},
		"the oncall rota":      {"on-call", "on call"},
		"the on call rota":     {"oncall", "on-call"},
		"send e-mails":         {"email", "e-mail"},
		"send emails":          {"e-mail"},
		"wi-fi for guests":     {"wifi", "wi fi"},
		"under ISO 27001":      {"ISO27001", "ISO-27001"},
		"under ISO27001":       {"ISO 27001"},
		"設定はｻｰﾊﾞｰで":            {"サーバー", "サーバ", "ｻｰﾊﾞ"},
		"明日の打ち合わせ":             {"打合", "打ち合わせ"},
		"明日の打合せ":               {"打ち合わせ"},
		"ask IT, or it":        {"IT"},
		"closed in May":        {"May holidays", "may 2024"},
		"the US office for us": {"US offices"},
	} {
		s := newSearcher(t, []Part{{Segment: open(t, "spellings", []index.Document{
			{ID: "a", Chunks: []index.Chunk{{Text: text}}}, {ID: "b", Chunks: []index.Chunk{{Text: "unrelated words"}}},
		})}})
		for _, query := range queries {
			result := search(t, s, index.Query{Text: query})
			if len(result.Hits) != 1 || result.Hits[0].DocumentID != "a" {
				t.Errorf("%q does not find %q: %+v", query, text, result)
				continue
			}
			if marks, _ := result.Highlighter.Highlight(text, index.InLanguage(""), [2]int{0, len(text)}); len(marks) == 0 {
				t.Errorf("%q marks nothing in %q", query, text)
			}
		}
	}
}

// TestNames finds the country, not the pronoun.
func TestNames(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "names", []index.Document{
		{ID: "pronoun", Chunks: []index.Chunk{{Text: "Holidays: tell us. Let us know, it helps us."}}},
		{ID: "country", Chunks: []index.Chunk{{Text: "Holidays of each country: the Netherlands has eight days, the US has eleven."}}},
	})}})
	if hits := search(t, s, index.Query{Text: "US holidays"}).Hits; len(hits) != 2 || hits[0].DocumentID != "country" {
		t.Errorf("%+v", hits)
	}
	if marks, _ := search(t, s, index.Query{Text: "US holidays"}).Highlighter.Highlight("tell us of the US", index.InLanguage(""), [2]int{0, len("tell us of the US")}); len(marks) != 1 {
		t.Errorf("marked: %v", marks)
	}
}

// TestCorrectionsAreBounded: a query of many words that nobody wrote is not compared with the vocabulary word by word.
func TestCorrectionsAreBounded(t *testing.T) {
	s := newSearcher(t, []Part{{Segment: open(t, "words", []index.Document{
		{ID: "a", Chunks: []index.Chunk{{Text: "deployment"}}},
	})}})
	unknown := strings.Fields(strings.Repeat("zqxwvu ", maxCorrected))
	for i := range unknown {
		unknown[i] += strings.Repeat("k", i)
	}
	for text, want := range map[string]int{
		strings.Join(append(unknown[1:], "deploymant"), " "): 1, strings.Join(append(unknown, "deploymant"), " "): 0,
	} {
		if result := search(t, s, index.Query{Text: text}); len(result.Corrections) != want {
			t.Errorf("%d words: corrections %v, want %d", len(strings.Fields(text)), result.Corrections, want)
		}
	}
}

func TestDamageIsAnError(t *testing.T) {
	w := indextest.NewWorld(1)
	var documents []index.Document
	for i := range 2500 {
		documents = append(documents, w.Document(i))
	}
	b := segment.NewBuilder()
	for _, d := range documents {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	good, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 20; at < len(good); at += 19_999 {
		data := bytes.Clone(good)
		data[at] ^= 0x55
		r, err := segment.Open("hurt", data)
		if err != nil {
			continue
		}
		s := newSearcher(t, []Part{{Segment: r}})
		for range 5 {
			_, errSearch := s.Search(context.Background(), w.Query())
			_, errFacets := s.Facets(context.Background(), w.Filter())
			for _, err := range []error{errSearch, errFacets} {
				if name := segment.NameOf(err); err != nil && (!errors.Is(err, segment.ErrDamaged) || name != "hurt") {
					t.Fatalf("byte %d: %v", at, err)
				} else if err != nil {
					found++
				}
			}
		}
	}
	if found == 0 {
		t.Error("no damage was found")
	}
}

func TestSearchesAtTheSameTime(t *testing.T) {
	w := indextest.NewWorld(2)
	var documents []index.Document
	for i := range 200 {
		documents = append(documents, w.Document(i))
	}
	s := newSearcher(t, []Part{{Segment: open(t, "a", documents[:100])}, {Segment: open(t, "b", documents[100:])}})
	var queries []index.Query
	var want []string
	for range 40 {
		q := w.Query()
		queries = append(queries, q)
		result, err := s.Search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(result.Hits))
	}
	t.Run("group", func(t *testing.T) {
		for n := range 4 {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for i, q := range queries {
					result, err := s.Search(context.Background(), q)
					if err != nil || fmt.Sprint(result.Hits) != want[i] {
						t.Errorf("query %d: %v, %v, want %s", i, result.Hits, err, want[i])
						return
					}
					if _, err := result.Matched.Count(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
}

func TestLongQueriesAreBounded(t *testing.T) {
	documents := []index.Document{{ID: "a", Chunks: []index.Chunk{{Text: "deploy w7 w8"}}}}
	s := newSearcher(t, []Part{{Segment: open(t, "long", documents)}})
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	if result := search(t, s, index.Query{Text: text.String(), Count: true, Prefix: true}); len(result.Hits) != 1 {
		t.Errorf("%d hits, want 1", len(result.Hits))
	}
}

// TestListsToTheEnd: the last page of a long list has what is left, in each order.
func TestListsToTheEnd(t *testing.T) {
	documents := make([]index.Document, 10_230)
	for i := range documents {
		documents[i] = index.Document{ID: strconv.Itoa(i), Chunks: []index.Chunk{{Text: "quokka"}}}
	}
	s := newSearcher(t, []Part{{Segment: open(t, "many", documents)}})
	for _, order := range []index.Order{index.ByScore, index.Newest, index.Oldest} {
		seen := map[string]bool{}
		for _, offset := range []int{0, 150, 10_100, 10_200} {
			q := index.Query{Text: "quokka", List: &index.List{Offset: offset, Documents: 100, Order: order}}
			for _, hit := range search(t, s, q).Hits {
				seen[hit.DocumentID] = true
			}
		}
		if len(seen) != 100+100+100+30 {
			t.Errorf("order %d: %d documents", order, len(seen))
		}
	}
}

// TestLongDocumentDoesNotFillTheList: however many chunks of a document match best, others are found beside it.
func TestLongDocumentDoesNotFillTheList(t *testing.T) {
	long := index.Document{ID: "long"}
	for range 3 * candidates {
		long.Chunks = append(long.Chunks, index.Chunk{Text: "zebra zebra zebra"})
	}
	documents := []index.Document{long}
	for i := range 9 {
		documents = append(documents, index.Document{ID: fmt.Sprint("short", i), Chunks: []index.Chunk{
			{Text: fmt.Sprint("one zebra among other animals, number ", i)},
		}})
	}
	s := newSearcher(t, []Part{{Segment: open(t, "long", documents)}})
	result := search(t, s, index.Query{Text: "zebra", Limit: 12, PerDocument: 3})
	found := map[string]int{}
	for _, hit := range result.Hits {
		found[hit.DocumentID]++
	}
	if len(found) != 10 || found["long"] != 3 {
		t.Errorf("found %v, want 3 passages of the long document and one of each other", found)
	}
	if all := search(t, s, index.Query{Text: "zebra", Limit: 12}); all.Hits[11].DocumentID != "long" {
		t.Errorf("without a bound the best passages come first, whosever they are: %v", all.Hits)
	}
}

// TestUnseenIsLikeAbsent: a word that only documents out of sight hold changes neither what is found, nor how much of it,
// nor the scores; and however many words are out of sight, they take no place among those that a prefix stands for.
func TestUnseenIsLikeAbsent(t *testing.T) {
	var documents []index.Document
	add := func(access, text string) {
		documents = append(documents, index.Document{ID: fmt.Sprint("d", len(documents)), Title: "Title " + text, Access: []string{access},
			Chunks: []index.Chunk{{Text: text}}})
	}
	for i := range 3 * maxExpansions {
		add("secret", fmt.Sprintf("prefix%c%c hidden", 'a'+i/26, 'a'+i%26))
		add("secret", fmt.Sprintf("prefix%c%c hidden", 'a'+i/26, 'a'+i%26))
	}
	add("PUBLIC", "prefixzz apple banana")
	add("PUBLIC", "apple cherry")
	s := newSearcher(t, []Part{{Segment: open(t, "unseen", documents)}})
	public := index.Access{Terms: []string{"PUBLIC"}}
	ask := func(text string, prefix bool) string {
		result, err := s.Search(context.Background(), index.Query{Text: text, Prefix: prefix, Limit: 10, Count: true, Explain: true,
			Filter: index.Filter{Access: public}})
		if err != nil {
			t.Fatal(err)
		}
		counts, err := result.Matched.Count(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range result.Hits {
			result.Hits[i].Missing = nil // which names what was asked for
		}
		return fmt.Sprintln(counts.Documents, result.Hits)
	}
	for _, form := range []string{"%s", "apple %s", "apple %s banana", "apple %[1]s cherry 7-%[1]s"} {
		for _, prefix := range []bool{false, true} {
			if unseen, absent := ask(fmt.Sprintf(form, "hidden"), prefix), ask(fmt.Sprintf(form, "nowhere"), prefix); unseen != absent {
				t.Errorf("%q: an unseen word\n%s an absent one\n%s", form, unseen, absent)
			}
		}
	}
	if found := ask("prefix", true); !strings.HasPrefix(found, "1 ") {
		t.Errorf("behind a prefix: %s", found)
	}
	suggested, err := s.Suggest(context.Background(), "prefix", public, 10)
	if err != nil || len(suggested.Titles) != 1 || len(suggested.Words) != 1 {
		t.Errorf("suggested %v (%v)", suggested, err)
	}
}

// TestTwins: documents in any part whose passages all have the same fingerprints are in one group, if they match and are
// live.
func TestTwins(t *testing.T) {
	document := func(id string, texts ...string) index.Document {
		d := index.Document{ID: id, Title: "Note " + id}
		for _, text := range texts {
			d.Chunks = append(d.Chunks, index.Chunk{Text: text})
		}
		return d
	}
	first, second := "the canary budget of this quarter is spent, and nobody knows why", "so we stop"
	one := open(t, "one", []index.Document{document("a", first, second), document("b", first), document("e"), document("g", second, "canary")})
	two := open(t, "two", []index.Document{document("c", first, second), document("d", first, "and another page that is long enough is about pay in every office"),
		document("f", first), document("h", first), document("i", second, "canary")})
	gone, _ := two.Lookup("h")
	s := newSearcher(t, []Part{{Segment: one}, {Segment: two, Deleted: roaring.BitmapOf(uint32(gone))}})
	for _, test := range []struct {
		filter index.Filter
		want   string
	}{
		{all, "[[a c] [b f]]"},
		{index.Filter{Access: all.Access, NoDocuments: []string{"f"}}, "[[a c]]"},
	} {
		for range 2 { // found, and remembered
			found, err := s.Search(t.Context(), index.Query{Text: "canary", Filter: test.filter, Limit: 10, Count: true})
			if err != nil {
				t.Fatal(err)
			}
			groups, err := found.Matched.Twins(t.Context())
			if err != nil || fmt.Sprint(groups) != test.want {
				t.Errorf("%v, %v, want %s", groups, err, test.want)
			}
		}
	}
}
