package api

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest"
)

// edge translates the ids of documents where they cross the edge of this server. Only the owner on this machine gets
// them as they are stored, with paths of this machine: whoever comes over a listener, an administrator too, gets the
// short names of what was added in their place. Both may send either form.
type edge struct {
	ctx       context.Context // of the request
	names     *ingest.Names
	owner     bool
	documents index.Index
	snapshot  index.Snapshot
	access    index.Access
}

// versionedNames are the names of a tenant's library, as of a version of it.
type versionedNames struct {
	version string
	names   *ingest.Names
}

// edge returns the edge of a request that reads a snapshot of the caller's library.
func (c *call) edge(snapshot index.Snapshot) edge {
	documents := must(c.Index(c.ctx, c.who.Tenant, false))
	e := edge{ctx: c.ctx, owner: !isListener(c.ctx), documents: documents, snapshot: snapshot, access: c.who.Access()}
	version := snapshot.Version()
	if known, ok := c.names.Load(c.who.Tenant); ok && known.(versionedNames).version == version {
		e.names = known.(versionedNames).names
		return e
	}
	e.names = must(ingest.LoadNames(c.ctx, documents))
	c.names.Store(c.who.Tenant, versionedNames{version, e.names})
	return e
}

// id returns the id or ref of a document for the caller.
func (e edge) id(stored string) string {
	if e.owner {
		return stored
	}
	return e.names.Public(stored)
}

// stored returns the stored form of an id or ref that the caller sent. An id that exists as it is wins, then a public
// one, then a short one. What the caller may not see is treated like what does not exist.
func (e edge) stored(sent string) string {
	public, isPublic := e.names.Stored(sent)
	hash, rest, isShort := wire.SplitShort(sent)
	if !isPublic && !isShort {
		return sent
	}
	id, _, _ := wire.SplitRef(sent)
	publicID, _, _ := wire.SplitRef(public)
	found := must(e.snapshot.Documents(e.ctx, []string{sent, id, public, publicID}, e.access))
	switch {
	case len(found) > 0 && (found[0].ID == sent || found[0].ID == id):
		return sent
	case len(found) > 0 || !isShort:
		return public
	}
	hashes := must(e.hashes(hash))
	if len(hashes) == 0 {
		return public
	}
	ids := slices.Sorted(maps.Keys(hashes))
	if len(ids) > 1 {
		abort(coded("INVALID_INPUT", "%s begins the short refs of several documents: %s",
			hash, strings.Join(mapped(ids, e.id), ", ")))
	}
	return ids[0] + rest
}

// hashes returns the hashes that begin with a text, by the ids of their documents, which the caller may see.
func (e edge) hashes(beginning string) (map[string]string, error) {
	hashes, err := e.names.Hashes(e.ctx, e.documents, beginning)
	if err != nil || len(hashes) == 0 {
		return nil, err
	}
	seen, err := e.snapshot.Documents(e.ctx, slices.Collect(maps.Keys(hashes)), e.access)
	maps.DeleteFunc(hashes, func(id, _ string) bool {
		return !slices.ContainsFunc(seen, func(d index.Stored) bool { return d.ID == id })
	})
	return hashes, err
}

// shortRef returns the short ref of a passage: the shortest beginning of its document's hash that no other document has
// which the caller may see. It is empty if the hash is not stored, or that of another such document too.
func (e edge) shortRef(id string, chunk int) string {
	hash := e.names.Hash(id)
	alike, err := e.hashes(hash[:wire.ShortestID])
	if err != nil || alike[id] != hash {
		return ""
	}
	delete(alike, id)
	length := wire.ShortestID
	for _, other := range alike {
		if other == hash {
			return ""
		}
		for other[:length] == hash[:length] {
			length++
		}
	}
	return hash[:length] + "#" + strconv.Itoa(chunk)
}

// storeAll puts the stored form in the place of ids or refs that the caller sent.
func (e edge) storeAll(sent []string) {
	for i, id := range sent {
		sent[i] = e.stored(id)
	}
}

// storeIDs puts the stored form in the place of ids that a caller sent.
func (c *call) storeIDs(ids []string) {
	if len(ids) > 0 {
		c.read(func(snapshot index.Snapshot) { c.edge(snapshot).storeAll(ids) })
	}
}

// narrow puts the caller's ids in the place of those of an answer, and adds short refs to its results. Those without a
// link that the caller could open get their permalink.
func (e edge) narrow(response *wire.SearchResponse) {
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
		if result.ShortRef == "" { // else it is that of a federated source
			result.ShortRef = e.shortRef(result.DocumentID, result.ChunkInd)
		}
		result.DocumentID, result.Ref = e.id(result.DocumentID), e.id(result.Ref)
		for j := range result.AlsoIn {
			result.AlsoIn[j].DocumentID = e.id(result.AlsoIn[j].DocumentID)
		}
		if result.Newer != nil {
			result.Newer.DocumentID = e.id(result.Newer.DocumentID)
		}
		if !e.owner && result.Link == nil && strings.HasPrefix(result.Citation, "https://") {
			result.Link = &result.Citation
		}
	}
}
