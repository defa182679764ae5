package pipeline

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestWeightedQueries(t *testing.T) {
	type query struct {
		text, kind string
		weight     float64
	}
	cases := []struct {
		name     string
		weights  weights
		rephrase string
		keywords []string
		want     []query
	}{
		{"the question alone", literal(), "", nil, []query{{"Roll back", "original", 1.3}}},
		{"the question alone, beside a model", parity(), "", nil, []query{{"Roll back", "original", 1.2}}},
		{"all kinds", parity(), "How to roll back", []string{"rollback", "release tool"}, []query{
			{"How to roll back", "semantic", 1.3}, {"Roll back", "original", 1.2},
			{"rollback", "keyword", 1}, {"release tool", "keyword", 1}}},
		{"all kinds, literally", literal(), "How to roll back", []string{"rollback"}, []query{
			{"Roll back", "original", 1.3}, {"How to roll back", "semantic", 0.7}, {"rollback", "keyword", 0.5}}},
		{"a rephrasing that changes nothing", parity(), "roll  BACK", nil, []query{{"Roll back", "original", 2.5}}},
		{"keywords that differ in case alone", parity(), "", []string{"Rollback", "deploy", "rollback"}, []query{
			{"Rollback", "keyword", 2}, {"Roll back", "original", 1.2}, {"deploy", "keyword", 1}}},
		{"groups are apart", parity(), "", []string{"roll back"}, []query{
			{"Roll back", "original", 1.2}, {"roll back", "keyword", 1}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []query
			for _, q := range weightedQueries(c.weights, "Roll back", c.rephrase, c.keywords) {
				got = append(got, query{q.Query, q.Kind, q.Weight})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestParseRephrase(t *testing.T) {
	for reply, want := range map[string]string{
		"how to roll back a release":                         "how to roll back a release",
		`"how to roll back"`:                                 "how to roll back",
		"Here is the query:\n\nhow to roll back":             "how to roll back",
		"```\nhow to\troll back\n```":                        "how to roll back",
		"how to roll back\n\nI kept the question as it was.": "how to roll back",
		"**how to roll back**":                               "how to roll back",
		`what is the "error budget" of the "release tool"`:   `what is the "error budget" of the "release tool"`,
		"":                       "",
		"…":                      "",
		"\x1b[31mred\x1b[0m\x00": "[31mred[0m",
		strings.Repeat("blah ", wire.MaxQueryRunes): "",
	} {
		if got := parseRephrase(reply); got != want {
			t.Errorf("%.60q: got %q, want %q", reply, got, want)
		}
	}
}

func TestParseKeywords(t *testing.T) {
	for reply, want := range map[string][]string{
		"rollback\nrelease tool\nerror budget":          {"rollback", "release tool", "error budget"},
		"a b\nc\nd\ne":                                  {"a b", "c", "d"},
		"1. rollback\n2) release\n- tool\n":             {"rollback", "release", "tool"},
		"Queries:\n\n* \"rollback\"\n* `ROLLBACK`\n* x": {"rollback", "x"},
		"404 errors\n3 strikes":                         {"404 errors", "3 strikes"},
		"- \n---\n\n":                                   nil,
		"":                                              nil,
		"回滚\n发布":                                        {"回滚", "发布"},
		strings.Repeat("prose ", 40) + "\nrollback":     {"rollback"},
	} {
		if got := parseKeywords(reply); !slices.Equal(got, want) {
			t.Errorf("%.60q: got %q, want %q", reply, got, want)
		}
	}
}

func TestIsQuoted(t *testing.T) {
	for query, want := range map[string]bool{
		"roll back": false, `the "error budget"`: true, "the “error budget”": true, `a 5" disk`: false,
	} {
		if got := isQuoted(wire.SearchRequest{Query: query}); got != want {
			t.Errorf("%s: got %v", query, got)
		}
	}
	if !isQuoted(wire.SearchRequest{Query: "x", Phrases: []string{"x"}}) {
		t.Error("a request with phrases is not taken as quoted")
	}
}

func FuzzParseQueries(f *testing.F) {
	f.Add("1. rollback\n```\n\"x\"\nQuery:\n")
	f.Fuzz(func(t *testing.T, reply string) {
		reply = cleanReply(reply)
		keywords := parseKeywords(reply)
		if len(keywords) > maxKeywordQueries {
			t.Fatalf("%d keyword queries", len(keywords))
		}
		for i, q := range append(keywords, parseRephrase(reply)) {
			if !utf8.ValidString(q) || q != oneLine(q) || utf8.RuneCountInString(q) > wire.MaxQueryRunes {
				t.Fatalf("query %q", q)
			}
			if i < len(keywords) && !isQuery(q, maxKeywordRunes) {
				t.Fatalf("keyword query %q", q)
			}
		}
	})
}
