package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
)

// reader is somebody who looks at the same server, in process or through the listener.
type reader struct {
	name      string
	handler   http.Handler
	documents []string
	sources   []string
	tags      []string // values
	sets      []string // in facets
}

func readers(w *world) []reader {
	const rollback, travel = "file:/handbook/rollback.md", "file:/handbook/travel.md"
	const jo, legal = "file:/jo/notes.md", "file:/legal/contract.md"
	anonymous := w.server.Handler(directory.Anonymous(directory.DefaultTenant))
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	public := reader{documents: []string{rollback, travel}, sources: []string{"confluence", "file"},
		tags: []string{"infra", "people"}, sets: []string{"Handbook"}}
	as := func(name string, handler http.Handler, more ...string) reader {
		r := reader{name: name, handler: handler, documents: slices.Clone(public.documents),
			sources: slices.Clone(public.sources), tags: slices.Clone(public.tags), sets: public.sets}
		if slices.Contains(more, jo) {
			r.documents, r.sources, r.tags = append(r.documents, jo), append(r.sources, "google_drive"), append(r.tags, "zealous")
		}
		if slices.Contains(more, legal) {
			r.documents, r.sources, r.tags = append(r.documents, legal), append(r.sources, "sharepoint"), append(r.tags, "zeta")
		}
		slices.Sort(r.tags)
		return r
	}
	all := as("nobody's token", owner, jo, legal)
	all.sets = []string{"Board", "Handbook"}
	administrator := as("owner", w.public)
	administrator.sets = all.sets
	return []reader{all, administrator, as("jo", w.public, jo), as("scoped", w.public, jo), as("kim", w.public, legal),
		as("anonymous", anonymous)}
}

// TestNobodySeesMore asks everything that tells of documents, for everybody.
func TestNobodySeesMore(t *testing.T) {
	w := newWorld(t)
	everything := readers(w)[0]
	for _, r := range readers(w) {
		t.Run(r.name, func(t *testing.T) {
			ask := func(target string) string {
				answer := w.call(r.handler, r.name, http.MethodGet, target, "")
				if answer.Code != http.StatusOK {
					t.Fatalf("%s: HTTP %d %s", target, answer.Code, answer.Body)
				}
				return answer.Body.String()
			}
			found := decoded[wire.SearchResponse](w, w.call(r.handler, r.name, "POST", "/search", `{"query":"deploy","num_results":50}`))
			got := ids(found)
			slices.Sort(got)
			if !slices.Equal(got, r.documents) || found.TotalMatches != len(r.documents) {
				t.Errorf("search finds %v, %d in all", got, found.TotalMatches)
			}
			r.checkFacets(t, "search", found.Facets)
			facets := decoded[wire.FacetCounts](w, w.call(r.handler, r.name, "GET", "/search/facets", ""))
			if facets.TotalMatches != len(r.documents) {
				t.Errorf("facets count %d documents", facets.TotalMatches)
			}
			r.checkFacets(t, "facets", facets.Facets)
			if got := decoded[wire.IndexedSources](w, w.call(r.handler, r.name, "GET", "/manage/indexed-sources", "")); !slices.Equal(got.Sources, r.sources) {
				t.Errorf("sources %v", got.Sources)
			}
			tags := decoded[wire.ValidTags](w, w.call(r.handler, r.name, "GET", "/query/valid-tags", ""))
			values := []string{}
			for _, tag := range tags.Tags {
				values = append(values, tag.Value)
			}
			if slices.Sort(values); !slices.Equal(values, r.tags) {
				t.Errorf("tags %v", values)
			}
			suggested := ask("/search/suggest?prefix=z") + ask("/search/suggest?prefix=contract") + ask("/search/suggest?prefix=notes")
			for word, document := range map[string]string{"zanzibar": "file:/jo/notes.md", "zeppelin": "file:/legal/contract.md",
				"file:/jo/notes.md": "file:/jo/notes.md", "file:/legal/contract.md": "file:/legal/contract.md"} {
				if strings.Contains(strings.ToLower(suggested), word) != slices.Contains(r.documents, document) {
					t.Errorf("suggestions with or without %q: %s", word, suggested)
				}
			}
			for _, document := range everything.documents {
				id := url.QueryEscape(document)
				for _, target := range []string{"/document/chunks?document_id=" + id,
					"/document/document-size-info?document_id=" + id, "/document/chunk-info?chunk_id=0&document_id=" + id} {
					status := w.call(r.handler, r.name, "GET", target, "").Code
					if want := map[bool]int{true: 200, false: 404}[slices.Contains(r.documents, document)]; status != want {
						t.Errorf("%s: HTTP %d, want %d", target, status, want)
					}
				}
			}
		})
	}
}

func (r reader) checkFacets(t *testing.T, where string, facets wire.Facets) {
	t.Helper()
	values := func(list []wire.FacetValue) (names []string) {
		for _, f := range list {
			names = append(names, f.Value)
		}
		slices.Sort(names)
		return names
	}
	tags := []string{}
	for _, tag := range facets.Tags {
		tags = append(tags, tag.Value)
	}
	slices.Sort(tags)
	if !slices.Equal(values(facets.Sources), r.sources) || !slices.Equal(tags, r.tags) ||
		!slices.Equal(values(facets.DocumentSets), r.sets) || len(facets.Authors) != len(r.documents) {
		t.Errorf("%s counts %+v", where, facets)
	}
}

func TestGivingAndTakingAwayIsSeenAtOnce(t *testing.T) {
	w := newWorld(t)
	search := func(who string) int {
		return len(post[wire.SearchResponse](w, who, "/search", `{"query":"zeppelin"}`).Results)
	}
	if search("jo") != 0 || search("kim") == 0 {
		t.Fatal("the group's document is not the group's")
	}
	joinGroup(w.t, w.people, directory.DefaultTenant, "Legal", "jo@acme.example")
	if search("jo") == 0 {
		t.Error("who joins a group sees its documents")
	}
	w.check(w.people.In(t.Context(), directory.DefaultTenant).SetActive("kim@acme.example", false))
	if answer := w.call(w.public, "kim", "POST", "/search", `{"query":"zeppelin"}`); answer.Code != http.StatusForbidden {
		t.Errorf("who has left: HTTP %d", answer.Code)
	}
}

func TestInProcessRoutes(t *testing.T) {
	w := newWorld(t)
	for _, who := range []directory.Principal{
		directory.Anonymous(directory.DefaultTenant),
		{Tenant: directory.DefaultTenant, UserID: "x", Email: "jo@acme.example", Admin: true, Permissions: directory.AllPermissions()},
	} {
		for _, route := range ownerRoutes() {
			method, path, _ := strings.Cut(route.pattern, " ")
			for at, handler := range map[string]http.Handler{"in process": w.server.Handler(who), "over a listener": w.public} {
				answer := w.call(handler, "owner", method, path, `{}`)
				if answer.Code != http.StatusNotFound || strings.TrimSpace(answer.Body.String()) != `{"detail":"Not Found"}` {
					t.Errorf("%s for %s %s: HTTP %d %s", route.pattern, who.Email, at, answer.Code, answer.Body)
				}
			}
		}
	}
	// A token says nothing to a handler that is bound to somebody.
	anonymous := w.server.Handler(directory.Anonymous(directory.DefaultTenant))
	me := decoded[wire.Me](w, w.call(anonymous, "owner", http.MethodGet, "/me", ""))
	if !me.IsAnonymousUser || me.IsSuperuser {
		t.Errorf("a token changed who is bound: %+v", me)
	}
	if answer := w.call(anonymous, "owner", http.MethodGet, "/user/pats", ""); answer.Code != http.StatusForbidden {
		t.Errorf("tokens of nobody: HTTP %d", answer.Code)
	}
}

// TestAgentsKeepSecrets: whoever may use an agent is not told the names of sets and documents that they may not see.
func TestAgentsKeepSecrets(t *testing.T) {
	w := newWorld(t)
	agent, err := w.people.In(t.Context(), directory.DefaultTenant).AddAgent(directory.Agent{Name: "Counsel", Public: true,
		DocumentSets: []directory.DocumentSet{{Name: "Board"}, {Name: "Handbook"}},
		Documents:    []string{"file:/legal/contract.md", "file:/jo/notes.md"}})
	w.check(err)
	search := fmt.Sprintf(`{"query":"deploy","persona_id":%d}`, agent.ID)
	for who, sees := range map[string][]string{"jo": {"Handbook"}, "owner": {"Board", "Handbook"}} {
		persona := get[wire.FullPersona](w, who, fmt.Sprintf("/persona/%d", agent.ID))
		var sets []string
		for _, set := range persona.DocumentSets {
			sets = append(sets, set.Name)
		}
		if !slices.Equal(sets, sees) {
			t.Errorf("%s is told of %v", who, sets)
		}
		answer := post[wire.SearchResponse](w, who, "/search", search)
		sets = nil
		for _, f := range answer.AppliedFilters {
			if f.Field == "document_sets" {
				sets = append(sets, f.Value)
			}
			if strings.Contains(f.Value, "contract") {
				t.Errorf("%s is told of %+v", who, f)
			}
		}
		if !slices.Equal(sets, sees) || len(answer.AppliedFilters) != len(sees)+1 {
			t.Errorf("%s is told of %+v", who, answer.AppliedFilters)
		}
	}
}
