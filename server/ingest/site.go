package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/web"
)

const (
	kindPage     = "page" // of a root that is one page
	mostLists    = 500    // sitemaps and feeds of one root
	mostPages    = 50_000 // of one root
	deepestList  = 3      // lists in each other
	trustedDates = 7 * 24 * time.Hour
	fetchTime    = "time of fetching" // of datedBy
)

// webState is what is known of a page that was fetched.
type webState struct {
	web.Validators
	Fetched string `json:"fetched,omitempty"`
}

// errNotFetched marks an answer that says that nothing changed.
var errNotFetched = errors.New("it did not change")

// client returns the client of the run.
func (r *run) client() *web.Client {
	if r.web == nil {
		r.web = guard.Must(web.NewClient(r.local.Web))
	}
	return r.web
}

// crawl lists the pages of a root on the web.
type crawl struct {
	*run
	target *target
	known  map[string]fileState
	root   *url.URL
	client *web.Client

	files   []foundFile
	pages   map[string]bool
	lists   map[string]bool
	foreign int  // addresses on other servers
	partial bool // pages that are not listed stay
}

// planSite plans to fetch the pages of a root that are new, or may have changed. It returns nil if the root cannot be
// read now.
func (r *run) planSite(t *target, known map[string]fileState) *plan {
	s := &crawl{run: r, target: t, known: known, client: r.client(), root: guard.Must(url.Parse(shownPath(t.path))),
		pages: map[string]bool{}, lists: map[string]bool{}}
	// What an interrupted run fetched is not fetched again.
	t.state.Begun = cmp.Or(t.state.Begun, s.moment())
	t.state.Source, t.state.File, t.state.Problem = cmp.Or(t.state.As, "web"), true, ""
	switch {
	case t.start != "":
		s.partial = true
		s.page(web.Entry{URL: t.start}, nil)
	case t.state.Kind == kindPage && len(known) > 0:
		s.page(web.Entry{URL: s.root.String()}, nil)
	default:
		err := s.read()
		guard.Check(r.ctx.Err())
		if err != nil {
			r.unreadable(t, oneLine(err.Error(), longestValue))
			return nil
		}
	}
	if s.foreign > 0 {
		r.skipLines(t.path, []string{fmt.Sprintf("%s on other servers were not read", text.Count(s.foreign, "page"))})
	}
	if s.partial {
		s.keepUnlisted()
	}
	p := &plan{target: t, complete: t.start == ""}
	p.compare(s.files, known)
	return p
}

func (r *run) moment() string { return r.now().UTC().Format("2006-01-02T15:04:05.000000000Z") }

// keepUnlisted leaves the pages as they are that the lists do not have (any more).
func (s *crawl) keepUnlisted() {
	listed := map[string]bool{}
	for _, file := range s.files {
		listed[file.path] = true
	}
	for file, state := range s.known {
		if !listed[file] {
			s.done.Unchanged += state.Documents
			delete(s.known, file)
		}
	}
}

// read fetches the root and finds out what it is.
func (s *crawl) read() error {
	page, list, err := s.list(s.root.String())
	if err != nil {
		return err
	}
	state := &s.target.state
	if list == nil {
		if state.Kind != "" && state.Kind != kindPage {
			return fmt.Errorf("it is no longer a %s; its documents are kept", state.Kind)
		}
		state.Kind = kindPage
		s.page(web.Entry{URL: s.root.String()}, page)
		return nil
	}
	state.Kind = list.Kind
	s.expand(list, page.URL, 1)
	return nil
}

// list fetches an address. The list is nil for a page.
func (s *crawl) list(address string) (*web.Page, *web.List, error) {
	s.lists[address] = true
	s.durable.Path = address
	s.report(s.durable)
	page, err := s.client.Get(s.ctx, address, web.Validators{})
	if err != nil {
		return nil, nil, err
	}
	j := job{Work: workList, Data: page.Data, Address: page.URL.String()}
	a, err := newFileReader(s.ctx, s.local.Readers).do(j, nil)
	return page, a.List, err
}

// expand adds the pages of a list, and of the lists in it.
func (s *crawl) expand(list *web.List, from *url.URL, depth int) {
	s.partial = s.partial || list.Cut != "" || list.Unusable > 0 || list.Kind != web.Sitemap
	var lost badLines
	if list.Cut != "" {
		lost.add(0, "further entries: "+list.Cut)
	}
	if list.Unusable > 0 {
		lost.add(0, text.Count(list.Unusable, "entry")+": without an address or text that can be read")
	}
	s.leaveOut(from.String(), lost)
	for _, entry := range list.Entries {
		u, err := url.Parse(entry.URL)
		switch {
		case s.ctx.Err() != nil || err != nil:
			return
		case list.Kind == web.Sitemap && !web.SameOrigin(s.root, u):
			s.foreign++
		case entry.List:
			s.inner(entry.URL, depth+1)
		case len(s.files) >= mostPages:
			s.partial = true
			s.skip(s.target.path, fmt.Sprintf("it has more than %d pages; the others are not read", mostPages))
			return
		case list.Kind == web.Sitemap || entry.URL != "" && web.SameOrigin(from, u):
			s.page(entry, nil)
		case entry.Content != "":
			s.text(entry, from)
		default:
			s.foreign++
		}
	}
}

// inner reads a list in a list. Its pages stay as they are if that fails.
func (s *crawl) inner(address string, depth int) {
	if s.lists[address] {
		return
	}
	var list *web.List
	var page *web.Page
	var err error
	switch {
	case depth > deepestList:
		err = fmt.Errorf("lists are nested more than %d deep", deepestList)
	case len(s.lists) >= mostLists:
		err = fmt.Errorf("there are more than %d lists", mostLists)
	default:
		if page, list, err = s.list(address); err == nil && list == nil {
			err = errors.New("it is neither a sitemap nor a feed")
		}
	}
	switch {
	case s.ctx.Err() != nil:
	case err != nil:
		s.partial = true
		s.skip(remoteRoot(address), oneLine(err.Error(), longestValue))
	default:
		s.expand(list, page.URL, depth)
	}
}

// page adds a page; fetched is nil if it is not here yet.
func (s *crawl) page(entry web.Entry, here *web.Page) {
	if s.pages[entry.URL] {
		return
	}
	s.pages[entry.URL] = true
	stamp := ""
	if !entry.Updated.IsZero() {
		stamp = entry.Updated.Format(time.RFC3339)
	}
	key := s.target.path + "/" + entry.URL
	known, client, again := s.known[key], s.client, s.target.again
	info := statedInfo{moment: entry.Updated, print: s.currentPrint(known, stamp)}
	file := foundFile{path: key, source: "web", info: info}
	file.remote = &remoteFile{id: entry.URL, fetch: func(ctx context.Context) (fetched, error) {
		var validators web.Validators
		if known.Documents > 0 && known.Foreign == 0 && known.Flag == "" && !again &&
			known.Config == s.target.config(file) {
			validators = known.Web.Validators
		}
		page, err := here, error(nil)
		if page == nil {
			page, err = client.Get(ctx, entry.URL, validators)
		}
		if err != nil {
			return fetched{}, err
		}
		if page.NoIndex {
			return fetched{}, web.ErrNoIndex
		}
		got := fetched{at: s.now(), stamp: stamp, web: webState{page.Validators, s.moment()}, updated: entry.Updated}
		if page.Same {
			got.web.Validators = validators
			return got, errNotFetched
		}
		got.data, got.format = page.Data, formatOfPage(page)
		got.link, got.place = page.URL.String(), placeOf(page.URL)
		if at, err := http.ParseTime(page.Modified); got.updated.IsZero() && err == nil {
			got.updated = at.UTC()
		}
		got.data = toUTF8(got.data, page.Type)
		return got, nil
	}}
	s.files = append(s.files, file)
}

// text adds an entry of a feed that has its text in the feed, because its page is on another server or has no address.
func (s *crawl) text(entry web.Entry, from *url.URL) {
	name := cmp.Or(entry.URL, entry.Title+"\x00"+entry.Content)
	// Below the feed: it takes no address of another server.
	id := fmt.Sprintf("%s#%.8x", from, sha256.Sum256([]byte(name)))
	if s.pages[id] {
		return
	}
	s.pages[id] = true
	key := s.target.path + "/" + id
	hash := hashOf(entry.Title + "\x00" + entry.Content + "\x00" + entry.Author)
	print := printOf(int64(len(entry.Content)), hash)
	title := oneLine(entry.Title, longestTitle)
	s.files = append(s.files, foundFile{path: key, source: "web", info: statedInfo{moment: entry.Updated, print: print},
		remote: &remoteFile{id: id, title: title, fetch: func(context.Context) (fetched, error) {
			f, _ := formatOf(".html")
			return fetched{data: []byte(entry.Content), format: f, link: cmp.Or(entry.URL, from.String()),
				place: placeOf(from), author: entry.Author, at: s.now(), updated: entry.Updated, print: print}, nil
		}}})
}

// currentPrint returns the state of a page as far as it is known without asking: that of the library if an interrupted
// run fetched the page, or if a list says that it did not change. Such dates are trusted for a week.
func (s *crawl) currentPrint(known fileState, stamp string) string {
	const changed = "?"
	if s.target.again || known.Web.Fetched == "" || known.Foreign > 0 {
		return changed
	}
	if known.Web.Fetched >= s.target.state.Begun {
		return known.Print
	}
	fetchedAt, err := time.Parse(time.RFC3339, known.Web.Fetched)
	if _, before, _ := strings.Cut(known.Print, "."); err == nil && stamp != "" && before == stamp &&
		s.now().Sub(fetchedAt) < trustedDates {
		return known.Print
	}
	return changed
}

// formatOfPage returns the format of an answer by its content, then by its address.
func formatOfPage(page *web.Page) format {
	media, _, _ := mime.ParseMediaType(page.Type)
	sniffed := http.DetectContentType(bytes.TrimSpace(page.Data))
	name := path.Base(page.URL.Path)
	f, reason := formatOf(name)
	isText := strings.HasPrefix(sniffed, "text/")
	switch {
	case strings.HasPrefix(sniffed, "text/html"), isText && strings.Contains(media, "html"):
		return pageFormat
	case media == "text/markdown" && isText:
		f, _ = formatOf(".md")
	case reason != "" || path.Ext(name) == "" || f.several() || f.page:
		return formatOfContent("", page.Data)
	}
	return f
}

// toUTF8 decodes text in the encoding that its server names.
func toUTF8(data []byte, media string) []byte {
	_, parameters, err := mime.ParseMediaType(media)
	if encoding, name := charset.Lookup(parameters["charset"]); err == nil && encoding != nil && name != "utf-8" {
		if decoded, err := encoding.NewDecoder().Bytes(data); err == nil {
			return decoded
		}
	}
	return data
}

// placeOf returns the host and the last folder of an address.
func placeOf(u *url.URL) []string {
	place := []string{u.Hostname()}
	if folder := oneLine(path.Base(path.Dir(u.Path)), longestValue); folder != "" && folder != "." && folder != "/" {
		place = append(place, folder)
	}
	return place
}

// sameHost reports whether a link leads to the host of an address, as well encrypted.
func sameHost(link, address string) bool {
	first, err := url.Parse(link)
	second, otherErr := url.Parse(address)
	return err == nil && otherErr == nil && first.Host != "" && first.User == nil && web.SameOrigin(second, first)
}

// complete sets the fields of a page's document.
func (f *fetched) complete(doc *index.Document) {
	if f.author != "" {
		doc.Authors = addNames(doc.Authors, f.author, ",")
	}
	if doc.UpdatedAt.IsZero() {
		doc.UpdatedAt = f.at.UTC()
		doc.Metadata = addField(doc.Metadata, datedBy, []string{fetchTime}, false)
	}
}
