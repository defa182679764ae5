package api

import (
	"context"
	"strings"
	"sync"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// edge translates the ids of documents where they cross the edge of this server. Only the owner on this machine gets
// them as they are stored, with paths of this machine: whoever comes over a listener, an administrator too, gets the
// short names of what was added in their place. Both may send either form.
type edge struct {
	names *ingest.Names
	owner bool
}

// edges has the names of each tenant's library, as of a version of it.
type edges struct{ known sync.Map } // tenant → versionedNames

type versionedNames struct {
	version string
	names   *ingest.Names
}

// edge returns the edge of a request that reads a snapshot of a tenant's library.
func (s *Server) edge(ctx context.Context, tenant string, snapshot index.Snapshot) (edge, error) {
	owner, version := !isListener(ctx), snapshot.Version()
	if known, ok := s.edges.known.Load(tenant); ok && known.(versionedNames).version == version {
		return edge{known.(versionedNames).names, owner}, nil
	}
	documents, err := s.Index(ctx, tenant, false)
	if err != nil {
		return edge{}, err
	}
	names, err := ingest.LoadNames(ctx, documents)
	if err != nil {
		return edge{}, err
	}
	s.edges.known.Store(tenant, versionedNames{version, names})
	return edge{names, owner}, nil
}

// id returns the id or ref of a document for the caller.
func (e edge) id(stored string) string {
	if e.owner {
		return stored
	}
	return e.names.Public(stored)
}

// stored returns the stored form of an id or ref that the caller sent. An id that exists as it is wins. What the caller
// may not see is treated like what does not exist.
func (e edge) stored(ctx context.Context, snapshot index.Snapshot, sent string, access index.Access) (string, error) {
	translated, ok := e.names.Stored(sent)
	if !ok {
		return sent, nil
	}
	id, _, _ := wire.SplitRef(sent)
	found, err := snapshot.Documents(ctx, []string{sent, id}, access)
	if err != nil || len(found) > 0 {
		return sent, err
	}
	return translated, nil
}

// storedIDs puts the stored form in the place of ids that a caller sent.
func (s *Server) storedIDs(ctx context.Context, who directory.Principal, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.reading(ctx, who.Tenant, func(snapshot index.Snapshot) error {
		edge, err := s.edge(ctx, who.Tenant, snapshot)
		for i := range ids {
			if err == nil {
				ids[i], err = edge.stored(ctx, snapshot, ids[i], who.Access())
			}
		}
		return err
	})
}

// narrow puts the caller's ids in the place of those of an answer. Results without a link that the caller could open get
// their permalink.
func (e edge) narrow(response *wire.SearchResponse) {
	if e.owner {
		return
	}
	for number, id := range response.CitationMapping {
		response.CitationMapping[number] = e.id(id)
	}
	for i, filter := range response.AppliedFilters {
		if filter.Field == "similar_to" {
			response.AppliedFilters[i].Value = e.id(filter.Value)
		}
	}
	for i := range response.Results {
		result := &response.Results[i]
		result.DocumentID, result.Ref = e.id(result.DocumentID), e.id(result.Ref)
		for j := range result.AlsoIn {
			result.AlsoIn[j].DocumentID = e.id(result.AlsoIn[j].DocumentID)
		}
		if result.Newer != nil {
			result.Newer.DocumentID = e.id(result.Newer.DocumentID)
		}
		if result.Link == nil && strings.HasPrefix(result.Citation, "https://") {
			result.Link = &result.Citation
		}
	}
}
