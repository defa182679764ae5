package client

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quarry/client/field"
	"quarry/client/wire"
)

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func TestParseQueryWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, text, words  string
		phrases, exclude []string
	}{
		{in: ""},
		{in: "  \t "},
		{in: "roll back a deploy", text: "roll back a deploy", words: "roll back a deploy"},
		{in: "  roll \t back\n", text: "roll back", words: "roll back"},
		{in: `"error budget" spent`, text: `"error budget" spent`, words: "spent", phrases: []string{"error budget"}},
		{in: `“error  budget”`, text: `“error  budget”`, phrases: []string{"error budget"}},
		{in: `„eins“ «deux»`, text: `„eins“ «deux»`, phrases: []string{"eins", "deux"}},
		{in: `"error budget"?`, text: `"error budget"?`, phrases: []string{"error budget"}},
		{in: `"error budget"s`, text: `"error budget"s`, words: "s", phrases: []string{"error budget"}},
		{in: `"error budget`, text: `"error budget`, words: `"error budget`},
		{in: `""`, text: `""`},
		{in: `rock -roll`, text: `rock -roll`, words: "rock", exclude: []string{"roll"}},
		{in: `rock -"hard place"`, text: `rock -"hard place"`, words: "rock", exclude: []string{"hard place"}},
		{in: `rock -"hard place`, text: `rock -"hard place`, words: `rock -"hard place`},
		{in: `a - b -- c --d`, text: `a - b -- c --d`, words: "a b c --d"},
		{in: `well-known`, text: `well-known`, words: "well-known"},
		{in: `5" disk`, text: `5" disk`, words: `5" disk`},
		{in: "日本語 検索", text: "日本語 検索", words: "日本語 検索"},
		{in: "C++ \xff", text: "C++ \xff", words: "C++ \xff"},
		{in: "http://x:80/a foo:bar", text: "http://x:80/a foo:bar", words: "http://x:80/a foo:bar"},
		{in: "--source:slack -", text: "--source:slack -", words: "--source:slack"},
	}
	for _, test := range tests {
		q := ParseQuery(test.in, noon)
		if q.Text != test.text || q.Words != test.words || !reflect.DeepEqual(q.Phrases, test.phrases) ||
			!reflect.DeepEqual(q.Exclude, test.exclude) || len(q.Chips) > 0 {
			t.Errorf("%q: text %q, words %q, phrases %q, exclude %q, chips %v", test.in, q.Text, q.Words, q.Phrases,
				q.Exclude, q.Chips)
		}
	}
}

func TestParseQueryFilters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		text string
		want Query
	}{
		{"source:slack,github x", "x", Query{Filters: wire.Filters{Sources: []string{"slack", "github"}}}},
		{"x Source:Slack", "x", Query{Filters: wire.Filters{Sources: []string{"slack"}}}},
		{`source:"Google Drive",nope`, "", Query{Filters: wire.Filters{Sources: []string{"google_drive", "nope"}}}},
		{"source:slack, x", "x", Query{Filters: wire.Filters{Sources: []string{"slack"}}}},
		{"a since:2026-01-02 b", "a b", Query{Since: day(2026, 1, 2)}},
		{"since:2026-01-02T10:30:00+02:00", "", Query{Since: time.Date(2026, 1, 2, 8, 30, 0, 0, time.UTC)}},
		{"until:2026-01-02", "", Query{Until: time.Date(2026, 1, 2, 23, 59, 59, 999_999_000, time.UTC)}},
		{"since:2026-09", "", Query{Since: day(2026, 9, 1)}},
		{"until:2024-02", "", Query{Until: time.Date(2024, 2, 29, 23, 59, 59, 999_999_000, time.UTC)}},
		{"x since:2026 until:2026", "x", Query{Since: day(2026, 1, 1), Until: time.Date(2026, 12, 31, 23, 59, 59, 999_999_000, time.UTC)}},
		{"until:2026-01-02T10:30", "", Query{Until: time.Date(2026, 1, 2, 10, 30, 0, 0, time.UTC)}},
		{"within:30d", "", Query{Since: noon.AddDate(0, 0, -30)}},
		{"within:2w", "", Query{Since: noon.AddDate(0, 0, -14)}},
		{"within:3M", "", Query{Since: noon.AddDate(0, -3, 0)}},
		{"within:1y", "", Query{Since: noon.AddDate(-1, 0, 0)}},
		{"within:1y since:2026-01-02", "", Query{Since: day(2026, 1, 2)}},
		{"since:2026-01-02 within:1y", "", Query{Since: day(2026, 1, 2)}},
		{`agent:"Eng Team"`, "", Query{Agent: "Eng Team"}},
		{"agent:Eng agent:7", "", Query{Agent: "7"}},
		{`set:handbook,"Legal texts"`, "", Query{Filters: wire.Filters{DocumentSets: []string{"handbook", "Legal texts"}}}},
		{`tag:team=infra tag:a="b c",d=e=f`, "", Query{Filters: wire.Filters{Tags: []wire.Tag{{Key: "team", Value: "infra"},
			{Key: "a", Value: "b c"}, {Key: "d", Value: "e=f"}}}}},
		{`tag:"team=site reliability"`, "", Query{Filters: wire.Filters{Tags: []wire.Tag{{Key: "team", Value: "site reliability"}}}}},
		{"author:jo@acme.example type:.PDF,md", "", Query{Filters: wire.Filters{Authors: []string{"jo@acme.example"},
			DocumentTypes: []string{"pdf", "md"}}}},
		{`author:“Kim Lee” x`, "x", Query{Filters: wire.Filters{Authors: []string{"Kim Lee"}}}},
	}
	for _, test := range tests {
		got := ParseQuery(test.in, noon)
		if got.Text != test.text || len(got.Chips) == 0 {
			t.Errorf("%q: text %q, chips %v", test.in, got.Text, got.Chips)
		}
		got.Text, got.Words, got.Chips, got.input, got.WordEnded = "", "", nil, "", false
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %+v, want %+v", test.in, got, test.want)
		}
	}
}

func TestParseQueryHalfTyped(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"source:", "source", "source:,", `source:"goo`, "since:20", "since:202609", "since:2026-", "since:2026-1", "since:2026-13", "since:2026-02-30",
		"since:0000-01-01", "since:0000", "since:2026-01-01,2026-02-01", "until:", "until:tomorrow", "within:", "within:30",
		"within:d", "within:0d", "within:-3d", "within:30h", "within:99999d", "within:4000000000y", "within:101y",
		"tag:team", "tag:team=", "tag:=infra", "tag:a=b,c", `agent:""`, "agent:a,b", "type:.", "unknown:x",
		"sources:slack", ":x", "sourcе:slack", "-source:", `-set:"a`, "-tag:team", "-since:2026-01-02", "-within:30d",
		"-agent:Eng", "--type:md",
	} {
		q := ParseQuery(in, noon)
		if len(q.Chips) != 0 || q.Text != in || q.Words != in {
			t.Errorf("%q: text %q, words %q, chips %v", in, q.Text, q.Words, q.Chips)
		}
	}
}

// Every filter that can exclude is a chip that Without removes, and nothing else becomes one.
func TestNegatedFilters(t *testing.T) {
	t.Parallel()
	for _, name := range NegatableFilters() {
		raw := "-" + name + ":k=v"
		q := ParseQuery("laptop "+raw, noon)
		want := []Chip{{Field: name, Negated: true, Value: "k=v", Raw: raw, Start: 7, End: 7 + len(raw)}}
		if !reflect.DeepEqual(q.Chips, want) || q.Text != "laptop" || q.Without(0) != "laptop" || field.IsEmpty(q.Excluded) ||
			!field.IsEmpty(q.Filters) || len(q.Exclude) > 0 {
			t.Errorf("%s: %+v", raw, q)
		}
	}
	q := ParseQuery("laptop -since:2026-01-01", noon)
	if !reflect.DeepEqual(q.Unread, []string{"-since:2026-01-01"}) {
		t.Errorf("%+v", q)
	}
}

func TestChips(t *testing.T) {
	t.Parallel()
	const in = `source:slack  roll "back now"  since:2026-01-02 tag:a="b c"`
	q := ParseQuery(in, noon)
	want := []Chip{
		{Field: "source", Value: "slack", Raw: "source:slack", Start: 0, End: 12},
		{Field: "since", Value: "2026-01-02", Raw: "since:2026-01-02", Start: 31, End: 47},
		{Field: "tag", Value: "a=b c", Raw: `tag:a="b c"`, Start: 48, End: 59},
	}
	if !reflect.DeepEqual(q.Chips, want) {
		t.Fatalf("chips %+v", q.Chips)
	}
	for chip, want := range map[int]string{
		0:  `roll "back now"  since:2026-01-02 tag:a="b c"`,
		1:  `source:slack  roll "back now" tag:a="b c"`,
		2:  `source:slack  roll "back now"  since:2026-01-02`,
		3:  in,
		-1: in,
	} {
		if got := q.Without(chip); got != want {
			t.Errorf("without %d: %q, want %q", chip, got, want)
		}
	}
}

func TestQueryRequest(t *testing.T) {
	t.Parallel()
	q := ParseQuery(`"error budget" spent -draft source:slack since:2026-01-02 until:2026-03-04 set:a tag:k=v `+
		`author:jo type:md agent:Eng -source:web,Jira -author:"Kim Lee" -set:old -type:.PDF -tag:s=draft`, noon)
	got, err := json.Marshal(q.Request())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"query":"\"error budget\" spent -draft","sources":["slack"],"document_sets":["a"],` +
		`"tags":[{"tag_key":"k","tag_value":"v"}],"authors":["jo"],"document_types":["md"],` +
		`"time_cutoff":"2026-01-02T00:00:00Z","time_until":"2026-03-04T23:59:59.999999Z","exclude":["draft"],` +
		`"phrases":["error budget"],"exclude_filters":{"sources":["web","jira"],"document_sets":["old"],` +
		`"tags":[{"tag_key":"s","tag_value":"draft"}],"authors":["Kim Lee"],"document_types":["pdf"]}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestInstantRequest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"roll ba": "roll ba", "roll ba ": "roll ba ", "roll ba source:slack": "roll ba ", "": "", " ": "",
		"source:slack ": "", "source:slack roll": "roll",
	} {
		request := ParseQuery(in, noon).InstantRequest()
		if request.Query != want || !request.Instant {
			t.Errorf("%q asks for %q", in, request.Query)
		}
	}
}

func TestHasWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"": false, "source:slack": false, "-x": false, "a": true, `"a b"`: true, "?": false, `""`: false, "🚀": true,
	} {
		if got := ParseQuery(in, noon).HasWords(); got != want {
			t.Errorf("%q has words: %v", in, got)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		`roll "back now" -x source:slack,github since:2026-01-01 until:2026-02-02 within:30d agent:"Eng" set:handbook`,
		`tag:team=infra author:“Kim” type:pdf`, `author:"bob type:"pdf" "x`, `"abc author:"bob"`, `-"a -type:x`,
		"\xff\"\xfe:", `set:a"b"c,"d" ""x`, "tag:a=b\u3000source:x", `""author:a`, `"`, `type:a""`,
		`laptop -source:slack,"Google Drive" -author: -tag:a=b -since:2026-01-01`, `-set:"a -type:md`, "--type:a -\xff:",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := ParseQuery(text, noon)
		last := 0
		for _, chip := range q.Chips {
			if chip.Start < last || chip.End <= chip.Start || chip.End > len(text) ||
				text[chip.Start:chip.End] != chip.Raw || chip.Value == "" {
				t.Fatalf("chips %+v of %q", q.Chips, text)
			}
			last = chip.End
		}
		if again := ParseQuery(q.Text, noon); again.Text != q.Text || len(again.Chips) > 0 || again.Words != q.Words {
			t.Fatalf("%q gives %q, which gives %q", text, q.Text, again.Text)
		}
		left := text
		for range len(q.Chips) {
			left = ParseQuery(left, noon).Without(0)
		}
		if rest := ParseQuery(left, noon); len(rest.Chips) > 0 || rest.Text != q.Text {
			t.Fatalf("%q without chips is %q", text, left)
		}
		if utf8.ValidString(text) && !utf8.ValidString(q.Text+q.Words+strings.Join(q.Phrases, "")) {
			t.Fatalf("%q is cut within a character", text)
		}
	})
}

func TestWithoutFilters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"plain  words":                    "plain  words",
		"source:slack deploy":             "deploy",
		"deploy source:slack":             "deploy",
		"a  source:slack b since:":        "a b since:",
		"one\n  two source:slack\nthree":  "one\n  two\nthree",
		`"a phrase" -not tag:a=b agent:x`: `"a phrase" -not`,
	} {
		if got := ParseQuery(text, time.Now()).WithoutFilters(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if filters := ParseQuery("plain words", time.Now()).ChatFilters(); filters != nil {
		t.Errorf("%+v", filters)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Token{
		"":                  nil,
		"roll  back":        {{End: 4}, {Start: 6, End: 10}},
		`"roll back"s x`:    {{End: 12}, {Start: 13, End: 14}},
		`-"roll back`:       {{End: 6, Open: true}, {Start: 7, End: 11}},
		"foo:bar":           {{End: 7}},
		"Source:":           {{End: 7, Field: "source", At: 7}},
		"source:slack,git":  {{End: 16, Field: "source", At: 13, Value: "git"}},
		`set:"a, b",c x`:    {{End: 12, Field: "set", At: 11, Value: "c"}, {Start: 13, End: 14}},
		`set:"Legal te x`:   {{End: 15, Open: true, Field: "set", At: 4, Value: "Legal te x"}},
		`tag:team="site re`: {{End: 17, Open: true, Field: "tag", At: 4, Value: "team=site re"}},
		`set:"5"" disk"`:    {{End: 14, Field: "set", At: 4, Value: `5" disk`, Quoted: true}},
		`set:""`:            {{End: 6, Field: "set", At: 4, Quoted: true}},
		"-source:slack":     {{End: 13, Field: "source", Negated: true, At: 8, Value: "slack"}},
		"-type:":            {{End: 6, Field: "type", Negated: true, At: 6}},
		"-since:2026":       {{End: 11}},
	} {
		if got := Tokens(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestQuoteValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"slack": "slack", "a.b@c/d=e": "a.b@c/d=e", "": `""`, "Legal texts": `"Legal texts"`, "a,b": `"a,b"`,
		`Jo "Joe" Lee`: `"Jo ""Joe"" Lee"`, `"`: `""""`, "«x»": `"««x»»"`, `5" disk, new`: `"5"" disk, new"`,
	} {
		if got := QuoteValue(value); got != want {
			t.Errorf("%q is written %s, want %s", value, got, want)
		}
	}
}

// FuzzQuoteValue checks that any value is read back from its filter, and nothing after it.
func FuzzQuoteValue(f *testing.F) {
	for _, value := range []string{"x", "a b", "a,b", "k = v", "Google Drive", ".PDF", `"`, `""`, `a"b c`, "“a”", "a\u00a0b", " ", `,"`} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		want := strings.Join(strings.Fields(value), " ")
		if want == "" || !utf8.ValidString(value) {
			return
		}
		q := ParseQuery("set:"+QuoteValue(value)+" rest", noon)
		if len(q.DocumentSets) != 1 || q.DocumentSets[0] != want || q.Text != "rest" {
			t.Errorf("%q is read as %q, %q", value, q.DocumentSets, q.Text)
		}
		for _, field := range append(NegatableFilters(), "agent") {
			read, ok := FilterValue(field, value)
			given, _ := ParseQuery(field+":"+QuoteValue(value), noon).Values(field)
			if ok != (len(given) == 1) || ok && given[0] != read {
				t.Errorf("%s: %q is read as %q, FilterValue gives %q, %v", field, value, given, read, ok)
			}
		}
	})
}

func TestFilterValue(t *testing.T) {
	for _, test := range []struct{ field, value, want string }{
		{"source", "Google Drive", "google_drive"}, {"source", "MINE", "mine"}, {"set", "a  b", "a b"}, {"type", "..PDF", "pdf"},
		{"tag", "team = infra", "team=infra"}, {"tag", "a=b=c", "a=b=c"}, {"tag", "team", ""}, {"author", "Jo", "Jo"}, {"agent", " 7 ", "7"},
		{"since", "2026-01-01", ""}, {"set", " ", ""}, {"type", ".", ""},
	} {
		if got, ok := FilterValue(test.field, test.value); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: %q is %q, %v", test.field, test.value, got, ok)
		}
	}
}

func TestFilterNamesAreParsed(t *testing.T) {
	for _, name := range FilterNames() {
		value := map[string]string{"since": "2026-01-01", "until": "2026-01-01", "within": "30d", "tag": "k=v"}[name]
		if value == "" {
			value = "x"
		}
		q := ParseQuery(name+":"+value, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		if len(q.Chips) != 1 || q.Chips[0].Field != name {
			t.Errorf("%s: parsed as %+v", name, q)
		}
	}
}

func TestSimilarQuery(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"a#0", "file:/notes/travel, old.md#3", `say "hi"#12`, "日本語#1", "x#y#7"} {
		text, ok := SimilarQuery(ref)
		if !ok {
			t.Errorf("no query holds %q", ref)
		}
		q := ParseQuery("receipts "+text+" source:web", noon)
		if request := q.Request(); request.SimilarTo != ref || request.Query != "receipts" || request.Browse || !q.Searches() {
			t.Errorf("%q: %+v", text, request)
		}
		if alone := ParseQuery(text, noon); alone.HasWords() || alone.Browses() || !alone.Searches() {
			t.Errorf("%q: words %q, browses %v", text, alone.Words, alone.Browses())
		}
	}
	for _, ref := range []string{"", "a", "#1", "two  spaces#1", " a#1", "a#1 "} {
		if text, ok := SimilarQuery(ref); ok {
			t.Errorf("%q holds %q", text, ref)
		}
	}
	if q := ParseQuery("similar:nothing similar:a#1 similar:b#2", noon); q.Similar != "a#1" || q.Text != "similar:nothing similar:b#2" ||
		len(q.Unread) != 2 {
		t.Errorf("%+v", q)
	}
}
