package ingest

import (
	"strings"
	"testing"
)

func TestTextOf(t *testing.T) {
	for _, test := range []struct {
		name, data, text, failure string
	}{
		{"notes.md", "# Notes\n\nOf \x1b[31mtoday\x1b[0m.", "# Notes\n\nOf today.", ""},
		{"main.go", "package main\n", "package main\n", ""},
		{"people.csv", "name,age\nAda,36\n", "name,age\nAda,36\n", ""},
		{"page.HTML", "<html><script>alert(1)</script><h1>Wombats</h1><p>They dig.</p></html>", "# Wombats\n\nThey dig.", ""},
		{"wide.txt", "\xff\xfea\x00b\x00", "ab", ""},
		{"none", "", "", "no text"},
		{"blank.txt", " \n ", "", "no text"},
		{"data.txt", "a\x00b", "", "binary"},
		{"report.pdf", "%PDF-1.7 …", "", "cannot be started"},
		{"picture.png", "\x89PNG\r\n\x1a\n\x00\x00", "", "image/png"},
		{"letter.docx", "PK\x03\x04\x14\x00", "", "damaged"},
	} {
		text, err := TextOf(t.Context(), nil, test.name, []byte(test.data))
		switch {
		case test.failure != "":
			if err == nil || !strings.Contains(err.Error(), test.failure) {
				t.Errorf("%s: %q, %v", test.name, text, err)
			}
		case err != nil || strings.TrimSpace(text) != strings.TrimSpace(test.text):
			t.Errorf("%s: %q, %v", test.name, text, err)
		}
	}
}

func FuzzTextOf(f *testing.F) {
	f.Add("a.html", []byte("<p>x"))
	f.Add("a.txt", []byte("\xfe\xff\x00"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		text, err := TextOf(t.Context(), nil, name, data)
		if err == nil && (strings.TrimSpace(text) == "" || strings.ContainsRune(text, 0) || cleanText(text) != text) {
			t.Errorf("%q is not clean", text)
		}
	})
}
