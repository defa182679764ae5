package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"quarry/client/wire"
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
	Cut     bool // it has more than mostEntries
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
	if !bytes.HasPrefix(trimmed, []byte("<")) && !bytes.HasPrefix(trimmed, []byte("\xFE\xFF")) && !bytes.HasPrefix(trimmed, []byte("\xFF\xFE")) {
		return nil, nil
	}
	r := &listReader{tokens: xml.NewDecoder(bytes.NewReader(trimmed)), base: base}
	r.tokens.Strict, r.tokens.CharsetReader = false, charset.NewReaderLabel
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

// listReader reads an XML list token by token: what is declared in it is never expanded.
type listReader struct {
	tokens *xml.Decoder
	base   *url.URL
	depth  int
	list   List
}

func (r *listReader) read() (*List, error) {
	start, err := r.start()
	if err != nil { // a page need not be XML
		return nil, nil
	}
	kinds := map[string]string{"urlset": Sitemap, "sitemapindex": Sitemap, "rss": Feed, "RDF": Feed, "feed": Feed, "opml": Feeds}
	if r.list.Kind = kinds[start.Name.Local]; r.list.Kind == "" {
		return nil, nil
	}
	err = r.children(r.element)
	if errors.Is(err, errTooDeep) || errors.Is(err, errLongField) {
		return nil, err
	}
	if err != nil && len(r.list.Entries) == 0 {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	r.list.Cut = r.list.Cut || err != nil // what precedes the damage is used
	return &r.list, nil
}

// start returns the next start of an element.
func (r *listReader) start() (xml.StartElement, error) {
	for {
		token, err := r.tokens.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		if start, ok := token.(xml.StartElement); ok {
			return start, nil
		}
	}
}

// children calls visit for each element of the current one; visit reads it to its end.
func (r *listReader) children(visit func(xml.StartElement) error) error {
	if r.depth++; r.depth > deepest {
		return errTooDeep
	}
	defer func() { r.depth-- }()
	for {
		token, err := r.tokens.Token()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := visit(token); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// element reads a part of a list: an entry, the list's title, or what contains them.
func (r *listReader) element(start xml.StartElement) error {
	switch start.Name.Local {
	case "url", "sitemap":
		return r.place(start.Name.Local == "sitemap")
	case "item", "entry":
		return r.item()
	case "outline":
		if address := attribute(start, "xmlUrl"); address != "" {
			r.add(Entry{URL: address, List: true, Title: cmp.Or(attribute(start, "title"), attribute(start, "text"))})
		}
		return r.children(r.element)
	case "title":
		text, err := r.text()
		r.list.Title = cmp.Or(r.list.Title, text)
		return err
	}
	return r.children(r.element)
}

// place reads an entry of a sitemap.
func (r *listReader) place(isList bool) error {
	entry := Entry{List: isList}
	err := r.children(func(start xml.StartElement) (err error) {
		text := ""
		switch start.Name.Local {
		case "loc":
			entry.URL, err = r.text()
			return err
		case "lastmod":
			text, err = r.text()
			entry.Updated = parseTime(text)
			return err
		}
		return r.children(r.ignore)
	})
	if err == nil && entry.URL != "" {
		r.add(entry)
	}
	return err
}

// item reads an entry of a feed.
func (r *listReader) item() error {
	entry, id, summary := Entry{}, "", ""
	err := r.children(func(start xml.StartElement) (err error) {
		text := ""
		switch name := start.Name.Local; name {
		case "title", "guid", "id", "pubDate", "date", "updated", "published", "modified", "encoded", "content", "description", "summary", "creator":
			if text, err = r.text(); err != nil {
				return err
			}
			switch name {
			case "title":
				entry.Title = cmp.Or(entry.Title, text)
			case "guid", "id":
				if attribute(start, "isPermaLink") != "false" {
					id = text
				}
			case "creator":
				entry.Author = cmp.Or(entry.Author, text)
			case "encoded", "content":
				entry.Content = cmp.Or(entry.Content, text)
			case "description", "summary":
				summary = cmp.Or(summary, text)
			default:
				if at := parseTime(text); at.After(entry.Updated) {
					entry.Updated = at
				}
			}
		case "link":
			if text, err = r.text(); err == nil && entry.URL == "" && (attribute(start, "rel") == "" || attribute(start, "rel") == "alternate") {
				entry.URL = cmp.Or(attribute(start, "href"), text)
			}
		case "author":
			text, err = r.text() // of Atom: with the name in an element
			entry.Author = cmp.Or(entry.Author, text)
		default:
			return r.children(r.ignore)
		}
		return err
	})
	entry.Content = cmp.Or(entry.Content, summary)
	if entry.URL == "" && strings.HasPrefix(id, "http") {
		entry.URL = id
	}
	if err == nil && (entry.URL != "" || entry.Content != "") {
		r.add(entry)
	}
	return err
}

func (r *listReader) ignore(xml.StartElement) error { return r.children(r.ignore) }

// text reads the text of the current element and of those in it.
func (r *listReader) text() (string, error) {
	var out strings.Builder
	for depth := 1; depth > 0; {
		token, err := r.tokens.Token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth > deepest {
				return "", errTooDeep
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if out.Len()+len(token) > longestText {
				return "", errLongField
			}
			out.Write(token)
		}
	}
	return strings.TrimSpace(out.String()), nil
}

// add adds an entry whose address is usable.
func (r *listReader) add(entry Entry) {
	if len(r.list.Entries) >= mostEntries {
		r.list.Cut = true
		return
	}
	if entry.URL != "" {
		normal, err := Resolve(r.base, entry.URL)
		if err != nil {
			return
		}
		entry.URL = normal
	}
	r.list.Entries = append(r.list.Entries, entry)
}

func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// readJSONFeed reads a JSON Feed; nil if the object is none.
func readJSONFeed(data []byte, base *url.URL) (*List, error) {
	var feed struct {
		Version string `json:"version"`
		Title   string `json:"title"`
		Items   []struct {
			URL       string `json:"url"`
			Title     string `json:"title"`
			HTML      string `json:"content_html"`
			Text      string `json:"content_text"`
			Summary   string `json:"summary"`
			Published string `json:"date_published"`
			Modified  string `json:"date_modified"`
		} `json:"items"`
	}
	if wire.Unmarshal(data, &feed) != nil || !strings.HasPrefix(feed.Version, "https://jsonfeed.org/version/") {
		return nil, nil
	}
	r := &listReader{base: base, list: List{Kind: Feed, Title: feed.Title}}
	for _, item := range feed.Items {
		content := cmp.Or(item.HTML, item.Text, item.Summary)
		if len(content) > longestText {
			return nil, errLongField
		}
		r.add(Entry{URL: item.URL, Title: item.Title, Content: content, Updated: parseTime(cmp.Or(item.Modified, item.Published))})
	}
	return &r.list, nil
}

// parseTime parses the dates of sitemaps and feeds; zero for others.
func parseTime(text string) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
		"2 Jan 2006 15:04:05 -0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 1 && at.Year() < 10000 {
			return at.UTC()
		}
	}
	return time.Time{}
}
