package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
)

// countingDocuments is a server that counts documents, none of them by the authors that are asked for.
func countingDocuments(asked *atomic.Int32) *script {
	server := oneAbout()
	server.routes = map[string]http.HandlerFunc{"GET /search/facets": func(w http.ResponseWriter, r *http.Request) {
		counts := wire.FacetCounts{Facets: wire.Facets{Authors: []wire.FacetValue{{Value: "Jo Ortiz", Count: 3}}}, TotalMatches: 3}
		if r.URL.Query().Has("authors") {
			asked.Add(1)
			counts.TotalMatches = 0
		}
		answer200(w, counts)
	}, "GET /version": func(w http.ResponseWriter, _ *http.Request) {
		answer200(w, wire.Version{Quarry: &wire.QuarryVersion{API: 1, Features: []string{"authors"}}})
	}}
	return server
}

// What is known of authors is forgotten when the library changes, also while a check is under way.
func TestAuthorsAreCheckedAgainAfterAChange(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	m := ready(t, countingDocuments(&asked), Options{})
	m.box.SetQuery("rollback author:nobody")
	check := m.checkValues()
	m.box.SetQuery("rollback")
	_, cmd := m.Update(resultMsg{handle: func() tea.Cmd { return m.handleWelcome(m.conn.welcome, nil) }})
	drive(t, m, cmd)
	drive(t, m, check)
	m.box.SetQuery("rollback author:nobody")
	_, cmd = m.Update(nil)
	drive(t, m, cmd)
	if said := m.unknownValue(); said != "no author “nobody”" || asked.Load() != 2 {
		t.Errorf("%q after %d checks", said, asked.Load())
	}
	m.Update(nil)
	if asked.Load() != 2 {
		t.Errorf("%d checks of one author", asked.Load())
	}
}

// However many authors a query has, few of them are asked for.
func TestFewAuthorsOfAQueryAreChecked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	m := ready(t, countingDocuments(&asked), Options{})
	var authors []string
	for i := range 3 * mostRemembered {
		authors = append(authors, fmt.Sprint("nobody", i))
	}
	m.box.SetQuery("rollback author:" + strings.Join(authors, ","))
	for range 3 {
		_, cmd := m.Update(nil)
		drive(t, m, cmd)
	}
	if asked.Load() != mostChecked {
		t.Errorf("%d authors were asked for", asked.Load())
	}
}
