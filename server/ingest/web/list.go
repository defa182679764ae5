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
	kinds := map[string]string{"urlset": Sitemap, "sitemapindex": Sitemap, "rss": Feed, "RDF": Feed, "feed": Feed, "opml": Feeds}
	err := r.children(func(start xml.StartElement) error {
		if r.list.Kind = kinds[start.Name.Local]; r.list.Kind == "" {
			return errNoList
		}
		return cmp.Or(r.children(r.element), io.EOF) // nothing follows it
	})
	switch {
	case r.list.Kind == "": // a page need not be XML
		return nil, nil
	case errors.Is(err, io.EOF):
	case len(r.list.Entries) == 0:
		return nil, fmt.Errorf("it is damaged: %w", err)
	default: // what precedes the damage is used
		r.list.Cut = "it is damaged: " + err.Error()
	}
	return &r.list, nil
}

var errNoList = errors.New("it is no list")

// children calls visit for each element of the current one; visit reads it to its end.
func (r *listReader) children(visit func(xml.StartElement) error) error { return r.content(visit, nil) }

// content is children that also passes on the text between them.
func (r *listReader) content(visit func(xml.StartElement) error, text func([]byte)) error {
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
		case xml.CharData:
			if text != nil {
				text(token)
			}
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
			entry.Updated, _ = dates.Parse(text)
			return err
		}
		return r.children(r.ignore)
	})
	if err == nil {
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
				if at, _ := dates.Parse(text); at.After(entry.Updated) {
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
	if err == nil {
		r.add(entry)
	}
	return err
}

func (r *listReader) ignore(xml.StartElement) error { return r.children(r.ignore) }

// text reads the text of the current element and of those in it.
func (r *listReader) text() (string, error) {
	var out strings.Builder
	var read func(xml.StartElement) error
	add := func(token []byte) {
		if out.Len()+len(token) > longestText {
			r.list.Cut = errLongField.Error()
		}
		out.WriteString(text.Clip(string(token), longestText-out.Len()))
	}
	read = func(xml.StartElement) error { return r.content(read, add) }
	err := r.content(read, add)
	return strings.TrimSpace(out.String()), err
}

// add adds an entry whose address is usable.
func (r *listReader) add(entry Entry) {
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
