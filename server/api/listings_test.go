package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// countedIndex counts what its snapshots are asked.
type countedIndex struct {
	index.Index
	asked *atomic.Int64
}

func (c countedIndex) Snapshot(ctx context.Context) (index.Snapshot, error) {
	snapshot, err := c.Index.Snapshot(ctx)
	return countedSnapshot{snapshot, c.asked}, err
}

type countedSnapshot struct {
	index.Snapshot
	asked *atomic.Int64
}

func (c countedSnapshot) Facets(ctx context.Context, filter index.Filter) (index.Counts, error) {
	c.asked.Add(1)
	return c.Snapshot.Facets(ctx, filter)
}

func (c countedSnapshot) Documents(ctx context.Context, ids []string, access index.Access) ([]index.Stored, error) {
	c.asked.Add(1)
	return c.Snapshot.Documents(ctx, ids, access)
}

// TestListingsAskTheLibraryOnce for all agents, and again only when the library has changed.
func TestListingsAskTheLibraryOnce(t *testing.T) {
	w := newWorld(t)
	const many = 40
	for i := range many {
		_, err := w.people.In(t.Context(), directory.DefaultTenant).AddAgent(directory.Agent{Name: fmt.Sprint("Agent ", i), Public: true,
			DocumentSets: []directory.DocumentSet{{Name: "Handbook"}}, Documents: []string{"file:/jo/notes.md", fmt.Sprint("absent ", i)}})
		w.check(err)
	}
	asked := new(atomic.Int64)
	w.server.Index = func(context.Context, string, bool) (index.Index, error) { return countedIndex{w.documents, asked}, nil }
	list := func(who string) (sources []string, attached int) {
		agents := get[[]wire.Persona](w, who, "/persona")
		page := get[wire.PersonaPage](w, who, "/agents?page_size=1000")
		if len(agents) != many+2 || len(page.Items) != many+2 {
			t.Fatalf("%d agents, %d on a page", len(agents), len(page.Items))
		}
		last := agents[len(agents)-1]
		return last.KnowledgeSources, last.AttachedDocumentCount
	}
	costs := func(what string, most int64, do func()) {
		t.Helper()
		before := asked.Load()
		do()
		if cost := asked.Load() - before; cost > most {
			t.Errorf("%s asks the library %d times", what, cost)
		}
	}
	sees := func(who string, sources []string, attached int) {
		t.Helper()
		if got, n := list(who); !slices.Equal(got, sources) || n != attached {
			t.Errorf("%s sees sources %v and %d documents", who, got, n)
		}
	}
	costs("the first listing", 2, func() { sees("jo", []string{"confluence", "google_drive"}, 1) })
	costs("another listing", 0, func() { sees("jo", []string{"confluence", "google_drive"}, 1) })
	costs("another person's", 2, func() { sees("kim", []string{"confluence"}, 0) })
	_, err := w.documents.Write(t.Context(), index.Batch{Upsert: []index.Document{
		document("file:/handbook/new.md", "Newcomers", "web", "PUBLIC", "Welcome.", "team", "people", "Handbook")}})
	w.check(err)
	costs("thirty at once after a change", 2*slotsAtOnce(w.server), func() {
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() { sees("jo", []string{"confluence", "google_drive", "web"}, 1) })
		}
		group.Wait()
	})
	costs("the sources and tags", 7, func() {
		get[wire.IndexedSources](w, "jo", "/manage/indexed-sources")
		get[[]wire.ConnectorStatus](w, "jo", "/manage/connector-status")
		for _, pattern := range []string{"", "?match_pattern=team", "?sources=web"} {
			get[wire.ValidTags](w, "jo", "/query/valid-tags"+pattern)
		}
	})
}

// failingSnapshot cannot count.
type failingSnapshot struct{ index.Snapshot }

func (failingSnapshot) Facets(context.Context, index.Filter) (index.Counts, error) {
	return index.Counts{}, errors.New("the counts are torn")
}

// TestAFailedCountIsNotKept: the next listing counts again.
func TestAFailedCountIsNotKept(t *testing.T) {
	w := newWorld(t)
	w.breakWith(func(ctx context.Context) (index.Snapshot, error) {
		snapshot, err := w.documents.Snapshot(ctx)
		return failingSnapshot{snapshot}, err
	})
	if answer := w.call(w.public, "jo", "GET", "/persona", ""); answer.Code != http.StatusInternalServerError {
		t.Fatalf("HTTP %d %s", answer.Code, answer.Body)
	}
	w.breakWith(w.documents.Snapshot)
	agents := get[[]wire.Persona](w, "jo", "/persona")
	at := slices.IndexFunc(agents, func(a wire.Persona) bool { return a.ID == w.eng.ID })
	if at < 0 || len(agents[at].KnowledgeSources) == 0 {
		t.Errorf("an agent of a set has no sources: %+v", agents)
	}
}

// slotsAtOnce is how many count at the same time, before what they counted is known.
func slotsAtOnce(s *Server) int64 { return int64(cap(s.slots)) }
