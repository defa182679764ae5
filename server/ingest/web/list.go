package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/xmlreader"
)

// The kinds of lists.
const (
	Sitemap = "sitemap"
	Feed    = "feed"
	Feeds   = "list of feeds"
)

// Entry is something that a list names.
type Entry struct {
	URL     string // normal, or empty for an entry of a feed without an address
	List    bool   // a list of its own
	Title   string
	Content string // HTML or text, of a feed
	Author  string
	Updated time.Time // zero: unknown
}

// List is a sitemap, a feed, or a list of feeds.
type List struct {
	Kind    string
	Title   string
	Entries []Entry
	// Unusable counts the entries that cannot be read, or whose address cannot; Cut says why others are missing.
	Unusable int
	Cut      string
}

const (
	mostEntries  = 50_000   // of a list, as sitemaps have at most
	mostUnpacked = 64 << 20 // bytes of a list
	longestText  = 1 << 20  // bytes of a field
	deepest      = 50       // XML elements in each other
)

var (
	errTooDeep   = fmt.Errorf("its XML is nested more than %d deep", deepest)
	errLongField = fmt.Errorf("a field has more than %d MB", longestText>>20)
	errUnpacked  = fmt.Errorf("it unpacks to more than %d MB", mostUnpacked>>20)
)

// ReadList reads a list that was found at base. It returns nil for a page or another document.
func ReadList(data []byte, base *url.URL) (*List, error) {
	data, err := unpacked(data)
	if err != nil {
		return nil, err
	}
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")))
	if bytes.HasPrefix(trimmed, []byte("{")) {
		return readJSONFeed(trimmed, base)
	}
	if !bytes.HasPrefix(trimmed, []byte("<")) && !bytes.HasPrefix(trimmed, []byte("\xFE\xFF")) &&
		!bytes.HasPrefix(trimmed, []byte("\xFF\xFE")) {
		return nil, nil
	}
	decoder := xml.NewDecoder(bytes.NewReader(trimmed))
	decoder.Strict, decoder.CharsetReader = false, charset.NewReaderLabel
	r := &listReader{Reader: xmlreader.New(decoder, deepest, errTooDeep), base: base}
	return r.read()
}

// unpacked returns the content of a gzip file, or data.
func unpacked(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("\x1F\x8B")) {
		return data, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is not valid gzip: %w", err)
	}
	data, err = io.ReadAll(io.LimitReader(packed, mostUnpacked+1))
	switch {
	case len(data) > mostUnpacked:
		return nil, errUnpacked
	case err != nil:
		return nil, fmt.Errorf("it is not valid gzip: %w", err)
	}
	return data, nil
}

// listReader reads an XML list.
type listReader struct {
	xmlreader.Reader
	base *url.URL
	list List
}

func (r *listReader) read() (*List, error) {
	kinds := map[string]string{
		"urlset": Sitemap, "sitemapindex": Sitemap, "rss": Feed, "RDF": Feed, "feed": Feed, "opml": Feeds,
	}
	r.Each(func(root xmlreader.Element) {
		if r.list.Kind = kinds[root.Name]; r.list.Kind != "" {
			r.Walk(r.element, nil)
		}
		r.Fail(io.EOF) // nothing follows it
	})
	switch {
	case r.list.Kind == "": // a page need not be XML
		return nil, nil
	case errors.Is(r.Err(), io.EOF):
	case len(r.list.Entries) == 0:
		return nil, fmt.Errorf("it is damaged: %w", r.Err())
	default: // what precedes the damage is used
		r.list.Cut = "it is damaged: " + r.Err().Error()
	}
	return &r.list, nil
}

// element reads a part of a list: an entry, the list's title, or what contains them.
func (r *listReader) element(e xmlreader.Element) {
	switch name := e.Name; name {
	case "url", "sitemap":
		r.place(name == "sitemap")
	case "item", "entry":
		r.item()
	case "outline":
		if address := attribute(e, "xmlUrl"); address != "" {
			r.add(Entry{URL: address, List: true, Title: cmp.Or(attribute(e, "title"), attribute(e, "text"))})
		}
	case "title":
		r.list.Title = cmp.Or(r.list.Title, r.text())
	}
}

// place reads an entry of a sitemap.
func (r *listReader) place(isList bool) {
	entry := Entry{List: isList}
	r.Each(func(e xmlreader.Element) {
		switch e.Name {
		case "loc":
			entry.URL = r.text()
		case "lastmod":
			entry.Updated, _ = dates.Parse(r.text())
		}
	})
	r.add(entry)
}

// item reads an entry of a feed.
func (r *listReader) item() {
	entry, id, summary := Entry{}, "", ""
	r.Each(func(e xmlreader.Element) {
		switch e.Name {
		case "title":
			entry.Title = cmp.Or(entry.Title, r.text())
		case "guid", "id":
			if attribute(e, "isPermaLink") != "false" {
				id = r.text()
			}
		case "creator", "author": // of Atom: with the name in an element
			entry.Author = cmp.Or(entry.Author, r.text())
		case "encoded", "content":
			entry.Content = cmp.Or(entry.Content, r.text())
		case "description", "summary":
			summary = cmp.Or(summary, r.text())
		case "pubDate", "date", "updated", "published", "modified":
			if at, _ := dates.Parse(r.text()); at.After(entry.Updated) {
				entry.Updated = at
			}
		case "link":
			text := r.text()
			if rel := attribute(e, "rel"); entry.URL == "" && (rel == "" || rel == "alternate") {
				entry.URL = cmp.Or(attribute(e, "href"), text)
			}
		}
	})
	entry.Content = cmp.Or(entry.Content, summary)
	if entry.URL == "" && strings.HasPrefix(id, "http") {
		entry.URL = id
	}
	r.add(entry)
}

// text reads the text of the current element and of those in it.
func (r *listReader) text() string {
	var out strings.Builder
	r.Walk(func(xmlreader.Element) {}, func(token []byte) {
		if out.Len()+len(token) > longestText {
			r.list.Cut = errLongField.Error()
		}
		out.WriteString(text.Clip(string(token), longestText-out.Len()))
	})
	return strings.TrimSpace(out.String())
}

// add adds an entry that was read to its end, and whose address is usable.
func (r *listReader) add(entry Entry) {
	if r.Err() != nil {
		return
	}
	if len(r.list.Entries) >= mostEntries {
		r.list.Cut = fmt.Sprintf("it has more than %d entries", mostEntries)
		return
	}
	var err error
	if entry.URL != "" {
		entry.URL, err = Resolve(r.base, entry.URL)
	} else {
		entry.Content = cmp.Or(entry.Content, entry.Title)
	}
	if err != nil || entry.URL == "" && entry.Content == "" {
		r.list.Unusable++
		return
	}
	r.list.Entries = append(r.list.Entries, entry)
}

func attribute(e xmlreader.Element, name string) string {
	return strings.TrimSpace(e.Attribute(name))
}

// readJSONFeed reads a JSON Feed; nil if the object is none.
func readJSONFeed(data []byte, base *url.URL) (*List, error) {
	var feed struct {
		Version string            `json:"version"`
		Title   string            `json:"title"`
		Items   []json.RawMessage `json:"items"`
	}
	if wire.Unmarshal(data, &feed) != nil || !strings.HasPrefix(feed.Version, "https://jsonfeed.org/version/") {
		return nil, nil
	}
	r := &listReader{base: base, list: List{Kind: Feed, Title: feed.Title}}
	for _, data := range feed.Items {
		var item struct {
			URL       string `json:"url"`
			Title     string `json:"title"`
			HTML      string `json:"content_html"`
			Text      string `json:"content_text"`
			Summary   string `json:"summary"`
			Published string `json:"date_published"`
			Modified  string `json:"date_modified"`
		}
		if wire.Unmarshal(data, &item) != nil {
			r.list.Unusable++
			continue
		}
		content := cmp.Or(item.HTML, item.Text, item.Summary)
		if len(content) > longestText {
			content, r.list.Cut = text.Clip(content, longestText), errLongField.Error()
		}
		updated, _ := dates.Parse(cmp.Or(item.Modified, item.Published))
		r.add(Entry{URL: item.URL, Title: item.Title, Content: content, Updated: updated})
	}
	return &r.list, nil
}
