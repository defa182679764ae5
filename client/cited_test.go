package client

import (
	"strings"
	"testing"
)

func TestCitedLines(t *testing.T) {
	t.Parallel()
	for written, want := range map[string][2]int{
		"handbook/people/leave.md:112":                       {112, 112},
		"handbook/c#/leave.md:112":                           {112, 112},
		"https://github.com/a/b/blob/1f/x.md?plain=1#L3-L9":  {3, 9},
		"https://gitlab.com/a/b/-/blob/1f/x.md?plain=1#L3-9": {3, 9},
		"https://bitbucket.org/a/b/src/1f/x.md#lines-3:9":    {3, 9},
		"https://github.com/a/b/blob/1f/x.md#L7":             {7, 7},
		"https://github.com/a/b/blob/1f/x.md#L9-L3":          {9, 9},
		"http://wiki.acme.com:8080":                          {},
		"http://wiki.acme.com/1042#a:b":                      {},
		"handbook/rules.pdf#page=3":                          {},
		"file:/srv/hb/a.md#2":                                {},
		"file:/srv/hb/a.md#2-5":                              {},
		"handbook/leave.md:99999999999999999999":             {},
		"":                                                   {},
	} {
		if first, last := CitedLines(written); [2]int{first, last} != want {
			t.Errorf("%q: %d to %d, want %v", written, first, last, want)
		}
	}
}

// TestSpellings reads a citation as it is copied, beside the text itself, which may be an id.
func TestSpellings(t *testing.T) {
	const link = "https://github.com/a/b/blob/1f/x.md#L3-L9"
	for written, want := range map[string]string{
		"hb/leave.md:112": "hb/leave.md:112",
		"Leave › Who (hb/leave.md:112, 2026-03-12)":  "Leave › Who (hb/leave.md:112, 2026-03-12) | hb/leave.md:112",
		"Budget (mbox/one.eml, 2024-03-01)":          "Budget (mbox/one.eml, 2024-03-01) | mbox/one.eml",
		"[1] [Leave](" + link + ") (GitHub)":         "[1] [Leave](" + link + ") (GitHub) | " + link + " | https://github.com/a/b/blob/1f/x.md",
		"notes (draft)":                              "notes (draft)",
		"Budget › Bo (mid:b/1@acme.com, 2024-03-01)": "Budget › Bo (mid:b/1@acme.com, 2024-03-01) | mid:b/1@acme.com",
		"https://wiki/1#part":                        "https://wiki/1#part | https://wiki/1",
	} {
		if refs, _ := Spellings(written); strings.Join(refs, " | ") != want {
			t.Errorf("%q: %q, want %q", written, refs, want)
		}
	}
	if first, last := CitedLines("[Leave](" + link + ") (GitHub, 2026-03-12)"); first != 3 || last != 9 {
		t.Errorf("lines %d to %d", first, last)
	}
}
