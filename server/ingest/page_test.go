package ingest

import (
	"context"
	"strings"
	"testing"

	"quarry/internal/guard"
	"quarry/server/index"
)

func TestMainContentOfPages(t *testing.T) {
	const around = `<header><p>Acme brand</p></header><nav>menu</nav><aside>adverts</aside>`
	for _, c := range []struct{ name, page, want, not string }{
		{"main", "<body>" + around + "<p>before<main><h1>Walrus</h1><aside>a note</aside><p>tusks</main><footer>imprint</footer>", "# Walrus\n\na note\n\ntusks", "before"},
		{"a role", `<body><div role="banner">brand</div><div role=main><p>tusks</div><p>after`, "tusks", "after"},
		{"one article", "<body>" + around + "<article><header><h1>Walrus</h1></header><p>tusks</article><p>related", "# Walrus\n\ntusks", "related"},
		{"articles", "<body>" + around + "<article><p>one</article><article><p>two<footer>by Jo</footer></article><footer>imprint</footer>", "one\n\ntwo\n\nby Jo", ""},
		{"no mark", "<body>" + around + "<div><h1>Walrus</h1><p>tusks</div><footer>imprint</footer>", "# Walrus\n\ntusks", ""},
		{"a header with the title", "<body><header><h1>Walrus</h1></header><p>tusks", "# Walrus\n\ntusks", ""},
		{"an empty main", "<body><main></main><p>tusks", "tusks", ""},
		{"hidden parts", `<body><main><p hidden>old<p aria-hidden=true>icon<p>tusks<div role=dialog>cookies</div></main>`, "tusks", "old"},
		{"two mains", "<body><main><p>one</main><main><p>two</main>", "one", "two"},
	} {
		doc, err := webPageOf(c.page, index.Document{ID: "x", Link: "https://a.example/"})
		must(t, err)
		got := ""
		for _, chunk := range doc.Chunks {
			got += chunk.Text
		}
		if got != c.want || c.not != "" && strings.Contains(got, c.not) || strings.Contains(got, "imprint") || strings.Contains(got, "menu") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinksOfPages(t *testing.T) {
	long := strings.Repeat("word ", 300)
	page := `<html><head><link rel="canonical" href="https://a.example/walrus"></head><body><main>
		<h1>Walrus</h1><p>` + long + `<h2 id="tusk-care">Tusks<a class="headerlink" href="#tusk-care">¶</a></h2><p>` + long +
		`<section id="food"><h2>Food</h2><p>` + long + `</section><h2><a name="old"></a>Food</h2><p>` + long + `<h2>No anchor</h2><p>` + long + `</main>`
	doc, err := webPageOf(page, index.Document{ID: "x", Link: "https://a.example/walrus?ref=1"})
	must(t, err)
	var links []string
	for _, chunk := range doc.Chunks {
		if len(links) == 0 || links[len(links)-1] != chunk.Link {
			links = append(links, chunk.Link)
		}
	}
	const own = "https://a.example/walrus"
	if got, want := strings.Join(links, " "), strings.Join([]string{own, own + "#tusk-care", own + "#food", own + "#old", own}, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if doc.Link != own || doc.Chunks[2].Headings[0] != "Tusks" && doc.Chunks[1].Headings[0] != "Tusks" {
		t.Errorf("%q %+v", doc.Link, doc.Chunks[1].Headings)
	}
	foreign := strings.ReplaceAll(page, "https://a.example/walrus\"", "javascript:alert(1)\"")
	if doc, err = webPageOf(foreign, index.Document{ID: "x", Link: "https://a.example/x"}); doc.Link != "https://a.example/x" {
		t.Errorf("%q, %v", doc.Link, err)
	}
}

func FuzzWebPage(f *testing.F) {
	f.Add(`<link rel=canonical href="https://a.example/y"><main><h1 id=a>x<a href="#a">#</a></h1><p>y</main>`)
	f.Add(`<body><article role=main><article><section id="<"><h2 name="x y">x</h2></section></article>`)
	f.Add(`<main hidden><main><h1></h1>`)
	f.Fuzz(func(t *testing.T, page string) {
		doc, err := webPageOf(page, index.Document{ID: "x", Link: "https://a.example/x", Access: []string{AccessPublic}})
		if err != nil {
			return
		}
		checkDocument(t, &doc)
		if !strings.HasPrefix(strings.ToLower(doc.Link), "https://a.example") {
			t.Errorf("link %q", doc.Link)
		}
	})
}

func webPageOf(page string, defaults index.Document) (index.Document, error) {
	r := newFileReader(context.Background(), nil)
	return guard.Result(func() index.Document { return r.made(fromWebPage(r, page, defaults), defaults) })
}
