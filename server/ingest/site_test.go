package ingest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest/web"
)

// website is a server of pages, and a library that reads them without waiting.
type website struct {
	*library
	server *httptest.Server
	mutex  sync.Mutex
	pages  map[string]string // by path; missing ones are 404
	status map[string]int
	header map[string]http.Header
	asked  []string // paths, with ? in the end if conditional
	before func(path string)
}

func newWebsite(t *testing.T, pages map[string]string) *website {
	s := &website{library: newLibrary(t, nil), pages: pages, status: map[string]int{}, header: map[string]http.Header{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

func (s *website) serve(w http.ResponseWriter, r *http.Request) {
	if s.before != nil {
		s.before(r.URL.Path)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text, found := s.pages[r.URL.Path]
	asked := r.URL.Path
	maps.Copy(w.Header(), s.header[r.URL.Path])
	if r.Header.Get("If-None-Match") != "" {
		asked += "?"
	}
	s.asked = append(s.asked, asked)
	switch {
	case s.status[r.URL.Path] != 0:
		w.WriteHeader(s.status[r.URL.Path])
	case !found:
		w.WriteHeader(http.StatusNotFound)
	case w.Header().Get("ETag") != "" && r.Header.Get("If-None-Match") == w.Header().Get("ETag"):
		w.WriteHeader(http.StatusNotModified)
	default:
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "{site}", s.server.URL))
	}
}

func (s *website) local() Local {
	return Local{Web: web.Options{Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}}
}

// requests returns what was asked for since the last call, without robots.txt.
func (s *website) requests() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := slices.DeleteFunc(s.asked, func(path string) bool { return path == "/robots.txt" })
	s.asked = nil
	slices.Sort(asked)
	return strings.Join(asked, " ")
}

func (s *website) addURL(path string) wire.LibraryEvent {
	s.t.Helper()
	return s.result(Add(context.Background(), s.idx, []string{s.server.URL + path}, Options{Local: s.local()}, s.record()))
}

func (s *website) syncAll() wire.LibraryEvent {
	s.t.Helper()
	return s.result(Sync(context.Background(), s.idx, nil, s.local(), s.record()))
}

// stored lists the documents by their addresses on the site.
func (s *website) stored() string {
	var ids []string
	for id := range s.idx.documents {
		ids = append(ids, strings.TrimPrefix(id, s.server.URL))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (s *website) wantStored(want string) {
	s.t.Helper()
	if got := s.stored(); got != want {
		s.t.Errorf("stored %s, want %s; skipped %v", got, want, s.events.skipped())
	}
}

func (s *website) wantRequests(want string) {
	s.t.Helper()
	if got := s.requests(); got != want {
		s.t.Errorf("asked for %s, want %s", got, want)
	}
}

const mapOfThree = `<urlset><url><loc>{site}/a</loc><lastmod>2026-01-01</lastmod></url><url><loc>{site}/b</loc></url><url><loc>{site}/c</loc></url>
	<url><loc>https://other.example/d</loc></url></urlset>`

func TestAPageIsStoredAndKeptInStep(t *testing.T) {
	s := newWebsite(t, map[string]string{"/page": `<html><head><title>Walrus page</title></head><body><p>walrus</p></body></html>`})
	s.header["/page"] = http.Header{"Etag": {`"1"`}, "Last-Modified": {"Thu, 01 Jan 2026 00:00:00 GMT"}}
	s.counts(s.addURL("/page#part"), 1, 0, 0, 0)
	doc := s.idx.documents[s.server.URL+"/page"]
	if doc.Title != "Walrus page" || doc.Source != "web" || doc.Link != s.server.URL+"/page" || doc.Type != "html" ||
		!doc.UpdatedAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || len(doc.Metadata) != 0 {
		t.Errorf("%+v", doc)
	}
	s.wantRequests("/page")
	s.counts(s.syncAll(), 0, 0, 0, 1)
	s.wantRequests("/page?")
	s.header["/page"] = http.Header{"Etag": {`"2"`}}
	s.pages["/page"] = "<p>seal"
	s.counts(s.syncAll(), 0, 1, 0, 0)
	if doc = s.idx.documents[s.server.URL+"/page"]; doc.Metadata[0].Key != datedBy || doc.Metadata[0].Values[0] != fetchTime {
		t.Errorf("undated: %+v", doc)
	}
	s.requests()
	s.status["/page"] = http.StatusServiceUnavailable
	if done := s.syncAll(); done.Removed != 0 || s.events.skipped()[s.server.URL+"/page"] != "the server answers 503 Service Unavailable" {
		t.Errorf("%+v %v", done, s.events.skipped())
	}
	s.wantStored("/page")
	s.status["/page"] = http.StatusGone
	s.counts(s.syncAll(), 0, 0, 1, 0)
	s.status = map[string]int{}
	s.counts(s.syncAll(), 1, 0, 0, 0)
	s.counts(s.remove(wire.RemoveRequest{Refs: []string{s.server.URL + "/page"}}), 0, 0, 1, 0)
	if delete(s.idx.cursors, HashesKey); len(s.idx.cursors) != 0 {
		t.Errorf("left %v", s.idx.cursors)
	}
}

func TestASitemapIsKeptInStep(t *testing.T) {
	s := newWebsite(t, map[string]string{"/sitemap.xml": mapOfThree, "/a": "<p>a", "/b": "<p>b", "/c": "# c"})
	s.header["/b"] = http.Header{"Etag": {`"1"`}}
	s.counts(s.addURL("/sitemap.xml"), 3, 0, 0, 0)
	s.wantStored("/a /b /c")
	s.wantRequests("/a /b /c /sitemap.xml")
	if reason := s.events.skipped()[s.server.URL+"/sitemap.xml"]; reason != "1 page on other servers were not read" {
		t.Errorf("%v", s.events.skipped())
	}
	status, err := Status(t.Context(), s.idx)
	must(t, err)
	if root := status.Roots[0]; root.Path != s.server.URL+"/sitemap.xml" || root.Documents != 3 || root.Source != "web" || root.Bytes != 11 {
		t.Errorf("%+v", root)
	}
	s.counts(s.syncAll(), 0, 0, 0, 3) // a has its date in the list
	s.wantRequests("/b? /c /sitemap.xml")
	s.pages["/sitemap.xml"] = strings.ReplaceAll(mapOfThree, "2026-01-01", "2026-01-02")
	s.pages["/a"] = "<p>new"
	delete(s.pages, "/b")
	s.status["/c"] = http.StatusBadGateway
	s.counts(s.syncAll(), 0, 1, 1, 0)
	s.wantStored("/a /c")
	s.status = map[string]int{"/sitemap.xml": http.StatusNotFound}
	s.counts(s.syncAll(), 0, 0, 0, 0)
	s.wantStored("/a /c")
	s.status = map[string]int{}
	s.pages["/sitemap.xml"] = "<html><p>sign in"
	s.counts(s.syncAll(), 0, 0, 0, 0)
	s.wantStored("/a /c")
	s.pages["/sitemap.xml"] = "<urlset><url><loc>{site}/a</loc></url></urlset>"
	s.counts(s.syncAll(), 0, 0, 1, 1)
	s.wantStored("/a")
}

func TestPagesThatWereRemovedStayOut(t *testing.T) {
	s := newWebsite(t, map[string]string{"/sitemap.xml": mapOfThree, "/a": "<p>a", "/b": "<p>b", "/c": "<p>c"})
	s.addURL("/sitemap.xml")
	s.counts(s.remove(wire.RemoveRequest{Refs: []string{s.server.URL + "/b"}}), 0, 0, 1, 0)
	s.requests()
	s.counts(s.syncAll(), 0, 0, 0, 2)
	s.wantRequests("/c /sitemap.xml")
	s.counts(s.addURL("/sitemap.xml"), 1, 0, 0, 2)
	s.counts(s.remove(wire.RemoveRequest{Refs: []string{s.server.URL + "/sitemap.xml"}}), 0, 0, 3, 0)
}

func TestListsOfLists(t *testing.T) {
	s := newWebsite(t, map[string]string{
		"/index.xml": `<sitemapindex><sitemap><loc>{site}/1.xml</loc></sitemap><sitemap><loc>{site}/index.xml</loc></sitemap><sitemap><loc>{site}/bad.xml</loc></sitemap></sitemapindex>`,
		"/1.xml":     `<urlset><url><loc>{site}/a</loc></url></urlset>`, "/bad.xml": "<p>no list", "/a": "<p>a",
		"/feeds.opml": `<opml><body><outline xmlUrl="{site}/feed"/></body></opml>`,
		"/feed": `<rss><channel><title>News</title><item><link>{site}/post</link><description>short</description></item>
			<item><title>Elsewhere</title><link>https://other.example/x</link><description>&lt;p&gt;walrus</description><pubDate>Tue, 03 Feb 2026 04:05:06 GMT</pubDate></item></channel></rss>`,
		"/post": "<p>long",
	})
	s.counts(s.addURL("/index.xml"), 1, 0, 0, 0)
	if s.events.skipped()[s.server.URL+"/bad.xml"] != "it is neither a sitemap nor a feed" {
		t.Errorf("%v", s.events.skipped())
	}
	s.counts(s.addURL("/feeds.opml"), 2, 0, 0, 0)
	s.wantStored("/a /feed#4d8590a5bc840f69 /post")
	doc := s.idx.documents[s.server.URL+"/feed#4d8590a5bc840f69"]
	if doc.Title != "Elsewhere" || doc.Link != "https://other.example/x" || !strings.Contains(doc.Chunks[0].Text, "walrus") || doc.UpdatedAt.Day() != 3 {
		t.Errorf("%+v", doc)
	}
	s.pages["/feed"] = "<rss><channel><item><link>{site}/new</link></item></channel></rss>"
	s.pages["/new"] = "<p>new"
	s.counts(s.syncAll(), 1, 0, 0, 3) // a feed has its newest entries only
}

// endlessLists are sitemap indexes that name ever more of themselves.
func TestEndlessListsEnd(t *testing.T) {
	s := newWebsite(t, map[string]string{})
	s.before = func(path string) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		var list strings.Builder
		for n := range 30 {
			fmt.Fprintf(&list, "<sitemap><loc>{site}%s/%d</loc></sitemap>", path, n)
		}
		s.pages[path] = "<sitemapindex>" + list.String() + "</sitemapindex>"
	}
	s.counts(s.addURL("/x"), 0, 0, 0, 0)
	if asked := len(strings.Fields(s.requests())); asked > mostLists+1 {
		t.Errorf("asked for %d lists", asked)
	}
	if len(s.events.skipped()) == 0 {
		t.Error("nothing is said about it")
	}
}

func TestInterruptedRunsContinue(t *testing.T) {
	s := newWebsite(t, map[string]string{"/sitemap.xml": mapOfThree, "/a": "<p>a", "/b": "<p>b"})
	key := rootPrefix + remoteRoot(s.server.URL+"/sitemap.xml")
	first := ""
	s.idx.beforeWrite = func(batch index.Batch) error {
		first = cmp.Or(first, batch.Cursors[key])
		return nil
	}
	s.counts(s.addURL("/sitemap.xml"), 2, 0, 0, 0)
	if !strings.Contains(first, `"begun":"`) || strings.Contains(s.idx.cursors[key], "begun") {
		t.Fatalf("first %s, in the end %s", first, s.idx.cursors[key])
	}
	s.idx.cursors[key] = first // as after a kill
	s.pages["/c"] = "<p>c"
	s.requests()
	s.counts(s.syncAll(), 1, 0, 0, 2)
	s.wantRequests("/c /sitemap.xml")
	s.counts(s.syncAll(), 0, 0, 0, 3)
	s.wantRequests("/b /c /sitemap.xml") // not again, once it was complete
}

func TestAddressesThatAreRefused(t *testing.T) {
	s := newWebsite(t, nil)
	for _, address := range []string{"https://jo:secret@acme.example/x", "http:///x", "https://acme.example/%zz"} {
		_, err := Add(t.Context(), s.idx, []string{address}, Options{Local: s.local()}, nil)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if done := s.addURL("/absent"); done.Skipped != 1 || len(s.idx.cursors) != 0 {
		t.Errorf("%+v %v", done, s.idx.cursors)
	}
	s.pages = map[string]string{"/robots.txt": "User-agent: *\nDisallow: /x", "/x": "x"}
	if s.addURL("/x"); s.events.skipped()[s.server.URL+"/x"] != "robots.txt does not allow it" {
		t.Errorf("%v", s.events.skipped())
	}
	done, err := Sync(t.Context(), s.idx, nil, Local{FilesOnly: true}, nil)
	if err != nil || done.Skipped != 0 {
		t.Errorf("%+v %v", done, err)
	}
}

// TestNoAddressOfAnotherServer: a sitemap reaches no other port of its host, and the text of a feed takes no address of
// another server, whose page may be in the library.
func TestNoAddressOfAnotherServer(t *testing.T) {
	inner := newWebsite(t, map[string]string{"/secret": "<p>an internal page</p>"})
	s := newWebsite(t, map[string]string{"/map": "<urlset><url><loc>" + inner.server.URL + "/secret</loc></url><url><loc>{site}/a</loc></url></urlset>",
		"/a": "<p>a page</p>", "/n": "<meta name=robots content=noindex><p>private</p>",
		"/feed": `<rss><channel><item><title>T</title><link>https://victim.example/page</link><description>foreign words</description></item></channel></rss>`})
	s.addURL("/map")
	s.wantStored("/a")
	if got := inner.requests(); got != "" {
		t.Errorf("asked the other port for %s", got)
	}
	s.addURL("/feed")
	for id := range s.idx.documents {
		if !strings.HasPrefix(id, s.server.URL) {
			t.Errorf("a feed stored %s", id)
		}
	}
	if len(s.idx.documents) != 2 {
		t.Errorf("stored %s", s.stored())
	}
	s.addURL("/n")
	if len(s.idx.documents) != 2 {
		t.Errorf("a page with noindex is stored: %s", s.stored())
	}
}
