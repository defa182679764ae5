package xmlreader

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

var errDeep = errors.New("too deep")

func reader(text string) *Reader {
	r := New(xml.NewDecoder(strings.NewReader(text)), 5, errDeep)
	return &r
}

// TestVisits reads a document in each way: what Each leaves unread is skipped, and what Walk leaves unread is entered.
func TestVisits(t *testing.T) {
	const text = `<r>0<a x="1"><b>2</b>3</a><b>4<c><d>5</d></c></b><c/></r>`
	for way, want := range map[string]string{"each": "r(a b c )", "walk": "r(0a b 23b 4c d 5c )", "read": "r(a[23]b[45]c[])",
		"find": "r(b b )", "enter": "r(a b b c d c )"} {
		var out strings.Builder
		r := reader(text)
		name := func(e Element) { out.WriteString(e.Name + " ") }
		r.Each(func(root Element) {
			out.WriteString(root.Name + "(")
			switch way {
			case "each":
				r.Each(name)
			case "walk":
				r.Walk(name, func(text []byte) { out.Write(text) })
			case "read":
				r.Each(func(e Element) { out.WriteString(e.Name + "[" + r.Text() + "]") })
			case "find":
				r.Find("b", name)
			case "enter":
				r.Each(func(e Element) { r.Enter(e, name) })
			}
			out.WriteString(")")
		})
		if out.String() != want || !errors.Is(r.Err(), io.EOF) {
			t.Errorf("%s: %q, %v; want %q", way, out.String(), r.Err(), want)
		}
	}
}

// TestErrors: the first error ends the reading.
func TestErrors(t *testing.T) {
	own := errors.New("own")
	for text, want := range map[string]error{strings.Repeat("<a>", 5): nil, strings.Repeat("<a>", 6): errDeep, "<a><own/><b>": own} {
		r := reader(text)
		visits := 0
		r.Walk(func(e Element) {
			if visits++; e.Name == "own" {
				r.Fail(own)
				r.Fail(errDeep)
			}
		}, nil)
		if want != nil && !errors.Is(r.Err(), want) || r.Err() == nil || visits > 5 {
			t.Errorf("%s: %v after %d visits", text, r.Err(), visits)
		}
		if r.Text() != "" {
			t.Errorf("%s: text after an error", text)
		}
	}
}

// FuzzReader reads any text in all ways: they end, and never go deeper than the bound.
func FuzzReader(f *testing.F) {
	f.Add(`<r a="b">x<a/><![CDATA[y]]></r>`)
	f.Add("<a><a><a><a><a><a>")
	f.Fuzz(func(t *testing.T, text string) {
		r := reader(text)
		var visit func(Element)
		depth := 0
		visit = func(e Element) {
			depth++
			defer func() { depth-- }()
			if depth > 5 {
				t.Fatal("too deep")
			}
			switch len(e.Name) % 3 {
			case 0:
				r.Each(visit)
			case 1:
				r.Walk(visit, func([]byte) {})
			}
		}
		if r.Each(visit); r.Err() == nil {
			t.Error("it has no end")
		}
	})
}
