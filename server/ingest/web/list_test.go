package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func base() *url.URL { return &url.URL{Scheme: "https", Host: "a.example", Path: "/docs/list.xml"} }

func packed(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return out.String()
}

const sitemap = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> https://a.example/one </loc><lastmod>2026-02-03</lastmod><image:image><image:loc>https://a.example/x.png</image:loc></image:image></url>
<url><loc>/two?a=1&amp;b=2</loc></url><url><loc>ftp://a.example/three</loc></url><url></url></urlset>`

func TestLists(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"sitemap", sitemap, "sitemap: https://a.example/one 2026-02-03 | https://a.example/two?a=1&b=2"},
		{"packed sitemap", packed(sitemap), "sitemap: https://a.example/one 2026-02-03 | https://a.example/two?a=1&b=2"},
		{"index", `<sitemapindex><sitemap><loc>https://a.example/1.xml.gz</loc><lastmod>2026-02-03T04:05:06+01:00</lastmod></sitemap></sitemapindex>`,
			"sitemap: list https://a.example/1.xml.gz 2026-02-03"},
		{"RSS", `<rss version="2.0"><channel><title>News</title><link>https://a.example/</link><item><title>A &lt;b&gt;</title><link>/a</link>
			<description>short</description><content:encoded xmlns:content="x"><![CDATA[<p>long</p>]]></content:encoded><pubDate>Tue, 03 Feb 2026 04:05:06 GMT</pubDate></item>
			<item><guid>https://a.example/b</guid><description>b</description></item><item><guid isPermaLink="false">7</guid><title>no address</title><description>c</description></item></channel></rss>`,
			"feed News: https://a.example/a 2026-02-03 [A <b>] <p>long</p> | https://a.example/b b |  [no address] c"},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="r"><channel><title>Old</title></channel><item><title>A</title><link>https://a.example/a</link></item></rdf:RDF>`, "feed Old: https://a.example/a [A]"},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><link href="/self"/><entry><title type="html">A</title><link rel="enclosure" href="/a.mp3"/>
			<link rel="alternate" href="a"/><author><name>Jo</name></author><published>2026-01-01T00:00:00Z</published><updated>2026-02-03T04:05:06Z</updated>
			<content type="xhtml"><div>long <b>text</b></div></content></entry></feed>`, "feed News: https://a.example/docs/a 2026-02-03 [A] long text"},
		{"JSON feed", `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[{"id":"1","url":"https://a.example/a","title":"A","content_html":"<p>a","date_published":"2026-02-03T00:00:00Z"}]}`,
			"feed News: https://a.example/a 2026-02-03 [A] <p>a"},
		{"OPML", `<opml version="2.0"><head><title>Mine</title></head><body><outline text="Blogs"><outline text="B" type="rss" xmlUrl="https://b.example/feed"/></outline></body></opml>`,
			"list of feeds Mine: list https://b.example/feed [B]"},
		{"other encoding", "<?xml version=\"1.0\" encoding=\"windows-1252\"?><rss><channel><item><link>/a</link><title>caf\xe9</title></item></channel></rss>", "feed: https://a.example/a [café]"},
		{"half a sitemap", sitemap[:strings.Index(sitemap, "/two")+2], "sitemap, cut: https://a.example/one 2026-02-03"},
		{"HTML", "<!doctype html><html><p>a < b</html>", "none"}, {"XML", `<?xml version="1.0"?><note/>`, "none"}, {"JSON", `{"version":1}`, "none"},
		{"text", "https://a.example/", "none"}, {"nothing", "", "none"}, {"empty sitemap", "<urlset/>", "sitemap"},
	} {
		list, err := ReadList([]byte(c.data), base())
		if got := shown(list); err != nil || got != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

// shown is a list on one line.
func shown(list *List) string {
	if list == nil {
		return "none"
	}
	var entries []string
	for _, e := range list.Entries {
		text := e.URL
		if e.List {
			text = "list " + text
		}
		if !e.Updated.IsZero() {
			text += e.Updated.Format(" 2006-01-02")
		}
		if e.Title != "" {
			text += " [" + e.Title + "]"
		}
		if e.Content != "" {
			text += " " + e.Content
		}
		entries = append(entries, text)
	}
	out := list.Kind
	if list.Title != "" {
		out += " " + list.Title
	}
	if list.Cut != "" {
		out += ", cut"
	}
	if len(entries) > 0 {
		out += ": " + strings.Join(entries, " | ")
	}
	return out
}

func TestHostileLists(t *testing.T) {
	laughs := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">` + func() (text string) {
		for n := range 9 {
			text += fmt.Sprintf(`<!ENTITY lol%d "%s">`, n+1, strings.Repeat(fmt.Sprintf("&lol%d;", n), 10))
		}
		return text
	}() + `]><rss><channel><title>&lol9;</title><item><link>/a</link><title>&lol9;</title></item></channel></rss>`
	list, err := ReadList([]byte(laughs), base())
	if err != nil || len(list.Entries) != 1 || len(list.Entries[0].Title) > 100 {
		t.Errorf("entities: %+v, %v", list, err)
	}
	many := "<urlset>" + strings.Repeat("<url><loc>/a</loc></url>", mostEntries+5) + "</urlset>"
	if list, err = ReadList([]byte(many), base()); err != nil || len(list.Entries) != mostEntries || list.Cut == "" {
		t.Errorf("many: %v", err)
	}
	for name, data := range map[string]string{
		"nested more than": "<rss>" + strings.Repeat("<channel>", 1_000_000),
		"unpacks to more":  string(bomb(mostUnpacked + 1<<20)), "not valid gzip": "\x1F\x8B\x08", "is damaged": "<rss><channel",
	} {
		if list, err := ReadList([]byte(data), base()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestPartsOfLists: what can be read of a list is, and the list says what cannot.
func TestPartsOfLists(t *testing.T) {
	long := strings.Repeat("x", longestText+1)
	const item = `<item><link>/b</link><title>B</title></item>`
	for _, c := range []struct {
		data, titles, cut string
		unusable          int
	}{
		{"<rss><item><link>/a</link><title>A</title><description>" + long + "</description></item>" + item + "</rss>", "A,B", "a field has more", 0},
		{"<rss>" + item + strings.Repeat("<a>", deepest+1), "B", "nested more than", 0},
		{"<rss>" + item + "<item", "B", "it is damaged", 0},
		{"<rss><item><link>http://[</link><title>A</title></item><item></item>" + item + "</rss>", "B", "", 2},
		{"<rss><item><title>Only a title</title></item></rss>", "Only a title", "", 0},
		{"<urlset><url><loc>/b</loc></url><url></url></urlset>", "", "", 1},
		{`{"version":"https://jsonfeed.org/version/1","items":[7,{"url":"/a","title":3},{"url":"/b","title":"B","date_published":null}]}`, "B", "", 2},
		{`{"version":"https://jsonfeed.org/version/1","items":[{"url":"/b","title":"B","content_text":"` + long + `"}]}`, "B", "a field has more", 0},
	} {
		list, err := ReadList([]byte(c.data), base())
		if err != nil || list == nil {
			t.Errorf("%.99s: %+v, %v", c.data, list, err)
			continue
		}
		var titles []string
		for _, e := range list.Entries {
			titles = append(titles, e.Title)
		}
		if got := strings.Join(titles, ","); got != c.titles || list.Unusable != c.unusable || !strings.Contains(list.Cut, c.cut) || (list.Cut == "") != (c.cut == "") {
			t.Errorf("%.99s: %s, %d unusable, %q", c.data, got, list.Unusable, list.Cut)
		}
	}
}

func FuzzLists(f *testing.F) {
	for _, seed := range []string{sitemap, packed(sitemap), `<feed><entry><link href="x"/><content><b>x</b></content></entry></feed>`, `<opml><outline xmlUrl="x"/></opml>`,
		`{"version":"https://jsonfeed.org/version/1","items":[{"url":"x","content_text":"y"}]}`, `<rss><item><title>&x;</title><description><![CDATA[x]]>`,
		`<sitemapindex><sitemap><loc>x`, "<!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]><rss><item><title>&y;</title></item></rss>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ReadList(data, base())
		if err != nil || list == nil {
			return
		}
		for _, e := range list.Entries {
			normal, err := Normalise(e.URL)
			if e.URL != "" && (err != nil || normal != e.URL) || e.URL == "" && e.Content == "" {
				t.Errorf("%+v: %q, %v", e, normal, err)
			}
		}
	})
}
